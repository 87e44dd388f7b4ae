# SPDX-License-Identifier: BSD-3-Clause
"""Guests that go on from where all of their kind are alike, instead of booting.

Boot takes 4.4 of the 4.9 s of CPU of an empty run. So the first guest of a kind (kernel, base
archive, machine, parameters) boots as far as its first process (guest/init), which stops the
virtual machine by an instruction of its own (guest/vm_resume.c). Memory and devices at that
instruction are kept in the cache. Each run loads them and gives the guest its script, modules and
files in the memory of an ivshmem device, which the guest reads without any thread of the host: runs
repeat to the byte.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from keepon_host.errors import EnvironmentProblemError

from keepon_guests import hostcpu
from keepon_guests.paths import cache_folder, only_one
from keepon_guests.qmp import Channel

# Read by guest/init, which then stops the machine once.
PAUSE_PARAMETER = "VM_PAUSE=1"
# Sparse; its first page has the archive's length (guest/vm_resume.c).
MEMORY_BYTES = 64 << 20
ARCHIVE_OFFSET = 4096
ARCHIVE_BYTES_MAX = MEMORY_BYTES - ARCHIVE_OFFSET
BOOT_TIMEOUT_S = 300.0
LOAD_TIMEOUT_S = 60.0
# Some 100 MB each; the ones not used for the longest time go.
KEPT = 16
DEVICES = ["-device", "pvpanic", "-device", "ivshmem-plain,memdev=given,master=on"]
INCOMING = ["-incoming", "defer"]


@dataclass(frozen=True)
class Boot:
    """What guests of one kind have in common. `command`: QEMU's program and arguments without
    serial ports and result port; `parts`: the archives of the initial file system.
    """

    command: tuple[str, ...]
    parts: tuple[Path, ...]

    @property
    def key(self) -> str:
        program = Path(self.command[0]).stat()
        described = [self.command, program.st_size, program.st_mtime_ns]
        described += [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in self.parts]
        return hashlib.sha256(json.dumps(described).encode()).hexdigest()[:16]


def folder() -> Path:
    return cache_folder() / "snapshots"


def snapshot(boot: Boot) -> Path:
    """The file that guests of this kind go on from; made if there is none.

    Raises EnvironmentProblemError when the guest does not come so far.
    """
    path = folder() / boot.key
    with only_one(path):
        if path.is_file():
            os.utime(path)
            return path
        _forget_oldest()
        draft = path.with_suffix(".draft")
        with tempfile.TemporaryDirectory(prefix="keepon-vm-") as name:
            initrd = Path(name, "initrd")
            initrd.write_bytes(b"".join(part.read_bytes() for part in boot.parts))
            try:
                _save([*boot.command, *memory(Path(name, "given")), "-initrd", str(initrd)], draft)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)
        return path


def memory(path: Path) -> list[str]:
    """Arguments for the memory of the ivshmem device: a file, made here, empty."""
    with path.open("wb") as file:
        file.truncate(MEMORY_BYTES)
    return ["-object", f"memory-backend-file,id=given,size={MEMORY_BYTES},mem-path={path},share=on"]


def _give(path: Path, archive: bytes) -> None:
    with path.open("r+b") as file:
        file.write(len(archive).to_bytes(8, "little"))
        file.seek(ARCHIVE_OFFSET)
        file.write(archive)


def _forget_oldest() -> None:
    paths = [path for path in folder().iterdir() if not path.name.startswith(".")]
    for old in sorted(paths, key=lambda path: path.stat().st_mtime)[: -KEPT + 1]:
        old.unlink(missing_ok=True)


def _save(command: Sequence[str], path: Path) -> None:
    """Boot until the guest stops the machine, then write memory and devices."""
    ends = ["-serial", "null", "-serial", "null", "-chardev", "null,id=result"]
    with hostcpu.own_cpu(cache_folder()) as first, Channel(BOOT_TIMEOUT_S) as channel:
        process = subprocess.Popen(
            [*first, *command, *ends, "-action", "panic=pause", *channel.arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            pass_fds=(channel.theirs,),
        )  # fmt: skip
        fault = ""
        try:
            channel.begin()
            channel.await_event("STOP")
            channel.ask("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
            channel.ask("migrate", uri=f"exec:cat > {shlex.quote(str(path))}")
            ended = ("completed", "failed")
            found = channel.until("query-migrate", lambda answer: answer.get("status") in ended)
            if found["status"] != "completed":
                fault = found.get("error-desc", "QEMU could not write it")
        except EnvironmentProblemError as error:
            fault = str(error)
        finally:
            process.kill()
            said = process.communicate()[0].strip().splitlines()
    if fault:
        reason = said[-1] if said else fault
        raise EnvironmentProblemError(f"no snapshot of a guest: {reason}")


def resume(channel: Channel, saved: Path, given: Path, archive: bytes) -> None:
    """Load the snapshot into a QEMU that waits for it, give the guest its archive, and let it run.

    `given`: the file of `memory`. What the snapshot says of it (that it is empty) is loaded too.
    """
    channel.ask("migrate-incoming", uri=f"exec:cat {shlex.quote(str(saved))}")
    channel.until("query-status", lambda answer: answer["status"] != "inmigrate")
    _give(given, archive)
    channel.ask("cont")
