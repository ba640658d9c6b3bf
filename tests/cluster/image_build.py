"""Images built from the project's Dockerfiles, with buildah and without a registry.

The base image is made by debootstrap once and kept in the cache. Its Python is Debian's 3.11, as in the base that the
Dockerfiles name. Everything of buildah's lives below the cache: the user's own images are not touched.
"""

from __future__ import annotations

import configparser
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cluster import packages
from tests.cluster.binaries import ROOT, cache_root
from tests.cluster.network import run

BASE = "localhost/collectorfleet-test-base:bookworm"
BASE_PACKAGES = "python3,python3-venv,ca-certificates,wget"
MIRROR = "http://deb.debian.org/debian"
# What pip on this machine may need to reach its index; hashes say what is installed, wherever it comes from.
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "cert", "timeout")


def missing(gigabytes: int) -> str | None:
    """Why images cannot be built here, in one line that says what to do; None if they can."""
    where = next(folder for folder in (cache_root(), *cache_root().parents) if folder.exists())
    if (free := shutil.disk_usage(where).free // 2**30) < gigabytes:
        return f"the images take {gigabytes} GB below {where} and {free} are free; make room, or set XDG_CACHE_HOME"
    return packages.reason(packages.IMAGE_BUILDS)


def build(
    dockerfile: Path,
    name: str,
    context: Path = ROOT,
    *,
    timestamp: int | None = None,
    arguments: Mapping[str, str] | None = None,
) -> None:
    """Build an image on the base of the tests. Minutes; needs root and network.

    With a ``timestamp``, in seconds since 1970, all files and the image have this time, and every layer is built anew.
    ``arguments`` are those of the Dockerfile.
    """
    packages.install(packages.IMAGE_BUILDS)
    _make_base()
    with tempfile.TemporaryDirectory(prefix="collectorfleet-build-") as scratch:
        volumes = [f"--volume={volume}" for volume in _pip_volumes(Path(scratch))]
        layers = ("--layers",) if timestamp is None else ("--no-cache", f"--timestamp={timestamp}")
        given = {"BASE": BASE, **(arguments or {})}
        words = ("build", *layers, *(f"--build-arg={key}={value}" for key, value in given.items()), *volumes)
        _buildah(*words, f"--file={dockerfile}", f"--tag={name}", str(context))


def write_archive(name: str, archive: Path) -> None:
    """Write a built image as an archive that holds it under its name."""
    archive.unlink(missing_ok=True)
    # An OCI archive would be compressed, which takes longer than the build; a Docker archive never is.
    _buildah("push", "--quiet", name, f"docker-archive:{archive}:{name}")


def push(name: str, to: str) -> str:
    """Push a built image to a registry that speaks plain HTTP; returns the digest that it has there."""
    with tempfile.NamedTemporaryFile(prefix="collectorfleet-digest-") as digest:
        _buildah("push", "--quiet", "--tls-verify=false", f"--digestfile={digest.name}", name, f"docker://{to}")
        return Path(digest.name).read_text().strip()


def config(name: str) -> dict[str, Any]:
    """What a built image says of itself: ``Env``, ``User``, ``Labels`` and so on."""
    inspected = json.loads(_buildah("inspect", "--type=image", name, quiet=True))
    found: dict[str, Any] = inspected["OCIv1"]["config"]
    return found


def layers(name: str) -> list[str]:
    """Digests of the layers of a built image, without compression."""
    inspected = json.loads(_buildah("inspect", "--type=image", name, quiet=True))
    found: list[str] = inspected["OCIv1"]["rootfs"]["diff_ids"]
    return found


def remove(name: str) -> None:
    """Remove a built image; its base stays."""
    _buildah("rmi", name, quiet=True)


@contextlib.contextmanager
def mounted(name: str) -> Iterator[Path]:
    """The files of a built image, as a folder to look into."""
    container = _buildah("from", "--pull-never", name, quiet=True).strip()
    try:
        yield Path(_buildah("mount", container, quiet=True).strip())
    finally:
        _buildah("rm", container, quiet=True)


def _make_base() -> None:
    if BASE in _buildah("images", "--format={{.Name}}:{{.Tag}}", quiet=True).split():
        return
    with tempfile.TemporaryDirectory(prefix="collectorfleet-base-") as scratch:
        root, archive = Path(scratch) / "root", Path(scratch) / "base.tar"
        print("making the base image with debootstrap (once; a minute)", file=sys.stderr, flush=True)
        run("debootstrap", "--variant=minbase", f"--include={BASE_PACKAGES}", "bookworm", str(root), MIRROR)
        run("tar", "--create", f"--file={archive}", f"--directory={root}", ".")
        (Path(scratch) / "Dockerfile").write_text("FROM scratch\nADD base.tar /\n")
        _buildah("build", f"--tag={BASE}", f"--ignorefile={os.devnull}", scratch)


def _pip_volumes(scratch: Path) -> Iterator[str]:
    """This machine's way to its package index, mounted while building: it does not become part of an image."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], check=True, text=True, capture_output=True)
    config = configparser.ConfigParser()
    config["global"] = {}
    for line in listed.stdout.splitlines():
        name, _, value = line.partition("=")
        setting = name.rpartition(".")[2]
        if setting in PIP_SETTINGS:
            config["global"][setting] = value.strip("'")
    with (scratch / "pip.conf").open("w") as file:
        config.write(file)
    yield f"{scratch}/pip.conf:/etc/pip.conf:ro"
    if certificate := config["global"].get("cert"):
        yield f"{certificate}:{certificate}:ro"


def _buildah(*words: str, quiet: bool = False) -> str:
    storage = cache_root() / "buildah"
    where = ("--root", str(storage / "root"), "--runroot", str(storage / "run"), "--storage-driver=overlay")
    # Its scratch files and the caches that Dockerfiles mount go where TMPDIR says.
    (storage / "tmp").mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["buildah", *where, *words],
        check=False,
        text=True,
        env={**os.environ, "BUILDAH_ISOLATION": "chroot", "TMPDIR": str(storage / "tmp")},
        stdout=subprocess.PIPE if quiet else sys.stderr,
        stderr=subprocess.PIPE if quiet else None,
    )
    if done.returncode != 0:
        raise RuntimeError(f"buildah {words[0]} failed with exit code {done.returncode}: {done.stderr or 'see above'}")
    return done.stdout or ""
