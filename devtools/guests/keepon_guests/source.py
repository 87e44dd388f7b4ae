# SPDX-License-Identifier: BSD-3-Clause
"""Kernels built here from the distribution's source package, to watch what no distributed kernel
watches.

Flavour "debug" has KASAN, lockdep with raw lock nesting, sleep checks and kmemleak, "kcsan" the
detector of data races. Their configurations are kernel/configs/*.config over a kernel in which
everything else is off, so that a build takes minutes. Sources and objects lie in out/cache/vm,
nothing of them in the repository.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from keepon_host.checkout import checkout_root
from keepon_host.errors import EnvironmentProblemError

from keepon_guests import packages
from keepon_guests.paths import cache_folder, find_program, only_one, run_host

FLAVOURS = ("debug", "kcsan")
# What building a kernel needs beyond building modules.
PROGRAMS = ("flex", "bison", "bc")
# Large folders no build of ours reads; of Documentation the Kconfig is read.
LEFT_OUT = ("Documentation/*/*", "tools/testing", "drivers/gpu/drm/amd/include")
# What the kernel's own tests of the network are made of.
SELFTESTS = (
    "tools/testing/selftests/net",
    "tools/testing/selftests/ptp",
    "tools/testing/selftests/tc-testing",
    "include/uapi/linux/ptp_clock.h",
)
# Releases of Debian after which a family is no more.
LAST_RELEASES = {"6.1": "bookworm"}
OFF = re.compile(r"# (CONFIG_\w+) is not set")
# The same objects whenever and by whomever they are made.
BUILT_BY = ("KBUILD_BUILD_TIMESTAMP=@0", "KBUILD_BUILD_USER=keepon", "KBUILD_BUILD_HOST=keepon")


def package_of(family: str) -> str:
    return f"linux-source-{family}"


def lists_of(family: str) -> str | None:
    """The lists of apt that have a family: None, this machine's, where its Debian has it."""
    release = LAST_RELEASES.get(family)
    return None if release is None or packages.candidate(package_of(family)) else release


def version_of(family: str) -> str | None:
    """The version of its sources, 6.1.192-2; None if apt offers none."""
    return packages.candidate(package_of(family), lists_of(family))


def fragments(flavour: str) -> list[Path]:
    """The configuration's files, the later over the earlier."""
    folder = checkout_root() / "kernel" / "configs"
    return [folder / "guest.config", folder / f"{flavour}.config"]


def options_of(fragment: str) -> list[str]:
    """Its lines without comments."""
    return [line for line in fragment.splitlines() if line.startswith("CONFIG_")]


def recipe(flavour: str) -> str:
    """Hash of what decides a build beside the version of the sources."""
    digest = hashlib.sha256(repr(LEFT_OUT).encode())
    for path in fragments(flavour):
        # a comment is no reason to build
        digest.update("\n".join(options_of(path.read_text())).encode())
    return digest.hexdigest()[:16]


def offered_version(family: str, flavour: str) -> str | None:
    """What `uname -r` will print, 6.1.192-debug for sources 6.1.192-2; None if apt offers no
    sources of the family.
    """
    version = version_of(family)
    return None if version is None else f"{version.split('-')[0]}-{flavour}"


def unset_options(wanted: str, config: str) -> list[str]:
    """Lines of a fragment that did not come true: a dependency is missing, or the option is gone
    from this kernel.
    """
    settings = dict(
        line.split("=", 1) for line in config.splitlines() if line.startswith("CONFIG_")
    )
    settings |= {match[1]: "n" for match in OFF.finditer(config)}
    last = dict(line.split("=", 1) for line in options_of(wanted))
    return [f"{name}={value}" for name, value in last.items() if settings.get(name, "n") != value]


