# SPDX-License-Identifier: GPL-2.0-only
"""taprio with `flags 0x2` on a keepon link: random schedules, random load from every class, each
frame on the wire held against the gates by arithmetic of its own (gate_judge.py).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest
from gate_judge import Judge, Schedule, Wire, read_wire
from guest_programs import PLUGIN, compiled, plugin
from keepon.targets.vm import programs as target
from keepon_guests import (
    FAMILIES,
    GuestResult,
    build_modules,
    get_kernel,
    offered_families,
    run_guest,
)
from keepon_host.link.fit import fit, nearest
from keepon_host.link.gatelist import parse
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
BYTE_NS = 80
SLOT_NS = 100_000  # 1230 bytes and what surrounds them at 100 Mb/s
SLACK_NS = 2_500  # a trim of at most 16 bytes, and reading two clocks
GUARD_NS = 6_000_000
CLASSES = 4
STEP_NS = 10_000


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Guest path -> the load, and requests that tc does not know, linked statically."""
    folder = tmp_path_factory.mktemp("taprio")
    limits = ("taprio_limits.c", "config_storm_netlink.c")
    return {
        "/usr/bin/gate_load": compiled(folder, "gate_load"),
        "/usr/bin/taprio_limits": compiled(folder, "taprio_limits", *limits),
        PLUGIN: plugin(folder),
    }


