"""Write the page of a comparison: groups, their returns at the same frames, curves, and how to read them. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from collectorfleet.display.comparison.chart import chart, letter, style
from collectorfleet.display.comparison.compared import Compared
from collectorfleet.display.comparison.groups import Group, changed
from collectorfleet.display.comparison.leaves import seeds
from collectorfleet.display.comparison.runs import Axis, Run, Source
from collectorfleet.display.comparison.statistics import CONFIDENCE, LEAST_FOR_IQM, RESAMPLES, Estimate
from collectorfleet.display.comparison.style import STYLE
from collectorfleet.display.report import ticks
from collectorfleet.display.report.page import document
from collectorfleet_api.counts import counted

_FEW = 5
_PER_CENT = f"{CONFIDENCE:.0%}".replace("%", " %")
_TITLES = {
    Source.EVALUATION: "Returns of evaluations",
    Source.TRAINING: "Returns while training, over the last 100 episodes",
}
_OVER = {Axis.FRAMES: "over frames", Axis.TIME: "over time"}


def page(compared: Compared) -> str:
    """Return one HTML document, which loads no other file."""
    groups = compared.groups
    runs = sum(group.count for group in groups)
    title = f"Comparison of {counted(runs, 'run')} in {counted(len(groups), 'group')}"
    said = "Runs of a group have the same configuration but for seeds. n is the number of runs."
    parts = [
        f"<header><h1>{title}</h1><p>{said}</p></header>{_groups(groups)}",
        *(_source(compared, source) for source in Source if compared.has(source)),
        _reading(compared),
        _runs(groups),
        _differences(groups),
    ]
    return document(title, "\n".join(filter(None, parts)), STYLE)


def _sample(place: int) -> str:
    """Return a short line in the style of the group at ``place``."""
    return (
        f'<svg class="sample" style="min-width:44px" viewBox="0 0 44 10" aria-hidden="true">'
        f'<polyline class="{style(place)}" points="0,5 44,5"/></svg>'
    )


def _groups(groups: Sequence[Group]) -> str:
    rows = "".join(
        f"<tr><td>{letter(place)}</td><td>{_sample(place)}</td><td class=name>{escape(group.name)}</td>"
        f"<td class=number>{group.count}</td><td>{_few(group.count)}</td></tr>"
        for place, group in enumerate(groups)
    )
    return _table("Groups", ("", "", "group", "n", ""), rows, numbers=("n",))


def _few(count: int) -> str:
    if count == 1:
        return "one run: no interval"
    return "few runs: the interval is a rough one" if count < _FEW else ""


def _source(compared: Compared, source: Source) -> str:
    charts = "".join(_charts(compared, source))
    return f"<section><h2>{_TITLES[source]}</h2>{_left_out(compared, source)}{_at(compared, source)}{charts}</section>"


def _left_out(compared: Compared, source: Source) -> str:
    """Return a paragraph with the groups that have no line over frames, and the reasons.

    Return an empty string if all groups have a line.
    """
    said = [f"{letter(place)}: {escape(why)}." for place, why in compared.left_out(source)]
    return f"<p>{' '.join(said)}</p>" if said else ""


def _at(compared: Compared, source: Source) -> str:
    """Return a table that compares the groups at the largest number of frames that all of them reached."""
    found = compared.at_end(source)
    if found is None:
        return "<p>No number of frames was reached by all groups, so no table compares them.</p>"
    frames, rows = found
    text = "".join(
        f'<tr><td>{letter(place)}</td><td class=name>{escape(group.name)}</td><td class="number">{group.count}</td>'
        f'<td class="number">{_value(mean)}</td><td class="number">{_value(iqm)}</td></tr>'
        for place, group, mean, iqm in rows
    )
    interval = f"with {_PER_CENT} interval"
    head = ("", "group", "n", f"mean {interval}", f"IQM {interval}")
    caption = f"At {frames:,.0f} frames, the most that all of these runs reached"
    return _table(caption, head, text, numbers=head[2:], heading="h3")


def _value(found: Estimate) -> str:
    text = ticks.number(found.values[0])
    if found.low is None or found.high is None:
        return text
    return f"{text} [{ticks.number(found.low[0])}, {ticks.number(found.high[0])}]"


def _charts(compared: Compared, source: Source) -> Iterator[str]:
    measured, name = compared.measured(source), source.value.capitalize()
    for axis in Axis:
        for statistic in ("mean", "interquartile mean"):
            lines = [one.line for one in measured if one.axis is axis and one.statistic == statistic]
            yield chart(f"{name}: {statistic} {_OVER[axis]}, with {_PER_CENT} intervals", axis, lines)


def _reading(compared: Compared) -> str:
    sources = [source.value for source in Source if compared.has(source)]
    without = compared.has(Source.EVALUATION) and compared.left_out(Source.EVALUATION)
    smallest = min(group.count for group in compared.groups)
    has_changed = any(len(changed(run)) > 1 for group in compared.groups for run in group.runs)
    items = [
        f"Results: {' and '.join(sources)}. " + ("Some runs have no evaluations." if without else ""),
        "The interquartile mean (IQM) is the mean without the lowest and the highest quarter of the runs."
        + (f" With fewer than {LEAST_FOR_IQM} runs it equals the mean." if smallest < LEAST_FOR_IQM else ""),
        f"Intervals are {_PER_CENT} percentile bootstrap intervals from {RESAMPLES:,} resamples of whole runs.",
        "They are the intervals of rliable with one task. They are about the mean of the runs, not about single runs.",
        f"With fewer than {_FEW} runs the intervals are usually too narrow. One run has none.",
        "Between two points of a run its curve is linear. Nothing is extrapolated.",
        "The curve of a group begins where all its runs have values. It ends where the first of its runs ends.",
        *(["A run that resumed with a changed configuration is a separate group."] if has_changed else []),
        "Time counts from the beginning of each run, with pauses.",
    ]
    listed = "".join(f"<li>{item}</li>" for item in items)
    return f"<section><h2>How to read this page</h2><ul>{listed}</ul></section>"


def _runs(groups: Sequence[Group]) -> str:
    rows = "".join(_run(place, run) for place, group in enumerate(groups) for run in group.runs)
    return _table("Runs", ("", "run", "seed", "frames", "time", "state"), rows, numbers=("frames", "time"))


def _run(place: int, run: Run) -> str:
    state = run.state or run.timeline.ended or "end not known here"
    if len(changed(run)) > 1:
        frames = " and ".join(f"{one.until_frames:,}" for one in run.timeline.earlier)
        state = f"configuration changed after about {frames} frames; {state}"
    return (
        f"<tr><td>{letter(place)}</td><td class=name>{escape(run.name)}</td><td>{escape(seeds(run.configuration))}</td>"
        f'<td class="number">{run.frames:,.0f}</td><td class="number">{ticks.duration(run.seconds)}</td>'
        f"<td>{escape(state)}</td></tr>"
    )


def _differences(groups: Sequence[Group]) -> str:
    paths = sorted({path for group in groups for path in group.differences})
    if not paths:
        return ""
    rows = "".join(
        f"<tr><td>{escape(path)}</td>"
        + "".join(f"<td>{escape(group.differences.get(path, 'unknown'))}</td>" for group in groups)
        + "</tr>"
        for path in paths
    )
    head = ("field of the spec", *(letter(place) for place, _ in enumerate(groups)))
    return _table("What differs between groups", head, rows)


def _table(title: str, head: Sequence[str], rows: str, numbers: Sequence[str] = (), heading: str = "h2") -> str:
    cells = "".join(f'<th scope="col"{" class=number" if name in numbers else ""}>{escape(name)}</th>' for name in head)
    return (
        f"<section><{heading}>{escape(title)}</{heading}><div class=scroll><table><thead><tr>{cells}</tr></thead>"
        f"<tbody>{rows}</tbody></table></div></section>"
    )
