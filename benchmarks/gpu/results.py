"""Samples of measurements as JSON lines, and Markdown tables of those lines."""

from __future__ import annotations

import contextlib
import json
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.common import tables

Line = dict[str, Any]
# A function that returns a number, or numbers or lists of samples by the names of their measurements.
Work = Callable[[], float | Mapping[str, float | Sequence[float]]]


class Results:
    """The samples of one part of the benchmark, by measurement and case.

    ``path`` is a file of JSON lines. Each round updates the file, so the lines of a killed process are kept.
    """

    def __init__(self, part: str, path: Path) -> None:
        self._part, self._path = part, path
        self._samples: dict[tuple[str, str, str], list[float]] = {}
        self._errors: dict[tuple[str, str], str] = {}

    def add(self, what: str, case: str, value: float, unit: str = "ms") -> None:
        self._samples.setdefault((what, case, unit), []).append(value)

    def fail(self, what: str, case: str, error: BaseException) -> None:
        """Keep the first line of the error. The table shows the line instead of a number."""
        text = str(error).strip() or "no message"
        self._errors[what, case] = f"{type(error).__name__}: {text.splitlines()[0][:150]}"

    @contextlib.contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Print how long the block took. Keep its error instead of raising it, so that later steps are measured."""
        began = time.monotonic()
        try:
            yield
        except Exception as error:  # noqa: BLE001  (a device or a process may raise any error)
            self.fail(what, "all", error)
        finally:
            print(f"{self._part}: {what}: {time.monotonic() - began:.0f} s", flush=True)
            self.save()

    def lines(self) -> list[Line]:
        """Return one line per measurement and case in the order of their first samples, then the errors."""
        found: list[Line] = []
        for (what, case, unit), values in self._samples.items():
            line = {"part": self._part, "what": what, "case": case, "unit": unit, "n": len(values)}
            found.append({**line, "median": statistics.median(values), "min": min(values), "max": max(values)})
        return found + [
            {"part": self._part, "what": what, "case": case, "error": error}
            for (what, case), error in self._errors.items()
        ]

    def save(self) -> None:
        """Replace the content of the file by the current lines."""
        self._path.write_text("".join(json.dumps(line) + "\n" for line in self.lines()))


def rounds(most: int, seconds: float) -> Iterator[int]:
    """Yield the number of each round: up to ``most``, and at least round 1. No later round begins after ``seconds``.

    Round 0 is the warm-up.
    """
    ends = time.monotonic() + seconds
    for number in range(most + 1):
        if number > 1 and time.monotonic() > ends:
            return
        yield number


def alternate(
    results: Results, works: Mapping[tuple[str, str], Work], *, most: int, seconds: float, unit: str = "ms"
) -> None:
    """Call each work once per round and add its samples. The order flips from round to round.

    The keys of ``works`` are the names of the measurement and the case. A work that raises is not called again.
    """
    working = dict(works)
    for number in rounds(most, seconds):
        order = list(working.items())
        for (what, case), work in order if number % 2 else reversed(order):
            try:
                found = work()
            except Exception as error:  # noqa: BLE001  (the other measurements continue)
                results.fail(what, case, error)
                del working[what, case]
                continue
            values = found if isinstance(found, Mapping) else {what: found}
            for name, value in values.items() if number else ():
                for sample in value if isinstance(value, Sequence) else (value,):
                    results.add(name, case, sample, unit)
        results.save()


def markdown(lines: Sequence[Line]) -> str:
    """Return one table per part, with a row per measurement and a column per case."""
    return "\n\n".join(_table([line for line in lines if line["part"] == part]) for part in _seen(lines, "part"))


def _table(lines: Sequence[Line]) -> str:
    cases = _seen(lines, "case")
    rows = []
    for what in _seen(lines, "what"):
        cells = {line["case"]: _cell(line) for line in lines if line["what"] == what}
        units = [line["unit"] for line in lines if line["what"] == what and "unit" in line]
        rows.append([what + (f", {units[0]}" if units else ""), *(cells.get(case, "-") for case in cases)])
    return tables.table([lines[0]["part"], *cases], rows)


def _cell(line: Line) -> str:
    if "error" in line:
        return str(line["error"])
    return tables.number(line["median"]) + (
        f" ({tables.number(line['min'])}-{tables.number(line['max'])}, n={line['n']})" if line["n"] > 1 else ""
    )


def _seen(lines: Sequence[Line], key: str) -> list[str]:
    return list(dict.fromkeys(line[key] for line in lines))
