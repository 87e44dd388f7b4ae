# SPDX-License-Identifier: BSD-3-Clause
"""Arguments and options that several commands of `keepon` share."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import completed, usage
from keepon.errors import ConfigError, one_line

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON instead of tables.")]
ScenarioFile = Annotated[
    Path, typer.Argument(help="Scenario file (TOML, keepon.scenario/1).", show_default=False)
]


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


def check_alone(context: typer.Context, chosen: str, may_go_with: Collection[str] = ()) -> None:
    """Refuse what was typed beside an option that has no use for it.

    Args:
        chosen: the parameter of that option.
        may_go_with: parameters it has a use for.

    Raises:
        ConfigError: there is another one.
    """
    others = {each.name for each in context.command.params} - {chosen, *may_go_with}
    check_without(context, chosen, others)


def check_without(context: typer.Context, chosen: str, unused: Collection[str | None]) -> None:
    """The same of a few parameters.

    Raises:
        ConfigError: one of them was typed.
    """
    named = {each.name: usage.named(each) for each in context.command.params}
    for name, what in named.items():
        source = context.get_parameter_source(name) if name in unused and name else None
        if source is not None and source.name == "COMMANDLINE":
            raise ConfigError(f"{what}: has no use with {named[chosen]}; leave one of the two out")


OUT_HELP = "Result folder; default out/NAME of the scenario."
Out = Annotated[
    Path | None, typer.Option("--out", help=OUT_HELP, show_default=False, callback=named)
]
SEED_MAX = 2**63 - 1
CLUSTER_HELP = "Dask scheduler whose workers do it instead."
SEED_HELP = "Seed instead of the scenario's."
Seed = Annotated[
    int | None, typer.Option("--seed", min=0, max=SEED_MAX, help=SEED_HELP, show_default=False)
]


def _duration_s(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(
            f'option --duration = "{one_line(text)}": must be a number of seconds between 0.001 and'
            " 86400, without a unit"
        ) from None


Duration = Annotated[
    float | None,
    typer.Option(
        "--duration",
        parser=_duration_s,
        metavar="<float>",
        help="Seconds measured instead of the scenario's.",
        show_default=False,
    ),
]
Target = Annotated[
    str,
    typer.Option(
        "--target",
        autocompletion=completed.words("sim", "vm", "host"),
        help="sim: the simulator; vm: a Linux kernel in a virtual machine; host: interfaces of this"
        " machine, as root. The last two run 1 s unless --duration.",
    ),
]
Kernel = Annotated[
    str | None,
    typer.Option(
        "--kernel",
        help="Kernel of target vm: 6.1, 6.12 or the newest of Debian; default 6.1.",
        show_default=False,
        autocompletion=completed.words("6.1", "6.12", "newest"),
    ),
]
Map = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="STATION=IFACE",
        help="Target host: a station's interface, or NAMESPACE/IFACE; one for every station.",
        show_default=False,
    ),
]
ClockLimit = Annotated[
    int | None,
    typer.Option(
        "--clock-limit-ns",
        min=1,
        max=10**9,
        help="Target host: how far clocks may disagree; default a tenth of the shortest deadline,"
        " at least 1000.",
        show_default=False,
    ),
]
ClockWait = Annotated[
    float | None,
    typer.Option(
        "--clock-wait-s",
        min=0,
        max=3600,
        help="Target host: how long to wait until they agree; default 60.",
        show_default=False,
    ),
]
KeepClocks = Annotated[
    bool, typer.Option("--keep-clocks", help="Target host: another program sets the clocks.")
]
CaptureFrames = Annotated[
    int,
    typer.Option("--capture-frames", min=0, help="Frames in the capture at most; 0: no capture."),
]
