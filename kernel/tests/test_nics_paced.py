# SPDX-License-Identifier: GPL-2.0-only
"""keepon on Intel's controllers as QEMU models them, with a wire that takes its time and a depth of
fetching ahead.

The judge is the wire's own log, which tells of every slot when it left, how long it was and whether
its FCS was good. The emulator is one that `make test-hw` builds (scripts/paced_qemu.py); what the
models choose is in docs/nics-measured.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest
from guest_programs import phy_register
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from wirelog import (
    FRAMES,
    GAP_BYTES,
    LONG_FRAMES,
    PERIOD_NS,
    Run,
    check_counters,
    check_long_frames,
    check_places,
    check_stream,
    counters,
    read_log,
)

pytestmark = [pytest.mark.vm, pytest.mark.hw]

HERE = Path(__file__).parent
FIRMWARE = ("/usr/share/seabios", "/usr/share/qemu")
# Model -> places on the bus. The virtual functions of an 82576 count on from its own place and need
# room.
PLACES = {"e1000e": (0x10, 0x11), "igb": (0x04, 0x08)}
BYTE_NS = 8
# Long frames, and short ones whose slots take a microsecond: bytes of slot, trim and test frame
LONG = (1230, 16, 100)
SHORT = (105, 8, 80)

# Posted is as much time as in other tests, as interrupts are off as long
LONG_FRAMES_HERE = {**LONG_FRAMES, "LINK": "ring 4096 depth 2048"}


def emulator() -> Path:
    path = Path(os.environ.get("KEEPON_PACED_QEMU", ""))
    assert path.is_file(), (
        "KEEPON_PACED_QEMU names no QEMU with a paced wire: run these tests by `make test-hw`"
    )
    return path


def addresses(model: str) -> list[str]:
    return [f"0000:00:{place:02x}.0" for place in PLACES[model]]


def cards(model: str, ahead: int, log: Path, judged: bool = False, done: bool = False) -> list[str]:
    """Two on one wire; the first one's sending is paced. Judged: the other gets its frames with
    their FCS, and those whose FCS is wrong too. Done: its index tells of frames that have left.
    """
    options = [f",paced=on,ahead={ahead},wirelog={log}", ""]
    if done:
        options[0] += ",head-on-done=on"
    if judged:
        options = [f"{options[0]},send-fcs=on", ",check-fcs=on"]
    args = [part for folder in FIRMWARE for part in ("-L", folder)]
    for number, (place, more) in enumerate(zip(PLACES[model], options, strict=True), 1):
        device = (
            f"{model},netdev=n{number},romfile=,bus=pcie.0,addr={place:#x},"
            f"mac=52:54:00:00:00:0{number}{more}"
        )
        args += ["-netdev", f"hubport,id=n{number},hubid=0", "-device", device]
    return args


def boot(
    model: str,
    ahead: int,
    said: int,
    lengths: tuple[int, int, int],
    log: Path,
    judged: bool = False,
    mbps: int = 1000,
    frames: int = FRAMES,
    done: bool = False,
    family: str = "6.1",
    more: Mapping[str, str] | None = None,
) -> GuestResult:
    kernel = get_kernel(family, "rt")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "intel", HERE.parent / "keepon"]
    ours, theirs = addresses(model)
    slot_bytes, trim_bytes, talk_bytes = (str(length) for length in lengths)
    files = {**programs.guest_files(), "/lib/keepon/lent.sh": HERE / "lent_common.sh"}
    return run_guest(
        kernel, HERE / "nics_stream.sh", files,
        modules=build_modules(kernel, folders),
        tools=[*programs.tools()], qemu=emulator(),
        qemu_args=cards(model, ahead, log, judged, done),
        timeout_s=3600,
        environment={
            "OURS": ours, "THEIRS": theirs, "STOCK": model, "PREFETCH": str(said),
            "INDEX_DONE": str(int(done)), "MBPS": str(mbps),
            "FRAMES": str(frames), "ECHOES": str(frames // 20 + 5),
            "TALK": "/out/talk.json" if frames == FRAMES else "/tmp/talk.json",
            "SLOT_BYTES": slot_bytes, "TRIM_BYTES": trim_bytes, "TALK_BYTES": talk_bytes,
            "JUDGE": "yes" if judged else "", **(more or {}),
        },
    )  # fmt: skip


def lent(log: list[Run]) -> list[Run]:
    """From the first placeholder to the last."""
    own = [place for place, run in enumerate(log) if run.own_fcs]
    assert own, "no placeholder left"
    return log[own[0] : own[-1] + 1]


def check_wire(
    runs: list[Run], lengths: tuple[int, int, int], ahead: int, byte_ns: int = BYTE_NS
) -> None:
    slot_bytes, trim_bytes, _ = lengths
    gaps = [after.start_ns - before.end_ns(byte_ns) for before, after in pairwise(runs)]
    assert not any(gaps), (
        f"the wire stood still {sum(gap != 0 for gap in gaps)} times, {max(gaps)} ns at most"
    )
    assert {(run.own_fcs, run.good) for run in runs} == {(True, False), (False, True)}
    assert all(abs(run.slot_bytes - slot_bytes) <= trim_bytes for run in runs)
    # the model really fetches as deep as it is set to
    assert (
        max(run.ahead_ns for run in runs) >= ahead * (slot_bytes - trim_bytes + GAP_BYTES) * byte_ns
    )
    assert ahead or max(run.ahead_ns for run in runs) == 0


def judge(
    result: GuestResult, log: Path, ahead: int, lengths: tuple[int, int, int], mbps: int = 1000
) -> None:
    assert result.check().tap.problems() == []
    runs = lent(read_log(log))
    byte_ns = 8000 // mbps
    check_wire(runs, lengths, ahead, byte_ns)
    check_stream(runs, result, byte_ns)
    check_counters(runs, counters(result))
    slots = sum(run.frames for run in runs)
    print(f"{slots} slots, {result.virtual_seconds} s in the guest, {result.wall_seconds:.0f} s")


@pytest.mark.parametrize("family", offered_families("rt"))
@pytest.mark.parametrize("mbps", [1000, 100])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("ahead", [0, 4, 16, 32])
@pytest.mark.parametrize("model", PLACES)
def test_every_slot_on_the_wire(
    model: str, ahead: int, done: bool, mbps: int, family: str, tmp_path: Path
) -> None:
    """No gap, placeholders bad, all else good, every frame of the stream at its byte,
    none missing. `done`: the index tells of frames that have left.
    """
    log = tmp_path / "wire.csv"
    result = boot(model, ahead, ahead or 1, LONG, log, done=done, mbps=mbps, family=family)
    judge(result, log, ahead, LONG, mbps)


# Depth of the model, PREFETCH of the driver (0: what the data sheets suggest), lengths
@pytest.mark.parametrize(
    ("ahead", "said", "lengths"), [(4, 0, LONG), (0, 1, SHORT), (32, 32, SHORT)]
)
@pytest.mark.parametrize("model", PLACES)
def test_short_slots_and_depths_of_data_sheets(
    model: str, ahead: int, said: int, lengths: tuple[int, int, int], tmp_path: Path
) -> None:
    log = tmp_path / "wire.csv"
    judge(boot(model, ahead, said, lengths, log), log, ahead, lengths)


@pytest.mark.parametrize(("mbps", "frames"), [(100, 60_000), (1000, 1000)])
@pytest.mark.parametrize("model", PLACES)
def test_the_stream_for_long(model: str, mbps: int, frames: int, tmp_path: Path) -> None:
    """A minute at 100 Mb/s and a second at 1 Gb/s with best effort all the time: as the
    short ones.
    """
    log = tmp_path / "wire.csv"
    result = boot(model, 4, 4, LONG, log, mbps=mbps, frames=frames).check()
    assert result.tap.problems() == []
    runs = lent(read_log(log))
    check_wire(runs, LONG, 4, 8000 // mbps)
    check_places(runs, 8000 // mbps, frames=frames)
    check_counters(runs, counters(result), frames)
    print(f"{sum(run.frames for run in runs)} slots, {result.wall_seconds:.0f} s")


@pytest.mark.parametrize("model", PLACES)
def test_a_stock_receiver_counts_placeholders_as_errors(model: str, tmp_path: Path) -> None:
    """The kernel's own driver at the far end: as many CRC errors as placeholders left, and every
    frame received, the stream's in order and whole.
    """
    log = tmp_path / "wire.csv"
    result = boot(model, 4, 4, LONG, log, judged=True).check()
    assert result.tap.problems() == []
    runs = read_log(log)
    far = counters(result, "far.txt")
    assert far["rx_crc_errors"] == sum(run.frames for run in runs if not run.good)
    assert far["rx_packets"] == sum(run.frames for run in runs if run.good)
    # all but two slots of each period of the stream, its frame's and an echo's
    slots = PERIOD_NS // ((LONG[0] + GAP_BYTES) * BYTE_NS)
    assert far["rx_crc_errors"] > FRAMES * (slots - 2)
    heard = json.loads(result.files["listen.json"])["frames"]
    assert [frame["seq"] for frame in heard] == list(range(FRAMES))
    check_stream(lent(runs), result, BYTE_NS)


# Slots of a frame of 1518 bytes in fragments, of 105 bytes, and in one descriptor, of 230
@pytest.mark.parametrize(
    ("fragments", "lengths", "slots"),
    [(1, SHORT, 13), (0, (230, 16, 100), 9)],
    ids=["fragments", "one descriptor"],
)
@pytest.mark.parametrize("model", PLACES)
def test_frames_longer_than_a_slot(
    model: str, fragments: int, lengths: tuple[int, int, int], slots: int, tmp_path: Path
) -> None:
    """Echoes of all lengths beside the stream: what leaves with a bad FCS are placeholders, as many
    as the kernel's driver at the far end counts, and all else is good, whole and there. The model
    fetches a frame ahead, however many descriptors that is.
    """
    log = tmp_path / "wire.csv"
    result = boot(
        model, 1, 2 * slots + 1 if fragments else 2, lengths, log, judged=True,
        more={**LONG_FRAMES_HERE, "FRAGMENTS": str(fragments)},
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    runs = read_log(log)
    far = counters(result, "far.txt")
    assert far["rx_crc_errors"] == sum(run.frames for run in runs if not run.good)
    assert far["rx_packets"] == sum(run.frames for run in runs if run.good)
    check_long_frames(lent(runs), result, lengths, BYTE_NS, own_fcs=bool(fragments))


def test_an_ordinary_card_with_advanced_descriptors(tmp_path: Path) -> None:
    """The 82576 beside the kernel's own driver; the distribution's QEMU need not have a model of
    it.
    """
    kernel = get_kernel("6.1", "rt")
    modules = build_modules(
        kernel,
        [HERE.parent / "native", HERE.parent / "nics" / "intel", HERE / "resume_probe",
         HERE / "bus_error_probe"],
    )  # fmt: skip
    ours, theirs = addresses("igb")
    result = run_guest(
        kernel, HERE / "nics_intel.sh", phy_register(tmp_path), modules=modules,
        tools=["ethtool", "iperf3"],
        qemu=emulator(),
        qemu_args=cards("igb", 4, tmp_path / "wire.csv"), timeout_s=1200,
        environment={"OURS": ours, "THEIRS": theirs, "STOCK": "igb"},
    ).check()  # fmt: skip
    assert result.tap.problems() == []


@pytest.mark.parametrize(("ahead", "lengths"), [(32, LONG), (64, SHORT)])
@pytest.mark.parametrize("model", PLACES)
def test_a_depth_beyond_what_was_said_is_found_out(
    model: str, ahead: int, lengths: tuple[int, int, int], tmp_path: Path
) -> None:
    """The index is further ahead of the wire than it can be: a slip, and no clock until it is set
    again.
    """
    said = 8
    log = tmp_path / "wire.csv"
    result = boot(model, ahead, said, lengths, log)
    assert counters(result)["slips"] > 0
    assert "slip: ring index and CPU counter contradict" in result.files["dmesg.txt"].decode()
    assert (
        max(run.ahead_ns for run in lent(read_log(log)))
        > said * (sum(lengths[:2]) + GAP_BYTES) * BYTE_NS
    )
