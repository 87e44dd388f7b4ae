# SPDX-License-Identifier: GPL-2.0-only
"""Shaped classes of a keepon link, qdisc cbs with `offload 1` and rates of mqprio: bytes of a class
in every window of the wire's record, held against its idle slope.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import pytest
from gate_judge import Frame, Wire, read_wire
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from repeats import checked
from test_taprio import programs  # noqa: F401  a fixture

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
BYTE_NS = 80
SLOT_BYTES = 1250  # on the wire, at 100 Mb/s
SLOT_NS = SLOT_BYTES * BYTE_NS
LINK_BPS = 100_000_000
# Slots are trimmed, so that they keep to the PHC while the wire keeps to its crystal.
CRYSTAL = 1e-4
SPAN_MS = 1000


@dataclass(frozen=True)
class Slope:
    """Bit/s of a class; bytes that its hiCredit is above what waiting for a slot brings, or behind
    gates, where slots in a row make up for that wait, all of it; whether that is enough for it to
    have no less than its slope, beside the shaped class above.
    """

    bps: int
    more_bytes: int
    owed: bool


# phase -> class -> slope; class 1 sends in bursts and class 0 whatever is left
PHASES = {
    "cbs": {3: Slope(20_000_000, 0, True), 2: Slope(7_143_000, 90, True)},
    "rate": {3: Slope(31_000_000, 0, True), 2: Slope(7_200_000, 0, False)},
    "gates": {3: Slope(20_000_000, 2000, False)},
}


def most_and_least(frames: list[Frame], slope_bps: int) -> tuple[float, float]:
    """Bytes by which any window has more, and less, than the slope.

    The most is in a window from the start of a frame to the end of one, the least in one from the
    end of a frame to the start of one. Sums up to a frame less what the slope brings until then:
    differences of these are what windows have.
    """
    by_ns = slope_bps / 8e9
    lengths = [(frame.end_ns - frame.start_ns) / BYTE_NS for frame in frames]
    sums = [0.0, *accumulate(lengths)]
    at_start = [sums[i] - by_ns * frame.start_ns for i, frame in enumerate(frames)]
    at_end = [sums[i + 1] - by_ns * frame.end_ns for i, frame in enumerate(frames)]
    lowest = accumulate(at_start, min)
    highest = accumulate(at_end, max)
    most = max(end - low for end, low in zip(at_end, lowest, strict=True))
    least = min(start - high for start, high in zip(at_start[1:], highest, strict=False))
    return most, -least


def shift(wire: Wire) -> Wire:
    """Times from the first frame on: floats have no room for a time of day in ns."""
    first_ns = wire.frames[0].start_ns
    moved = [
        Frame(frame.priority, frame.number, frame.start_ns - first_ns, frame.end_ns - first_ns)
        for frame in wire.frames
    ]
    return Wire(moved, wire.last_ns - first_ns, wire.width_ns)


def check_phase(result: GuestResult, phase: str) -> None:
    record, load = (result.files[f"{name}-{phase}"].decode() for name in ("wire", "load"))
    wire = shift(read_wire(record, load, BYTE_NS).on_grid(SLOT_NS)[0])
    # until classes have frames waiting, and when the load ends, there is less to send
    steady = [f for f in wire.frames if 20_000_000 <= f.start_ns < wire.last_ns - 1_000_000]
    for tc, slope in PHASES[phase].items():
        own = [frame for frame in wire.frames if frame.priority == tc]
        ready = [frame for frame in steady if frame.priority == tc]
        drift = CRYSTAL * sum(frame.end_ns - frame.start_ns for frame in own) / BYTE_NS
        most, _ = most_and_least(own, slope.bps)
        _, least = most_and_least(ready, slope.bps)
        print(f"{phase}, class {tc}: {len(own)} frames, at most {most:.0f} more, {least:.0f} less")
        assert len(ready) > 0.8 * slope.bps / LINK_BPS * (SPAN_MS - 30) * 1e6 / SLOT_NS
        assert most <= SLOT_BYTES + slope.more_bytes + drift
        assert not slope.owed or least <= SLOT_BYTES + drift
    assert {frame.priority for frame in steady} == set(range(4))
    # what shaped classes leave is there for the others
    used = {(frame.start_ns + SLOT_NS // 2) // SLOT_NS for frame in steady}
    assert len(used) >= 0.99 * (max(used) - min(used) + 1)


@pytest.mark.parametrize("family", offered_families())
def test_no_window_has_more_or_less_than_the_idle_slope(
    family: str,
    programs: dict[str, Path],  # noqa: F811
) -> None:
    kernel = get_kernel(family)
    modules = build_modules(kernel, [KERNEL / "native", KERNEL / "hwsim", KERNEL / "keepon"])
    files = {"/lib/keepon/common.sh": HERE / "keepon_common.sh", **programs}
    result = checked(
        lambda: run_guest(
            kernel, HERE / "keepon_credit.sh", files, modules=modules,
            environment={"SPAN_MS": str(SPAN_MS)}, timeout_s=3600,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    for phase in PHASES:
        check_phase(result, phase)
