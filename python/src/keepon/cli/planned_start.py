# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon start` needs of a plan, or of a file in /etc/keepon: the steps for this machine."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from keepon_host.interface import until
from keepon_host.journal import boot_file
from keepon_host.start import direct, steps

from keepon.cli.export_command import checked_plan
from keepon.errors import ConfigError, one_line
from keepon.machines import station as stations
from keepon.model import loading, machinefile
from keepon.model.plan import read
from keepon.model.topology import check_single_ports

IFACE_WAIT_S = 30.0
"""How long the card's driver may take at boot."""


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


def given(chosen: argparse.Namespace) -> tuple[steps.Setup, str, str]:
    """Steps, driver and unit of what `keepon start` was given.

    Raises:
        ConfigError, TraceError: a file, station or name is not right.
    """
    if chosen.boot is None:
        found = planned_setup(
            Path(chosen.plan), Path(chosen.scenario) if chosen.scenario else None,
            chosen.station, chosen.nic, chosen.link,
        )  # fmt: skip
        return found, chosen.driver, ""
    file = machinefile.load(boot_file(chosen.boot))
    until(time.monotonic() + IFACE_WAIT_S, lambda: Path("/sys/class/net", file.iface).exists())
    return boot_setup(chosen.boot), file.driver, chosen.boot
