"""Writes the README.md of the operator's chart from its values' comments: ``python -m tests.delivery.chart_readme``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.cluster import binaries
from tests.delivery.helm import CHARTS

CHART: Final = CHARTS / "collectorfleet-operator"


def readme(chart: Path = CHART) -> str:
    """What helm-docs makes of a chart's README.md.gotmpl and values.yaml."""
    command = [binaries.build(binaries.HELM_DOCS) / "helm-docs", "--chart-search-root", chart, "--dry-run"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return text.strip() + "\n"


def main() -> None:
    if reason := binaries.missing([binaries.HELM_DOCS]):
        sys.exit(f"the chart's README.md is not written: {reason}")
    (CHART / "README.md").write_text(readme())


if __name__ == "__main__":
    main()
