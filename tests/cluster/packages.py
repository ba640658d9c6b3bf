"""Install the system's tools that a cluster and image builds need, from Debian packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

# A program on PATH, or files of which one is enough -> the Debian package.
CLUSTER: Mapping[tuple[str, ...], str] = {
    ("containerd",): "containerd",
    ("runc",): "runc",
    ("/usr/lib/cni/ptp", "/opt/cni/bin/ptp"): "containernetworking-plugins",
    ("nft",): "nftables",
    ("ip",): "iproute2",
    ("conntrack",): "conntrack",
    ("ethtool",): "ethtool",
    ("socat",): "socat",
    ("/bin/busybox",): "busybox-static",
    ("unshare",): "util-linux",
}
IMAGE_BUILDS: Mapping[tuple[str, ...], str] = {("buildah",): "buildah", ("debootstrap",): "debootstrap"}


def missing(wanted: Mapping[tuple[str, ...], str]) -> list[str]:
    """Return the Debian packages of the tools that this machine lacks."""
    return [package for tools, package in wanted.items() if not any(_found(tool) for tool in tools)]


def install(wanted: Mapping[tuple[str, ...], str]) -> None:
    """Install the missing packages. Needs root and apt. CalledProcessError if apt cannot install a package."""
    packages = missing(wanted)
    if not packages:
        return
    print(f"installing {' '.join(packages)}", file=sys.stderr, flush=True)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", *command], check=True, env=env, stdout=sys.stderr)


def reason(wanted: Mapping[tuple[str, ...], str]) -> str | None:
    """Return why the tools cannot run here, in one line with the remedy; None if they can or can be installed."""
    if not sys.platform.startswith("linux"):
        return f"nodes are Linux namespaces and this is {sys.platform}; use a Linux machine"
    if os.geteuid() != 0:
        return "nodes need root; run as root (or set KUBECONFIG to a cluster of yours)"
    tried = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "true"], check=False, capture_output=True)
    if tried.returncode != 0:
        return "nodes are namespaces, and this container may not make any; run it privileged"
    packages = missing(wanted)
    if packages and not shutil.which("apt-get"):
        return f"these Debian packages are missing and there is no apt-get: {', '.join(packages)}; install their like"
    return None


def _found(tool: str) -> bool:
    return Path(tool).exists() if tool.startswith("/") else shutil.which(tool) is not None
