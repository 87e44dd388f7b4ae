# SPDX-License-Identifier: GPL-2.0-only
"""Frames longer than a slot from a keepon link to a card that knows of none: pings and TCP of MTU
1500 both ways beside a stream every millisecond, which keeps its byte; frames of random lengths.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from guest_programs import PLUGIN, compiled, plugin
from hwsim_wire import stream_deviations_ps
from keepon.targets.vm import observations, programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
BYTE_PS = 80_000  # 100 Mb/s
SEGMENT_BYTES = 1500 - 20 - 32  # payload; headers of IPv4 and of TCP with time stamps
SHARE = 0.97


@dataclass(frozen=True)
class Slots:
    """Of which the first of `count` a millisecond is the stream's; an MTU of 1500 takes `frame`,
    with a tag `tagged`.
    """

    frame_bytes: int
    count: int
    frame: int
    tagged: int
    nic: str = ""

    def goodput_bps(self) -> int:
        """Of TCP, if every slot in a row that has room for a frame has one."""
        return (self.count - 1) // self.frame * 1000 * SEGMENT_BYTES * 8


def boot(slots: Slots, family: str, folder: Path) -> GuestResult:
    kernel = get_kernel(family)
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")])
    variables = {
        "SLOT_BYTES": str(slots.frame_bytes), "PARTITION": str(slots.count),
        "FRAME_SLOTS": str(slots.frame), "TAGGED_SLOTS": str(slots.tagged), "NIC": slots.nic,
    }  # fmt: skip
    files = {
        **programs.guest_files(), PLUGIN: plugin(folder),
        "/lib/keepon/common.sh": HERE / "keepon_common.sh",
    }  # fmt: skip
    # what hwsim does at each of nine stores is the CPU's, too, which is to be quicker than usual
    result = checked(
        lambda: run_guest(
            kernel, HERE / "keepon_long.sh", files, modules=modules,
            tools=[*programs.tools(), "iperf3"], environment=variables, icount_shift=0,
            timeout_s=600,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    return result


def check(slots: Slots, result: GuestResult) -> None:
    read = observations.read_counters
    count, sent, received = (
        read(result.files[f"{name}.stats"].decode()) for name in ("rt0", "sim0", "sim1")
    )
    # on the same kernel and slots: nothing was lost, late or doubted
    assert count["submitted"] == count["verdict_on_time"] + count["verdict_best_effort"]
    troubles = ("underruns", "suspected_underruns", "slips", "doubts", "verdict_oversize")
    assert not any(count[name] for name in troubles)
    for way in ("there", "back"):
        assert np.max(np.abs(stream_deviations_ps(result, f"talk-{way}.json"))) <= BYTE_PS
        end = json.loads(result.files[f"iperf-{way}.json"])["end"]
        assert end["sum_sent"]["retransmits"] == 0
    there = json.loads(result.files["iperf-there.json"])["end"]["sum_received"]["bits_per_second"]
    print(f"{slots}: TCP {there / 1e6:.2f} Mb/s of {slots.goodput_bps() / 1e6:.2f}")
    assert SHARE * slots.goodput_bps() <= there <= slots.goodput_bps()
    # each frame arrived whole, and what had a bad FCS were placeholders
    assert received["rx_frames"] == sent["tx_frames"] and not sent["tx_torn"]
    assert received["rx_bytes"] == sent["tx_bytes"]
    assert received["rx_fcs_errors"] == received["rx_placeholders"] == sent["tx_placeholders"] > 0


@pytest.mark.parametrize("family", offered_families())
@pytest.mark.parametrize(
    "slots",
    [
        Slots(230, 50, 9, 9),
        pytest.param(Slots(605, 20, 3, 3), marks=pytest.mark.full),
        Slots(1230, 10, 2, 2),
        Slots(105, 100, 13, 14, "fragments=32"),
    ],
    ids=lambda slots: f"{slots.frame_bytes}",
)
def test_frames_of_several_slots(slots: Slots, family: str, tmp_path: Path) -> None:
    check(slots, boot(slots, family, tmp_path))


def exchange(
    folder: Path,
    slot_bytes: int,
    slots: int,
    rate_bps: int,
    nic: str,
    count: int,
    least: int,
    storm: bool,
) -> tuple[dict[str, int], dict[str, int]]:
    """What the far end heard of `count` frames, and the link's counters."""  # fmt: skip
    kernel = get_kernel("6.1")
    modules = build_modules(kernel, [HERE.parent / name for name in ("native", "hwsim", "keepon")])
    files = {
        PLUGIN: plugin(folder), "/lib/keepon/common.sh": HERE / "keepon_common.sh",
        "/usr/bin/random_frames": compiled(folder, "random_frames"),
    }  # fmt: skip
    variables = {
        "SLOT_BYTES": str(slot_bytes), "SLOTS": str(slots), "RATE_BPS": str(rate_bps), "NIC": nic,
        "COUNT": str(count), "LEAST": str(least), "STORM": "1" if storm else "",
    }  # fmt: skip
    result = checked(
        lambda: run_guest(
            kernel, HERE / "keepon_random.sh", files, modules=modules, tools=["ethtool"],
            environment=variables, icount_shift=0, timeout_s=1200,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    words = result.files["received.txt"].decode().split()[1:]
    heard = dict(zip(words[::2], map(int, words[1::2]), strict=True))
    link, sent, received = (
        observations.read_counters(result.files[f"{name}.stats"].decode())
        for name in ("rt0", "sim0", "sim1")
    )
    print(heard, {name: value for name, value in link.items() if value})
    assert heard["wrong"] == heard["twice"] == 0
    assert received["rx_fcs_errors"] == received["rx_placeholders"] == sent["tx_placeholders"] > 0
    assert received["rx_frames"] == sent["tx_frames"]
    return heard, link


@pytest.mark.parametrize(
    ("slot_bytes", "slots", "nic"),
    [
        (105, 36, ""),
        (105, 14, "fragments=32"),
        pytest.param(230, 9, "", marks=pytest.mark.full),
        pytest.param(230, 7, "fragments=32", marks=pytest.mark.full),
        pytest.param(605, 3, "", marks=pytest.mark.full),
        pytest.param(605, 3, "fragments=32", marks=pytest.mark.full),
    ],
)
def test_full_frames_of_a_busy_sender(
    slot_bytes: int, slots: int, nic: str, tmp_path: Path
) -> None:
    """At 1 Gb/s, one after the other: none is in doubt, nor are lengths of slots."""
    heard, link = exchange(tmp_path, slot_bytes, slots, 10**9, nic, 10_000, 1500, storm=False)
    assert heard["whole"] == link["verdict_best_effort"] == link["submitted"] == 10_000
    assert not any(link[name] for name in ("slips", "doubts", "verdict_in_doubt"))


@pytest.mark.full
@pytest.mark.parametrize(
    ("nic", "count", "honest"),
    [
        ("prefetch=8 index=fetch persistent=0 clobbers=1 coherent=0", 100_000, True),
        # what is fetched already is changed again and again
        ("prefetch=40 claim_prefetch=0 index=fetch", 20_000, False),
    ],
    ids=["honest", "lie"],
)
def test_random_frames_of_fragments(nic: str, count: int, honest: bool, tmp_path: Path) -> None:
    """No good frame leaves but those that were sent, once each, whatever mixtures of old and new
    descriptors a NIC fetches. Those that do not leave have a verdict that says so, unless the NIC
    states wrong limits.
    """
    nic = f"fragments=32 {nic}"
    heard, link = exchange(tmp_path, 105, 14, 10**8, nic, count, 46, storm=True)
    if honest:
        doubt = link["verdict_in_doubt"]
        assert link["verdict_best_effort"] <= heard["whole"] <= link["verdict_best_effort"] + doubt
        assert heard["whole"] >= count - doubt and doubt < count // 10_000
    else:
        assert heard["whole"] < count
