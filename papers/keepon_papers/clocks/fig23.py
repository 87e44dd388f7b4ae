# SPDX-License-Identifier: BSD-3-Clause
"""Figure 23: packets between two stations with keepon, by stamps of the listener's software, with
one clock and with two (D22, I20).

A stamp is what software reads of the listener's clock when it sees the frame. Neither measure is
defined in the paper: PDV is taken as the standard deviation of stamp less txtime, jitter as that of
the time between successive stamps.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from keepon.measure.results import NONE
from keepon.model.fields import Number, Whole
from keepon.model.hosts import RX_STAGE
from keepon.model.scenario import Scenario
from keepon_papers import inputs, published
from keepon_papers.clocks import networks
from keepon_papers.clocks.networks import MASTER, SLAVE, Array, Kind
from keepon_papers.clocks.settings import COMMON_CHOICES, Common
from keepon_papers.clocks.settings import check as check_ring
from keepon_papers.document import Cell, Check, Column, Comparison, Curve, Panel, Part, Plot, Table
from keepon_papers.planned import planned_run
from keepon_papers.settings import Origins
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

SIZES_BYTES = (64, 128, 200, 290)
KINDS = (networks.COUNTER, networks.SINGLE, networks.DUAL_PUBLISHED, networks.DUAL)
PERIOD_NS = 1_024_000
"""Of 400 slots, 2560 ns each."""


class Settings(Common):
    """Figure 23's settings."""

    slot_bytes: Annotated[int, Whole(300, 300)] = 300
    duration_s: Annotated[float, Number(0.1, 86_400)] = 5.0
    seeds: Annotated[int, Whole(1, 1000)] = 1


ORIGINS = Origins(
    calibrated={},
    chosen={
        **COMMON_CHOICES,
        "slot_bytes": "not published; that of Figure 12",
        "batch_slots": "not published; that of Figure 12",
    },
)


def scenario(kind: Kind, settings: Settings, seed: int) -> Scenario:
    """A frame of each size every period, from the slave to the master, whose time is right."""
    document = networks.pair(kind, kind, settings, seed, sample_ns=100_000).effective()
    document["stream"] = [
        {
            "id": str(size), "talker": SLAVE, "listeners": [MASTER], "period_ns": PERIOD_NS,
            "frame_bytes": size, "advance_ns": 500_000, "tc": 0,
        }
        for size in SIZES_BYTES
    ]  # fmt: skip
    return Scenario.model_validate(document)


def measure(kind: Kind, settings: Settings, seed: int) -> tuple[Array, int]:
    """PDV and jitter in ns by size, with a reception that takes no time and with the calibrated
    one, shape (sizes, 2, 2); frames that did not come.
    """
    found = planned_run(scenario(kind, settings, seed))
    build = found.build
    inputs.note_nodes(build.used_sources())
    raw = build.simulation.clock(build.nodes[MASTER])
    at_ps = np.asarray(build.simulation.network_time(np.asarray(raw["at_ps"])), dtype=np.int64)
    off_ps = np.asarray(raw["read_offset_ps"])
    random = np.random.default_rng([seed, 23])
    missing, values = 0, np.zeros((len(SIZES_BYTES), 2, 2))
    for number, frames in enumerate(found.run.frames.values()):
        came = frames.arrival_ps[0] != NONE
        missing += int((~came).sum())
        arrival_ps = frames.arrival_ps[0][came]
        near = np.searchsorted(at_ps, arrival_ps).clip(0, len(at_ps) - 1)
        late_ns = (arrival_ps + off_ps[near] - frames.txtime_ps[came]) / 1000
        drawn = RX_STAGE.median_ns * np.exp(RX_STAGE.sigma * random.standard_normal(2 * came.size))
        received_ns = drawn[drawn < RX_STAGE.limit_ns][: len(late_ns)] + RX_STAGE.base_ns
        for place, stamped in enumerate((late_ns, late_ns + received_ns)):
            values[number, place] = stamped.std(), np.diff(stamped).std()
    return values, missing


