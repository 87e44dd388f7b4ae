# SPDX-License-Identifier: BSD-3-Clause
"""What the scripts share: where things are, the environment of child processes, and stages with
durations.

Standard library only: set-up runs before anything is installed.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "out"
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"

EXIT_USAGE = 2
EXIT_ENVIRONMENT = 3


class StageError(Exception):
    """A stage did not succeed; the text says why in one sentence."""


def cpu_count() -> int:
    """Processors this process may use; every parallel build is limited to it."""
    return len(os.sched_getaffinity(0))


def paint(text: str, code: str) -> str:
    """Colour `text` with an ANSI code when standard output is a terminal that wants it."""
    if (
        not sys.stdout.isatty()
        or "NO_COLOR" in os.environ
        or os.environ.get("TERM", "dumb") == "dumb"
    ):
        return text
    return f"\x1b[{code}m{text}\x1b[0m"


def say(text: str) -> None:
    """One line of progress, in order with what child processes print."""
    print(paint("keepon:", "1;34"), text, flush=True)


def home_is_writable() -> bool:
    home = os.environ.get("HOME")
    return home is not None and Path(home).is_dir() and os.access(home, os.W_OK)


def environment() -> dict[str, str]:
    """Environment for child processes: tools of .venv first, caches in out/ where HOME cannot hold
    them.
    """
    env = dict(os.environ)
    env["PATH"] = os.pathsep.join([str(VENV / "bin"), env.get("PATH", os.defpath)])
    env["CMAKE_BUILD_PARALLEL_LEVEL"] = str(cpu_count())
    env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
    env["PIP_ROOT_USER_ACTION"] = "ignore"
    env["HYPOTHESIS_STORAGE_DIRECTORY"] = str(OUT / "cache" / "hypothesis")
    env.setdefault("LC_ALL", "C.UTF-8")
    # Objects are the same in every checkout: paths in it are relative.
    env |= {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}
    if shutil.which("ccache"):
        env.setdefault("CMAKE_C_COMPILER_LAUNCHER", "ccache")
        env.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
    # A caller's virtual environment or PYTHONPATH would shadow ours.
    for name in ("VIRTUAL_ENV", "PYTHONPATH", "PYTHONHOME"):
        env.pop(name, None)
    if not home_is_writable():
        env["PIP_CACHE_DIR"] = str(OUT / "cache" / "pip")
        env["MPLCONFIGDIR"] = str(OUT / "cache" / "matplotlib")
        env["XDG_CACHE_HOME"] = str(OUT / "cache")
    return env


def wait_through_interrupt(process: subprocess.Popen[bytes]) -> int:
    """Wait for a child; on Ctrl-C give it the time to stop by itself (it got the signal too)."""
    try:
        return process.wait()
    except KeyboardInterrupt:
        return process.wait()


def run(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> int:
    """Run a command with its output shown; return its exit code."""
    sys.stdout.flush()
    with subprocess.Popen(
        [str(part) for part in command], cwd=cwd, env=env or environment()
    ) as process:
        return wait_through_interrupt(process)


def run_quiet(
    command: Sequence[str | Path], *, env: Mapping[str, str] | None = None, cwd: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    """Run a command, capture standard output and error together."""
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=env or environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def must(
    command: Sequence[str | Path], *, quiet: bool = True, env: Mapping[str, str] | None = None
) -> None:
    """Run a command that has to succeed; on failure show its output and raise StageError
    naming it.
    """
    if quiet:
        done = run_quiet(command, env=env)
        code = done.returncode
        if code:
            print(done.stdout, end="", flush=True)
    else:
        code = run(command, env=env)
    if code:
        raise StageError(f"exit code {code} from: {shlex.join(str(part) for part in command)}")


def paced_emulators() -> dict[str, str]:
    """What tells tests and benchmarks where the emulators of scripts/paced_qemu.py are: a variable
    for each.
    """
    names = {"x86_64": "KEEPON_PACED_QEMU", "aarch64": "KEEPON_PACED_QEMU_PI"}
    done = run_quiet([VENV_PYTHON, ROOT / "scripts" / "paced_qemu.py", "--print", *names])
    return dict(zip(names.values(), done.stdout.split(), strict=True))


def probe_compile(command: Sequence[str], source: str, suffix: str) -> bool:
    """Can this compiler build and link `source` to a program?"""
    with tempfile.TemporaryDirectory(prefix="keepon-probe-") as folder:
        path = Path(folder) / f"probe{suffix}"
        path.write_text(source)
        try:
            done = run_quiet([*command, path, "-o", Path(folder) / "probe"])
        except OSError:  # not there, or behind a folder of PATH that may not be read
            return False
        return done.returncode == 0


@dataclass
class Stages:
    """Runs named stages one after another, goes on after a failure, and prints the durations at the
    end.
    """

    title: str
    rows: list[tuple[str, float, str]] = field(default_factory=list)
    passed: int = 0
    failed: int = 0

    def stage(self, name: str, action: Callable[[], tuple[int, int]]) -> bool:
        """Run `action`, which returns (passed, failed) counts; True if nothing failed."""
        say(f"{name} ...")
        start = time.monotonic()
        try:
            passed, failed = action()
            problem = "" if failed == 0 else f"{failed} failed"
        except StageError as error:
            passed, failed, problem = 0, 1, str(error)
        self.rows.append((name, time.monotonic() - start, problem))
        self.passed += passed
        self.failed += failed
        if problem:
            say(paint(f"{name}: {problem}", "1;31"))
        return failed == 0

    def finish(self, *, totals: bool = True) -> int:
        """Print durations and totals; return the exit code, 0 or 1."""
        print(f"\n{self.title}")
        for name, seconds, problem in self.rows:
            state = paint("FAILED", "1;31") if problem else paint("ok", "32")
            print(f"  {name:<34} {seconds:8.1f} s  {state}")
        print(f"  {'total':<34} {sum(row[1] for row in self.rows):8.1f} s")
        if totals:
            print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return 1 if self.failed else 0


# The kernel's headers where Debian has them, which gcc-multilib makes a link for. That package
# cannot be installed beside a cross compiler; gcc-12-multilib, say, can.
FLAGS_32BIT = ("-m32", "-idirafter", "/usr/include/x86_64-linux-gnu")
