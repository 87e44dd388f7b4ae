# SPDX-License-Identifier: BSD-3-Clause
"""Table 11 of the Mitsubishi paper: throughput of TC2, and why TCP collapses behind etf (N25).

Every TCP is begun at several instants of the cycle, as a connection has two states: one with frames
waiting for windows to come, and one with its few frames acknowledged within one window. Nothing is
fitted to the published figures.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from keepon_papers import published
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.spread import Spread
from keepon_papers.timed import threeclasses
from keepon_papers.timed.threeclasses import STALL_S, Case, Outcome, Settings

WIRE_MBPS = 1e3 * 1448 / 1538
COLLAPSED = 0.01
"""Of the window's share: below it a connection counts as collapsed."""
SAME_CORES = "normal, TCP, on the same cores"
MODES = {"enabled": "offload enabled", "disabled": "offload disabled", "normal": "normal"}
SWEPT: dict[str, tuple[int, ...]] = {
    "tc0_us": (1, 25, 50, 75, 100, 150, 160, 200),
    "delta_us": (50, 100, 150, 200, 300),
    "txtime_delay_us": (20, 40, 80, 160, 240),
    "stack_ns": (1_000, 5_000, 20_000, 40_000),
    "driver_us": (1, 3, 5, 8, 11, 16),
}
OF_CASES: dict[str, tuple[int, ...]] = {
    "cores": (0, 1, 2, 4),
    "further_us": (0, 20, 50, 100, 300, 1000),
}
TITLES = {
    "tc0_us": "TC0's frame in its window, us",
    "delta_us": "delta, us",
    "txtime_delay_us": "txtime-delay, us",
    "stack_ns": "stack, ns",
    "driver_us": "a frame from etf to the NIC, us",
    "cores": "cores of the host (0: one for everything)",
    "further_us": "further round trip, us",
}


@dataclass(frozen=True)
class Runs:
    """One way to set things, from every start."""

    case: Case
    outcomes: list[Outcome]

    @property
    def bps(self) -> list[float]:
        return sorted(run.payload_bps for run in self.outcomes)

    @property
    def median_bps(self) -> float:
        return statistics.median(self.bps)

    @property
    def collapsed(self) -> int:
        return sum(bps < COLLAPSED * threeclasses.share_bps(self.case) for bps in self.bps)

    @property
    def typical(self) -> Outcome:
        """The run nearest to the median."""
        return min(self.outcomes, key=lambda run: abs(run.payload_bps - self.median_bps))


def measure_all(wanted: dict[str, tuple[Case, Settings]], spread: Spread) -> dict[str, Runs]:
    """Every case from every start; UDP from one, as it has one state."""
    arguments, places = [], []
    for name, (case, settings) in wanted.items():
        cases = threeclasses.starts(case, settings) if case.load == "TCP" else [case]
        arguments += [(one, settings, settings.seed) for one in cases]
        places += [name] * len(cases)
    done = spread.in_order(threeclasses.measure, arguments)
    return {
        name: Runs(
            wanted[name][0], [run for run, own in zip(done, places, strict=True) if own == name]
        )
        for name in wanted
    }


def _name(mode: str, load: str, stalled: bool = False) -> str:
    return f"{mode}, {load}" + (", after a stall" if stalled else "")


def _wanted(settings: Settings) -> dict[str, tuple[Case, Settings]]:
    made = {}
    for mode in MODES:
        for load in threeclasses.PROTOCOLS:
            normal = mode == "normal"
            case = Case(load, mode == "enabled", "no qdiscs" if normal else "none",
                        cores=0 if normal else None)  # fmt: skip
            made[_name(mode, load)] = case, settings
            if load == "TCP" and mode != "normal":
                stalled = replace(case, stalls_s=(STALL_S,))
                made[_name(mode, load, True)] = stalled, settings
    made[SAME_CORES] = Case("TCP", remedy="no qdiscs"), settings
    return made