def part(settings: Settings, spread: Spread) -> Part:
    """All clocks, with and without the calibrated reception."""
    runs = networks.every_seed(spread, measure, KINDS, settings)
    by_size = {
        kind.name: np.mean([values for values, _ in own], axis=0)
        for kind, own in zip(KINDS, runs, strict=True)
    }
    found = {name: values.mean(axis=0) for name, values in by_size.items()}
    missing = sum(lost for own in runs for _, lost in own)
    known = published.load("keepon")["fig23"]
    rows: list[list[Cell]] = [
        [name, *(float(value) for value in values.flat)] for name, values in found.items()
    ]
    result = Part("fig23", "Figure 23: two clocks by software's stamps", "appendix A.4, Figure 23")
    result.tables = [
        Table(
            "Averages over frames of 64, 128, 200 and 290 bytes",
            "calculated",
            [Column("clock"), Column("PDV, ns", 0), Column("jitter, ns", 0),
             Column("PDV with calibrated reception, ns", 0), Column("jitter with it, ns", 0)],
            rows,
            "Standard deviations of stamp less txtime, and between successive stamps.",
        )
    ]  # fmt: skip
    why = {
        "dual": "published stamps are steadier than a reception of fejes.fig1, 2.7 us, allows",
        "single": "that of the counter, read as published; reception of fejes.fig1 covers it",
    }
    chosen = {"dual": networks.DUAL.name, "single": networks.COUNTER.name}
    result.compared = [
        Comparison(
            f"{clocks}: {name}, {reception}, ns", float(found[chosen[clocks]][place, column]),
            known[f"{clocks}_{key}_ns"], known["id"], "calculated", why[clocks],
        )
        for clocks in chosen
        for place, reception in enumerate(("reception takes no time", "calibrated reception"))
        for column, (name, key) in enumerate(
            (("PDV", "pdv"), ("jitter", "inter_arrival_jitter"))
        )
    ]  # fmt: skip
    result.plots = [_plot(by_size)]
    counter, merged = (found[kind.name][0] for kind in (networks.COUNTER, networks.DUAL_PUBLISHED))
    result.by_construction = [
        "that frames leave at their txtimes, but for what the PHC is off them"
    ]
    result.findings = [
        "Where reception takes no time, stamps with the published merge of two clocks have a PDV of"
        f" {merged[0]:.0f} ns beside {counter[0]:.0f} ns of one counter; ours have"
        f" {found[networks.DUAL.name][0, 0]:.0f} ns."
    ]
    one, two = found[networks.COUNTER.name], found[networks.DUAL.name]
    result.checks = [
        Check(
            "where reception takes no time, two clocks (ours) have less PDV and jitter than one"
            " read as published (D22, I20)",
            bool((two[0] < one[0]).all()),
            f"{two[0, 0]:.0f}, {two[0, 1]:.0f} ns; {one[0, 0]:.0f}, {one[0, 1]:.0f} ns",
        ),
        Check(
            "the calibrated reception alone spreads by more than either published PDV",
            bool((two[1] > known["single_pdv_ns"]).all()),
            f"{two[1, 0]:.0f} ns with two clocks",
        ),
        Check("no frame is missing", missing == 0, f"{missing} missing"),
    ]
    return result


def _plot(by_size: dict[str, Array]) -> Plot:
    panels = [
        Panel(
            f"reception {reception}", "frame (bytes)", "PDV (ns)",
            [
                Curve(
                    name, [float(size) for size in SIZES_BYTES],
                    [max(float(pdv_ns), 0.1) for pdv_ns in own[:, place, 0]],
                )
                for name, own in by_size.items()
            ],
            log_y=True,
        )
        for place, reception in enumerate(("takes no time", "of fejes.fig1"))
    ]  # fmt: skip
    return Plot("fig23-pdv", "PDV by stamps of software", "calculated", panels)


STUDY = Study(
    "Figure 23: two clocks by software's stamps", Settings, ORIGINS, parts(part), (check_ring,)
)
