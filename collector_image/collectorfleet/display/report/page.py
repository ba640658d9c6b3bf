"""Write the page: a head with the state of the run, plots of its numbers, its collectors, and its events. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from collectorfleet.display.report import ticks
from collectorfleet.display.report.evaluations import best_of, evaluations, spread
from collectorfleet.display.report.lives import lives
from collectorfleet.display.report.plot import Frame, Line, plot
from collectorfleet.display.report.style import STYLE
from collectorfleet.display.report.videos import videos
from collectorfleet.timeline.recorder import REPORTED
from collectorfleet.timeline.timeline import Timeline
from collectorfleet.timeline.videos import VideoFile


def page(run: Timeline, state: str = "", shown: Sequence[VideoFile] = ()) -> str:
    """Return one HTML document, which loads no other file.

    ``state`` is the current state of the run in one sentence. If ``state`` is empty, the page shows how the run ended
    according to the timeline. ``shown`` are videos of episodes.
    """
    drawn = "\n".join(filter(None, [*_plots(run), videos(shown)]))
    body = f"{_head(run, state)}\n{drawn}\n{_happened(run)}\n{_reported(run)}"
    return document(f"{run.fleet}: report", body)


def document(title: str, body: str, style: str = "") -> str:
    """Return a whole HTML document. ``style`` is CSS that follows the common style."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        # Causes and names may contain hostile text. With this policy, the browser loads and runs nothing that such text
        # contains.
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head>\n<body><main>{body}</main></body></html>\n"
    )


def _head(run: Timeline, state: str) -> str:
    began = datetime.fromtimestamp(run.began, UTC).strftime("%Y-%m-%d %H:%M UTC")
    word = state or run.ended or "its end is not known here"
    facts = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in _facts(run))
    return f"<header><h1>{escape(run.fleet)}</h1><p>{escape(word)}</p><p>began {began}</p><dl>{facts}</dl></header>"


def _facts(run: Timeline) -> Iterator[tuple[str, str]]:
    seconds = run.times[-1] - run.began if run.times else 0.0
    frames = _last(run, "frames") or 0.0
    total = f" of {run.total_frames:,}" if run.total_frames is not None else ""
    yield "frames", f"{frames:,.0f}{total}"
    yield "time", ticks.duration(seconds)
    if frames and seconds:
        yield "frames/s, whole run", ticks.number(frames / seconds)
    if (returned := _last(run, "return")) is not None:
        yield "mean return, last 100 episodes", ticks.number(returned)
    if run.evaluations:
        newest, best = run.evaluations[-1], best_of(run.evaluations)
        yield f"newest evaluation, version {newest.version}", spread(newest)
        yield f"best evaluation, version {best.version}", spread(best)
    if (version := _last(run, "published")) is not None:
        yield "weights version", f"{version:.0f}"
    if (stale := _last(run, "staleness")) is not None:
        yield "mean staleness, last 100 batches", ticks.number(stale)
    yield "happened", str(len(run.happened) + run.left_out)


def _plots(run: Timeline) -> Iterator[str]:
    frame = _frame(run)

    def line(name: str, color: str, label: str = "", *, steps: bool = False, dashed: bool = False) -> Line:
        return Line(label or name, _series(run, name), color, steps, dashed)

    yield plot(
        "Return of the last 100 episodes: mean, and least to greatest",
        frame,
        [line("return", "c1", "mean")],
        band=(_series(run, "return min"), _series(run, "return max")),
    )
    yield evaluations(run.evaluations)
    yield plot("Frames per second, over the last 30 s", frame, [line("frames per second", "c1", "frames/s")])
    yield plot(
        "Share of the time spent waiting",
        frame,
        [line("driver idle", "c1", "driver"), line("collectors idle", "c2", "collectors")],
    )
    yield plot(
        "Staleness of the last 100 batches, in versions",
        frame,
        [
            line("staleness", "c1", "mean"),
            line("staleness max", "c2", "greatest", steps=True),
            line("staleness bound", "c3", "bound", steps=True, dashed=True),
        ],
        whole=True,
    )
    yield plot(
        "Versions of the weights",
        frame,
        [line("published", "c1", steps=True), line("acknowledged", "c2", steps=True)],
        whole=True,
    )
    yield plot(
        "Collectors by number",
        frame,
        [line("available", "c1", steps=True), line("desired", "c3", steps=True, dashed=True)],
        whole=True,
    )
    yield lives(frame, run.began, run.lives)


def _reported(run: Timeline) -> str:
    frame = _frame(run)
    names = sorted(name for name in run.series if name.startswith(REPORTED))
    plots = [plot(one.removeprefix(REPORTED), frame, [Line("newest", _series(run, one), "c1")]) for one in names]
    return f"<section><h2>What the training reported</h2>{''.join(plots)}</section>" if any(plots) else ""


def _frame(run: Timeline) -> Frame:
    return Frame([time - run.began for time in run.times], [one.time - run.began for one in run.happened])


def _happened(run: Timeline) -> str:
    if not run.happened:
        return "<section><h2>What happened</h2><p>Nothing was lost, and nothing was restarted.</p></section>"
    rows = "".join(
        f"<tr><td>{ticks.duration(one.time - run.began)}</td><td>{escape(one.collector or 'driver')}</td>"
        f"<td>{escape(one.what)}</td></tr>"
        for one in run.happened
    )
    more = f"<p>{run.left_out} before these are not kept.</p>" if run.left_out else ""
    head = "<tr><th>after</th><th>who</th><th>what</th></tr>"
    return f"<section><h2>What happened</h2>{more}<table><thead>{head}</thead><tbody>{rows}</tbody></table></section>"


def _series(run: Timeline, name: str) -> Sequence[float | None]:
    return run.series.get(name, [None] * len(run.times))


def _last(run: Timeline, name: str) -> float | None:
    return next((value for value in reversed(_series(run, name)) if value is not None), None)