def part(settings: Settings, spread: Spread) -> Part:
    """The table, the four steps as counters, and what the collapse hangs on."""
    found = measure_all(_wanted(settings), spread)
    swept = _sweep(settings, spread)
    result = Part(
        "table11", "Table 11: throughput of TC2", "Mitsubishi paper section 5.4, Table 11"
    )
    result.compared = _compared(found, swept)
    result.checks = _checks(found, swept)
    result.tables = [_table(found), _steps(found), *(_swept_table(*one) for one in swept.items())]
    result.plots = [_plot(swept)]
    result.findings = _findings(found, swept)
    result.by_construction = [
        "that only one connection is there, so that all of TC2 is its own, and that nothing is lost"
        " beside what qdiscs drop"
    ]
    return result


def _sweep(settings: Settings, spread: Spread) -> dict[str, dict[int, Runs]]:
    """TCP with offload and no stall, one thing at a time."""
    short = settings.model_copy(update={"duration_s": min(settings.duration_s, 3.0)})
    case = Case("TCP")
    wanted: dict[str, tuple[Case, Settings]] = {}
    for key, values in SWEPT.items():
        for value in values:
            changed_settings = short.model_copy(update={key: value})
            if not threeclasses.delta_problem(changed_settings):
                wanted[f"{key} {value}"] = case, changed_settings
    for key, values in OF_CASES.items():
        for value in values:
            changed: dict[str, Any] = {key: value}
            wanted[f"{key} {value}"] = replace(case, **changed), short
    runs = measure_all(wanted, spread)
    return {
        key: {value: runs[name] for value in values if (name := f"{key} {value}") in runs}
        for key, values in {**SWEPT, **OF_CASES}.items()
    }


def _published(mode: str, load: str) -> float:
    rows = published.load("mitsubishi")["table11"]["rows"]
    found: float = next(
        row["throughput_mbps"]
        for row in rows
        if row["mode"].startswith(MODES[mode]) and row["protocol"] == load
    )
    return found


def _range(swept: dict[str, dict[int, Runs]]) -> str:
    """Of the medians, over all tables of what the collapse hangs on."""
    medians = [one.median_bps / 1e6 for runs in swept.values() for one in runs.values()]
    return f"{min(medians):.1f} to {max(medians):.1f} Mb/s"


def _compared(found: dict[str, Runs], swept: dict[str, dict[int, Runs]]) -> list[Comparison]:
    off = found[_name("disabled", "TCP")]
    of_share = 100 * off.median_bps / threeclasses.share_bps(off.case)
    why = {
        ("enabled", "UDP"): "all places of the window are used; see the part on the ceiling",
        ("disabled", "UDP"): "the same",
        ("normal", "UDP"): "one sender; published with 20 (-P 20), whose hosts are not described",
        ("enabled", "TCP"): (
            "etf's order of txtimes, by inputs that are chosen: over the tables by them it is"
            f" {_range(swept)}"
        ),
        ("disabled", "TCP"): (
            f"{_collapse(off)}: {of_share:.1f} % of its share; missing is what a frame costs the"
            " Atom, when TC0's is due, and the peer's delay of ACKs"
        ),
        ("normal", "TCP"): "993 Mb/s of payload is more than frames of 1518 bytes leave room for",
    }
    return [
        Comparison(
            f"{mode}, {load}: Mb/s",
            found[_name(mode, load)].median_bps / 1e6,
            _published(mode, load),
            "mitsubishi.table11",
            "chosen" if load == "TCP" and mode != "normal" else "calculated",
            remark,
        )
        for (mode, load), remark in why.items()
    ]


def _collapse(runs: Runs) -> str:
    share_bps = threeclasses.share_bps(runs.case)
    return "collapses" if runs.median_bps < COLLAPSED * share_bps else "does not come out"


def _table(found: dict[str, Runs]) -> Table:
    rows: list[list[Cell]] = []
    for name, runs in found.items():
        mode, load = name.split(", ")[:2]
        bps = runs.bps
        share = threeclasses.share_bps(runs.case) if mode != "normal" else None
        rows.append(
            [
                name, runs.median_bps / 1e6, bps[0] / 1e6, bps[-1] / 1e6, len(bps),
                None if share is None else runs.collapsed,
                None if share is None else 100 * runs.median_bps / share,
                _published(mode, load),
            ]
        )  # fmt: skip
    return Table(
        "Table 11: payload of TC2",
        "chosen",
        [
            Column("offload, load"), Column("median, Mb/s"), Column("least"), Column("most"),
            Column("starts", 0), Column("below 1 % of the share", 0),
            Column("median, % of the share", 2), Column("published, Mb/s"),
        ],
        rows,
        f"Over the time measured. The share is what {threeclasses.FRAMES_A_WINDOW} places in a"
        " window hold of payload. A stall is one of firmware, before anything is measured. What UDP"
        " and the rows without qdiscs have is calculated; TCP behind etf hangs on inputs that are"
        " chosen.",
    )  # fmt: skip


