# SPDX-License-Identifier: GPL-2.0-only
"""keepon on a Cadence GEM, as the model of it that `make test-hw` builds has it, on QEMU's Versal
board.

The judge is the wire's own log. What the model chooses is in docs/nics-measured.md.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, offered_families, run_guest
from keepon_guests.machines import VERSAL
from test_nics_paced import check_wire, lent
from wirelog import (
    FRAMES,
    LONG_FRAMES,
    STREAM,
    Run,
    check_counters,
    check_long_frames,
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
# Every buffer has a copy that the device sees, and only what is handed over goes from one to the
# other, as if there were a cache that the device does not look into.
COPIES = "swiotlb=force"


def emulator() -> Path:
    path = Path(os.environ.get("KEEPON_PACED_QEMU_PI", ""))
    assert path.is_file(), (
        "KEEPON_PACED_QEMU_PI names no QEMU with a paced GEM: run these tests by `make test-hw`"
    )
    return path


def board(log: Path, network: str = "", **properties: object) -> list[str]:
    """The far end in QEMU; `properties` of the model."""
    settings = {
        "paced": "on",
        "wirelog": log,
        **{name.replace("_", "-"): value for name, value in properties.items()},
    }
    args = [
        part
        for name, value in settings.items()
        for part in ("-global", f"cadence_gem.{name}={value}")
    ]
    return ["-nic", f"user,mac={ADDRESS}{network}", *args]


@pytest.mark.parametrize(
    ("append", "family", "model"),
    [
        ("", "6.1", {}),
        ("", "6.12", {"prefetch": 16, "index_on_done": "on"}),
        (COPIES, "6.1", {}),
        ("", "6.1", {"prefetch": 0, "lose_starts": 3}),
    ],
    ids=["plain", "newer", "copies", "lost starts"],
)
def test_an_ordinary_card(
    append: str, family: str, model: dict[str, object], tmp_path: Path
) -> None:
    """The driver is a complete, ordinary one, whatever it may lend; every frame has a good FCS.
    A start that the transmitter has just missed is said again.
    """
    kernel = get_kernel(family, "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "gem", HERE / "resume_probe"]
    data = bytes(range(256)) * 1024
    (tmp_path / "file").write_bytes(data)
    log = tmp_path / "wire.csv"
    result = run_guest(
        kernel, HERE / "nics_gem.sh", {"/lib/keepon/board.sh": HERE / "board_common.sh"},
        modules=build_modules(kernel, folders), qemu=emulator(),
        qemu_args=board(log, f",tftp={tmp_path}", **model), append=append, timeout_s=600,
        environment={"FILE_SUM": hashlib.md5(data, usedforsecurity=False).hexdigest()},
        machine=VERSAL,
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    # some frames of the kernel's own driver have an FCS that it made
    assert all(run.good for run in read_log(log))


def boot(
    log: Path, said: int, lengths: tuple[int, int, int] = LONG, *, done: bool = False,
    mbps: int = 1000, append: str = "", family: str = "6.1", ppb: int = 0, frames: int = FRAMES,
    talk: str = "/out/talk.json", more: Mapping[str, str] | None = None, **properties: object,
) -> GuestResult:  # fmt: skip
    kernel = get_kernel(family, "arm64")
    folders = [HERE.parent / "native", HERE.parent / "nics" / "gem", HERE.parent / "keepon"]
    slot_bytes, trim_bytes, talk_bytes = (str(length) for length in lengths)
    files = {
        **programs.guest_files(kernel.machine), "/lib/keepon/lent.sh": HERE / "lent_common.sh",
    }  # fmt: skip
    return run_guest(
        kernel, HERE / "nics_board_stream.sh", files,
        modules=build_modules(kernel, folders), tools=programs.tools(kernel.machine),
        qemu=emulator(), qemu_args=board(log, **properties), append=append, timeout_s=3600,
        environment={
            "CARD": "gem", "PREFETCH": str(said), "INDEX_DONE": str(int(done)), "MBPS": str(mbps),
            "FRAMES": str(frames), "ECHOES": str(frames // 20 + 5), "TALK": talk,
            "SLOT_BYTES": slot_bytes, "TRIM_BYTES": trim_bytes, "TALK_BYTES": talk_bytes,
            "PPB": str(ppb), **(more or {}),
        },
        machine=VERSAL,
    )  # fmt: skip


def judge(
    result: GuestResult,
    log: Path,
    ahead: int,
    lengths: tuple[int, int, int],
    mbps: int = 1000,
    ppb: int = 0,
) -> list[Run]:
    assert result.check().tap.problems() == []
    runs = lent(read_log(log))
    check_wire(runs, lengths, ahead, 8000 // mbps)
    # bytes of a frame never leave in a placeholder
    assert all((run.kind == "0000") == run.placeholder for run in runs)
    check_stream(runs, result, 8000 // mbps, ppb)
    check_counters(runs, counters(result))
    slots = sum(run.frames for run in runs)
    print(f"{slots} slots, {result.virtual_seconds} s in the guest, {result.wall_seconds:.0f} s")
    return runs


def index(ahead: int, done: bool) -> dict[str, object]:
    """Of the model: how deep it fetches, and whether its pointer passes frames when they have
    left.
    """
    return {"prefetch": ahead, "index_on_done": "on" if done else "off"}


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
    result = boot(log, ahead, done=done, mbps=mbps, family=family, **index(ahead, done))
    judge(result, log, ahead, LONG, mbps)


@pytest.mark.parametrize(("ahead", "done"), [(0, False), (16, False), (16, True)])
def test_short_slots(ahead: int, done: bool, tmp_path: Path) -> None:
    """The same with slots of a microsecond, of which more are fetched ahead in a time."""
    log = tmp_path / "wire.csv"
    result = boot(log, ahead, SHORT, done=done, **index(ahead, done))
    judge(result, log, ahead, SHORT)


def test_every_byte_is_written_back(tmp_path: Path) -> None:
    """The same where the device has a copy of each buffer, made when the driver says so."""
    log = tmp_path / "wire.csv"
    judge(boot(log, 4, append=COPIES, prefetch=4), log, 4, LONG)


def test_real_slots_are_trimmed(tmp_path: Path) -> None:
    """A clock that is set faster than the wire shortens many slots, frames in them, too."""
    log = tmp_path / "wire.csv"
    ppb = 200_000
    runs = judge(boot(log, 4, ppb=ppb, prefetch=4), log, 4, LONG, 1000, ppb)
    assert len({run.slot_bytes for run in runs if run.kind == STREAM}) > 1


def test_descriptors_written_back_early(tmp_path: Path) -> None:
    """When a frame was fetched and not when it has left: that is no worse."""
    log = tmp_path / "wire.csv"
    judge(boot(log, 16, prefetch=16, used_on_fetch="on"), log, 16, LONG)


@pytest.mark.parametrize(("ahead", "lengths"), [(32, LONG), (64, SHORT)])
def test_a_depth_beyond_what_was_said_is_found_out(
    ahead: int, lengths: tuple[int, int, int], tmp_path: Path
) -> None:
    """The index is further ahead of the wire than it can be: slips. And slots are handed over again
    before they were written back, where the ring stops: the log says what to do.
    """
    result = boot(tmp_path / "wire.csv", 8, lengths, prefetch=ahead)
    assert counters(result)["slips"] > 0
    log = result.files["dmesg.txt"].decode()
    assert "slip: ring index and CPU counter contradict" in log
    assert log.count("a slot was not written back in time: say a greater prefetch") == 1
    assert result.tap.problems()


# Slots of a frame of 1518 bytes in fragments, of 105 bytes, and in one descriptor, of 230
@pytest.mark.parametrize(
    ("lengths", "said", "fragments", "append", "model"),
    [
        (SHORT, 27, 1, "", {"prefetch": 1}),
        (SHORT, 27, 1, COPIES, {"prefetch": 1, "index_on_done": "on"}),
        ((230, 16, 100), 4, 0, "", {"prefetch": 4}),
    ],
    ids=["fragments", "copies of fragments", "one descriptor"],
)
def test_frames_longer_than_a_slot(
    lengths: tuple[int, int, int], said: int, fragments: int, append: str,
    model: dict[str, object], tmp_path: Path,
) -> None:  # fmt: skip
    """Echoes of all lengths beside the stream. Of fragments the model writes back the first alone;
    a driver that waited for the others would log slots handed over too soon.
    """
    log = tmp_path / "wire.csv"
    result = boot(
        log, said, lengths, more={**LONG_FRAMES, "FRAGMENTS": str(fragments)}, append=append,
        done="index_on_done" in model, **model,
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    assert "was not written back" not in result.files["dmesg.txt"].decode()
    check_long_frames(lent(read_log(log)), result, lengths, 8, own_fcs=bool(fragments))


def test_the_wire_stops_behind_fragments(tmp_path: Path) -> None:
    """Polls that come too late leave the wire idle at the end of what was posted, though the model
    writes back the first of a frame's descriptors alone: the driver marks the others, else the
    transmitter would go on into what they were a lap ago.
    """
    stalls = 20
    result = boot(
        tmp_path / "wire.csv", 27, SHORT, frames=20, prefetch=1,
        more={**LONG_FRAMES, "STALLS": str(stalls)},
    ).check()  # fmt: skip
    assert result.tap.problems() == []
    stalled = counters(result, "stalled.txt")
    assert stalled["underruns"] >= stalls
    assert stalled["index_errors"] == stalled["losses"] == stalled["slips"] == 0
    assert "was not written back" not in result.files["dmesg.txt"].decode()
