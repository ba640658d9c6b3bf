"""Images of a few kilobytes whose contents are the machine's own: /usr, this Python environment, and the sources.

A node binds these folders read-only into every container (``binds``), and a thin image is the little that remains:
links, users, a home, and a virtual environment of its own. So a changed source file is in the next pod without a build,
and pods look like anyone's: an image name and nothing else. A pod that has to see its image and nothing else names the
RuntimeClass ``image``.

The virtual environment is at the same place in each thin image. It finds the project's sources first and then what is
installed here, by a ``.pth`` file and not by PYTHONPATH, which belongs to the fleet's pods.
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
COLLECTOR_USER, OPERATOR_USER = 1000, 65532
KUBERAY_IMAGE = "quay.io/kuberay/operator:v1.6.2"
SCRIPTS = {"collectorfleet": "collectorfleet.cli.main:main", "ray": "ray.scripts.scripts:main"}
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
# The names that the project's manifests use, and one that nobody takes for a published image.
COLLECTOR_IMAGES = (f"ghcr.io/collectorfleet/collectorfleet:{VERSION}", "test.local/collectorfleet:dev")
OPERATOR_IMAGES = (f"ghcr.io/collectorfleet/operator:{VERSION}", "test.local/collectorfleet-operator:dev")


def binds() -> dict[Path, Path]:
    """Folders of this machine that containers see read-only: path in the container -> path here."""
    # An interpreter may have its own path built in, so it keeps it.
    python = Path(sys.base_prefix).resolve()
    same = [Path("/usr")] if python.is_relative_to("/usr") else [Path("/usr"), python]
    packages = {PACKAGES: Path(sysconfig.get_path("purelib")).resolve()}
    return {path: path for path in same} | packages | {SOURCE_FOLDER / name: ROOT / name for name in SOURCES}


def pause() -> Image:
    """What holds a pod's namespaces: a static sleep, so that it needs nothing of the machine."""
    layer = Layer()
    layer.file("/busybox", Path("/bin/busybox").read_bytes(), mode=0o755)
    return Image((PAUSE_IMAGE,), layer, entrypoint=("/busybox", "sleep", "2147483647"))


def kuberay() -> Image:
    """KubeRay's operator under the name and path that its own manifests use."""
    layer = Layer()
    layer.file("/manager", (build(KUBERAY) / "ray-operator").read_bytes(), mode=0o755)
    layer.folder("/tmp", mode=0o1777)
    return Image((KUBERAY_IMAGE,), layer, entrypoint=("/manager",), user="65532:65532")


def collector() -> Image:
    """What ``collector_image/Dockerfile`` builds: Ray, torch and the runtime."""
    labels = {"collectorfleet.dev/ray-version": importlib.metadata.version("ray")}
    return Image(
        COLLECTOR_IMAGES, _machine_layer(), env=_environment("/home/collector"), user=str(COLLECTOR_USER), labels=labels
    )


def operator() -> Image:
    """What ``operator/Dockerfile`` builds."""
    entrypoint = ("python", "-m", "collectorfleet_operator")
    return Image(
        OPERATOR_IMAGES, _machine_layer(), entrypoint=entrypoint, env=_environment("/tmp"), user=str(OPERATOR_USER)
    )


def _environment(home: str) -> dict[str, str]:
    return {"PATH": f"{HOME}/bin:{VENV}/bin:{SYSTEM_PATH}", "HOME": home, "LANG": "C.UTF-8", "PYTHONUNBUFFERED": "1"}


def _machine_layer() -> Layer:
    layer = Layer()
    for name in ("bin", "sbin", "lib", "lib64"):
        layer.link(f"/{name}", f"usr/{name}")
    for path in ("/tmp", "/var/tmp"):
        layer.folder(path, mode=0o1777)
    # The interpreter may lie below /root, which has to let other users through.
    for path in ("/root", "/proc", "/sys", "/dev", "/etc", *map(str, binds())):
        layer.folder(path)
    layer.link("/var/run", "/run")
    layer.folder("/run")
    layer.folder("/home/collector", owner=COLLECTOR_USER)
    layer.link(f"{HOME}/bin", f"{SOURCE_FOLDER}/collector_image/bin")
    users = (("root", 0, "/root"), ("collector", COLLECTOR_USER, "/home/collector"), ("nonroot", OPERATOR_USER, "/tmp"))
    layer.file("/etc/passwd", "".join(f"{n}:x:{i}:{i}::{home}:/bin/bash\n" for n, i, home in users).encode())
    layer.file("/etc/group", "".join(f"{n}:x:{i}:\n" for n, i, _ in users).encode())
    layer.file("/etc/nsswitch.conf", b"hosts: files dns\n")
    _add_venv(layer)
    return layer


def _add_venv(layer: Layer) -> None:
    python = Path(sys.executable).resolve()
    layer.file(f"{VENV}/pyvenv.cfg", f"home = {python.parent}\ninclude-system-site-packages = false\n".encode())
    for name in ("python", "python3"):
        layer.link(f"{VENV}/bin/{name}", str(python))
    for name, entry in SCRIPTS.items():
        module, function = entry.split(":")
        script = f"#!{VENV}/bin/python\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n"
        layer.file(f"{VENV}/bin/{name}", script.encode(), mode=0o755)
    packages = f"{VENV}/lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    paths = [str(SOURCE_FOLDER / name) for name in SOURCES]
    paths.append(f"import site; site.addsitedir('{PACKAGES}')")
    layer.file(f"{packages}/collectorfleet.pth", "\n".join(paths).encode() + b"\n")
