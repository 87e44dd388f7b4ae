# SPDX-License-Identifier: BSD-3-Clause
"""The commands of keepon_host as commands of this program: their help, completion and pages are
made of their parsers, and what is typed goes to these.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from keepon_host import cli
from keepon_host.start import driver, steps
from typer.core import TyperCommand

from keepon.cli import edge, options, session, shared
from keepon.cli.export_command import checked_plan
from keepon.cli.options import Json, Out, option
from keepon.cli.shared import EXIT_CODES
from keepon.errors import EXIT_INPUT, ConfigError, one_line
from keepon.machines import station as stations
from keepon.model import loading
from keepon.model.plan import read
from keepon.model.topology import check_single_ports
from keepon.planner.partition.limits import TIME_LIMIT_S
from keepon.report import terminal
from keepon.targets.host.target import DURATION_S_MAX


def planned_setup(
    plan: Path, scenario: Path | None, station: str | None, nic: str, link: str
) -> steps.Setup:
    """The steps that make this machine a station.

    Raises:
        ConfigError, TraceError: a file, station or name is not right.
    """
    if scenario is None:
        named = str(read(plan).get("scenario", ""))
        scenario = plan.parent / f"{named}.toml"
        if "/" in named or not scenario.is_file():
            raise ConfigError(
                f"option --scenario: is missing, and there is no {one_line(scenario)}; name the"
                " file the plan was made of"
            )
    document = loading.load(scenario)
    check_single_ports(document, "keepon start", str(scenario))
    checked = checked_plan(plan, document, scenario)
    if nic in (link, stations.vlan_name(link)):
        raise ConfigError(
            f'option --link = "{link}": must differ from the card, on which it is made; choose'
            " another name"
        )
    there = sorted(checked["stations"])
    if station not in there:
        given = "is missing" if station is None else f'= "{one_line(station)}": is none of the plan'
        raise ConfigError(f"option --station {given}; name one of {', '.join(there)}")
    machine = stations.Machine(document, checked, "keepon", nic, link)
    found = document.station_named(station)
    stations.check_room(machine, found)
    return stations.setup(machine, found)


def given(chosen: argparse.Namespace) -> steps.Setup:
    """Steps of the plan that `keepon start` was given.

    Raises:
        ConfigError, TraceError: a file, station or name is not right.
    """
    scenario = Path(chosen.scenario) if chosen.scenario else None
    return planned_setup(Path(chosen.plan), scenario, chosen.station, chosen.nic, chosen.link)


SECONDS_MAX = DURATION_S_MAX - 1
"""Frames before the first that counts take a fifth of a second."""
BETWEEN: dict[str, Literal["min", "p50", "p99", "p999", "max"]] = {
    "least": "min", "50 %": "p50", "99 %": "p99", "99.9 %": "p999", "greatest": "max",
}  # fmt: skip


def measure_link(
    sender: Annotated[
        str, typer.Argument(metavar="A", help="HOST:INTERFACE that sends; or one of this machine.")
    ],
    receiver: Annotated[str, typer.Argument(metavar="B", help="The same that receives.")],
    by: Annotated[
        str, option("--by", "Command that runs another one on a host, which is {} in it.")
    ] = "ssh {}",
    seconds: Annotated[
        float, option("--seconds", "How long to send.", min=0.01, max=SECONDS_MAX)
    ] = 10.0,
    period_us: Annotated[
        int, option("--period-us", "From frame to frame.", min=1, max=1_000_000)
    ] = 1000,
    frame_bytes: Annotated[int, option("--bytes", "Of a frame, FCS included.")] = 100,
    advance_us: Annotated[
        int, option("--advance-us", "Hand over so long before the txtime.", min=0, max=1_000_000)
    ] = 200,
    priority: Annotated[
        int, option("--priority", "SO_PRIORITY, which says the class.", min=0, max=15)
    ] = 0,
    fifo: Annotated[
        int, option("--fifo", "Of A's sender in SCHED_FIFO; 0: a normal process.", min=0, max=99)
    ] = 80,
    no_txtime: Annotated[
        bool, option("--no-txtime", "Sleep until each instant, where no link or qdisc holds it.")
    ] = False,
    deadline_us: Annotated[
        int | None, option("--deadline-us", "What delays are judged by.", min=1)
    ] = None,
    clocks_within_ns: Annotated[
        int | None,
        option(
            "--clocks-within-ns",
            "The clocks that stamp agree so well, by PTP, say; left out: unknown, and so are"
            " delays.",
            min=0,
        ),
    ] = None,
    out: Out = None,
    as_json: Json = False,
) -> None:
    """Send from one machine to another with keepon-talk and keepon-listen, both of which have
    keepon-tools; write a result folder as that of run.
    """
    from keepon_host.testbed.remote import End

    from keepon.targets.host import between

    target = between.between(
        End.read("argument A", sender, by), End.read("argument B", receiver, by),
        clocks_within_ns, priority, fifo,
    )  # fmt: skip
    stream = {
        "period_ns": period_us * 1000, "frame_bytes": frame_bytes,
        "advance_ns": 0 if no_txtime else advance_us * 1000,
    }  # fmt: skip
    if deadline_us is not None:
        stream["deadline_ns"] = deadline_us * 1000
    edge.Settings.source = between.NAME
    scenario = between.scenario(seconds, stream, not no_txtime, clocks_within_ns is not None)
    folder = out if out is not None else Path("out") / scenario.name
    session.prepare(scenario, folder, target)
    scenario, plan = shared.feasible(lambda: scenario, TIME_LIMIT_S)
    with shared.progress_bar() as progress:
        outcome = session.run_scenario(
            scenario, plan, folder, 1, session.CAPTURE_FRAMES, progress, target
        )
    for run in outcome.runs:
        seen = run.document["streams"]["probe"]["interarrival_ns"]
        if seen["count"] and not as_json:
            values = (f"{name} {(seen[key] or 0) / 1000:.3f}" for name, key in BETWEEN.items())
            terminal.say(f"between arrivals, us: {', '.join(values)}")
    raise typer.Exit(shared.conclude(outcome, folder, as_json, outcome.interrupted))


COMPLETED: dict[str, Callable[..., Any]] = {
    "NIC": options.interfaces, "NAME": options.interfaces, "IFACE": options.interfaces,
    "CARD": options.interfaces, "LOWER": options.interfaces, "--peer": options.interfaces,
    "OPTION": options.link_options,
    "--driver": options.among(*driver.CHOICES), "--ptp": options.among(*cli.ROLES),
    "--backend": options.among("native", "generic"),
}  # fmt: skip
VERBATIM = "\b\n"
"""Before paragraphs whose lines stay as they are."""


class MachineCommand(TyperCommand):
    """One of them; it parses nothing but for completion."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if ctx.resilient_parsing:
            return super().parse_args(ctx, args)
        ctx.args = args
        return []

    def invoke(self, ctx: Any) -> int:
        group = ctx.parent.info_name
        words = [*([group] if group in cli.GROUPS else []), str(self.name), *ctx.args]
        verb, chosen, edge.Settings.left = cli.parsed(words, given)
        return cli.finish(verb.run(chosen))


