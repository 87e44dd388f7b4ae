# SPDX-License-Identifier: GPL-2.0-only
"""clock dual on keepon links: receive stamps against both wire records, and what is counted when
the peer falters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from keepon.targets.vm import observations, programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from repeats import checked

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
WIRE_NS = 5_000  # propagation
ARRIVAL = re.compile(
    r"keepon_arrival: dev=rt1 place=\d+ valid=1 time_ns=(\d+)\.(\d{3}) error_ps=(\d+)"
)
SOAK = pytest.mark.soak


def boot(
    family: str, probe_files: dict[str, Path], environment: dict[str, str], icount_shift: int
) -> GuestResult:
    kernel = get_kernel(family)
    environment |= {"WIRE_NS": str(WIRE_NS)}
    modules = build_modules(
        kernel, [HERE.parent / "native", HERE.parent / "hwsim", HERE.parent / "keepon"]
    )
    result = checked(
        lambda: run_guest(
            kernel, HERE / "keepon_dual.sh", probe_files, modules=modules, tools=programs.tools(),
            environment=environment, icount_shift=icount_shift, timeout_s=1200,
        )
    )  # fmt: skip
    assert result.tap.problems() == []
    return result


@dataclass(frozen=True)
class Stamps:
    """Of each received frame, ns: by how much its stamp is off, and may be as the driver says."""

    off_ns: npt.NDArray[np.float64]
    stated_ns: npt.NDArray[np.float64]

    @property
    def p99_ns(self) -> float:
        return float(np.quantile(np.abs(self.off_ns), 0.99))

    def __str__(self) -> str:
        return (
            f"{len(self.off_ns)} stamps off by {self.off_ns.min():.0f} to {self.off_ns.max():.0f}"
            f" ns, mean {self.off_ns.mean():.0f}, p99 {self.p99_ns:.0f}; stated:"
            f" {self.stated_ns.min():.0f} to {self.stated_ns.max():.0f}"
        )


def stated_errors(trace: str) -> dict[int, int]:
    """Stamp, to the nearest ns as keepon rounds it, -> by how much it may be off, ps."""
    found = {}
    for ns, ps, error in ARRIVAL.findall(trace):
        for stamp in {int(ns) + (int(ps) >= 500), int(ns) + (int(ps) > 500)}:
            found[stamp] = int(error)
    return found


def read_stamps(result: GuestResult) -> Stamps:
    """The receiver's PHC as a function of true time follows from its own frames, stamped by their
    slots.
    """
    sent, received = (
        observations.read_wire(result.files[name].decode()).raw_ps
        for name in ("far.wire", "near.wire")
    )
    stream = observations.stream_hash("keepon")
    own = observations.load_json(result.files, "talk.json")["frames"]
    first_ps, first_ns = sent[stream, 0], own[0]["tx_stamp_ns"]
    raw = np.array([sent[stream, frame["seq"]] - first_ps for frame in own]) / 1000
    ahead = np.array([frame["tx_stamp_ns"] - first_ns for frame in own]) - raw
    law = np.polyfit(raw, ahead, 1)
    assert np.abs(ahead - np.polyval(law, raw)).max() < 0.6, (
        "stamps of sent frames are those of the wire, rounded"
    )

    stated = stated_errors(result.files["arrivals"].decode())
    off, error = [], []
    for frame in observations.load_json(result.files, "listen.json")["frames"]:
        arrived = (received[stream, frame["seq"]] + WIRE_NS * 1000 - first_ps) / 1000
        off.append(frame["rx_stamp_ns"] - first_ns - (arrived + float(np.polyval(law, arrived))))
        error.append(stated[frame["rx_stamp_ns"]] / 1000)
    return Stamps(np.array(off), np.array(error))


FAMILIES = [
    "6.1",
    *(pytest.param(name, marks=SOAK) for name in offered_families() if name != "6.1"),
]


@pytest.mark.parametrize("family", FAMILIES)
def test_both_rings_count_what_was_on_the_wire(family: str, probe_files: dict[str, Path]) -> None:
    environment = {
        "WHOLE": "1", "RATE": "100000000", "OPTIONS": "slot_bytes 300 batch 8 wander_ppb 100",
        "READ_NS": "1500", "LAG_NS": "400-900", "SETTLE": "0.3",
    }  # fmt: skip
    result = boot(family, probe_files, environment, icount_shift=1)
    stamps = read_stamps(result)
    print(f"{result.wall_seconds:.0f} s, {result.virtual_seconds} s in the guest; {stamps}")
    assert len(stamps.off_ns) == 60
    assert (np.abs(stamps.off_ns) <= stamps.stated_ns + 0.6).all()
    # Slots of 25.6 us; a read takes 1.5 us, and what the strips have from one lucky reading stays
    # for a while.
    assert stamps.p99_ns < 2_000
    # Every slot the peer ever sent was heard, but for the one frame that was lost.
    slots = re.findall(rb"^reset slots=([1-9]\d*)$", result.files["near.whole"], re.MULTILINE)
    assert [int(count) - 1 for count in slots] == [int(result.files["near.heard"])]


@SOAK
@pytest.mark.parametrize("family", offered_families())
def test_stamps_of_received_frames_are_tens_of_ns_off(
    family: str, probe_files: dict[str, Path]
) -> None:
    """Slots of 2.56 us, batch 8, reads of 1.5 us. The goal, 30 ns, is just missed: docs/time.md
    says by what.
    """
    environment = {
        "WHOLE": "0", "RATE": "1000000000",
        "OPTIONS": "slot_bytes 300 batch 8 ring 512 wander_ppb 100",
        "READ_NS": "1500", "SETTLE": "3",
    }  # fmt: skip
    stamps = read_stamps(boot(family, probe_files, environment, icount_shift=0))
    print(stamps)
    assert (np.abs(stamps.off_ns) <= stamps.stated_ns + 0.6).all()
    assert stamps.p99_ns < 60
