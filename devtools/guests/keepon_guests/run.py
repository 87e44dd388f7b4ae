# SPDX-License-Identifier: BSD-3-Clause
"""One run of a guest: QEMU in software emulation, a POSIX shell script in it, and everything it
left behind.

Mode "icount": virtual time is the count of executed instructions (2^icount_shift ns each) and idle
time is skipped, so that a run depends on nothing of the host; equal inputs give equal bytes,
absolute times included. One CPU. That needs QEMU's main thread to be first on its CPU (hostcpu.py).
Mode "smp": two virtual CPUs in two host threads, in the host's time: for races, never for timing.
"""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from keepon_host.errors import ConfigError, EnvironmentProblemError, KeeponError, TraceError

from keepon_guests import console, hostcpu, initramfs, machines, newc, snapshot, source
from keepon_guests.images import Kernel
from keepon_guests.machines import Machine
from keepon_guests.paths import cache_folder, find_program
from keepon_guests.qmp import Channel
from keepon_guests.tap import TapReport, parse_tap

MODES = ("icount", "smp")
ICOUNT_SHIFT_MAX = 10
MEMORY_MB_MIN = 256
# Lockdep with raw nesting reports 6.1's own serial console when it prints from a hard interrupt:
# only panics print at once. What is printed is in the log that comes back all the same.
QUIET = "loglevel=1"


class GuestFailedError(KeeponError):
    """A guest's script failed, or the guest under it; the message holds the reasons and what was
    printed last.
    """

    exit_code = 1


@dataclass(frozen=True)
class GuestResult:
    """What a guest left behind. `stdout` is the script's output and errors; `console` the kernel's
    log as it came.

    `exit_code` is None when the script did not end. `problems` are the reasons why the run is no
    success beside the exit code: kernel trouble (with its lines), a time limit, lost output.
    `files`: name below /out -> content. `virtual_seconds` is the guest's time when the script
    ended; with mode icount it is reproducible.
    """

    exit_code: int | None
    stdout: str
    console: str = field(repr=False)
    kernel_log: str = field(repr=False)
    files: dict[str, bytes] = field(repr=False)
    virtual_seconds: float | None
    wall_seconds: float
    problems: tuple[str, ...]
    timed_out: bool = False

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.problems

    @property
    def tap(self) -> TapReport:
        """The TAP results in `stdout`."""
        return parse_tap(self.stdout)

    def explain(self) -> str:
        """Why the run is no success, with the last lines of script and kernel; empty if
        it is one.
        """
        if self.ok:
            return ""
        reasons = list(self.problems)
        if self.exit_code:
            reasons.insert(0, f"the script's exit code is {self.exit_code}")
        parts = [
            *reasons,
            "--- script",
            console.tail(self.stdout),
            "--- kernel",
            console.tail(self.console),
        ]
        return "\n".join(parts)

    def check(self) -> GuestResult:
        """This result; GuestFailedError if the run is no success."""
        if not self.ok:
            raise GuestFailedError(self.explain())
        return self


CPUS = {"icount": 1, "smp": 2}
START_UTC = "2026-01-01T00:00:00"
"""What every clock of a guest begins with."""


def accelerator(mode: str, icount_shift: int, seed: int) -> list[str]:
    clock = ["-rtc", f"base={START_UTC},clock=vm", "-seed", str(seed)]
    if mode == "icount":
        return ["-accel", "tcg", "-icount", f"shift={icount_shift},sleep=off", *clock]
    return ["-accel", "tcg,thread=multi", *clock]


def machine_command(
    program: Path,
    kernel: Kernel,
    board: Machine,
    machine: Sequence[str],
    cpus: int,
    append: str,
    extra: Sequence[str],
) -> list[str]:
    """Command line of a machine and its kernel, without the initial file system and without the
    ends of its ports.
    """
    quiet = [QUIET] if kernel.flavour in source.FLAVOURS else []
    return [
        *(str(program), *machine),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none"),
        *("-kernel", str(kernel.image)),
        *(("-dtb", str(kernel.board)) if board.board else ()),
        *("-append", " ".join([board.command_line(cpus), *quiet, append]).strip()),
        *extra,
    ]


def ports(folder: Path, board: Machine) -> list[str]:
    """First serial port console, second the script's output, and on a PC a port for the result
    files.
    """
    serial = [f"file:{folder / name}" for name in ("console", "stdout")]
    result = ["-chardev", f"file,id=result,path={folder / 'result'}"] if board.virtio else []
    return ["-serial", serial[0], "-serial", serial[1], *result]


