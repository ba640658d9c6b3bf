"""Make images of a few kilobytes that use the machine's files: /usr, this Python environment, and the sources.

A node binds these folders read-only into every container (``binds``). A thin image contains only the rest: links,
users, a home and a virtual environment. So the next pod runs a changed source file without a build, and a pod needs
only an image name, as on other clusters. With the RuntimeClass ``image``, a pod sees its image and no bound folders.

The virtual environment has the same path in each thin image. A ``.pth`` file adds the project's sources, and then the
packages that are installed here. It does not use PYTHONPATH, which the pods of a fleet set.
"""

from __future__ import annotations

import importlib.metadata
import sys
import sysconfig
import tomllib
from pathlib import Path

from tests.cluster.binaries import KUBERAY, ROOT, build
from tests.cluster.images import SYSTEM_PATH, Image, Layer
from tests.cluster.node_config import PAUSE_IMAGE

SOURCES = ("crds", "operator", "collector_image")
HOME = "/opt/collectorfleet"
SOURCE_FOLDER = Path(HOME) / "src"
PACKAGES = Path(HOME) / "packages"
VENV = f"{HOME}/venv"
# If this process imports a Ray from another folder than its other packages, the images use that Ray, too.
OTHER_RAY = Path(HOME) / "ray"
_SITE = Path(sysconfig.get_path("purelib")).resolve()
_RAY = Path(str(importlib.metadata.distribution("ray").locate_file(""))).resolve()
COLLECTOR_USER, OPERATOR_USER = 1000, 65532
KUBERAY_IMAGE = "quay.io/kuberay/operator:v1.6.2"
SCRIPTS = {"collectorfleet": "collectorfleet.cli.main:main", "ray": "ray.scripts.scripts:main"}
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# The names in the project's manifests, and names that no published image has.
COLLECTOR_IMAGES = (f"ghcr.io/collectorfleet/collectorfleet:{VERSION}", "test.local/collectorfleet:dev")
OPERATOR_IMAGES = (f"ghcr.io/collectorfleet/operator:{VERSION}", "test.local/collectorfleet-operator:dev")
# Images of another state of the project: its sources, with the packages that are installed here.
OTHER_FOLDER = Path(HOME) / "other"
OTHER_COLLECTOR, OTHER_OPERATOR = "test.local/collectorfleet:other", "test.local/collectorfleet-operator:other"


def binds(other: Path | None = None) -> dict[Path, Path]:
    """Return the folders of this machine that containers see read-only: path in the container -> path here.

    ``other`` is a checkout of another state of the project.
    """
    # The interpreter's own path may be built into it, so its path in the container is the same.
    python = Path(sys.base_prefix).resolve()
    same = [Path("/usr")] if python.is_relative_to("/usr") else [Path("/usr"), python]
    packages = {PACKAGES: _SITE} | ({} if _RAY == _SITE else {OTHER_RAY: _RAY})
    found = {path: path for path in same} | packages | {SOURCE_FOLDER / name: ROOT / name for name in SOURCES}
    return found | ({OTHER_FOLDER / name: other / name for name in SOURCES} if other else {})


def pause() -> Image:
    """Return the image that holds a pod's namespaces. Its program is a static sleep, which needs no other files."""
    layer = Layer()
    layer.file("/busybox", Path("/bin/busybox").read_bytes(), mode=0o755)
    return Image((PAUSE_IMAGE,), layer, entrypoint=("/busybox", "sleep", "2147483647"))


def kuberay() -> Image:
    """Return the image of KubeRay's operator, under the name and path in KubeRay's own manifests."""
    layer = Layer()
    layer.file("/manager", (build(KUBERAY) / "ray-operator").read_bytes(), mode=0o755)
    layer.folder("/tmp", mode=0o1777)
    return Image((KUBERAY_IMAGE,), layer, entrypoint=("/manager",), user="65532:65532")


def collector() -> Image:
    """Return an image like that of ``collector_image/Dockerfile``: Ray, torch and the runtime."""
    return _collector(COLLECTOR_IMAGES, SOURCE_FOLDER)


def operator() -> Image:
    """Return an image like that of ``operator/Dockerfile``."""
    return _operator(OPERATOR_IMAGES, SOURCE_FOLDER)


def others() -> tuple[Image, Image]:
    """Return the images of collectors and operator with the sources of ``other``, see :func:`binds`."""
    return _collector((OTHER_COLLECTOR,), OTHER_FOLDER), _operator((OTHER_OPERATOR,), OTHER_FOLDER)


def _collector(names: tuple[str, ...], sources: Path) -> Image:
    labels = {"collectorfleet.dev/ray-version": importlib.metadata.version("ray")}
    env = _environment("/home/collector")
    return Image(names, _machine_layer(sources), env=env, user=str(COLLECTOR_USER), labels=labels)


def _operator(names: tuple[str, ...], sources: Path) -> Image:
    entrypoint = ("python", "-m", "collectorfleet_operator")
    env = _environment("/tmp")
    return Image(names, _machine_layer(sources), entrypoint=entrypoint, env=env, user=str(OPERATOR_USER))


def _environment(home: str) -> dict[str, str]:
    return {"PATH": f"{HOME}/bin:{VENV}/bin:{SYSTEM_PATH}", "HOME": home, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}


def _machine_layer(sources: Path) -> Layer:
    layer = Layer()
    for name in ("bin", "sbin", "lib", "lib64"):
        layer.link(f"/{name}", f"usr/{name}")
    for path in ("/tmp", "/var/tmp"):
        layer.folder(path, mode=0o1777)
    # The interpreter may be below /root, so other users must be able to enter /root.
    mounted = (*binds(), *(sources / name for name in SOURCES))
    for path in ("/root", "/proc", "/sys", "/dev", "/etc", *dict.fromkeys(map(str, mounted))):
        layer.folder(path)
    layer.link("/var/run", "/run")
    layer.folder("/run")
    layer.folder("/home/collector", owner=COLLECTOR_USER)
    layer.link(f"{HOME}/bin", f"{sources}/collector_image/bin")
    users = (("root", 0, "/root"), ("collector", COLLECTOR_USER, "/home/collector"), ("nonroot", OPERATOR_USER, "/tmp"))
    layer.file("/etc/passwd", "".join(f"{n}:x:{i}:{i}::{home}:/bin/bash\n" for n, i, home in users).encode())
    layer.file("/etc/group", "".join(f"{n}:x:{i}:\n" for n, i, _ in users).encode())
    layer.file("/etc/nsswitch.conf", b"hosts: files dns\n")
    _add_venv(layer, sources)
    return layer


def _add_venv(layer: Layer, sources: Path) -> None:
    python = Path(sys.executable).resolve()
    layer.file(f"{VENV}/pyvenv.cfg", f"home = {python.parent}\ninclude-system-site-packages = false\n".encode())
    for name in ("python", "python3"):
        layer.link(f"{VENV}/bin/{name}", str(python))
    for name, entry in SCRIPTS.items():
        module, function = entry.split(":")
        script = f"#!{VENV}/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        layer.file(f"{VENV}/bin/{name}", script.encode(), mode=0o755)
    packages = f"{VENV}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    paths = [str(sources / name) for name in SOURCES]
    paths += [] if _RAY == _SITE else [str(OTHER_RAY)]
    paths.append(f"import site; site.addsitedir('{PACKAGES}')")
    layer.file(f"{packages}/collectorfleet.pth", "\n".join(paths).encode() + b"\n")
