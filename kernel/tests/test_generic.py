# SPDX-License-Identifier: GPL-2.0-only
"""keepon_generic.ko: a link over the transmit function of drivers that know nothing of it.

On a simulated NIC behind its ordinary driver the judge is the record of its wire. Cards whose model
sends at once, and devices that are no wire at all, are refused.
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import guest_programs
import pytest
from generic_judge import Measured, check_claims, read_measured
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from wirelog import counters

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
KERNEL = HERE.parent
FRAMES = 200
PERIOD_NS = 2_000_000
BYTE_NS = 80
SLOT_NS = 1250 * BYTE_NS
OURS = "0000:00:10.0"
FRAME = re.compile(
    r"frame seq=\d+ raw_ns=\S+ phc_ns=(\d+)\.(\d+) bytes=(\d+) .* verdict=(\w+) head=(\w+)"
)


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {guest_programs.PLUGIN: guest_programs.plugin(tmp_path_factory.mktemp("generic"))}


def wire_of(result: GuestResult) -> list[tuple[int, int, bool, str]]:
    """Of every frame in the record: start in ps of the NIC's clock, bytes, whether its FCS was
    good, its type.
    """
    found = (FRAME.match(line) for line in result.files["wire.txt"].decode().splitlines())
    return [
        (int(ns) * 1000 + int(ps), int(length), verdict == "good", head[24:28])
        for ns, ps, length, verdict, head in (match.groups() for match in found if match)
    ]


def check_stream(wire: list[tuple[int, int, bool, str]]) -> list[int]:
    """Nothing but slots, one behind the other, and every frame of the stream at its multiple.
    Returns their starts.
    """
    starts_ps = [start_ps for start_ps, _, good, kind in wire if good and kind == "88b5"]
    assert len(starts_ps) == FRAMES
    between = [slot for slot in wire if starts_ps[0] <= slot[0] <= starts_ps[-1]]
    for (start_ps, length, _, _), (next_ps, _, _, _) in pairwise(between):
        assert abs(next_ps - start_ps - (length + 20) * BYTE_NS * 1000) <= 1000, (
            "the wire stood still"
        )
    for number, start_ps in enumerate(starts_ps):
        assert abs(start_ps - starts_ps[0] - number * PERIOD_NS * 1000) <= 2 * BYTE_NS * 1000
    return [start_ps // 1000 for start_ps in starts_ps]


def check_instants(starts_ns: list[int], result: GuestResult, count: dict[str, int]) -> None:
    """The link's own clock is right within the error it tells, so frames leave at their txtimes
    within that.
    """
    offsets = [int(line.split()[1]) for line in result.files["offsets.txt"].decode().splitlines()]
    txtimes_ns = [frame["txtime_ns"] for frame in json.loads(result.files["talk.json"])["frames"]]
    bound_ns = count["clock_error_ps"] // 1000 + SLOT_NS + max(offsets) - min(offsets)
    offset_ns = sum(offsets) // len(offsets)
    worst = max(
        abs(start + offset_ns - wanted) for start, wanted in zip(starts_ns, txtimes_ns, strict=True)
    )
    assert worst <= bound_ns


@pytest.mark.parametrize("family", offered_families())
def test_a_stream_through_an_ordinary_driver(
    family: str, plugin: dict[str, Path], probe_files: dict[str, Path]
) -> None:
    kernel = get_kernel(family)
    modules = build_modules(
        kernel, [KERNEL / name for name in ("native", "hwsim", "keepon", "generic")]
    )
    result = run_guest(
        kernel, HERE / "generic_wire.sh", {**probe_files, **plugin}, modules=modules,
        tools=[*programs.tools()],
        environment={"FRAMES": str(FRAMES)}, timeout_s=1200,
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    measured = read_measured(result, "sim0")
    # its crystal is 20 ppm fast; a slot and hardly more is what is not known
    assert measured.taken_us == pytest.approx(
        measured.line_us * (1 - 20e-6), abs=measured.unsure_us + 1
    )
    assert SLOT_NS // 1000 <= measured.unsure_us <= 2 * SLOT_NS // 1000
    assert measured.early_ns == 0, "this NIC tells of a frame once it has left"
    starts_ns = check_stream(wire_of(result))
    before, after, foreign = (
        counters(result, name) for name in ("before.txt", "counters.txt", "foreign.txt")
    )
    check_claims(after, measured, SLOT_NS)
    check_instants(starts_ns, result, after)
    good = sum(fine for _, _, fine, _ in wire_of(result))
    assert after["verdict_on_time"] == FRAMES
    assert after["submitted"] == after["verdict_on_time"] + after["verdict_best_effort"] == good
    assert {
        name: after[name]
        for name in ("slips", "underruns", "foreign_frames", "pending")
        if after[name]
    } == {}
    assert after["suspected_underruns"] == before["suspected_underruns"]
    # foreign frames: one count when each was seen, one when it was over
    assert foreign["foreign_frames"] == 3
    assert foreign["suspected_underruns"] == after["suspected_underruns"] + 2 * 3
    assert foreign["slips"] == 0
    assert foreign["synchronised"] == 0


@pytest.mark.parametrize("mode", ["icount", "smp"])
def test_what_may_happen_to_a_link(mode: str, plugin: dict[str, Path]) -> None:
    kernel = get_kernel("6.12")
    modules = build_modules(
        kernel, [KERNEL / name for name in ("native", "hwsim", "keepon", "generic")]
    )
    files = {"/lib/keepon/common.sh": HERE / "keepon_common.sh", **plugin}
    result = run_guest(
        kernel,
        HERE / "generic_life.sh",
        files,
        modules=modules,
        tools=["ethtool"],
        mode=mode,
        timeout_s=1200,
    ).check()
    assert result.tap.problems() == []


def test_devices_that_are_no_wire_are_refused(plugin: dict[str, Path]) -> None:
    kernel = get_kernel("6.1", "rt")
    modules = build_modules(kernel, [KERNEL / name for name in ("native", "keepon", "generic")])
    card = (
        f"e1000,netdev=n1,romfile=,bus=pcie.0,addr={OURS.rpartition(':')[2]},mac=52:54:00:00:00:01"
    )
    far = "e1000,netdev=n2,romfile=,bus=pcie.0,addr=11.0,mac=52:54:00:00:00:02"
    result = run_guest(
        kernel, HERE / "generic_refused.sh", plugin, modules=modules, tools=["ethtool"],
        environment={"STOCK": "e1000", "OURS": OURS}, timeout_s=1200,
        qemu_args=["-netdev", "hubport,id=n1,hubid=0", "-device", card,
                   "-netdev", "hubport,id=n2,hubid=0", "-device", far],
    ).check()  # fmt: skip
    assert result.tap.problems() == []


def test_a_sentence_is_read_as_it_is_written() -> None:
    line = (
        "[    1.8] sim0: 4382 frames of 1230 bytes took 438192 us (104 more or less), a wire of 100"
        " Mb/s takes 438200 us; back 74968 ns late, 0 ns early, 183239 ns alone; 14 ahead"
    )
    assert Measured.of_line(line) == Measured(4382, 1230, 438192, 104, 438200, 74968, 0, 183239, 14)
