"""Write docs/all-messages.md."""

from __future__ import annotations

from tests.messages.page import PAGE, page

if __name__ == "__main__":
    PAGE.write_text(page())