def _steps(found: dict[str, Runs]) -> Table:
    """N25: (1) to (4) as counters."""
    rows: list[list[Cell]] = []
    for name, runs in found.items():
        if runs.case.load != "TCP" or runs.case.remedy != "none":
            continue
        run = runs.typical
        rows.append(
            [
                name, run.counter("taprio_assisted"), run.counter("taprio_without_window"),
                run.waited_us, run.counter("etf_late"), run.counter("etf_wrong"),
                _counted(run, "refused"),
                _counted(run, "timeouts"), _counted(run, "probes"), _counted(run, "recoveries"),
            ]
        )  # fmt: skip
    return Table(
        "The four steps, in the run nearest to the median",
        "chosen",
        [
            Column("offload, load"), Column("(1) times set in TC2", 0), Column("no window", 0),
            Column("(2) waited for a core, us at most", 1), Column("(3) expired in etf", 0),
            Column("refused by etf's order", 0), Column("(4) TCP notified", 0),
            Column("RTOs", 0), Column("tail probes", 0), Column("recoveries", 0),
        ],
        rows,
        "Of the whole run. Notified: the drop is the return value of the send, TCP halves its"
        " window as for a mark of congestion and waits for an ACK, or 200 ms at least if none is"
        " due.",
    )  # fmt: skip


def _counted(run: Outcome, key: str) -> int:
    return int(run.tcp.get(key, 0))


def _swept_table(key: str, runs: dict[int, Runs]) -> Table:
    rows: list[list[Cell]] = [
        [value, one.bps[0] / 1e6, one.median_bps / 1e6, one.bps[-1] / 1e6, one.collapsed,
         len(one.bps), one.typical.drops]
        for value, one in runs.items()
    ]  # fmt: skip
    return Table(
        f"TCP with offload, by {TITLES[key]}",
        "chosen",
        [
            Column(TITLES[key], 0), Column("least, Mb/s"), Column("median"), Column("most"),
            Column("below 1 %", 0), Column("of starts", 0), Column("drops", 0),
        ],
        rows,
        "No stall; at most 3 s each.",
    )  # fmt: skip


def _plot(swept: dict[str, dict[int, Runs]]) -> Plot:
    panels = []
    for key, runs in swept.items():
        values = [float(value) for value in runs]
        quantile: dict[str, Callable[[Runs], float]] = {
            "median": lambda one: one.median_bps,
            "least": lambda one: one.bps[0],
        }
        curves = [
            Curve(name, values, [of(one) / 1e6 for one in runs.values()])
            for name, of in quantile.items()
        ]
        panels.append(Panel("", TITLES[key], "payload, Mb/s", curves, log_y=True))
    return Plot("dependence", "What the collapse hangs on", "chosen", panels)


