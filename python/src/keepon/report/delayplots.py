# SPDX-License-Identifier: BSD-3-Clause
"""Plots of delays and clocks: by size, over time, and frame by frame as the paper's Figure 26."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keepon.model.result import Result, StreamResult
from keepon.report import panels
from keepon.report.panels import STYLES, Axis, Curve, Panel, around

_US = 0.001
_LIMITS = {"delay_ns": "bound", "deadline_ns": "deadline", "delay_min_ns": "earliest"}
_LIMIT_WORDS = (*_LIMITS.values(),)
"""In the order of style.css's dashes."""


@dataclass(frozen=True)
class Words:
    """Of a panel: its key, what it shows for those who do not see it, what is left out."""

    key: str
    description: str
    note: str


@dataclass(frozen=True)
class Named:
    """A stream's result, and what it is called in a legend: a driver, or a folder and a driver."""

    name: str
    stream: StreamResult


def _limits_ns(runs: Iterable[Named]) -> dict[str, float]:
    """What bounds the delay in all of these runs, by its word."""
    found: dict[str, set[float]] = {}
    for run in runs:
        for key, word in _LIMITS.items():
            if key in run.stream["bound_check"]:
                found.setdefault(word, set()).add(run.stream["bound_check"][key]["bound_ns"])
    return {word: values.pop() for word, values in found.items() if len(values) == 1}


_FAR = 3
"""A limit that is so many times the greatest delay is left out of a plot, which would be flat."""


def _near(values: list[float], limits_ns: Mapping[str, float]) -> dict[str, float]:
    """The limits close enough to the values that both can be seen in one plot."""
    largest = max([*values, limits_ns.get("bound", 0.0)])
    return {word: limit for word, limit in limits_ns.items() if limit <= _FAR * largest}


def _us(value_ns: float | None) -> str:
    return "-" if value_ns is None else f"{value_ns * _US:.3f}"


def _description(runs: list[Named], limits_ns: Mapping[str, float]) -> str:
    parts = [
        f"{run.name}: {_us(run.stream['delay_ns']['min'])} to"
        f" {_us(run.stream['delay_ns']['max'])} µs, {run.stream['missing']} missing"
        for run in runs
    ]
    parts += [f"{word} {_us(limit)} µs" for word, limit in limits_ns.items()]
    return "; ".join(parts)


def of_stream(stream: str, runs: list[Named], key: str) -> list[Panel]:
    """Distribution and course of one stream's delay, a curve for each run; none where nothing is
    known.

    Args:
        stream: its id.
        runs: of which those count that say more than statistics.
        key: of the panels, unique on the page.
    """
    known = [
        run
        for run in runs
        if run.stream.get("delay_distribution", {"delay_ns": []})["delay_ns"]
        and "delay_series" in run.stream
    ]
    if not known:
        return []
    limits_ns = _limits_ns(runs)
    delays = [value for run in known for value in run.stream["delay_distribution"]["delay_ns"]]
    shown_ns = _near(delays, limits_ns)
    values = delays + list(shown_ns.values())
    far = [word for word in limits_ns if word not in shown_ns]
    note = "".join(
        f"{word} {_us(limits_ns[word])} µs, beyond the plot. ".capitalize() for word in far
    )
    styles = {run.name: number % STYLES for number, run in enumerate(runs)}
    description = _description(runs, limits_ns)
    return [
        _distribution(
            stream, known, values, shown_ns, styles, Words(f"{key}-size", description, note)
        ),
        _course(stream, known, values, shown_ns, styles, Words(f"{key}-time", description, note)),
    ]


def _distribution(
    stream: str,
    runs: list[Named],
    values: list[float],
    limits_ns: Mapping[str, float],
    styles: Mapping[str, int],
    words: Words,
) -> Panel:
    x = around("delay, µs", values, _US)
    y = Axis("share of frames due, %", -0.03, 1.03, scale=100)
    title = f"{stream}: how many frames came within a delay"
    panel = Panel(words.key, title, x, y, description=words.description, note=words.note)
    for run in runs:
        found = run.stream["delay_distribution"]
        path = panels.steps(x, y, found["delay_ns"], found["share"])
        panel.curves.append(Curve(run.name, path, "steps", styles[run.name]))
    for word, limit_ns in limits_ns.items():
        path = panels.upright(x, y, limit_ns)
        panel.curves.append(Curve(word, path, "limit", _LIMIT_WORDS.index(word)))
    return panel


