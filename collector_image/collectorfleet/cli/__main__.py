"""``python -m collectorfleet.cli``"""

from __future__ import annotations

import sys

from collectorfleet.cli.main import main

sys.exit(main())
