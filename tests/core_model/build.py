# SPDX-License-Identifier: BSD-3-Clause
"""Compiles core, rig and shim into what the checks load; everything goes to a folder the caller
names.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CORE = Path(__file__).resolve().parents[2] / "core"
SHIM = sorted(Path(__file__).parent.glob("shim*.c"))
FLAGS = ["-std=gnu11", "-O1", "-g", "-fPIC", "-Wall", "-Wextra", "-Wno-missing-field-initializers"]


def core_sources(core: Path = CORE) -> list[Path]:
    """The files of a core, in a fixed order."""
    return sorted((core / "src").glob("*.c"))


def rig_sources(core: Path = CORE) -> list[Path]:
    """Fake NIC and rig."""
    rooms = ("fake_nic*.c", "pacer_rig*.c")
    return [path for room in rooms for path in sorted((core / "selftest").glob(room))]


def stream_sources(core: Path = CORE) -> list[Path]:
    """The fuzz target with all it is made of, libFuzzer's part left out."""
    return [core / "fuzz" / "fuzz_pacer.c", core / "fuzz" / "setup.c"]


def includes(core: Path) -> list[str]:
    """Where the headers of a core are."""
    return [f"-I{core / path}" for path in ("include", "platform/user", "selftest")]


def compiler() -> str:
    """The C compiler: $CC, else gcc, else clang."""
    for name in (os.environ.get("CC"), "gcc", "clang"):
        if name and shutil.which(name):
            return name
    raise RuntimeError("no C compiler: neither $CC nor gcc nor clang is there; install gcc")


def run(command: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run a command; its output is part of the error if it fails."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done


def compile_object(
    source: Path, folder: Path, flags: Sequence[str] = (), core: Path = CORE
) -> Path:
    """One object file in `folder`, against the headers of `core`."""
    target = folder / f"{source.stem}.o"
    run([compiler(), *FLAGS, *flags, *includes(core), "-c", source, "-o", target])
    return target


def compile_all(
    sources: Sequence[Path], folder: Path, flags: Sequence[str] = (), core: Path = CORE
) -> list[Path]:
    """Object files of all sources, two at a time."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda source: compile_object(source, folder, flags, core), sources))


def link_library(objects: Sequence[Path], target: Path, flags: Sequence[str] = ()) -> Path:
    """A shared library of object files."""
    run([compiler(), "-shared", *flags, *objects, "-o", target])
    return target


def build_library(folder: Path) -> Path:
    """The library of the core as it is."""
    objects = compile_all([*core_sources(), *rig_sources(), *SHIM], folder)
    return link_library(objects, folder / "libcore_model.so")


def build_program(
    sources: Sequence[Path], folder: Path, name: str, flags: Sequence[str] = (), core: Path = CORE
) -> Path:
    """A program of sources; the flags are for compiler and linker, the headers those of `core`."""
    objects = compile_all(sources, folder, flags, core)
    target = folder / name
    run([compiler(), *flags, *objects, "-o", target])
    return target