def _course(
    stream: str,
    runs: list[Named],
    values: list[float],
    limits_ns: Mapping[str, float],
    styles: Mapping[str, int],
    words: Words,
) -> Panel:
    series = {run.name: run.stream["delay_series"] for run in runs}
    x = around("time, s", (at for one in series.values() for at in one["time_s"]), log=False)
    y = around("delay, µs", values, _US)
    frames = max(run.stream["due"] for run in runs)
    shown = max(len(one["seq"]) for one in series.values())
    note = words.note
    if frames > shown:
        note += f"{frames} frames in {shown} bars, each from least to greatest of its frames."
    panel = Panel(
        words.key, f"{stream}: delay over time", x, y, description=words.description, note=note
    )
    for name, one in series.items():
        path = panels.bars(x, y, one["time_s"], one["min_ns"], one["max_ns"])
        panel.curves.append(Curve(name, path, "bars", styles[name]))
        lost = [at for at, count in zip(one["time_s"], one["missing"], strict=True) if count]
        if lost:
            feet = panels.at_foot(x, y, lost)
            panel.curves.append(Curve(f"{name}: missing", feet, "feet", styles[name]))
    for word, limit_ns in limits_ns.items():
        path = panels.across(x, y, limit_ns)
        panel.curves.append(Curve(word, path, "limit", _LIMIT_WORDS.index(word)))
    return panel


def chain_of(result: Result) -> list[str]:
    """Streams worth plotting together: those under test, or all if there are none, seven
    at most.
    """
    effective = result["effective"]
    tested = {
        station["name"] for station in effective["station"] if station["driver"] == "under-test"
    }
    chosen = [stream["id"] for stream in effective["stream"] if stream["talker"] in tested]
    return (chosen or [stream["id"] for stream in effective["stream"]])[:STYLES]


def _frame_by_frame(
    key: str, title: str, drivers: Mapping[str, Mapping[str, tuple[int, list[float | None]]]]
) -> list[Panel]:
    """A panel per driver, all with the same axis of delay.

    Args:
        drivers: by driver and stream, number of the first frame and delays in ns.
    """
    delays = [
        delay
        for streams in drivers.values()
        for _, series in streams.values()
        for delay in series
        if delay is not None
    ]
    if not delays:
        return []
    y = around("delay, µs", delays, _US)
    found = []
    for driver, streams in drivers.items():
        numbers = [
            first + place for first, series in streams.values() for place in (0, len(series) - 1)
        ]
        x = around("frame number", numbers, log=False)
        panel = Panel(f"{key}-{driver}", f"{driver}: {title}", x, y)
        for number, (stream, (first, series)) in enumerate(streams.items()):
            at = [float(first + place) for place in range(len(series))]
            path = panels.points(x, y, at, series)
            panel.curves.append(Curve(stream, path, "points", number % STYLES))
        known = [
            (stream, [delay for delay in series if delay is not None])
            for stream, (_, series) in streams.items()
        ]
        description = "; ".join(
            f"{stream}: {_us(min(some))} to {_us(max(some))} µs" for stream, some in known if some
        )
        found.append(Panel(panel.key, panel.title, x, y, panel.curves, description))
    return found


def first_frames(result: Result) -> list[Panel]:
    """The first frames of every driver, Figure 26's axes."""
    streams = chain_of(result)
    return _frame_by_frame(
        "first",
        "first frames",
        {
            run["driver"]: {name: (0, run["streams"][name]["first_delays_ns"]) for name in streams}
            for run in result["runs"]
        },
    )


def around_onset(result: Result) -> list[Panel]:
    """The frames around the first missed bound, of every run that has one."""
    streams = chain_of(result)
    return _frame_by_frame(
        "onset",
        "around the first frame missing or beyond its bound",
        {
            run["driver"]: {
                name: (
                    run["streams"][name].get("onset_first_seq") or 0,
                    run["streams"][name].get("onset_delays_ns", []),
                )
                for name in streams
            }
            for run in result["runs"]
            if run["onset"] is not None
        },
    )


def clocks(result: Result) -> list[Panel]:
    """Offsets of the clocks that PTP set, a panel for each run."""
    found = []
    for run in result["runs"]:
        nodes = [*run["stations"].items(), *run["bridges"].items()]
        series = {
            name: entry["clock"]["offset_series"]
            for name, entry in nodes
            if entry.get("clock", {}).get("offset_series", {"time_s": []})["time_s"]
            and not entry["clock"]["grandmaster"]
        }
        if not series:
            continue
        x = around(
            "time from the start, s",
            (t for one in series.values() for t in one["time_s"]),
            log=False,
        )
        # What comes before a clock is first set would make all that follows a line.
        settled = [
            value
            for one in series.values()
            for at, low, high in zip(one["time_s"], one["min_ns"], one["max_ns"], strict=True)
            if at >= run.get("window_ns", [0, 0])[0] / 1e9
            for value in (low, high)
        ]
        y = around("offset, µs", settled, _US, log=False)
        span = y.high - y.low
        y = Axis(y.label, y.low - span, y.high + span, scale=_US)
        title = f"{run['driver']}: clocks less network time"
        description = "; ".join(
            f"{name}: {_us(min(one['min_ns']))} to {_us(max(one['max_ns']))} µs"
            for name, one in series.items()
        )
        note = "Before it is set for the first time a clock may lie outside the plot."
        curves = [
            Curve(
                name,
                panels.bars(x, y, one["time_s"], one["min_ns"], one["max_ns"]),
                "bars",
                number % STYLES,
            )
            for number, (name, one) in enumerate(series.items())
        ]
        found.append(Panel(f"clocks-{run['driver']}", title, x, y, curves, description, note))
    return found
