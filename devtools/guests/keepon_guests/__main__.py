# SPDX-License-Identifier: BSD-3-Clause
"""`python -m keepon_guests`: run a script in a guest and show what it printed; see docs/vm.md."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from keepon_host.errors import (
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    ConfigError,
    EnvironmentProblemError,
    KeeponError,
)

from keepon_guests import machines
from keepon_guests.compare import differences, twice
from keepon_guests.console import tail
from keepon_guests.images import FAMILIES, FLAVOURS, TESTED_FAMILIES, get_kernel, offered_families
from keepon_guests.initramfs import base_archive
from keepon_guests.modules import build_modules
from keepon_guests.run import MODES, GuestResult, run_guest

EXIT_FAILED = 1
# What tests boot: flavour, and how many of the families apt offers, the oldest first. Without a
# flavour, that of `make test`; others are made on demand.
PREPARED = {"cloud": len(TESTED_FAMILIES), "rt": 1}
BOOTED = PREPARED | {"debug": 1, "kcsan": 1}


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m keepon_guests", description=__doc__)
    parser.add_argument(
        "--kernel", default="6.1", choices=FAMILIES, help="kernel family (default %(default)s)"
    )
    parser.add_argument(
        "--flavour",
        choices=FLAVOURS,
        help=(
            "default cloud; amd64 has e1000e, igb, igc, hsr; rt is PREEMPT_RT; debug and kcsan are"
            " built; arm64 is for an emulated Raspberry Pi 4"
        ),
    )
    parser.add_argument(
        "--update",
        action="store_true",
        help="look for a newer kernel package than the one in the cache",
    )
    parser.add_argument(
        "--prepare", action="store_true", help="prepare what tests boot (or --flavour), and stop"
    )
    parser.add_argument(
        "--script",
        type=Path,
        help="POSIX shell script to run; without it only kernel and modules are made",
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="GUEST=HOST",
        help="file or folder for the guest",
    )
    parser.add_argument(
        "--module",
        action="append",
        default=[],
        type=Path,
        metavar="FOLDER",
        help="build it, in this order",
    )
    parser.add_argument(
        "--tool", action="append", default=[], metavar="NAME|PATH", help="one more host program"
    )
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="variable for the script"
    )
    parser.add_argument("--mode", default="icount", choices=MODES)
    parser.add_argument(
        "--icount-shift", default=1, type=int, metavar="N", help="an instruction takes 2^N ns"
    )
    parser.add_argument("--memory-mb", default=512, type=int)
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument(
        "--timeout",
        default=120.0,
        type=float,
        metavar="S",
        help="host seconds (default %(default)g)",
    )
    parser.add_argument(
        "--virtual-limit",
        default=600,
        type=int,
        metavar="S",
        help="guest seconds (default %(default)s)",
    )
    parser.add_argument("--append", default="", help="more kernel parameters")
    parser.add_argument(
        "--emulator", type=Path, metavar="PATH", help="another QEMU than the distribution's"
    )
    parser.add_argument(
        "--qemu",
        action="append",
        default=[],
        metavar="ARG",
        help="more arguments for QEMU: --qemu=-device",
    )
    parser.add_argument(
        "--expect",
        action="append",
        default=[],
        metavar="REGEX",
        help="kernel trouble that is no failure",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="write the files of the guest's /out here"
    )
    parser.add_argument("--console", action="store_true", help="show the kernel's console, too")
    parser.add_argument(
        "--twice",
        action="store_true",
        help="run twice and compare; exit code 1 if anything differs",
    )
    return parser


def split_pairs(texts: list[str], option: str) -> dict[str, str]:
    pairs = {}
    for text in texts:
        name, separator, value = text.partition("=")
        if not separator or not name or (option == "--file" and not value):
            raise ConfigError(f"{option} {text!r} is no pair: write {option} NAME=VALUE")
        pairs[name] = value
    return pairs


def write_files(result: GuestResult, folder: Path) -> None:
    for name, data in result.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def show(result: GuestResult, console: bool) -> None:
    print(result.stdout, end="", flush=True)
    virtual = "no" if result.virtual_seconds is None else f"{result.virtual_seconds:.6f}"
    summary = [
        f"exit code {result.exit_code}, {virtual} virtual s, {result.wall_seconds:.1f} s,"
        f" {len(result.files)} files"
    ]
    summary += result.problems
    if console or result.problems:
        summary += ["console:", result.console if console else tail(result.console)]
    print("\n".join(summary), file=sys.stderr)


def prepare(wanted: dict[str, int], update: bool) -> int:
    """Everything a first run would have to fetch or make, of the flavours `wanted` (how many
    families of each).
    """
    for flavour, count in wanted.items():
        families = offered_families(flavour)[:count]
        if not families:
            raise EnvironmentProblemError(
                f"apt offers no kernel of {' or '.join(TESTED_FAMILIES)} ({flavour}):"
                " run apt-get update"
            )
        for family in families:
            print(f"kernel {get_kernel(family, flavour, update=update).version}", flush=True)
        base_archive(machines.of_flavour(flavour).foreign)
    return 0


def work(options: argparse.Namespace) -> int:
    if options.prepare:
        wanted = {options.flavour: BOOTED.get(options.flavour, len(TESTED_FAMILIES))}
        return prepare(wanted if options.flavour else PREPARED, options.update)
    kernel = get_kernel(options.kernel, options.flavour or "cloud", update=options.update)
    modules = build_modules(kernel, options.module)
    print(
        f"kernel {kernel.version}",
        *(f"module {path.name}" for path in modules),
        sep=", ",
        file=sys.stderr,
    )
    if options.script is None:
        return 0
    files = {name: Path(value) for name, value in split_pairs(options.file, "--file").items()}
    variables = split_pairs(options.env, "--env")
    tools = [Path(name) if "/" in name else name for name in options.tool]

    def run() -> GuestResult:
        return run_guest(
            kernel,
            options.script,
            files,
            modules=modules,
            tools=tools,
            environment=variables,
            memory_mb=options.memory_mb,
            mode=options.mode,
            seed=options.seed,
            timeout_s=options.timeout,
            virtual_limit_s=options.virtual_limit,
            append=options.append,
            icount_shift=options.icount_shift,
            expected=options.expect,
            qemu_args=options.qemu,
            qemu=options.emulator,
        )

    results = twice(run) if options.twice else (run(),)
    show(results[0], options.console)
    if options.out is not None:
        write_files(results[0], options.out)
    found = differences(results[0], results[-1])
    if options.twice:
        print("\n".join(found) or "both runs are equal in every byte", file=sys.stderr)
    if any(result.problems for result in results) or found:
        return EXIT_FAILED
    return results[0].exit_code or 0


def main(arguments: list[str] | None = None) -> int:
    """The script's exit code; 1 also for kernel trouble, a limit or a difference, 2 and 3 for input
    and environment.
    """
    options = parser().parse_args(arguments)
    try:
        return work(options)
    except KeeponError as error:
        print(f"keepon: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"keepon: {error}", file=sys.stderr)
        return EXIT_INPUT
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


if __name__ == "__main__":
    raise SystemExit(main())