def read_text(path: Path) -> str:
    """A serial port's output; empty if QEMU did not come so far as to make the file."""
    return (
        path.read_bytes().decode(errors="backslashreplace").replace("\r\n", "\n")
        if path.is_file()
        else ""
    )


def separate_files(folder: Path) -> None:
    """Make of a guest without virtio what one with it leaves: the kernel's log, what was printed,
    and the archive.
    """
    console_path = folder / "console"
    log, archive = machines.split_console(
        console_path.read_bytes() if console_path.is_file() else b""
    )
    console_path.write_bytes(log)
    (folder / "result").write_bytes(archive)
    with suppress(TraceError):  # what is not whole is a problem that collect() tells of
        entries = {entry.path: entry.data for entry in newc.read(archive)}
        (folder / "stdout").write_bytes(entries.get("run/stdout", b""))


def read_files(path: Path) -> tuple[dict[str, bytes], str]:
    """Content of /out and the kernel's log from the result port. TraceError when the archive is not
    complete.
    """
    archive = path.read_bytes() if path.is_file() else b""
    files = {entry.path: entry.data for entry in newc.read(archive) if entry.kind == newc.FILE}
    kernel_log = files.pop("run/dmesg", b"").decode(errors="backslashreplace")
    files.pop("run/stdout", None)
    return {name.removeprefix("out/"): data for name, data in files.items()}, kernel_log


def collect(
    folder: Path,
    exit_text: str,
    killed: bool,
    timeout_s: float,
    limit_s: int,
    wall_s: float,
    expected: Sequence[str],
) -> GuestResult:
    """Judge what QEMU left in `folder`. `exit_text`: its own complaint, empty if it ended well."""
    log = read_text(folder / "console")
    report = console.find_report(log)
    files: dict[str, bytes] = {}
    kernel_log = ""
    problems = [f"QEMU: {exit_text}"] if exit_text else []
    if killed:
        state = "the script had ended" if report else "the script was still running"
        problems.append(f"the guest did not end within {timeout_s:g} s; {state}")
    elif report is None:
        problems.append("the guest ended before its script did")
    elif report.late:
        problems.append(f"the script did not end within {limit_s} virtual seconds")
    if report is not None and not killed:
        try:
            files, kernel_log = read_files(folder / "result")
        except TraceError as error:
            problems.append(f"files of /out are lost: {error}")
    trouble = console.find_trouble(f"{log}\n{kernel_log}", expected)
    problems += [f"kernel: {line}" for line in trouble]
    if report is not None and not expected:
        problems += console.taint_problems(report.tainted)
    return GuestResult(
        exit_code=report.exit_code if report and not report.late else None,
        stdout=read_text(folder / "stdout"),
        console=log,
        kernel_log=kernel_log,
        files=files,
        virtual_seconds=report.virtual_seconds if report else None,
        wall_seconds=wall_s,
        problems=tuple(problems),
        timed_out=killed or bool(report and report.late),
    )


def check_numbers(
    memory_mb: int, mode: str, seed: int, timeout_s: float, limit_s: int, icount_shift: int
) -> None:
    """ConfigError for values out of range."""
    if mode not in MODES:
        raise ConfigError(f"mode {mode!r} is unknown: use one of {', '.join(MODES)}")
    ranges: list[tuple[str, float, float, float]] = [
        ("memory_mb", memory_mb, MEMORY_MB_MIN, 65536),
        ("seed", seed, 0, 2**63 - 1),
        ("timeout_s", timeout_s, 1, 86400),
        ("virtual_limit_s", limit_s, 1, 1_000_000),
        ("icount_shift", icount_shift, 0, ICOUNT_SHIFT_MAX),
    ]
    for name, value, low, high in ranges:
        if not low <= value <= high:
            raise ConfigError(f"{name} is {value}: use {low:g} to {high:g}")


