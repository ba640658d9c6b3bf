"""Build images from the project's Dockerfiles, with buildah and without a registry.

debootstrap makes the base image once, and buildah keeps it in the cache. Its Python is Debian's 3.11, the version of
the base that the Dockerfiles name. All of buildah's files are in the cache, so the user's own images are not changed.
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
# Settings that pip may need to reach the index of this machine. Hashes pin the packages of every index.
PIP_SETTINGS = ("index-url", "extra-index-url", "trusted-host", "cert", "timeout")


def missing(gigabytes: int) -> str | None:
    """Return why images cannot be built here, in one line with the remedy; None if they can.

    ``gigabytes`` is the free space that the images need.
    """
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
    """Build an image on the base of the tests. This takes minutes, and needs root and network.

    With a ``timestamp``, in seconds since 1970, all files and the image have this time, and no layer is from the cache.
    ``arguments`` are the build arguments of the Dockerfile.
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
    """Write a built image as an archive that contains it under its name."""
    archive.unlink(missing_ok=True)
    # A Docker archive is not compressed. The compression of an OCI archive would take longer than the build.
    _buildah("push", "--quiet", name, f"docker-archive:{archive}:{name}")


def push(name: str, to: str) -> str:
    """Push a built image to a registry over plain HTTP. Return its digest in the registry."""
    with tempfile.NamedTemporaryFile(prefix="collectorfleet-digest-") as digest:
        _buildah("push", "--quiet", "--tls-verify=false", f"--digestfile={digest.name}", name, f"docker://{to}")
        return Path(digest.name).read_text().strip()


def config(name: str) -> dict[str, Any]:
    """Return the configuration of a built image: ``Env``, ``User``, ``Labels`` and others."""
    inspected = json.loads(_buildah("inspect", "--type=image", name, quiet=True))
    found: dict[str, Any] = inspected["OCIv1"]["config"]
    return found


def layers(name: str) -> list[str]:
    """Return the digests of the uncompressed layers of a built image."""
    inspected = json.loads(_buildah("inspect", "--type=image", name, quiet=True))
    found: list[str] = inspected["OCIv1"]["rootfs"]["diff_ids"]
    return found


def remove(name: str) -> None:
    """Remove a built image. The base image stays."""
    _buildah("rmi", name, quiet=True)


@contextlib.contextmanager
def mounted(name: str) -> Iterator[Path]:
    """Yield a folder with the files of a built image."""
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
    """Yield volumes with this machine's settings for its package index.

    They are mounted only during the build, so no image contains them.
    """
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
    # buildah writes its scratch files and the cache mounts of Dockerfiles below TMPDIR.
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
