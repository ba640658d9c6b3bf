"""Define the style that the page of a comparison adds to the style of a report.

Each color has a contrast of at least 3:1 with the paper. Dashes and letters distinguish groups without colors.
"""

from __future__ import annotations

from typing import Final

# Each color for white paper, and its variant for dark paper.
_COLORS: Final = (
    ("#0072b2", "#56b4e9"),
    ("#d55e00", "#ee8a3c"),
    ("#00815e", "#2bc295"),
    ("#a94f86", "#e39bc4"),
    ("#7a6400", "#e0c84a"),
    ("#4b5560", "#c4ccd4"),
)


def _variables(dark: bool) -> str:
    return ";".join(f"--g{place}:{colors[dark]}" for place, colors in enumerate(_COLORS))


def _groups() -> str:
    return "".join(
        f"polyline.g{n},.bar.g{n}{{stroke:var(--g{n})}}.area.g{n},.dot.g{n}{{fill:var(--g{n})}}\n"
        for n in range(len(_COLORS))
    )


STYLE: Final = f"""
:root{{{_variables(False)}}}
@media(prefers-color-scheme:dark){{:root{{{_variables(True)}}}}}
{_groups()}polyline.d1{{stroke-dasharray:7 4}}
.area{{fill-opacity:.13}}.bar{{stroke-width:5;stroke-opacity:.3}}
.letter{{fill:var(--ink);font-weight:600;font-variant-numeric:tabular-nums}}
.letter.on{{stroke:var(--paper);stroke-width:4px;stroke-linejoin:round;paint-order:stroke}}
h3{{font-size:14px;margin:16px 0 4px}}td.name{{min-width:130px}}
.sample{{display:inline-block;width:44px;min-width:44px;vertical-align:middle}}
.scroll{{overflow-x:auto}}
td:first-child,td:nth-child(2){{white-space:normal}}td.number,th.number{{text-align:right;white-space:nowrap;
font-variant-numeric:tabular-nums}}
"""
