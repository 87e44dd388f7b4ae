# SPDX-License-Identifier: BSD-3-Clause
"""Figures 4 and 5 of "A Framework for TSN-enabled Virtual Environments": a publisher and a
subscriber in virtual machines, over the kernel's datapath, over one in user space, and on bare
metal (O13 to O18, O24).

Calibrated are both deliveries (garbugli.delivery) and bare metal's median for 64 bytes: what is
left of it is the sender's, and the same program on the same Linux takes that in a guest, too.
Everything else is predicted, nothing fitted. Latency is from the scheduled instant to the
application that reads; jitter of a message is t_i - (t_(i-1) + T), both as in the paper.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from keepon.measure.statistics import IntArray
from keepon.model import guests, loading
from keepon.model.fields import Whole
from keepon.model.scenario import Guest, HostTable, Load
from keepon_papers import inputs, published
from keepon_papers.document import Cell, Check, Column, Comparison, Part, Table
from keepon_papers.planned import planned_run
from keepon_papers.settings import Origins
from keepon_papers.spread import Spread
from keepon_papers.study import Study, parts

WAYS = ("userspace", "bare-metal", "kernel")
HEADERS_BYTES = 46
"""Ethernet with FCS, IPv4, UDP."""
PUBLISHED = published.load("garbugli")
BUDGET_NS = 1000 * PUBLISHED["test"]["budget_us"]
SIZES_BYTES = PUBLISHED["test"]["payload_bytes"]
WIRES_NS = 3_000
"""Two bridges without processing and three short frames, out of the sender's part."""
HOST_NS = 13_000
"""Wake-up and driver of the host's model, out of it, too."""
TEXT = """
schema = "keepon.scenario/1"
name = "virtual"
duration_s = 1.0
warmup_s = 0.1
defaults = { rate_bps = 1_000_000_000 }
bridge = [{ name = "one", gates = "none", processing_ns = 0 },
          { name = "two", gates = "none", processing_ns = 0 }]
link = [{ ends = ["left", "one"] }, { ends = ["publisher", "one"] }, { ends = ["one", "two"] },
        { ends = ["two", "subscriber"] }, { ends = ["two", "right"] }]
station = [
    { name = "left", driver = "standard", release = "sleep", host = "tsn-end-station" },
    { name = "right", driver = "standard", release = "sleep", host = "tsn-end-station" },
    { name = "publisher", driver = "standard", release = "sleep", host = "tsn-end-station" },
    { name = "subscriber", driver = "standard", release = "sleep", host = "tsn-end-station" },
]
[[stream]]
id = "messages"
talker = "publisher"
listeners = ["subscriber"]
frame_bytes = 64
period_ns = 1_000_000
"""


