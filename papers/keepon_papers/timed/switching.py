# SPDX-License-Identifier: BSD-3-Clause
"""Figure 3 of "The TSN Building Blocks in Linux": jitter behind a PC that forwards by Linux's
bridge, by XDP and by AF_XDP, idle and under load (L25, L26).

The figure's values are only drawn; what is stated is an order. Interrupts and costs of a frame are
the simulator's (keepon/targets/sim/software.py), and nothing is fitted to the figure.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from keepon.measure.results import NONE
from keepon.model import loading
from keepon.model.fields import Number, Whole
from keepon.model.hosts import RX_SHAPES
from keepon.model.networktables import Software
from keepon.model.scenario import StageOverride
from keepon_papers import inputs, published
from keepon_papers.document import Cell, Check, Column, Comparison, Part, Table
from keepon_papers.planned import planned_run
from keepon_papers.settings import Origins
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

WAYS = ("bridge", "xdp", "af-xdp")
DRAIN_NS = 100_000
"""Within which l2fwd, DPDK's example, sends what is no full burst (BURST_TX_DRAIN_US)."""
TEXT = """
schema = "keepon.scenario/1"
name = "switching"
duration_s = 1.0
warmup_s = 0.1
station = [{ name = "talker", driver = "foreign" }, { name = "listener", driver = "launchtime" }]
bridge = [{ name = "pc" }]
link = [{ ends = ["talker", "pc"] }, { ends = ["pc", "listener"] }]
[[stream]]
id = "frames"
talker = "talker"
listeners = ["listener"]
frame_bytes = 128
period_ns = 1_000_000
"""