def unpack(family: str, folder: Path, arguments: Callable[[str], list[str]]) -> str:
    """Sources into `folder`, which is made again; the file name of their package.

    `arguments`: further ones of tar, from the name of the archive's own folder.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpack-") as text:
        name = packages.unpack(package_of(family), Path(text), lists_of(family))
        (archive,) = Path(text).glob("usr/src/linux-source-*.tar.xz")
        top = archive.name.split(".tar")[0]
        run_host(["tar", "-xJf", archive, "-C", folder, "--strip-components=1", *arguments(top)])
    return name


def unpacked_source(family: str) -> tuple[Path, str]:
    """Folder of the unpacked sources, which both flavours share, and the file name of their
    package.
    """
    folder = cache_folder() / f"source-{version_of(family)}"
    with only_one(folder):
        done = folder / ".keepon-package"
        if not done.is_file():
            done.write_text(
                unpack(
                    family,
                    folder,
                    lambda top: [f"--exclude={top}/{pattern}" for pattern in LEFT_OUT],
                )
            )
        return folder, done.read_text()


def selftests(family: str) -> Path:
    """The kernel's own tests as its sources have them, with the headers their programs need:
    `tools/testing/selftests` and `include/uapi` in the folder.
    """
    folder = cache_folder() / f"selftests-{version_of(family)}"
    with only_one(folder):
        done = folder / ".keepon-package"
        if not done.is_file() or not all((folder / part).exists() for part in SELFTESTS):
            done.write_text(
                unpack(family, folder, lambda top: [f"{top}/{part}" for part in SELFTESTS])
            )
        return folder


def run_make(source: Path, objects: Path, *arguments: str) -> None:
    """make in the kernel's sources, behind everything else that wants the CPU; its last lines if it
    fails.
    """
    command = [
        find_program("nice"),
        "-n",
        "19",
        find_program("make"),
        "-s",
        "-C",
        source,
        f"O={objects}",
        *BUILT_BY,
    ]
    # A make above us must not hand its variables and job server down.
    env = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("MAKE", "MFLAGS", "KBUILD"))
    }
    done = subprocess.run(
        [*map(str, command), *arguments],
        env=env | {"LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise EnvironmentProblemError(
            f"the kernel {objects.name} does not build ({' '.join(arguments)}):\n{tail}"
        )


def drop_objects(tree: Path) -> None:
    """What modules are built with stays: generated headers, symbols, and the programs of scripts
    and tools.
    """
    found = {
        path
        for pattern in ("*.o", "*.a", "vmlinux", ".tmp_vmlinux*")
        for path in tree.rglob(pattern)
    }
    for path in found:
        if not {"scripts", "tools"} & set(path.relative_to(tree).parts) and path.is_file():
            path.unlink()


def build(family: str, flavour: str, version: str, folder: Path, headers: Path) -> list[str]:
    """Make `folder`/vmlinuz and `folder`/config and the tree `headers` for `make -C`; names of the
    packages used.

    Some minutes on two cores. EnvironmentProblemError when a program is missing, an option of the
    configuration does not come true or the build fails.
    """
    absent = [program for program in PROGRAMS if shutil.which(program) is None]
    if absent:
        raise EnvironmentProblemError(
            f"building a kernel needs {', '.join(absent)}: run `scripts/setup soak`"
        )
    source, package = unpacked_source(family)
    headers.mkdir(parents=True)
    wanted = (
        "".join(path.read_text() for path in fragments(flavour))
        + f'CONFIG_LOCALVERSION="-{flavour}"\n'
    )
    (headers / "all.config").write_text(wanted)
    run_make(source, headers, f"KCONFIG_ALLCONFIG={headers / 'all.config'}", "allnoconfig")
    config = (headers / ".config").read_text()
    missing = unset_options(wanted, config)
    if missing:
        raise EnvironmentProblemError(
            f"kernel {version} cannot have {', '.join(missing)}: change kernel/configs/guest.config"
            f" or {flavour}.config"
        )
    run_make(source, headers, f"-j{len(os.sched_getaffinity(0))}", "bzImage", "modules")
    release = (headers / "include" / "config" / "kernel.release").read_text().strip()
    if release != version:
        raise EnvironmentProblemError(
            f"{package} makes kernel {release}, not {version}: run apt-get update"
        )
    shutil.copy(headers / "arch" / "x86" / "boot" / "bzImage", folder / "vmlinuz")
    shutil.copy(headers / ".config", folder / "config")
    drop_objects(headers)
    return [package]
