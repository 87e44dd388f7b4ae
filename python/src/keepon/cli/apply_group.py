# SPDX-License-Identifier: BSD-3-Clause
"""The commands that set this machine up as a station of a plan, and put back what was there."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Annotated

import typer

from keepon.cli import completed, edge, shared
from keepon.cli.export_command import checked_plan, device_name
from keepon.cli.options import check_alone, check_without
from keepon.errors import ConfigError, one_line
from keepon.linux import boot
from keepon.linux import station as stations
from keepon.linux.apply import command, steps
from keepon.linux.apply.journal import journals
from keepon.linux.interface import until
from keepon.model import loading, machinefile
from keepon.model.plan import read
from keepon.model.topology import check_single_ports

app = typer.Typer()

PlanFile = Annotated[
    Path | None,
    typer.Argument(metavar="PLAN", help="Plan, as keepon plan --out writes it."),
]
Station = Annotated[str | None, typer.Option("--station", metavar="NAME", help="Of the scenario.")]
Interface = Annotated[
    str | None,
    typer.Option(
        "--iface",
        metavar="NAME",
        help="The card, such as eth0.",
        autocompletion=completed.interfaces,
    ),
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
KeeponDevice = Annotated[
    str, typer.Option("--keepon-device", metavar="NAME", help="The device made on the card.")
]
Rollback = Annotated[
    float,
    typer.Option(
        "--rollback", metavar="SECONDS", help="Unless it is confirmed within, all is put back."
    ),
]
Boot = Annotated[
    str | None,
    typer.Option("--boot", metavar="NAME", help="What /etc/keepon/NAME.toml says (systemd)."),
]
IFACE_WAIT_S = 30.0
"""How long the card's driver may take at boot."""
_BOOT_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,63}")


def planned_setup(
    plan: Path | None, scenario: Path | None, station: str | None, iface: str, keepon: str
) -> steps.Setup:
    """The steps that make this machine a station.

    Raises:
        ConfigError, TraceError: a file, station or name is not right.
    """
    if plan is None:
        raise ConfigError(
            "argument PLAN: is missing; make a plan with keepon plan SCENARIO --out plan.json and"
            " name it"
        )
    if scenario is None:
        named = str(read(plan).get("scenario", ""))
        scenario = plan.parent / f"{named}.toml"
        if "/" in named or not scenario.is_file():
            raise ConfigError(
                f"option --scenario: is missing, and there is no {one_line(scenario)}; name the"
                " file the plan was made of"
            )
    document = loading.load(scenario)
    check_single_ports(document, "keepon apply", str(scenario))
    checked = checked_plan(plan, document, scenario)
    for option, name in (("--iface", iface), ("--keepon-device", keepon)):
        device_name(option, name)
    if iface in (keepon, stations.vlan_name(keepon)):
        raise ConfigError(
            f'option --keepon-device = "{keepon}": must differ from --iface, on which it is made;'
            " choose another name"
        )
    there = sorted(checked["stations"])
    if station not in there:
        given = "is missing" if station is None else f'= "{one_line(station)}": is none of the plan'
        raise ConfigError(f"option --station {given}; name one of {', '.join(there)}")
    machine = stations.Machine(document, checked, "keepon", iface, keepon)
    return stations.setup(machine, document.station_named(station))


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
            setup = boot.direct(
                name, found.iface, found.keepon_device, link.rate_mbps, link.options, link.ptp
            )
        except ConfigError as error:
            raise loading.problem(str(path), "link.options", link.options, str(error)) from error
    return boot.for_units(setup, name)


def boot_file(name: str) -> Path:
    if not _BOOT_NAME.fullmatch(name):
        raise ConfigError(
            f'option --boot = "{one_line(name)}": must be the name of a file in'
            f' {machinefile.FOLDER}, without .toml: letters, digits, ".", "_" or "-"'
        )
    return machinefile.FOLDER / f"{name}.toml"


def at_boot(name: str) -> str:
    """What keepon@NAME.service does."""
    nic = machinefile.load(boot_file(name)).iface
    until(time.monotonic() + IFACE_WAIT_S, lambda: Path("/sys/class/net", nic).exists())
    setup = boot_setup(name)
    return command.apply(setup, command.ROLLBACK_S, True, False, _say, settle_s=0.0, unit=name)


@app.command("apply")
def apply(
    context: typer.Context,
    plan: PlanFile = None,
    station: Station = None,
    iface: Interface = None,
    scenario: ScenarioOption = None,
    keepon: KeeponDevice = "rt0",
    rollback: Rollback = command.ROLLBACK_S,
    yes: Annotated[
        bool, typer.Option("--yes", help="Keep it without asking, if link and connection hold.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show every command, and change nothing.")
    ] = False,
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Keep what another keepon apply waits for.")
    ] = False,
    at_boot_of: Boot = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --dry-run: the steps as JSON.")
    ] = False,
) -> None:
    """Set an interface up as a station of a plan. All of it is put back unless you
    confirm in time, and if the link, your connection or the command is lost.
    """
    if confirm:
        check_alone(context, "confirm", ("iface",))
        print(command.confirm(iface))
        return
    if at_boot_of is not None:
        check_alone(context, "at_boot_of")
        print(at_boot(at_boot_of))
        return
    if iface is None:
        raise ConfigError("option --iface: is missing; name the card, such as --iface eth0")
    if yes and not dry_run:
        check_without(context, "yes", ("rollback",))
    if as_json and not dry_run:
        raise ConfigError("option --json: is for --dry-run; leave it out, or add --dry-run")
    setup = planned_setup(plan, scenario, station, iface, keepon)
    if as_json:
        shared.print_json(steps.to_document(setup))
        return
    edge.Settings.left = f"{iface} is as it was"
    print(command.apply(setup, rollback, yes, dry_run, _say))


def _say(text: str) -> None:
    print(text, flush=True)


@app.command("unapply")
def unapply(
    context: typer.Context,
    iface: Annotated[
        str | None,
        typer.Argument(
            metavar="IFACE",
            help="The card; may be left out if only one.",
            autocompletion=completed.interfaces,
        ),
    ] = None,
    at_boot_of: Boot = None,
) -> None:
    """Put back what was there before keepon apply, and say what was done."""
    if at_boot_of is not None:
        check_alone(context, "at_boot_of")
    edge.Settings.left = "not all may be as it was; say keepon unapply again"
    if at_boot_of is None:
        print(command.unapply(iface))
        return
    # What runs when a unit has ended in any way: there may be nothing to put back, and its file may
    # be another one by now, or none.
    boot_file(at_boot_of)
    for each in journals():
        if each.unit == at_boot_of:
            print(command.unapply(each.name or each.nic))