def boot(
    script: str, family: str, files: dict[str, Path | bytes], environment: dict[str, str],
    tools: Sequence[str | Path] = (),
) -> GuestResult:  # fmt: skip
    kernel = get_kernel(family)
    modules = build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"])
    common = {"/lib/keepon/common.sh": HERE / "keepon_common.sh"}
    result = checked(
        lambda: run_guest(
            kernel, HERE / script, {**common, **files}, modules=modules, tools=tools,
            environment=environment, timeout_s=3600,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    return result


def random_entries(random: Random) -> tuple[str, int]:
    """Two to six entries of two slots and more, and how long they are together."""
    count = random.randrange(2, 7)
    lengths = [random.randrange(2 * SLOT_NS, 7 * SLOT_NS, STEP_NS) for _ in range(count)]
    masks = [random.randrange(1 << CLASSES) for _ in lengths]
    masks[random.randrange(count)] |= 1
    words = " ".join(f"{mask:#x},{ns}" for mask, ns in zip(masks, lengths, strict=True))
    return words, sum(lengths)


def one_schedule(random: Random, kind: str) -> str:
    """A line for keepon_taprio.sh."""
    entries, total = random_entries(random)
    last_ns = int(entries.rpartition(",")[2])
    wait_ms = random.randrange(100, 150)
    when = f"past {random.randrange(10**9)}"
    cycle = extension = 0
    if kind == "ahead":
        when = f"ahead {random.randrange(5 * 10**7, 9 * 10**7)}"
    elif kind == "far":  # the next one is asked for long before
        when = f"ahead {10**9}"
    elif kind == "cut":  # two slots of the last entry stay
        cycle = total - last_ns + 2 * SLOT_NS
    elif kind == "stretched":
        cycle = total + random.randrange(0, 5 * SLOT_NS, STEP_NS)
    elif kind == "extended":  # for whatever comes next
        extension = total
    return f"{wait_ms} {when} {cycle} {extension} {entries}"


KINDS = (
    "past", "ahead", "cut", "far", "past", "stretched", "ahead", "extended", "ahead", "extended",
    "past", "past",
)  # fmt: skip


# A cycle of 200 ms that is over before the next list is asked for: that one cuts its successor off,
# however far it might be extended. The slot in which it begins is closed to class 0 from the middle
# on.
CUT_OFF = (
    "100 ahead 50000000 0 180000000 0xf,180000000 0x1,20000000",
    "80 whole 5000000+1750000 0 0 0x2,1000000 0x3,1000000",
)
# Slots of 1480 bytes suit the first of these lists, and not the second. In slot 17 of the first 50
# class 0 may send by the second half of the third list, but not by the first one, whose gates of
# those other slots it would find open.
REFUSED = (
    "100 past 0 0 0 0x1,500000 0x2,500000",
    "40 whole 100000000+0 0 0 0x1,100000 0x2,100000",
    "10 link 1480",
    "10 whole 5000000+1750000 0 0 0x1,1000000 0x3,1000000",
)


def judged(result: GuestResult, part: str = "") -> tuple[Judge, Wire]:
    asked = result.files["asked" + part].decode().splitlines()
    record, load = (result.files[name + part].decode() for name in ("wire", "load"))
    wire, off_ns = read_wire(record, load, BYTE_NS).on_grid(SLOT_NS)
    # the clock as read may be so far from the grid, and says so
    errors_ps = result.files["clock_errors_ps"].split()
    error_ns = max(int(error_ps) for error_ps in errors_ps) // 1000
    print(
        f"slots are {off_ns} ns off their times as read; the clock's error is {error_ns} ns, a"
        f" reading takes {wire.width_ns} ns"
    )
    assert abs(off_ns) <= error_ns + wire.width_ns // 2
    schedules = [Schedule.read(line) for line in asked]
    judge = Judge(schedules, SLOT_NS, SLACK_NS, GUARD_NS)
    judge.settle(wire.frames)
    return judge, wire


def loaded_slots(judge: Judge, wire: Wire) -> list[int]:
    """What class 0 may use while the one CPU is the load's, not tc's."""
    ends = [*(schedule.before_ns - 5_000_000 for schedule in judge.schedules[1:]), wire.last_ns]
    return [
        at
        for schedule, end in zip(judge.schedules, ends, strict=True)
        for at in judge.open_slots(0, schedule.after_ns + 10_000_000, end)
    ]


def check_gates(result: GuestResult, frames_least: int) -> None:
    judge, wire = judged(result)
    astray = list(judge.violations(wire.frames))
    assert astray == [], (len(astray), astray[:5], judge.starts, judge.schedules)
    frames = [frame for frame in wire.frames if frame.start_ns >= judge.starts[0]]
    assert len(frames) >= frames_least
    by_class = Counter(frame.priority for frame in frames)
    assert min(by_class[priority] for priority in range(CLASSES)) > frames_least // 200, by_class
    # the load of class 0 is more than it may send: what it may, it does, or others do there
    used = {(frame.start_ns + SLOT_NS // 2) // SLOT_NS for frame in frames}
    open_slots = loaded_slots(judge, wire)
    filled = sum(at // SLOT_NS in used for at in open_slots)
    assert filled >= 0.99 * len(open_slots), (filled, len(open_slots))


def gates(family: str, programs: dict[str, Path], seed: int, rounds: int) -> GuestResult:
    random = Random(seed)
    first, *others = [one_schedule(random, kind) for kind in KINDS * rounds]
    lines = [first, *CUT_OFF, *REFUSED, *others]
    return boot(
        "keepon_taprio.sh", family,
        {**programs, "/lib/keepon/schedules": ("\n".join(lines) + "\n").encode()},
        {"RATE_BPS": "100000000", "SEED": str(seed)},
    )  # fmt: skip


@pytest.mark.each_kernel
@pytest.mark.parametrize("family", offered_families(families=FAMILIES))
def test_no_frame_leaves_outside_the_gates_of_its_class(
    family: str, programs: dict[str, Path]
) -> None:
    check_gates(gates(family, programs, 1, 1), 5000)


@pytest.mark.parametrize("family", offered_families())
def test_a_step_of_the_clock_leaves_what_is_between_two_lists(
    family: str, programs: dict[str, Path]
) -> None:
    result = boot("keepon_taprio_stepped.sh", family, dict(programs), {"SEED": "5"}, target.tools())
    for part, classes in (("_back", {0, 1}), ("_on", {0, 1, 2})):
        judge, wire = judged(result, part)
        astray = list(judge.violations(wire.frames))
        assert astray == [], (part, len(astray), astray[:5], judge.starts)
        assert {frame.priority for frame in wire.frames} == classes
        # 900 ms, a fifth of which at least is class 0's
        assert sum(frame.priority == 0 for frame in wire.frames) > 1500


@pytest.mark.parametrize("family", offered_families())
def test_a_step_over_what_is_between_two_lists_ends_it(
    family: str, programs: dict[str, Path]
) -> None:
    boot("keepon_taprio_ahead.sh", family, dict(programs), {}, target.tools())


def near_lists(random: Random, count: int) -> Iterator[str]:
    """Lists that slots of 1230 bytes do not serve at 100 Mb/s, behind the nearest that do."""
    while count:
        masks = [random.randrange(1, 1 << CLASSES) for _ in range(random.randrange(2, 7))]
        words = " ".join(
            f"sched-entry S {mask:x} {random.randrange(2, 40) * STEP_NS}" for mask in masks
        )
        gates = parse(f"base-time {random.randrange(10**9)} {words}", "near")
        fits = [fit(gates, slot_bytes, 10**8) for slot_bytes in range(64, 1523)]
        bytes_ = nearest(fits, 1230)
        if bytes_ not in (None, 1230):
            yield f"{bytes_} base-time {gates.base_ns} {words}"
            count -= 1


@pytest.mark.parametrize("family", offered_families())
def test_what_does_not_fit_is_refused_in_a_sentence(family: str, programs: dict[str, Path]) -> None:
    near = "".join(f"{line}\n" for line in near_lists(Random(family), 8))
    boot(
        "keepon_taprio_refused.sh", family, {**programs, "/lib/keepon/near": near.encode()}, {}
    )  # fmt: skip


@pytest.mark.parametrize("family", offered_families())
def test_max_sdu_priorities_and_reserved_trims(family: str, programs: dict[str, Path]) -> None:
    # kernels before 6.6 ask no device what it counted
    counts = "" if family == "6.1" else "yes"
    boot("keepon_taprio_limits.sh", family, dict(programs), {"COUNTS": counts}, target.tools())


@pytest.mark.soak
@pytest.mark.parametrize("family", offered_families())
def test_no_frame_of_a_hundred_thousand_does(family: str, programs: dict[str, Path]) -> None:
    check_gates(gates(family, programs, 2, 16), 100_000)