def _checks(found: dict[str, Runs], swept: dict[str, dict[int, Runs]]) -> list[Check]:
    tcp, udp = found[_name("enabled", "TCP")], found[_name("enabled", "UDP")]
    normal, off = found[_name("normal", "TCP")], found[_name("disabled", "TCP")]
    share, run = threeclasses.share_bps(tcp.case), tcp.typical
    steps = {
        "times set": run.counter("taprio_assisted"),
        "refused": run.counter("etf_wrong"),
        "notified": _counted(run, "refused"),
    }
    return [
        Check(
            "offloaded etf, TCP: below 1 % of the window's share (N25)",
            tcp.median_bps < COLLAPSED * share,
            f"{tcp.median_bps / 1e6:.3f} of {share / 1e6:.1f} Mb/s; {tcp.collapsed} of"
            f" {len(tcp.bps)} starts",
        ),
        Check(
            "offload is the stricter one, as published: TCP has more without",
            off.median_bps > 2 * tcp.median_bps,
            f"{off.median_bps / 1e6:.2f} against {tcp.median_bps / 1e6:.2f} Mb/s",
        ),
        Check(
            "UDP beside it has the whole share",
            udp.median_bps > 0.99 * threeclasses.share_bps(udp.case),
            f"{udp.median_bps / 1e6:.1f} Mb/s",
        ),
        Check(
            "without qdiscs, and with a core for everything, the same TCP fills the wire to 90 %",
            normal.median_bps > 0.9 * 1e6 * WIRE_MBPS,
            f"{normal.median_bps / 1e6:.1f} Mb/s",
        ),
        Check(
            "times are set, etf refuses frames by its order, and TCP is notified of every drop:"
            " steps (1) and (4)",
            all(value > 0 for value in steps.values()) and steps["notified"] == run.drops,
            ", ".join(f"{key} {value}" for key, value in steps.items()),
        ),
        Check(
            "where TC0's frame is due 160 us or more into its window, no start collapses: etf hands"
            " it on when txtime-delay leads into the next window already",
            all(one.collapsed == 0 for value, one in swept["tc0_us"].items() if value >= 160),
            _collapses(swept["tc0_us"], "us"),
        ),
        Check(
            "a host that is faster than the wire collapses from few starts only",
            swept["driver_us"][1].collapsed < len(tcp.bps) / 2,
            _collapses(swept["driver_us"], "us"),
        ),
    ]


def _collapses(runs: dict[int, Runs], unit: str) -> str:
    return "; ".join(f"{value} {unit}: {one.collapsed}" for value, one in runs.items())


def _findings(found: dict[str, Runs], swept: dict[str, dict[int, Runs]]) -> list[str]:
    tcp, off = found[_name("enabled", "TCP")], found[_name("disabled", "TCP")]
    run = tcp.typical
    same = found[SAME_CORES]
    return [
        "What drops the frames is etf's order. All classes share NIC queue 0 and so one etf"
        " (mitsubishi.table5). It hands TC0's frame on delta, 200 us, before its time, while TC2's"
        " window is open; from then on it refuses what is to be sent before that frame (sch_etf:"
        " earlier than the last that was dequeued). taprio goes on to give times in the open"
        " window until txtime-delay leads out of it. So there is a gap in every cycle, from"
        " TC0's time less delta to the window's end less txtime-delay.",
        "What makes it a collapse is that the drop is the return value of the send: to TCP the"
        " segment was not sent. It lowers its window, and if nothing is under way it waits for a"
        " timer, 200 ms at least, half a second if that segment is refused again.",
        "A connection has two states. With frames enough waiting for windows to come nothing is"
        " ever sent into the gap, and it has the whole share. With few, acknowledged within the"
        " window, it meets the gap in every cycle. Which one it comes to hangs on how long the host"
        " takes for a frame (the table by the driver's part): one that takes nearly as long as the"
        " wire collapses whenever it begins, a faster one only from starts in the gap. A stall of"
        " firmware does not bring down a connection that has the share: what expires is sent"
        " again.",
        "Steps (2) and (3) as the paper has them, that the kernel is late and etf drops what has"
        f" expired: in the run nearest to the median {run.counter('etf_late')} frames had expired,"
        f" and {run.counter('etf_wrong')} were refused by etf's order, in time. No counter of etf"
        " tells the two apart. Frames expire where one costs the CPU more than its place lasts"
        " (mitsubishi.table8 sweeps that).",
        "How far TCP's figures are results: what a frame costs stack and driver, and when TC0's is"
        f" due, is chosen. With offload the median is {_range(swept)} over the tables by them;"
        f" without it is {off.median_bps / 1e6:.1f} Mb/s, and published are"
        f" {_published('disabled', 'TCP'):.2f}.",
        "Inputs that are missing: what a frame costs the Atom - the paper's TCP fills the wire"
        f" without qdiscs, the model's host on its four cores comes to {same.median_bps / 1e6:.0f}"
        " Mb/s; when in its window TC0's frame is due; the peer's delay of ACKs, none here beside"
        " the wire's. Not modelled: segmentation by the NIC (a segment longer than the window has"
        " no place, and would be dropped whole), attempts of the application when there is room"
        " again,"
        " byte queue limits.",
        "993 Mb/s of TCP without qdiscs cannot be payload of one wire of 1 Gb/s: frames of 1518"
        f" bytes carry {WIRE_MBPS:.1f}.",
    ]
