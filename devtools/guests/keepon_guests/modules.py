# SPDX-License-Identifier: BSD-3-Clause
"""Our kernel modules, built out of tree for one kernel, with W=1 and every warning an error.

Each module is built in a mirror of the checkout, out/build/kernel/VERSION/MODULE, made of links to
the sources of `core`, `nicmodel`, `kernel/include`, `kernel/nics/common` and the module's own
folder. No object lands beside a source, and two modules may both contain the core. kbuild gets the
mirror as KEEPON_ROOT, thus in a Kbuild:

    keepon-y := main.o ../../core/src/clock.o
    ccflags-y := -I$(KEEPON_ROOT)/core/include -I$(KEEPON_ROOT)/core/platform/kernel
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any

from keepon_host.checkout import checkout_root
from keepon_host.errors import ConfigError, KeeponError

from keepon_guests.images import Kernel
from keepon_guests.paths import find_program, only_one
from keepon_guests.source import FLAVOURS as BUILT_HERE

SHARED = (
    "core/include",
    "core/platform",
    "core/src",
    "nicmodel",
    "kernel/include",
    "kernel/nics/common",
)
SOURCE_SUFFIXES = {".c", ".h", ".S"}
BUILD_FILES = {"Kbuild", "Makefile"}
STAMP = "keepon-build.json"
# Debian's ccache: compilers by their names that look first whether they did it before.
CCACHE = "/usr/lib/ccache"
# UBSAN of a kernel built here watches the folders that ask for it: only ours, as the kernel itself
# would be slower.
WATCHED = ("UBSAN_SANITIZE=y",)


class ModuleBuildError(KeeponError):
    """A kernel module does not compile or link without warnings; the message holds the compiler's
    lines.
    """


def source_files(folder: Path) -> list[Path]:
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and (path.suffix in SOURCE_SUFFIXES or path.name in BUILD_FILES)
    ]


def plan_links(root: Path, folder: Path) -> dict[str, Path]:
    """Path in the mirror -> source. A module folder outside the checkout appears as kernel/NAME."""
    links = {}
    for name in SHARED:
        for path in source_files(root / name):
            # A Makefile of the checkout is none of kbuild's business.
            if path.name not in BUILD_FILES:
                links[path.relative_to(root).as_posix()] = path
    for path in source_files(folder):
        links[f"kernel/{folder.name}/{path.relative_to(folder).as_posix()}"] = path
    return links


def make_variables(kernel: Kernel) -> tuple[str, ...]:
    """Variables of make for this kernel, besides folders."""
    return (*kernel.machine.make_variables, *(WATCHED if kernel.flavour in BUILT_HERE else ()))


def content_hashes(links: dict[str, Path]) -> dict[str, str]:
    """Path in the mirror -> hash of what the file holds."""
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in links.items()}


def input_hash(kernel: Kernel, links: dict[str, Path], symbols: Sequence[Path]) -> str:
    """Content hash of all a build depends on: kernel, every linked file, symbols of other
    modules.
    """
    parts = [kernel.version, str(kernel.headers), *make_variables(kernel)]
    digest = hashlib.sha256(json.dumps(parts).encode())
    for name, content in sorted(content_hashes(links).items()):
        digest.update(f"{name}\0{content}\n".encode())
    for path in symbols:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def refresh_mirror(
    mirror: Path, links: dict[str, Path], unchanged: Container[str] = frozenset()
) -> None:
    """Make the mirror's links exactly these; objects of earlier builds stay.

    All links but those `unchanged` are made again: make looks at the time of a link too, and so
    compiles what holds something else now, even if its file is the older one.
    """
    for path in sorted(mirror.rglob("*")):
        name = path.relative_to(mirror).as_posix()
        if path.is_symlink() and (links.get(name) != path.readlink() or name not in unchanged):
            path.unlink()
    for name, source in links.items():
        path = mirror / name
        if not path.is_symlink():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(source)


def complaints(output: str) -> list[str]:
    """Warnings in the output of kbuild. The versions of compiler and pahole are no finding about
    our code.
    """
    lines = [
        line
        for line in output.splitlines()
        if "the compiler differs" not in line and "pahole version differs" not in line
    ]
    return [line for line in lines if "warning:" in line.lower() or line.startswith("WARNING")]


def compile_module(kernel: Kernel, mirror: Path, folder: Path, symbols: Sequence[Path]) -> str:
    """Run kbuild in the mirror; its output. ModuleBuildError on errors and warnings."""
    command = [
        str(find_program("make")),
        *("-C", str(kernel.headers), "--check-symlink-times"),
        f"M={mirror / 'kernel' / folder.name}",
        f"KEEPON_ROOT={mirror}",
        f"KBUILD_EXTRA_SYMBOLS={' '.join(map(str, symbols))}",
        "W=1",
        *make_variables(kernel),
        f"-j{len(os.sched_getaffinity(0))}",
        "modules",
    ]
    # A make above us must not hand its variables and job server down.
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "KBUILD"))
    }
    done = subprocess.run(
        command,
        env=env | {"LC_ALL": "C", "PATH": f"{CCACHE}:{env.get('PATH', os.defpath)}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode or complaints(done.stdout):
        # What compiled with a warning would be up to date next time, and silent.
        shutil.rmtree(mirror)
        text = done.stdout.replace(str(mirror), ".")
        raise ModuleBuildError(
            f"module {folder.name} does not build cleanly for kernel {kernel.version}:\n{text}"
        )
    return done.stdout


def read_stamp(mirror: Path) -> dict[str, Any]:
    """What the last build was made of and gave; nothing if there was none, or it did not end."""
    try:
        stamp: dict[str, Any] = json.loads((mirror / STAMP).read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {"inputs": "", "modules": []}
    return stamp


def built_before(stamp: dict[str, Any], objects: Path, inputs: str) -> list[Path]:
    """The modules of an earlier build from the same inputs; empty if there was none or something is
    missing.
    """
    modules = [objects / name for name in stamp["modules"]]
    return modules if stamp["inputs"] == inputs and all(path.is_file() for path in modules) else []


def build_module(
    kernel: Kernel, folder: Path, symbols: Sequence[Path] = (), *, build_root: Path | None = None
) -> list[Path]:
    """Build one module folder (with a Kbuild) and return its .ko files; nothing is run when no
    input changed.

    `symbols`: Module.symvers files of modules whose exported symbols it uses. `build_root` replaces
    out/build/kernel.
    """
    folder = folder.resolve()
    if not (folder / "Kbuild").is_file():
        raise ConfigError(f"module folder {folder} has no Kbuild: name a folder with one")
    root = checkout_root()
    mirror = (build_root or root / "out" / "build" / "kernel") / kernel.version / folder.name
    with only_one(mirror):
        links = plan_links(root, folder)
        inputs = input_hash(kernel, links, symbols)
        objects = mirror / "kernel" / folder.name
        stamp = read_stamp(mirror)
        modules = built_before(stamp, objects, inputs)
        if not modules:
            (mirror / STAMP).unlink(missing_ok=True)
            files = content_hashes(links)
            was = stamp.get("files", {})
            refresh_mirror(mirror, links, {name for name in files if files[name] == was.get(name)})
            for old in objects.glob("*.ko"):
                old.unlink()
            compile_module(kernel, mirror, folder, symbols)
            modules = sorted(objects.glob("*.ko"))
            if not modules:
                raise ConfigError(
                    f"{folder / 'Kbuild'} makes no .ko file: it needs obj-m := NAME.o"
                )
            names = [path.name for path in modules]
            (mirror / STAMP).write_text(
                json.dumps({"inputs": inputs, "files": files, "modules": names})
            )
        return modules


def build_modules(
    kernel: Kernel, folders: Sequence[Path], *, build_root: Path | None = None
) -> list[Path]:
    """Build module folders in this order, each seeing the symbols exported by those before; all .ko
    files.

    Raises ModuleBuildError with the compiler's lines; warnings (W=1, modpost) are errors.
    """
    modules: list[Path] = []
    symbols: list[Path] = []
    for folder in folders:
        built = build_module(kernel, folder, symbols, build_root=build_root)
        modules += built
        symbols.append(built[0].parent / "Module.symvers")
    return modules
