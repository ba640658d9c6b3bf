"""The image's `ray health-check`, which KubeRay's init container asks before a worker starts."""

import os
import socket
import subprocess
from pathlib import Path

RAY = Path(__file__).parents[3] / "collector_image" / "bin" / "ray"


def test_health_check_waits_until_the_head_accepts_connections() -> None:
    with socket.socket() as head:
        head.bind(("127.0.0.1", 0))
        port = head.getsockname()[1]
        asked = subprocess.Popen([RAY, "health-check", "--address", f"127.0.0.1:{port}"])
        try:
            assert asked.poll() is None
            head.listen()
            assert asked.wait(timeout=60) == 0
        finally:
            asked.kill()
            asked.wait()


def test_every_other_command_is_the_real_ray(tmp_path: Path) -> None:
    real = tmp_path / "ray"
    real.write_text('#!/bin/sh\necho real "$@"\n')
    real.chmod(0o755)
    path = f"{RAY.parent}:{tmp_path}:{os.environ['PATH']}"
    for arguments in (["start", "--head"], ["health-check", "--component", "gcs"], []):
        out = subprocess.run([RAY, *arguments], env={"PATH": path}, capture_output=True, text=True, check=True).stdout
        assert out.split() == ["real", *arguments]
