# SPDX-License-Identifier: GPL-2.0-only
"""clock dual at line rate by either padding, and what stands behind a short frame where a long one
was.
"""

from __future__ import annotations

import io
import struct
from pathlib import Path

import dpkt
import pytest
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
PADDINGS = ("deferred", "on-demand")
SLOT_BYTES, FCS_BYTES, HEADER_BYTES = 605, 4, 14
TRIM_BYTES = 8
COUNTS = ("frames", "slots", "underruns", "slips", "far underruns", "far stops", "far missed")


def boot(family: str, seconds_full: int, probe_files: dict[str, Path]) -> GuestResult:
    kernel = get_kernel(family)
    modules = build_modules(
        kernel, [HERE.parent / "native", HERE.parent / "hwsim", HERE.parent / "keepon"]
    )
    result = checked(
        lambda: run_guest(
            kernel, HERE / "keepon_padding.sh", probe_files, modules=modules,
            tools=["tcpdump", "iperf3"],
            environment={"SECONDS_FULL": str(seconds_full)}, icount_shift=0, timeout_s=900,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    return result


def check_zeros(pcap: bytes) -> None:
    """Every frame fills its slot, and what its IP packet does not is zero."""
    lengths = []
    for _, frame in dpkt.pcap.Reader(io.BytesIO(pcap)):
        (length,) = struct.unpack("!H", frame[HEADER_BYTES + 2 : HEADER_BYTES + 4])
        lengths.append(length)
        assert abs(len(frame) - SLOT_BYTES) <= TRIM_BYTES
        assert not any(frame[HEADER_BYTES + length : -FCS_BYTES])
    assert lengths == [36] * 15 + [428] * 15 + [36] * 15 + [128] * 15


def test_behind_a_short_frame_there_are_zeros(probe_files: dict[str, Path]) -> None:
    result = boot("6.1", 0, probe_files)
    for padding in PADDINGS:
        check_zeros(result.files[f"{padding}.pcap"])


@pytest.mark.soak
@pytest.mark.parametrize("family", offered_families())
def test_the_wire_stays_full_of_frames(family: str, probe_files: dict[str, Path]) -> None:
    """How many slots carry frames is the load's affair, here one CPU's that works for both
    stations; that no slot is missing is the driver's."""
    result = boot(family, 4, probe_files)
    for padding in PADDINGS:
        numbers = [int(word) for word in result.files[f"{padding}.counts"].split()]
        grown = dict(
            zip(COUNTS, (b - a for a, b in zip(numbers[:7], numbers[7:], strict=True)), strict=True)
        )
        print(
            f"{padding}: {grown}, {grown['frames'] / grown['slots']:.1%} of the slots carried"
            " frames"
        )
        assert grown["frames"] > 0.9 * grown["slots"]
        assert [grown[name] for name in COUNTS[2:]] == [0] * 5
        check_zeros(result.files[f"{padding}.pcap"])
