# SPDX-License-Identifier: BSD-3-Clause
"""The commands that give a card a keepon link, put back what was there, and say how links do."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated

import typer
from keepon_host.interface import until
from keepon_host.journal import journals
from keepon_host.start import command, direct, driver, status, steps

from keepon.cli import completed, edge, shared
from keepon.cli.export_command import checked_plan, device_name
from keepon.cli.link_group import EPILOG
from keepon.cli.options import Json, check_alone, check_without
from keepon.errors import ConfigError, one_line
from keepon.machines import station as stations
from keepon.model import loading, machinefile
from keepon.model.plan import read
from keepon.model.topology import check_single_ports

app = typer.Typer()

Nic = Annotated[
    str | None,
    typer.Argument(
        metavar="NIC",
        help="The card, such as eth0.",
        show_default=False,
        autocompletion=completed.interfaces,
    ),
]
OnlyNic = Annotated[
    str | None,
    typer.Argument(
        metavar="NIC",
        help="The card; may be left out if only one.",
        show_default=False,
        autocompletion=completed.interfaces,
    ),
]
Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="OPTION",
        help="Options of the link and their values.",
        show_default=False,
        autocompletion=completed.link_options,
    ),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan", metavar="FILE", help="Plan, as keepon plan --out writes it.", show_default=False
    ),
]
Station = Annotated[
    str | None, typer.Option("--station", metavar="NAME", help="Of the plan.", show_default=False)
]
ScenarioOption = Annotated[
    Path | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help="Scenario of the plan; default: the plan's scenario's NAME.toml beside it.",
        show_default=False,
    ),
]
LinkName = Annotated[str, typer.Option("--link", metavar="NAME", help="The link's name.")]
DriverChoice = Annotated[
    str,
    typer.Option(
        "--driver",
        help="keepon: Keepon's own; kernel: the one the card has; auto: Keepon's where it has one.",
        autocompletion=completed.words(*driver.CHOICES),
    ),
]
Ptp = Annotated[
    str,
    typer.Option(
        "--ptp",
        help="none; follow: ptp4l sets the link's clock; lead: it is the network's.",
        autocompletion=completed.words("none", "follow", "lead"),
    ),
]
Rollback = Annotated[
    float,
    typer.Option(
        "--rollback",
        metavar="SECONDS",
        help="For the card's link and your ssh connection to come back.",
    ),
]
Boot = Annotated[
    str | None,
    typer.Option(
        "--boot",
        metavar="NAME",
        help="What /etc/keepon/NAME.toml says (systemd).",
        show_default=False,
    ),
]
IFACE_WAIT_S = 30.0
"""How long the card's driver may take at boot."""
_BOOT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


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


def boot_setup(name: str) -> steps.Setup:
    """The steps of /etc/keepon/NAME.toml, for the units of that name.

    Raises:
        ConfigError, TraceError: a file, station or name is not right.
    """
    path = boot_file(name)
    found = machinefile.load(path)
    if found.plan is not None:
        plan, scenario = (path.parent / each for each in (found.plan.file, found.plan.scenario))
        setup = planned_setup(plan, scenario, found.plan.station, found.iface, found.keepon_device)
    else:
        link = found.link
        assert link is not None, "one of both, says the file's check"
        try:
            setup = direct.direct(
                name, found.iface, found.keepon_device, link.rate_mbps,
                direct.words_of(link.options), link.ptp,
            )  # fmt: skip
        except ConfigError as error:
            raise loading.problem(str(path), "link.options", link.options, str(error)) from error
    return direct.for_units(setup, name)


def boot_file(name: str) -> Path:
    if not _BOOT_NAME.fullmatch(name):
        raise ConfigError(
            f'option --boot = "{one_line(name)}": must be the name of a file in'
            f' {machinefile.FOLDER}, without .toml: letters, digits, ".", "_" or "-"'
        )
    return machinefile.FOLDER / f"{name}.toml"


def at_boot(name: str) -> str:
    """What keepon@NAME.service does."""
    found = machinefile.load(boot_file(name))
    nic = found.iface
    until(time.monotonic() + IFACE_WAIT_S, lambda: Path("/sys/class/net", nic).exists())
    return command.start(boot_setup(name), found.driver, command.ROLLBACK_S, False, _say, unit=name)


@app.command("start", epilog=EPILOG)
def start(
    context: typer.Context,
    nic: Nic = None,
    words: Words = None,
    plan: PlanFile = None,
    station: Station = None,
    scenario: ScenarioOption = None,
    link: LinkName = "rt0",
    driver_choice: DriverChoice = "auto",
    ptp: Ptp = "none",
    rollback: Rollback = command.ROLLBACK_S,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show every command, and change nothing.")
    ] = False,
    at_boot_of: Boot = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --dry-run: the steps as JSON.")
    ] = False,
) -> None:
    """Give a card a keepon link, as OPTIONs or a station of a plan say; the card itself
    goes on as it is. All of it is put back if a step fails, or if the card's link or
    your connection is lost.
    """
    if at_boot_of is not None:
        check_alone(context, "at_boot_of")
        print(at_boot(at_boot_of))
        return
    if nic is None:
        raise ConfigError("argument NIC: is missing; name the card, such as eth0")
    if as_json and not dry_run:
        raise ConfigError("option --json: is for --dry-run; leave it out, or add --dry-run")
    for option, name in (("argument NIC", nic), ("option --link", link)):
        device_name(option, name)
    if plan is None:
        for option, given in (("--station", station), ("--scenario", scenario)):
            if given is not None:
                raise ConfigError(f"option {option}: is for --plan; add that, or leave it out")
        if ptp not in ("none", "follow", "lead"):
            raise ConfigError(f'option --ptp = "{one_line(ptp)}": must be none, follow or lead')
        setup = direct.direct(nic, nic, link, 0, words or (), ptp)
    else:
        check_without(context, "plan", ("words", "ptp"))
        setup = planned_setup(plan, scenario, station, nic, link)
    if as_json:
        shared.print_json(steps.to_document(setup))
        return
    edge.Settings.left = f"{nic} is as it was"
    print(command.start(setup, driver_choice, rollback, dry_run, _say))


def _say(text: str) -> None:
    print(text, flush=True)


@app.command("stop")
def stop(context: typer.Context, nic: OnlyNic = None, at_boot_of: Boot = None) -> None:
    """Put back what was there before keepon start, and say what was done."""
    if at_boot_of is not None:
        check_alone(context, "at_boot_of")
    edge.Settings.left = "not all may be as it was; say keepon stop again"
    if at_boot_of is None:
        print(command.stop(nic))
        return
    # What runs when a unit has ended in any way: there may be nothing to put back, and its file may
    # be another one by now, or none.
    boot_file(at_boot_of)
    for each in journals():
        if each.unit == at_boot_of:
            print(command.stop(each.name or each.nic))


@app.command("status")
def show_status(nic: OnlyNic = None, as_json: Json = False) -> None:
    """Show each keepon link: its card, clock, frames, PTP, and what keepon start set up."""
    if as_json:
        shared.print_json(status.document(nic))
    else:
        print(status.text(nic))
