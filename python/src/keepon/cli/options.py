# SPDX-License-Identifier: BSD-3-Clause
"""Arguments and options that several commands of `keepon` share, and what a shell may put in for
them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from keepon_host.link import options

from keepon.cli import edge
from keepon.errors import ConfigError, one_line
from keepon.model import examples, starter

NET = Path("/sys/class/net")
Completer = Callable[[str], list[str]]


def completing(values: Callable[[], Iterable[str]]) -> Completer:
    """Those of the values that begin with what is there."""

    def completed(incomplete: str) -> list[str]:
        return [value for value in values() if value.startswith(incomplete)]

    return completed


def among(*values: str) -> Completer:
    """Words that are always the same."""
    return completing(lambda: values)


def _interfaces() -> list[str]:
    try:
        return sorted(path.name for path in NET.iterdir() if path.is_dir())
    except OSError:
        return []


example_names = completing(examples.names)
interfaces = completing(_interfaces)
formats = among("commands", "dot", "yang", "tsnkit", "tsntool", "libvirt", "qemu", "svg")
shapes = among(*starter.SHAPES)


def link_options(context: typer.Context, incomplete: str) -> list[str]:
    """Of `link add` and `link set`: the words of the option before, else options not given yet."""
    given = [str(word) for word in context.params.get("options") or ()]
    known = {option.name: option.words for option in options.OPTIONS}
    if given and given[-1] in known and len(given) % 2:
        fitting: Iterable[str] = known[given[-1]]
    else:
        fitting = [name for name in (*known, "class") if name == "class" or name not in given]
    return [word for word in fitting if word.startswith(incomplete)]


def option(name: str, about: str, **more: Any) -> Any:
    """An option and what it is; its default is shown, too, if there is one."""
    return typer.Option(name, help=about, **more)


def argument(about: str, **more: Any) -> Any:
    """The same of an argument."""
    return typer.Argument(help=about, show_default=False, **more)


def named(option: typer.CallbackParam, path: Path | None) -> Path | None:
    """A place to write to: `--out ""` would be the folder that the command runs in."""
    if path is not None and not path.name:
        # pathlib makes "." of what is empty, too.
        words = sys.argv[1:]
        typed = "" if "" in words or f"{option.opts[0]}=" in words else str(path)
        raise ConfigError(
            f'option {option.opts[0]} = "{typed}": must name a file or folder; write its name, or'
            " leave the option out"
        )
    return path


def check_apart(option: str, path: Path | None, *inputs: Path | None) -> None:
    """Refuse to write over what the command reads.

    Raises:
        ConfigError: it is the same file, or the folder that it is in.
    """
    if path is None or not path.exists():
        return
    there = [read for read in inputs if read is not None and read.exists()]
    within = [read for read in there if path.samefile(Path(os.path.realpath(read)).parent)]
    if path.is_dir() and within:
        raise ConfigError(
            f'option {option} = "{one_line(path)}": holds {within[0].name}, which the command reads'
            " and which would be lost; choose another folder"
        )
    if any(path.samefile(read) for read in there):
        raise ConfigError(
            f'option {option} = "{one_line(path)}": is a file that the command reads, and would be'
            " lost; choose another place"
        )


def check_without(context: typer.Context, chosen: str, unused: Collection[str | None]) -> None:
    """Refuse what was typed beside an option that has no use for it.

    Args:
        chosen: the parameter of that option.
        unused: those it has no use for.

    Raises:
        ConfigError: one of them was typed.
    """
    named = {each.name: edge.parameter_named(each) for each in context.command.params}
    for name, what in named.items():
        source = context.get_parameter_source(name) if name in unused and name else None
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigError(f"{what}: has no use with {named[chosen]}; leave one of the two out")


Json = Annotated[bool, option("--json", "Print the result as JSON instead of tables.")]
ScenarioFile = Annotated[Path, argument("Scenario file (TOML, keepon.scenario/1).")]
OUT_HELP = "Result folder; default out/NAME of the scenario."
Out = Annotated[Path | None, option("--out", OUT_HELP, callback=named)]
SEED_MAX = 2**63 - 1
CLUSTER_HELP = "Dask scheduler whose workers do it instead."
SEED_HELP = "Seed instead of the scenario's."
Seed = Annotated[int | None, option("--seed", SEED_HELP, min=0, max=SEED_MAX)]


def _duration_s(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(
            f'option --duration = "{one_line(text)}": must be a number of seconds between 0.001 and'
            " 86400, without a unit"
        ) from None


_DURATION = "Seconds measured instead of the scenario's."
Duration = Annotated[
    float | None, option("--duration", _DURATION, parser=_duration_s, metavar="<float>")
]
Target = Annotated[
    str,
    option(
        "--target",
        "sim: the simulator; vm: a Linux kernel in a virtual machine; host: interfaces of this"
        " machine, as root. The last two run 1 s unless --duration.",
        autocompletion=among("sim", "vm", "host"),
    ),
]
_KERNEL = "Kernel of target vm: 6.1, 6.12 or the newest of Debian; default 6.1."
Kernel = Annotated[
    str | None,
    option("--kernel", _KERNEL, autocompletion=among("6.1", "6.12", "newest")),
]
_MAP = "Target host: a station's interface, or NAMESPACE/IFACE; one for every station."
Map = Annotated[list[str] | None, option("--map", _MAP, metavar="STATION=IFACE")]
_CLOCK_LIMIT = (
    "Target host: how far clocks may disagree; default a tenth of the shortest deadline, at least"
    " 1000."
)
ClockLimit = Annotated[int | None, option("--clock-limit-ns", _CLOCK_LIMIT, min=1, max=10**9)]
_CLOCK_WAIT = "Target host: how long to wait until they agree; default 60."
ClockWait = Annotated[float | None, option("--clock-wait-s", _CLOCK_WAIT, min=0, max=3600)]
KeepClocks = Annotated[
    bool, option("--keep-clocks", "Target host: another program sets the clocks.")
]
CaptureFrames = Annotated[
    int, option("--capture-frames", "Frames in the capture at most; 0: no capture.", min=0)
]