class Settings(BaseModel):
    """Settings; units are the last part of each name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    packets: Annotated[int, Whole(100, 10_000_000)] = 10_000
    period_us: Annotated[int, Whole(100, 100_000)] = 500
    talker_ns: Annotated[int, Whole(0, 1_000)] = 11
    interrupts_hz: Annotated[float, Number(1, 100_000)] = 10_000.0
    interrupt_ns: Annotated[int, Whole(0, 100_000)] = 5_000
    hogs: Annotated[int, Whole(0, 64)] = 1
    seed: Annotated[int, Whole(0, 2**31)] = 1


ORIGINS = Origins(
    calibrated={"period_us": "fejes.fig3", "talker_ns": "fejes.fig2"},
    chosen={
        "packets": "as many as in fejes.fig1; not stated",
        **dict.fromkeys(("interrupts_hz", "interrupt_ns", "hogs"), "load of stress-ng; not stated"),
        "seed": "of everything random",
    },
)

Off = tuple[float, int, float, int]
"""Periods at the receiver less the talker's, in ns: standard deviation, greatest and median, either
way; and how many frames did not come.
"""


def measure(way: str, software: dict[str, Any], settings: Settings) -> Off:
    """One run."""
    base, period_ns = loading.parse(TEXT, "switching"), settings.period_us * 1000
    (talker, listener), (pc,), (stream,) = base.station, base.bridge, base.stream
    own = {"forwarding": way, "software": Software(**software) if way in WAYS else None}
    update = {
        "duration_s": settings.packets * period_ns / 1e9,
        "station": [talker.model_copy(update={"jitter_ns": settings.talker_ns}), listener],
        "bridge": [pc.model_copy(update=own)],
        "stream": [stream.model_copy(update={"period_ns": period_ns})],
    }
    found = planned_run(base.model_copy(update=update), seed=settings.seed)
    inputs.note_nodes(found.build.used_sources())
    stamps = found.run.frames["frames"].stamp_ns[0]
    came = stamps != NONE
    apart_ns = np.diff(stamps[came]) - period_ns
    off_ns = np.abs(apart_ns)
    return float(np.std(apart_ns)), int(off_ns.max()), float(np.median(off_ns)), int((~came).sum())


def _changes(settings: Settings) -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    """What is chosen, each alone: the ways it matters to, and keys of `[bridge.software]`."""
    polls = WAYS[2:]
    shapes = {
        f"wait: sigma {sigma:g}": StageOverride(median_ns=median_ns, sigma=sigma, limit_ns=limit_ns)
        for sigma, (median_ns, limit_ns) in RX_SHAPES.items()
    }
    return {
        "as chosen": ((), {}),
        **{what: (WAYS, {"wait": stage}) for what, stage in shapes.items()},
        "frame: sigma 0": (WAYS, {"frame": StageOverride(sigma=0.0)}),
        "frame: sigma 1": (WAYS, {"frame": StageOverride(sigma=1.0)}),
        "bridge: frame 3 us": (WAYS[:1], {"frame": StageOverride(median_ns=3_000)}),
        "af-xdp: sees frames at once": (polls, {"poll_ns": 0}),
        "af-xdp: within 100 us, as l2fwd sends": (polls, {"poll_ns": DRAIN_NS}),
        "af-xdp: polls the NIC, no interrupt": (polls, {"wait": StageOverride(median_ns=0)}),
        "af-xdp: priority normal": (polls, {"priority": "normal"}),
        "no other interrupts": (WAYS, {"interrupts_hz": 0.0}),
        "five times as many": (WAYS, {"interrupts_hz": 5 * settings.interrupts_hz}),
        "two cores": (WAYS, {"cores": 2}),
    }


def fig3(settings: Settings, spread: Spread) -> Part:
    """Three ways and hardware, idle and under load; then with each chosen number changed."""
    load = {key: getattr(settings, key) for key in ("interrupts_hz", "interrupt_ns", "hogs")}
    changes = _changes(settings)
    cases: dict[tuple[str, str], dict[str, Any]] = {("", "hardware"): {}}
    cases |= {("idle", way): {} for way in WAYS} | {("under load", way): load for way in WAYS}
    cases |= {
        (what, way): {**load, **(keys if way in ways else {})}
        for what, (ways, keys) in changes.items()
        for way in WAYS
    }
    wanted = [(way, keys, settings) for (_, way), keys in cases.items()]
    found = dict(zip(cases, spread.in_order(measure, wanted), strict=True))
    orders: list[list[Cell]] = []
    for what in changes:
        ns = {way: found[what, way][0] for way in WAYS}
        orders.append([what, *ns.values(), " < ".join(sorted(WAYS, key=lambda way: ns[way]))])
    known, loaded = published.load("fejes")["fig3"], {w: found["under load", w] for w in WAYS}
    least, *_, most = sorted(off[0] for off in loaded.values())
    ours = {
        "least_jitter": min(WAYS, key=lambda way: loaded[way][0]),
        "greatest_ns": ", ".join(f"{way} {off[1]}" for way, off in loaded.items()),
        "median_ns": ", ".join(f"{way} {off[2]:.0f}" for way, off in loaded.items()),
        "difference": f"{most / least - 1:.1%}",
    }
    result = Part("fig3", "Figure 3: jitter behind software", "section on software switching")
    result.compared = [
        Comparison(key, value, known[key], known["id"], "chosen", "the second table has on what")
        for key, value in ours.items()
    ]
    result.tables = [
        Table(
            "Periods at the receiver, off the talker's, ns",
            "chosen",
            [Column("forwarding"), Column("standard deviation", 1), Column("greatest", 0),
             Column("median", 1)],
            [[f"{way} {state}", *off[:3]] for (state, way), off in found.items()
             if state in ("", "idle", "under load")],
            "The three have the same draws for what all wait for.",
        ),
        Table(
            "Standard deviation under load, ns, with one number changed",
            "chosen",
            [Column("changed"), *(Column(way, 1) for way in WAYS), Column("order")],
            orders,
        ),
    ]  # fmt: skip
    missing, still = sum(off[3] for off in found.values()), found["", "hardware"][0]
    result.checks = [
        Check("frames arrive, none missing", missing == 0, f"{missing} missing"),
        Check(
            "with the numbers chosen: jitter is a hundred times that behind hardware (L26)",
            least > 100 * max(still, 1.0),
            f"{least:.0f} ns at least, {still:.1f} ns by hardware",
        ),
        Check(
            "with the numbers chosen: the three differ by less than a tenth (L25)",
            most < 1.1 * least,
            f"{least:.0f} to {most:.0f} ns",
        ),
    ]
    result.by_construction = [
        "that processes which always run change nothing: softirqs and real-time threads go before"
        " them; what they do to caches and sleeping cores is left out"
    ]
    return result


FIG3 = Study("Figure 3: jitter behind software switching", Settings, ORIGINS, parts(fig3))