class Settings(BaseModel):
    """Settings; units are the last part of each name."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    duration_s: Annotated[int, Whole(1, 1_000)] = 100
    cores: Annotated[int, Whole(2, 64)] = 4
    saturated_s: Annotated[int, Whole(1, 100)] = 5
    changed_s: Annotated[int, Whole(1, 100)] = 10
    seed: Annotated[int, Whole(0, 2**31)] = 1


ORIGINS = Origins(
    calibrated={"duration_s": "garbugli.test", "cores": "garbugli.testbed"},
    chosen={
        **dict.fromkeys(("saturated_s", "changed_s"), "as short as its medians are steady"),
        "seed": "of everything random",
    },
    fixed=[
        {
            "parameter": "publisher's stack: median_ns",
            "value": 104_000,
            "source_id": "garbugli.fig4 (bare metal's median less garbugli.delivery)",
        }
    ],
)


@dataclass(frozen=True)
class Case:
    """A run: how the messages go, their payload, what is changed of stages and guests."""

    way: str
    payload_bytes: int
    duration_s: int
    saturated: bool = False
    send: dict[str, Any] = field(default_factory=dict)
    read: dict[str, Any] = field(default_factory=dict)
    guest: dict[str, Any] = field(default_factory=dict)
    cores: int | None = None


Ways = dict[str, dict[str, IntArray]]
"""Stages of messages by way."""


def sender_ns() -> int:
    """What bare metal's published median leaves for the sender's stack."""
    median_us = PUBLISHED["fig4"]["bare_metal_median_us"] - PUBLISHED["delivery"]["kernel_us"]
    return 1000 * int(median_us) - WIRES_NS - HOST_NS


def measure(case: Case, settings: Settings) -> dict[str, IntArray]:
    """Stages of every message, in ns, and the whole."""
    base, way = loading.parse(TEXT, "virtual"), case.way
    left, right, *ends = base.station
    cores = HostTable(base="tsn-end-station", cores=case.cores or settings.cores)
    found = [station.model_copy(update={"host": cores}) for station in (left, right)]
    bare = way == "bare-metal"
    for end, host, changed in zip(ends, ("left", "right"), (case.send, case.read), strict=True):
        stages = {key: dict(keys) for key, keys in changed.items()}
        if end.name == "publisher":
            stages["stack"] = {"median_ns": sender_ns()} | stages.get("stack", {})
        elif bare:
            median_ns, cap_ns = guests.DATAPATHS["kernel"]
            own = {"median_ns": median_ns, "sigma": guests.SIGMAS["kernel"], "cap_ns": cap_ns}
            stages["deliver"] = own | stages.get("deliver", {})
        table = {"base": cores.base, "cores": cores.cores if bare else 0} | stages
        guest = None if bare else Guest.model_validate({"host": host, "datapath": way} | case.guest)
        found.append(
            end.model_copy(update={"host": HostTable.model_validate(table), "guest": guest})
        )
    update: dict[str, Any] = {"duration_s": float(case.duration_s), "station": found}
    frame_bytes = max(64, case.payload_bytes + HEADERS_BYTES)
    update["stream"] = [base.stream[0].model_copy(update={"frame_bytes": frame_bytes})]
    if case.saturated:
        update["load"] = [Load(id="rest", talker="left", listener="right", kind="saturate")]
    ran = planned_run(base.model_copy(update=update), seed=settings.seed)
    inputs.note_nodes(ran.build.used_sources())
    stages_ps = ran.build.stages("messages", ran.run.frames["messages"].seq)
    missing = ran.run.frames["messages"].seq.size - stages_ps["whole"].size
    return {name: each.ravel() // 1000 for name, each in stages_ps.items()} | {
        "missing": np.array([missing])
    }


def jitter_ns(whole_ns: IntArray) -> IntArray:
    """Jitter(i) = t_i - (t_(i-1) + T): the schedule is periodic, so what latencies differ by.

    >>> jitter_ns(np.array([100, 130, 120])).tolist()
    [30, -10]
    """
    return np.diff(whole_ns)


def averages_us(whole_ns: IntArray, period_ns: int = 1_000_000) -> list[float]:
    """Means of all messages of each ten seconds.

    >>> averages_us(np.array([1000, 3000, 5000, 7000]), 5_000_000_000)
    [2.0, 6.0]
    """
    each = 10_000_000_000 // period_ns
    return [float(np.mean(whole_ns[at : at + each])) / 1000 for at in range(0, len(whole_ns), each)]


def _over(whole_ns: IntArray) -> float:
    return 100 * float(np.mean(whole_ns > BUDGET_NS))


def _changes() -> dict[str, tuple[tuple[str, ...], dict[str, Any]]]:
    """Chosen numbers, each alone: the ways it matters to, and keys of a case."""
    user, kernel, virtual = WAYS[:1], WAYS[2:], (WAYS[0], WAYS[2])
    both = {"send": {"datapath": {"sigma": 0.5}}, "read": {"datapath": {"sigma": 0.5}}}
    spared_ns = 1000 * (PUBLISHED["delivery"]["kernel_us"] - PUBLISHED["delivery"]["userspace_us"])
    tail = {"datapath": {"tail_probability": 0.1, "tail_mean_ns": 300_000}}
    half = {"datapath": {"median_ns": 35_000}}
    tenth = {"datapath": {"median_ns": 15_000}}
    return {
        "as chosen": ((), {}),
        "datapath: sigma 0.5": (virtual, both),
        "deliver: sigma 0.5": (WAYS, {"read": {"deliver": {"sigma": 0.5}}}),
        "userspace: datapath 15 us, deliver 5 us": (
            user, {"send": tenth, "read": {**tenth, "deliver": {"median_ns": 5_000}}},
        ),
        "kernel: 35 us of the datapath either way": (kernel, {"send": half, "read": half}),
        "kernel: one in ten waits 300 us more": (
            kernel,
            {"send": tail, "read": tail},
        ),
        "guest's sender without a host's kernel, 50 us less": (
            virtual, {"send": {"stack": {"median_ns": sender_ns() - spared_ns}}},
        ),
        "clock by software's stamps": (virtual, {"guest": {"clock": "software"}}),
        "two cores": (WAYS, {"cores": 2}),
    }  # fmt: skip


def fig4(settings: Settings, spread: Spread) -> Part:
    """Latency and jitter by size and way; what each stage has of it; a saturated network."""
    sizes = [Case(way, size, settings.duration_s) for way in WAYS for size in SIZES_BYTES]
    full = [Case(way, 64, settings.saturated_s, saturated=True) for way in WAYS]
    changes = _changes()
    changed = [
        Case(way, 64, settings.changed_s, **(keys if way in ways else {}))
        for ways, keys in changes.values()
        for way in WAYS
    ]
    found = spread.in_order(measure, [(case, settings) for case in [*sizes, *full, *changed]])
    each = dict(zip([(case.way, case.payload_bytes) for case in sizes], found, strict=False))
    loaded = dict(zip(WAYS, found[len(sizes) :], strict=False))
    alone = {way: each[way, 64] for way in WAYS}
    median_us = {way: float(np.median(alone[way]["whole"])) / 1000 for way in WAYS}
    known, delivered = PUBLISHED["fig4"], PUBLISHED["delivery"]
    result = Part("fig4", "Figure 4: latency and jitter in virtual machines", known["source"])
    order = " < ".join(sorted(WAYS, key=lambda way: median_us[way]))
    below = 1 - median_us["userspace"] / median_us["bare-metal"]
    why = "predicted; the sensitivity table has on what it depends"
    rows: list[tuple[str, Cell, Cell]] = [
        ("userspace: median, us", median_us["userspace"], known["userspace_median_us"]),
        (
            "kernel: median over userspace's",
            median_us["kernel"] / median_us["userspace"],
            known["kernel_over_userspace"],
        ),
        ("userspace below bare metal", f"{below:.0%}", known["userspace_below_bare_metal"]),
        ("order of medians", order, known["order"]),
        (
            "userspace: share of the budget of 0.4 ms",
            f"{1000 * median_us['userspace'] / BUDGET_NS:.0%}",
            known["userspace_share_of_budget"],
        ),
        (
            "kernel: messages over the budget",
            f"{_over(alone['kernel']['whole']):.1f} %",
            known["kernel_over_budget"],
        ),
    ]
    result.compared = [
        Comparison(
            "bare metal: median, us", median_us["bare-metal"], known["bare_metal_median_us"],
            known["id"], "calibrated", "what delivery leaves of it is the sender's stack",
        ),
        *(Comparison(*row, known["id"], "chosen", why) for row in rows),
    ]  # fmt: skip
    successor = published.load("tsncni")["raw"]
    for way in WAYS:
        whole_us = alone[way]["whole"] / 1000
        result.compared.append(
            Comparison(
                f"{way}: median; 99 %, us",
                f"{np.median(whole_us):.0f}; {np.quantile(whole_us, 0.99):.0f}",
                successor[f"{way}_us"],
                successor["id"],
                "chosen",
                "other machines and program; its latency begins at the send, not at the schedule",
            )
        )
    result.tables = [_by_size(each, loaded), _by_stage(alone)]
    at = len(sizes) + len(full)
    orders: list[list[Cell]] = []
    for number, what in enumerate(changes):
        of_way = dict(zip(WAYS, found[at + 3 * number :], strict=False))
        us = {way: float(np.median(of_way[way]["whole"])) / 1000 for way in WAYS}
        over = _over(of_way["kernel"]["whole"])
        orders.append([what, *us.values(), over, " < ".join(sorted(WAYS, key=lambda w: us[w]))])
    result.tables.append(
        Table(
            "Medians for 64 bytes, us, with one number changed", "chosen",
            [Column("changed"), *(Column(way, 1) for way in WAYS),
             Column("kernel over 0.4 ms, %", 2), Column("order")],
            orders,
        )
    )  # fmt: skip
    steady = max(
        abs(float(np.median(loaded[way]["whole"])) / 1000 / median_us[way] - 1) for way in WAYS
    )
    worst_ns = max(int(each["userspace", size]["whole"].max()) for size in SIZES_BYTES)
    missing = sum(int(one["missing"][0]) for one in found)
    result.checks = [
        Check("messages arrive, none missing", missing == 0, f"{missing} missing"),
        Check("userspace is before bare metal, and that before the kernel's datapath (O17)",
              order == known["order"], order),
        Check("userspace: every message within 0.4 ms (O1)", worst_ns <= BUDGET_NS,
              f"{worst_ns / 1000:.1f} us at most"),
        Check("a saturated network changes medians by less than a tenth (O18)", steady < 0.1,
              f"{steady:.1%} at most"),
    ]  # fmt: skip
    result.by_construction = [
        f"deliveries of {delivered['userspace_us']} and {delivered['kernel_us']} us, and bare"
        " metal's median: calibrated to",
        "that medians hardly depend on the size: copies cost nothing here, as in the paper's text",
    ]
    return result


def _by_size(found: dict[tuple[str, int], dict[str, IntArray]], full: Ways) -> Table:
    rows: list[list[Cell]] = []
    filled = {(f"{way}, wire filled", 64): stages for way, stages in full.items()}
    for (way, size), stages in (found | filled).items():
        whole, off = stages["whole"], np.abs(jitter_ns(stages["whole"]))
        numbers = (np.median(whole), np.mean(whole), np.quantile(whole, 0.99), whole.max(),
                   np.median(off), np.quantile(off, 0.99), off.max())  # fmt: skip
        rows.append([way, size, *(float(number) / 1000 for number in numbers), _over(whole)])
    return Table(
        "Latency and jitter of messages, us", "chosen",
        [Column("way"), Column("bytes", 0),
         *(Column(name, 1) for name in ("median", "mean", "99 %", "greatest", "jitter, median",
                                        "99 %", "greatest")),
         Column("over 0.4 ms, %", 3)],
        rows,
        "Jitter is t_i - (t_(i-1) + T) of the paper, to either side. Best effort that fills the"
        " wire has a lower priority and other ports of the hosts; none of it is published (O18).",
    )  # fmt: skip


def _by_stage(alone: Ways) -> Table:
    names = list(dict.fromkeys(name for way in WAYS for name in alone[way] if name != "missing"))
    rows: list[list[Cell]] = [
        [name, *(float(np.median(alone[way].get(name, np.zeros(1)))) / 1000 for way in WAYS)]
        for name in names
    ]
    rows.append(["cores of the host that poll", *(float(way == "userspace") for way in WAYS)])
    return Table(
        "Medians of a message's stages for 64 bytes, us", "chosen",
        [Column("stage"), *(Column(way, 1) for way in WAYS)], rows,
        "Host's NIC is in wire; delivery is datapath in, stack and application.",
    )  # fmt: skip


def fig5(settings: Settings, spread: Spread) -> Part:
    """Averages of ten seconds, 64 bytes."""
    cases = [(Case(way, 64, settings.duration_s), settings) for way in WAYS]
    found = dict(zip(WAYS, spread.in_order(measure, cases), strict=True))
    known = PUBLISHED["fig5"]
    means = {way: averages_us(found[way]["whole"]) for way in WAYS}
    result = Part("fig5", "Figure 5: averages of ten seconds, 64 bytes", known["source"])
    why = "the paper's means are below its medians, which no stage of ours brings about"
    result.compared = [
        Comparison(
            f"{way}: averages, us", f"{min(means[way]):.0f} to {max(means[way]):.0f}",
            known[f"{way.replace('-', '_')}_average_us"], known["id"], "chosen", why,
        )
        for way in WAYS
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [10 * (turn + 1), *each]
        for turn, each in enumerate(zip(*(means[way] for way in WAYS), strict=True))
    ]
    columns = [Column("until, s", 0), *(Column(way, 1) for way in WAYS)]
    result.tables = [Table("Averages of ten seconds, us", "chosen", columns, rows)]
    most_us = max(map(max, means.values()))
    result.checks = [
        Check("every average is within 0.4 ms (O15)", 1000 * most_us <= BUDGET_NS,
              f"{most_us:.1f} us at most"),
    ]  # fmt: skip
    return result


FIG4 = Study("Figure 4: latency and jitter in virtual machines", Settings, ORIGINS, parts(fig4))
FIG5 = Study("Figure 5: averages of ten seconds, 64 bytes", Settings, ORIGINS, parts(fig5))