def _annotation(action: argparse.Action) -> Any:
    name = action.option_strings[0] if action.option_strings else str(action.metavar)
    common: dict[str, Any] = {
        "help": action.help, "autocompletion": COMPLETED.get(name), "show_default": False,
    }  # fmt: skip
    if not action.option_strings:
        kind: Any = list[str] if action.nargs in ("*", "+") else str
        return Annotated[kind, typer.Argument(metavar=name, **common)]
    if action.nargs == 0:
        return Annotated[bool, typer.Option(*action.option_strings, **common)]
    metavar = str(action.metavar)
    return Annotated[str, typer.Option(*action.option_strings, metavar=metavar, **common)]


def _signature(parser: argparse.ArgumentParser) -> inspect.Signature:
    """Parameters as typer reads them off a function."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [
            inspect.Parameter(
                action.dest,
                kind,
                annotation=_annotation(action),
                default=inspect.Parameter.empty if action.required else None,
            )
            for action in parser._actions
            if action.dest != "help"
        ]
    )


def _add(app: typer.Typer, name: str) -> None:
    parser = cli.VERBS[name](None).parser
    signature = _signature(parser)

    def typed(**_words: object) -> None:
        """What it does is in keepon_host."""

    typed.__signature__ = signature  # type: ignore[attr-defined]
    typed.__annotations__ = {each.name: each.annotation for each in signature.parameters.values()}
    epilog = parser.epilog and VERBATIM + parser.epilog.replace("\n\n", f"\n\n{VERBATIM}")
    app.command(
        name.split()[-1], cls=MachineCommand, epilog=epilog,
        help=(parser.description or "").replace("\n", " "),
    )(typed)  # fmt: skip


def _group(app: typer.Typer, name: str, about: str) -> typer.Typer:
    group = typer.Typer(name=name, rich_markup_mode=None, help=about)

    @group.callback(invoke_without_command=True)
    def _list(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            print(context.get_help())
            raise typer.Exit(EXIT_INPUT)

    app.add_typer(group)
    return group


def add_to(app: typer.Typer) -> None:
    """All of them become commands of `app`."""
    groups = {
        "": app,
        "measure": _group(app, "measure", "How late this machine is, and frames between two."),
        "link": _group(
            app, "link", "Links of kind keepon on this machine, without iproute2's plugin."
        ),
    }
    groups["measure"].command("link", epilog=EXIT_CODES)(measure_link)
    for name in cli.VERBS:
        _add(groups[name.rpartition(" ")[0]], name)
