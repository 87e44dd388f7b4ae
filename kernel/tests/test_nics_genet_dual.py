# SPDX-License-Identifier: GPL-2.0-only
"""`clock dual` on the Ethernet of a Raspberry Pi 4, as a model of its registers: the controller's
loop brings its own wire back to it, so that every frame is stamped when it leaves and when it
arrives, by two rings.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from keepon.targets.vm import programs
from keepon_guests import build_modules, get_kernel, offered_families, run_guest
from test_nics_genet import COPIES, board, emulator, lent
from wirelog import counters, read_log

pytestmark = [pytest.mark.vm, pytest.mark.hw]

HERE = Path(__file__).parent
FRAMES = 200
PREFETCH = 4
SLOT_NS = 10_000
# What the driver claims of both indices, not measured on a card yet: the transmit index may be 2 us
# late, and ahead of the wire by what is fetched and a start of 20 us; the receive index may be 3 us
# late. A stamp is in the middle of what that leaves open.
LATE_NS, RESTART_NS, RX_LAG_NS = 2_000, 20_000, 3_000
# From frame to frame it changes only by what readings of the indices narrow it by.
SPREAD_NS_MAX = 1_000


@pytest.mark.parametrize(
    ("family", "append", "done"),
    [
        ("6.1", "", False),
        ("6.1", "", True),
        ("6.1", COPIES, True),
        (offered_families("arm64")[-1], "", True),
    ],
)
def test_both_rings_tell_the_same_time(
    family: str, append: str, done: bool, tmp_path: Path
) -> None:
    """Every frame sent is heard once, with a stamp that is its slot's; what the ring counted is
    what the wire carried.
    """
    log = tmp_path / "wire.csv"
    kernel = get_kernel(family, "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "genet", HERE.parent / "keepon"]
    files = {
        **programs.guest_files(kernel.machine), "/lib/keepon/lent.sh": HERE / "lent_common.sh",
    }  # fmt: skip
    result = run_guest(
        kernel, HERE / "nics_genet_dual.sh", files,
        modules=build_modules(kernel, folders), tools=programs.tools(kernel.machine),
        qemu=emulator(), append=append, timeout_s=900,
        qemu_args=board(log, prefetch=PREFETCH, cons_on_done="on" if done else "off"),
        environment={"FRAMES": str(FRAMES), "INDEX_DONE": str(int(done))},
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    count = counters(result)
    sent = {frame["seq"]: frame for frame in json.loads(result.files["talk.json"])["frames"]}
    heard = json.loads(result.files["listen.json"])["frames"]
    assert len(sent) == len(heard) == FRAMES
    late = [frame["rx_stamp_ns"] - sent[frame["seq"]]["tx_stamp_ns"] for frame in heard]
    ahead_ns = 0 if done else PREFETCH * SLOT_NS * 11 // 10 + RESTART_NS
    assert max(map(abs, late)) <= (LATE_NS + ahead_ns + RX_LAG_NS) / 2, (min(late), max(late))
    assert max(late) - min(late) <= SPREAD_NS_MAX
    runs = lent(read_log(log))
    # the counters were read a moment before the last slot
    assert 0 <= sum(run.frames for run in runs) - count["rx_ring_frames"] < 5000
    assert count["rx_ring_unstamped"] == 0
