# SPDX-License-Identifier: BSD-3-Clause
"""The file of a link that systemd sets up at boot, /etc/keepon/NAME.toml (keepon.machine/1)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from keepon.errors import ConfigError
from keepon.model import loading
from keepon.model.tables import Table

MACHINE_SCHEMA = "keepon.machine/1"
EXAMPLE = "docs/start.md"
RATES_MBPS = (10, 100, 1000, 2500, 5000, 10_000)

Device = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,14}$")]


class PlannedStation(Table):
    """A station of a plan. Files are named from the folder of this one."""

    file: str
    """The plan, as keepon plan --out writes it."""
    scenario: str
    """The scenario it was made of."""
    station: str
    """Which of its stations this machine is."""


class DirectLink(Table):
    """A link without a plan."""

    rate_mbps: Literal[10, 100, 1000, 2500, 5000, 10_000] = 1000
    """What the card's link must run at."""
    options: str = ""
    """Options of the link, as keepon start reads them."""
    ptp: Literal["none", "follow", "lead"] = "none"
    """Whether ptp4l sets the link's clock by the network's (follow), or the network's by it (lead);
    phc2sys then makes CLOCK_TAI the link's time."""


class MachineFile(Table):
    """What one interface is at boot: a station of a plan, or a link."""

    schema_: Literal["keepon.machine/1"] = Field(alias="schema")
    """Which format the file has."""
    iface: Device
    """The card."""
    keepon_device: Device = "rt0"
    """The device made on it."""
    driver: Literal["auto", "keepon", "kernel"] = "auto"
    """Keepon's driver for the card or the kernel's; auto: Keepon's where it has one."""
    plan: PlannedStation | None = None
    """A station of a plan; instead of `link`."""
    link: DirectLink | None = None
    """A link without a plan; instead of `plan`."""


def load(path: Path) -> MachineFile:
    """The file's contents.

    Raises:
        ConfigError: it cannot be read, or a key of it is wrong: file, key, value, range, remedy.
    """
    text, source = loading.read_text(path), str(path)
    found = loading.parse_as(text, source, MachineFile, MACHINE_SCHEMA, "machine file", EXAMPLE)
    if (found.plan is None) == (found.link is None):
        both = "are both there; keep one of them" if found.plan else "are both missing; add one"
        raise ConfigError(f"{source}: tables [plan] and [link] {both}")
    if found.iface == found.keepon_device:
        raise loading.problem(
            source, "keepon_device", found.keepon_device, "must differ from iface; choose another"
        )
    return found
