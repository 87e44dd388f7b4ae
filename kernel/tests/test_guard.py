# SPDX-License-Identifier: GPL-2.0-only
"""Qdisc guard on an ordinary NIC of 100 Mb/s, on both kernels: no frame without a txtime is on the
wire at a txtime, by the wire's own record; what that costs; late frames.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from guest_programs import GUARD_PLUGIN, compiled, guard_plugin
from keepon.cli import session
from keepon.measure.results import NONE
from keepon.model import loading
from keepon.targets.vm import observations
from keepon.targets.vm import programs as target
from keepon.targets.vm.target import prepared, run_one
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
BYTE_NS = 80
AROUND_BYTES = 20
RATE_BPS = 100_000_000
LONGEST_NS = (1522 + AROUND_BYTES) * BYTE_NS
FRAMES = 120
FUDGE_NS = {"small": 150_000, "large": 400_000}
CLOCKS_NS = 3_000  # reading two clocks
OTHER = re.compile(r"^frame seq=\d+ raw_ns=(\d+)\S* .* bytes=(\d+) .*head=020000000009", re.M)


@dataclass(frozen=True)
class Phase:
    """Times of CLOCK_MONOTONIC_RAW in ns: txtimes, starts of those frames on the wire, and from
    when to when all others are there.
    """

    txtimes_ns: list[int]
    starts_ns: list[int]
    others_ns: list[tuple[int, int]]
    before: dict[str, int]
    after: dict[str, int]

    def grown(self, counter: str) -> int:
        return self.after[counter] - self.before[counter]

    @property
    def busy_ns(self) -> int:
        """Of the others, between the first txtime and the last."""
        first, last = self.txtimes_ns[0], self.txtimes_ns[-1]
        return sum(min(end, last) - max(begin, first) for begin, end in self.others_ns
                   if end > first and begin < last)  # fmt: skip


def counters(result: GuestResult, name: str) -> dict[str, int]:
    (shown,) = json.loads(result.files[f"{name}.qdisc"])
    found: dict[str, int] = shown
    return found


def talk(result: GuestResult, name: str) -> dict[str, Any]:
    return observations.load_json(result.files, f"{name}.talk")


def phase(result: GuestResult, name: str) -> Phase:
    record = result.files[f"{name}.wire"].decode()
    load = result.files[f"{name}.load"].decode()
    lines = re.findall(r"^sample (\d+) (\d+) \d+$", load, re.M)
    offset_ns = round(median(int(tai) - int(raw) for raw, tai in lines))
    frames = talk(result, name)["frames"]
    wire = observations.read_wire(record).raw_ps
    number = observations.stream_hash("timed")
    others = []
    for raw, count in OTHER.findall(record):
        begin = int(raw) - 8 * BYTE_NS
        others.append((begin, begin + (int(count) + AROUND_BYTES) * BYTE_NS))
    return Phase(
        [frame["txtime_ns"] - offset_ns for frame in frames],
        [int(wire[number, frame["seq"]]) // 1000 - 8 * BYTE_NS for frame in frames],
        others,
        counters(result, f"{name}-before"),
        counters(result, f"{name}-after"),
    )


def overlaps(found: Phase) -> list[tuple[int, int]]:
    """Frames on the wire at a txtime: by how much before it they began, and after it ended."""
    return [
        (at - begin, end - at)
        for at in found.txtimes_ns
        for begin, end in found.others_ns
        if begin < at - CLOCKS_NS and end > at + CLOCKS_NS
    ]


def check_phase(found: Phase, fudge_ns: int) -> None:
    assert len(found.txtimes_ns) == FRAMES and len(found.others_ns) > 3000
    assert overlaps(found) == []
    late = [at - due for at, due in zip(found.starts_ns, found.txtimes_ns, strict=True)]
    print(f"fudge {fudge_ns} ns: on the wire {min(late)} to {max(late)} ns after their txtimes")
    assert min(late) >= -CLOCKS_NS
    assert found.grown("timed") == FRAMES
    assert found.grown("short_notice") == found.grown("late") == found.grown("wrong") == 0
    assert found.grown("others") == len(found.others_ns)
    # Some frames were short enough for what was left of a window.
    assert 0 < found.grown("squeezed") < FRAMES * 20
    # None is held longer than a window, and the timer of the frame that ends it.
    assert FRAMES * (fudge_ns - CLOCKS_NS) < found.grown("held_ns")
    assert found.grown("held_ns") < FRAMES * (fudge_ns + LONGEST_NS + max(late))


def check_cost(small: Phase, large: Phase) -> None:
    """Best effort loses the guard, times the rate (M22): what the larger one holds more, the wire
    carries less.
    """
    more_ns = large.grown("held_ns") - small.grown("held_ns")
    less_ns = small.busy_ns - large.busy_ns
    print(f"held {more_ns} ns more, {less_ns} ns less of others: {less_ns / more_ns:.3f}")
    wider_ns = FRAMES * (FUDGE_NS["large"] - FUDGE_NS["small"])
    assert 0.8 * wider_ns < more_ns < 1.2 * wider_ns
    assert 0.85 * more_ns < less_ns < 1.15 * more_ns


def check_late(result: GuestResult) -> None:
    late, sent, wrong = (talk(result, name) for name in ("late", "sent", "wrong"))
    print(late["counters"], sent["counters"], wrong["counters"])
    assert late["counters"]["missed"] == 1 and sent["counters"]["missed"] == 0
    assert wrong["counters"]["invalid"] == 5
    end = counters(result, "end")
    after = counters(result, "large-after")
    assert end["late"] - after["late"] == 2 and end["late_sent"] - after["late_sent"] == 1
    assert end["wrong"] - after["wrong"] == 5
    assert end["timed"] - after["timed"] == 39


@pytest.mark.parametrize("family", offered_families())
def test_no_frame_is_on_the_wire_at_a_txtime(family: str, tmp_path: Path) -> None:
    kernel = get_kernel(family)
    files = {
        "/usr/bin/gate_load": compiled(tmp_path, "gate_load"),
        GUARD_PLUGIN: guard_plugin(tmp_path),
    }
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "guard")])
    result = checked(
        lambda: run_guest(
            kernel, HERE / "guard_wire.sh", {**target.guest_files(), **files}, modules=modules,
            tools=[*target.tools(), "iperf3"], timeout_s=900,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    phases = {name: phase(result, name) for name in FUDGE_NS}
    for name, fudge_ns in FUDGE_NS.items():
        check_phase(phases[name], fudge_ns)
    check_cost(phases["small"], phases["large"])
    check_late(result)
    shown = result.files["shown"].decode()
    # 1542 bytes at 100 Mb/s and 200 ppm of them
    assert "window 523385 ns, notice 770155 ns" in shown
    transfer = json.loads(result.files["veth.json"])["end"]["sum_received"]
    frames = counters(result, "veth")["others"]
    assert frames > transfer["bytes"] / 1448 > 100
    assert transfer["bits_per_second"] < RATE_BPS


SCENARIO = """
schema = "keepon.scenario/1"
name = "guarded"
duration_s = 0.3
warmup_s = 0.1
link = [{ ends = ["a", "b"], rate_bps = 100_000_000 }]
sync.mode = "ideal"
[[station]]
name = "a"
driver = "standard"
qdisc = "tc qdisc replace dev eth0 root guard fudge 150000"
[[station]]
name = "b"
driver = "standard"
[[stream]]
id = "S"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 200
advance_ns = 700_000
[[load]]
id = "L"
talker = "a"
listener = "b"
kind = "saturate"
frame_bytes = 1000
"""


def test_a_scenario_with_guard_runs_on_target_vm() -> None:
    """Module and plugin are in the guest: no frame of the stream is behind one of the load, which
    takes what is left.
    """
    scenario = loading.parse(SCENARIO, "guarded.toml")
    plan = session.planned(scenario)
    kernel, modules = prepared("6.12")
    run, _ = run_one(scenario, plan, "standard", scenario.seed, kernel, modules)
    frames = run.frames["S"]
    assert len(frames.wire_ps) > 200 and (frames.wire_ps != NONE).all()
    late_ns = frames.wire_ps / 1000 - (frames.txtime_ns - frames.epoch_ns)
    assert 0 <= late_ns.min() <= late_ns.max() < (1000 + AROUND_BYTES) * BYTE_NS
    # a frame of the stream keeps the wire for itself, a guard window and the fudge, at most
    taken = (220 * BYTE_NS + LONGEST_NS + FUDGE_NS["small"]) / 1_000_000
    goodput_bps = run.document["loads"]["L"]["goodput_bps"]
    assert goodput_bps > 0.9 * (1 - taken) * RATE_BPS