def run_guest(
    kernel: Kernel,
    script: str | Path,
    files: Mapping[str, Path | bytes] | None = None,
    *,
    modules: Sequence[Path] = (),
    tools: Sequence[initramfs.Tool] = (),
    environment: Mapping[str, str] | None = None,
    memory_mb: int = 512,
    mode: str = "icount",
    seed: int = 1,
    timeout_s: float = 120.0,
    virtual_limit_s: int = 600,
    append: str = "",
    icount_shift: int = 1,
    expected: Sequence[str] = (),
    qemu_args: Sequence[str] = (),
    qemu: Path | None = None,
    machine: Machine | None = None,
) -> GuestResult:
    """Boot `kernel`, run `script` (text, or a Path to it) with /bin/sh as root, switch off, return
    what it left.

    `files`: guest path -> bytes, host file or host folder; a host path of a folder brings all in
    it. `modules`: our .ko files, for modprobe. `tools`: host programs beyond the base's (name or
    path), with their libraries, to /usr/bin. `timeout_s` limits the host's time, `virtual_limit_s`
    the guest's; the latter is met at the same instant in every run. `append`: more kernel
    parameters. `expected`: patterns of kernel trouble that is part of the test (then taint bits are
    not judged either). `qemu`: another emulator than the distribution's. `machine`: another one
    than the kernel's own, of its architecture. Raises ConfigError for wrong arguments,
    EnvironmentProblemError for lacking tools; what happens in the guest is in the result (see
    `GuestResult.check`).
    """
    check_numbers(memory_mb, mode, seed, timeout_s, virtual_limit_s, icount_shift)
    try:
        text = script.read_bytes() if isinstance(script, Path) else script.encode()
    except OSError as error:
        raise ConfigError(f"script {script}: {error.strerror}: name a readable file") from error
    board = machine or kernel.machine
    if board.foreign and qemu is None:
        raise ConfigError(
            f"a guest on {board.name} needs an emulator of our own: say qemu=, see docs/vm.md"
        )
    variables = {"KEEPON_MODE": mode, **(environment or {}), "KEEPON_LIMIT_S": str(virtual_limit_s)}
    if not board.virtio:
        variables["KEEPON_FILES"] = "serial"
    overlay = initramfs.overlay(kernel, text, variables, files or {}, modules, tools)
    parts = (initramfs.base_archive(board.foreign), kernel.modules_archive)
    program = qemu or find_program("qemu-system-x86_64")
    arguments = [*board.qemu(memory_mb, CPUS[mode]), *accelerator(mode, icount_shift, seed)]
    # A machine that is described by files is another one in each run; with two CPUs that run freely
    # some kernels do not go on.
    files_named = any("/" in word for word in (append, *qemu_args))
    alike = mode == "icount" and board is machines.PC and not files_named
    alike = alike and len(overlay) <= snapshot.ARCHIVE_BYTES_MAX
    if alike:
        arguments += snapshot.DEVICES
        append = f"{snapshot.PAUSE_PARAMETER} {append}".strip()
    command = machine_command(program, kernel, board, arguments, CPUS[mode], append, qemu_args)
    saved = snapshot.snapshot(snapshot.Boot(tuple(command), parts)) if alike else None
    with tempfile.TemporaryDirectory(prefix="keepon-vm-") as name, ExitStack() as stack:
        folder = Path(name)
        command += ports(folder, board)
        if mode == "icount":
            command = [*stack.enter_context(hostcpu.own_cpu(cache_folder())), *command]
        start = time.monotonic()
        if saved is None:
            initrd = b"".join([*(part.read_bytes() for part in parts), overlay])
            (folder / "initrd").write_bytes(initrd)
            command += ["-initrd", str(folder / "initrd")]
            exit_text, killed = execute(command, timeout_s)
        else:
            command += [*snapshot.memory(folder / "given"), *snapshot.INCOMING]

            def begin(channel: Channel) -> None:
                snapshot.resume(channel, saved, folder / "given", overlay)

            exit_text, killed = execute(command, timeout_s, begin)
        wall_s = time.monotonic() - start
        if not board.virtio:
            separate_files(folder)
        return collect(folder, exit_text, killed, timeout_s, virtual_limit_s, wall_s, expected)


def execute(
    command: Sequence[str], timeout_s: float, begin: Callable[[Channel], None] | None = None
) -> tuple[str, bool]:
    """Run QEMU; its complaint (empty if none) and whether it had to be killed at the time limit.

    `begin`: what it needs over its control channel before its guest runs.
    """
    deadline = time.monotonic() + timeout_s
    fault = ""
    with Channel(timeout_s) as channel:
        try:
            process = subprocess.Popen(
                [*command, *channel.arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", pass_fds=(channel.theirs,),
            )  # fmt: skip
        except OSError as error:
            raise EnvironmentProblemError(
                f"{command[0]}: {error.strerror}: run `scripts/setup kernel`"
            ) from error
        try:
            channel.begin()
            if begin:
                begin(channel)
        except EnvironmentProblemError as error:
            fault = str(error)
            process.kill()
        try:
            said, _ = process.communicate(timeout=max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return "", True
        finally:
            process.kill()
            process.wait()
    if process.returncode and not fault:
        fault = f"exit code {process.returncode}"
    lines = said.strip().splitlines() or ["no message"]
    return f"{fault}: {lines[-1]}" if fault else "", False
