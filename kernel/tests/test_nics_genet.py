# SPDX-License-Identifier: GPL-2.0-only
"""keepon on the Ethernet of a Raspberry Pi 4, as a model of its registers that `make test-hw`
builds has it.

The judge is the wire's own log. A frame has its own FCS, as a placeholder has, and only that it is
good tells them apart. What the model chooses is in docs/nics-measured.md.
"""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest
from guest_python import foreign_python_files
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from test_bind import TRIED as BIND_TRIED
from wirelog import (
    FRAMES,
    GAP_BYTES,
    LONG_FRAMES,
    STREAM,
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
ADDRESS = "52:54:00:00:00:01"
# Long frames, and short ones whose slots take a microsecond at 1 Gb/s: bytes of slot, trim and test
# frame
LONG = (1230, 16, 100)
SHORT = (105, 8, 80)
DISCARDS_MAX = 65_535  # where the controller's count stays
# Every buffer has a copy that the device sees, and only what is handed over goes from one to the
# other, as if there were a cache that the device does not look into.
COPIES = "swiotlb=force"


def emulator() -> Path:
    path = Path(os.environ.get("KEEPON_PACED_QEMU_PI", ""))
    assert path.is_file(), (
        "KEEPON_PACED_QEMU_PI names no QEMU with a GENET: run these tests by `make test-hw`"
    )
    return path


def board(log: Path, network: str = "", **properties: object) -> list[str]:
    """The Pi with its far end in QEMU; `properties` of the model."""
    settings = {
        "wirelog": log,
        **{name.replace("_", "-"): value for name, value in properties.items()},
    }
    args = [
        part
        for name, value in settings.items()
        for part in ("-global", f"bcm2711-genet.{name}={value}")
    ]
    return ["-nic", f"user,model=genet,mac={ADDRESS}{network}", *args]


def boot(
    log: Path, said: int, lengths: tuple[int, int, int] = LONG, *, done: bool = False,
    mbps: int = 1000,
    append: str = "", family: str = "6.1", ppb: int = 0, frames: int = FRAMES,
    talk: str = "/out/talk.json", more: Mapping[str, str] | None = None, **properties: object,
) -> GuestResult:  # fmt: skip
    kernel = get_kernel(family, "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "genet", HERE.parent / "keepon"]
    slot_bytes, trim_bytes, talk_bytes = (str(length) for length in lengths)
    files = {
        **programs.guest_files(kernel.machine), "/lib/keepon/lent.sh": HERE / "lent_common.sh",
    }  # fmt: skip
    return run_guest(
        kernel, HERE / "nics_board_stream.sh", files,
        modules=build_modules(kernel, folders), tools=programs.tools(kernel.machine),
        qemu=emulator(),
        qemu_args=board(log, **properties), append=append, timeout_s=3600,
        environment={
            "CARD": "genet", "PREFETCH": str(said), "INDEX_DONE": str(int(done)), "MBPS": str(mbps),
            "FRAMES": str(frames), "ECHOES": str(frames // 20 + 5), "TALK": talk,
            "SLOT_BYTES": slot_bytes, "TRIM_BYTES": trim_bytes, "TALK_BYTES": talk_bytes,
            "PPB": str(ppb), **(more or {}),
        },
    )  # fmt: skip


def lent(log: list[Run]) -> list[Run]:
    """From the first placeholder to the last."""
    own = [place for place, run in enumerate(log) if run.placeholder]
    assert own, "no placeholder left"
    return log[own[0] : own[-1] + 1]


def check_wire(runs: list[Run], lengths: tuple[int, int, int], ahead: int, byte_ns: int) -> None:
    slot_bytes, trim_bytes, _ = lengths
    gaps = [after.start_ns - before.end_ns(byte_ns) for before, after in pairwise(runs)]
    assert not any(gaps), (
        f"the wire stood still {sum(gap != 0 for gap in gaps)} times, {max(gaps)} ns at most"
    )
    assert all(run.own_fcs for run in runs), "the controller has added an FCS"
    assert {run.good for run in runs} == {True, False}
    assert all((run.kind == "0000") == run.placeholder for run in runs), (
        "bytes of a frame in a placeholder, or none"
    )
    assert all((run.tail == "00000000") == run.placeholder for run in runs), (
        "an FCS of a frame in a placeholder"
    )
    assert all(abs(run.slot_bytes - slot_bytes) <= trim_bytes for run in runs)
    # the model really fetches as deep as it is set to
    assert (
        max(run.ahead_ns for run in runs) >= ahead * (slot_bytes - trim_bytes + GAP_BYTES) * byte_ns
    )
    assert ahead or max(run.ahead_ns for run in runs) == 0


def judge(
    result: GuestResult,
    log: Path,
    ahead: int,
    lengths: tuple[int, int, int],
    mbps: int,
    ppb: int = 0,
) -> list[Run]:
    assert result.check().tap.problems() == []
    runs = lent(read_log(log))
    check_wire(runs, lengths, ahead, 8000 // mbps)
    check_stream(runs, result, 8000 // mbps, ppb)
    check_counters(runs, counters(result))
    # every change of a length reached its descriptor; the ring has gone on after the counter was
    # read
    assert (
        sum(run.frames for run in runs if run.slot_bytes != lengths[0])
        >= counters(result)["trims"]
        > 0
    )
    slots = sum(run.frames for run in runs)
    print(f"{slots} slots, {result.virtual_seconds} s in the guest, {result.wall_seconds:.0f} s")
    return runs


def index(ahead: int, done: bool) -> dict[str, object]:
    """Of the model: how deep it fetches, and whether its index tells of frames that have left."""
    return {"prefetch": ahead, "cons_on_done": "on" if done else "off"}


@pytest.mark.parametrize("family", offered_families("arm64"))
@pytest.mark.parametrize("mbps", [1000, 100])
@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("ahead", [0, 4, 16, 32])
def test_every_slot_on_the_wire(
    ahead: int, done: bool, mbps: int, family: str, tmp_path: Path
) -> None:
    """No gap, placeholders bad, all else good, every frame of the stream at its byte,
    none missing.
    """
    log = tmp_path / "wire.csv"
    model = index(ahead, done)
    result = boot(log, ahead, done=done, mbps=mbps, family=family, **model)
    judge(result, log, ahead, LONG, mbps)


@pytest.mark.parametrize(("ahead", "done"), [(0, False), (16, False), (16, True)])
def test_short_slots(ahead: int, done: bool, tmp_path: Path) -> None:
    log = tmp_path / "wire.csv"
    result = boot(log, ahead, SHORT, done=done, **index(ahead, done))
    judge(result, log, ahead, SHORT, 1000)


@pytest.mark.parametrize(("mbps", "frames"), [(100, 60_000), (1000, 1000)])
def test_the_stream_for_long(mbps: int, frames: int, tmp_path: Path) -> None:
    """A minute at 100 Mb/s and a second at 1 Gb/s with best effort all the time: as the short ones.
    What became of each frame stays in the guest, whose one way out is a serial line.
    """
    log = tmp_path / "wire.csv"
    result = boot(log, 4, mbps=mbps, frames=frames, talk="/tmp/talk.json", prefetch=4).check()
    assert result.tap.problems() == []
    runs = lent(read_log(log))
    check_wire(runs, LONG, 4, 8000 // mbps)
    check_places(runs, 8000 // mbps, frames=frames)
    check_counters(runs, counters(result), frames)
    print(f"{sum(run.frames for run in runs)} slots, {result.wall_seconds:.0f} s")


def test_every_byte_is_written_back(tmp_path: Path) -> None:
    """The same where the device has a copy of each buffer, made when the driver says so."""
    log = tmp_path / "wire.csv"
    judge(boot(log, 4, append=COPIES, prefetch=4), log, 4, LONG, 1000)


def test_real_slots_are_trimmed(tmp_path: Path) -> None:
    """A clock that is set faster than the wire shortens many slots, and frames that are in them
    keep a good FCS.
    """
    log = tmp_path / "wire.csv"
    ppb = 200_000
    runs = judge(boot(log, 4, ppb=ppb, prefetch=4), log, 4, LONG, 1000, ppb)
    assert len({run.slot_bytes for run in runs if run.kind == STREAM}) > 1


@pytest.mark.parametrize("append", ["", COPIES])
def test_an_ordinary_card(append: str, tmp_path: Path) -> None:
    """The driver is a complete, ordinary one, whatever it may lend; every frame of it has a good
    FCS.
    """
    kernel = get_kernel("6.1", "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "genet", HERE / "resume_probe"]
    data = bytes(range(256)) * 1024
    (tmp_path / "file").write_bytes(data)
    log = tmp_path / "wire.csv"
    result = run_guest(
        kernel, HERE / "nics_genet.sh", {"/lib/keepon/board.sh": HERE / "board_common.sh"},
        modules=build_modules(kernel, folders), qemu=emulator(),
        qemu_args=board(log, f",tftp={tmp_path}", prefetch=4), append=append, timeout_s=600,
        environment={"FILE_SUM": hashlib.md5(data, usedforsecurity=False).hexdigest()},
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    assert {(run.good, run.own_fcs) for run in read_log(log)} == {(True, False)}


def test_a_controller_that_is_down_is_off(tmp_path: Path) -> None:
    """Its registers say so; the kernel is started with iomem=relaxed to have them read."""
    kernel = get_kernel("6.1", "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "genet"]
    result = run_guest(
        kernel, HERE / "nics_genet_off.sh", modules=build_modules(kernel, folders), qemu=emulator(),
        qemu_args=board(tmp_path / "wire.csv"), append="iomem=relaxed", timeout_s=120,
    ).check()  # fmt: skip
    assert result.tap.problems() == []


def test_what_is_refused_leaves_the_controller_as_it_was(tmp_path: Path) -> None:
    """Another device, no reach into memory, no interrupt, no PHY; rings, slots and frames of sizes
    it does not have; claimed twice: one sentence each.
    """
    kernel = get_kernel("6.1", "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "genet", HERE.parent / "keepon"]
    files = {
        **programs.guest_files(kernel.machine), "/lib/keepon/lent.sh": HERE / "lent_common.sh",
        "/lib/keepon/refused.sh": HERE / "refused_common.sh",
    }  # fmt: skip
    result = run_guest(
        kernel, HERE / "nics_genet_refused.sh", files,
        modules=build_modules(kernel, [*folders, HERE / "lack_probe"]), qemu=emulator(),
        qemu_args=board(tmp_path / "wire.csv", prefetch=4), timeout_s=600,
    ).check()  # fmt: skip
    assert result.tap.problems() == []


def test_keepon_bind_knows_the_controller(tmp_path: Path) -> None:
    """From the kernel's own driver to ours and back, with address and route."""
    kernel = get_kernel("6.1", "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "genet"]
    result = run_guest(
        kernel, HERE / "bind_pi.sh", foreign_python_files(BIND_TRIED, "arm64"),
        modules=build_modules(kernel, folders), tools=["python3"], qemu=emulator(),
        qemu_args=board(tmp_path / "wire.csv", prefetch=4), timeout_s=600,
    ).check()  # fmt: skip
    assert result.tap.problems() == []


@pytest.mark.parametrize(("ahead", "lengths"), [(32, LONG), (64, SHORT)])
def test_a_depth_beyond_what_was_said_is_found_out(
    ahead: int, lengths: tuple[int, int, int], tmp_path: Path
) -> None:
    """The index is further ahead of the wire than it can be: a slip, and no clock until it is set
    again.
    """
    said = 8
    log = tmp_path / "wire.csv"
    result = boot(log, said, lengths, prefetch=ahead)
    assert counters(result)["slips"] > 0
    assert "slip: ring index and CPU counter contradict" in result.files["dmesg.txt"].decode()
    assert (
        max(run.ahead_ns for run in lent(read_log(log))) > said * (sum(lengths[:2]) + GAP_BYTES) * 8
    )


def flood(wire: socket.socket, bursts: int, frames: int) -> None:
    """For each frame of the guest as many broadcasts, all at once."""
    frame = b"\xff" * 6 + bytes.fromhex("02000000000988b6") + bytes(46)
    wire.settimeout(60)
    for _ in range(bursts):
        _, guest = wire.recvfrom(2048)
        for _ in range(frames):
            wire.sendto(frame, guest)


def test_discarded_frames_are_counted(tmp_path: Path) -> None:
    """How many found no descriptor, more than the controller can count; the others were received.
    Coming up again counts none of them again. A burst is less than what the controller counts
    before it has to be asked, however fast the host is beside the guest.
    """
    kernel = get_kernel("6.1", "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "genet"]
    bursts, frames = 8, 20_000
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire, ThreadPoolExecutor(1) as pool:
        wire.bind(str(tmp_path / "host"))
        sending = pool.submit(flood, wire, bursts, frames)
        ends = (
            f"local.type=unix,local.path={tmp_path / 'guest'},"
            f"remote.type=unix,remote.path={tmp_path / 'host'}"
        )
        result = run_guest(
            kernel, HERE / "nics_genet_flood.sh", modules=build_modules(kernel, folders),
            qemu=emulator(),
            qemu_args=["-netdev", f"dgram,id=n0,{ends}", "-net",
            f"nic,netdev=n0,model=genet,macaddr={ADDRESS}"],
            environment={"BURSTS": str(bursts), "FRAMES": str(frames)}, timeout_s=120,
        ).check()  # fmt: skip
        sending.result()
    assert result.tap.problems() == []
    count = counters(result)
    packets, missed = (int(result.files[name]) for name in ("rx_packets", "rx_missed_errors"))
    assert count["rx_discarded"] == missed > DISCARDS_MAX
    assert packets + missed == count["rx_frames_on_wire"] == bursts * frames
    assert counters(result, "after.txt")["rx_discarded"] == missed


def test_frames_longer_than_a_slot(tmp_path: Path) -> None:
    """Each in one descriptor; the others of its slots are shorter. Echoes beside the stream."""
    log = tmp_path / "wire.csv"
    lengths = (230, 16, 100)
    result = boot(log, 4, lengths, more=LONG_FRAMES, prefetch=4).check()
    assert result.tap.problems() == []
    check_long_frames(lent(read_log(log)), result, lengths, 8, own_fcs=True)
