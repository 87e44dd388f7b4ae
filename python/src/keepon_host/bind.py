# SPDX-License-Identifier: BSD-3-Clause
"""Give a network card to Keepon's driver for it, and back to the kernel's own; nothing of it
outlives a reboot.

The machine's network manager sets up the interface that comes in its place (keepon_host.kept). If
addresses, routes, the link or the ssh connection the command runs over are not back in time, the
card is given back. Needs nothing but the standard library, and ip and modprobe.

Source: Documentation/ABI/testing/sysfs-bus-pci and sysfs-bus-platform of Linux (driver_override,
drivers_probe).
"""

from __future__ import annotations

import os
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line, shell_word
from keepon_host.guarded import guarded
from keepon_host.hold import hold, holding
from keepon_host.interface import (
    ROLLBACK_MAX_S,
    answers,
    client_over,
    ip,
    next_hop_known,
    run,
    until,
)
from keepon_host.kept import Kept, come_back, kept_of
from keepon_host.losses import (
    above,
    check_first_namespace,
    check_nothing_lost,
    phys_of_others,
)

BACK_S = 30.0
PROBED_S = 10.0
"""How long a driver may take to make its interface."""

DRIVERS = {
    ("pci", "0x8086"): "keepon_intel",
    ("platform", "brcm,bcm2711-genet-v5"): "keepon_genet",
    **{
        ("platform", name): "keepon_gem"
        for name in (
            "xlnx,zynqmp-gem", "cdns,zynqmp-gem", "xlnx,zynq-gem", "cdns,zynq-gem",
            "raspberrypi,rp1-gem", "cdns,gem",
        )
    },
}  # fmt: skip
"""Bus and vendor, or name in the device tree -> our driver. Which cards it takes is its own affair:
it refuses what it does not know.
"""


@dataclass(frozen=True)
class Card:
    """A network card: its interface, where it is, and who drives it.

    Attributes:
        device: its folder in /sys/devices.
        bus: "pci" or "platform".
    """

    name: str
    device: Path
    bus: str
    driver: str

    @property
    def ours(self) -> str | None:
        """Our driver for such cards."""
        file = self.device / ("vendor" if self.bus == "pci" else "of_node/compatible")
        names = file.read_text().strip().split("\0") if file.is_file() else []
        return next(
            (DRIVERS[self.bus, each] for each in names if (self.bus, each) in DRIVERS), None
        )


def find(name: str) -> Card:
    """The card of an interface.

    Raises:
        ConfigError: there is no such interface, or it is no card.
    """
    place = Path("/sys/class/net") / name
    if "/" in name or not place.is_dir():
        there = ", ".join(sorted(entry.name for entry in Path("/sys/class/net").iterdir()))
        raise ConfigError(
            f'argument NAME = "{one_line(name)}": is no interface here; there are {there}'
        )
    device = place / "device"
    bus = (device / "subsystem").resolve().name if device.exists() else ""
    if bus not in ("pci", "platform") or not (device / "driver").exists():
        raise ConfigError(
            f'argument NAME = "{name}": is no network card of a bus (pci or platform); name one'
            " that is"
        )
    return Card(name, device.resolve(), bus, (device / "driver").resolve().name)


def check_free(name: str) -> None:
    """Whether a card may be moved to another driver.

    Raises:
        ConfigError: something is built on it, or it is not in the network namespace where it would
            come back.
    """
    check_first_namespace(name)
    if built := above(name):
        raise ConfigError(
            f'argument NAME = "{name}": {", ".join(built)} is built on it; take it away first'
        )
    if others := phys_of_others(name):
        raise ConfigError(
            f'argument NAME = "{name}": has the MDIO bus that the PHY of {", ".join(others)} is on,'
            " which would be without it; use another card"
        )


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text)
    except OSError as error:
        raise EnvironmentProblemError(f"{path}: {error.strerror}") from error


def _interface(card: Card) -> str:
    folder = card.device / "net"
    return next((entry.name for entry in sorted(folder.iterdir())), "") if folder.is_dir() else ""


def _named(card: Card) -> bool:
    """Whether its interface has the name it had; if not, it is given that."""
    name = _interface(card)
    if name and name != card.name:
        with suppress(EnvironmentProblemError):
            ip("link", "set", "dev", name, "down")
            ip("link", "set", "dev", name, "name", card.name)
    return _interface(card) == card.name


def _move(card: Card, driver: str | None, override: str) -> str:
    """Another driver for the card; which that is.

    Args:
        driver: which it must be; None: any but ours.
        override: what the card's driver_override is to be; empty: any driver that knows the card.

    Raises:
        EnvironmentProblemError: the driver does not take it.
    """
    bus = Path("/sys/bus") / card.bus
    if (card.device / "driver").exists():
        _write(card.device / "driver" / "unbind", card.device.name)
    _write(card.device / "driver_override", f"{override}\n")
    _write(bus / "drivers_probe", card.device.name)
    deadline_s = time.monotonic() + PROBED_S
    name = until(deadline_s, lambda: _interface(card))
    found = (card.device / "driver").resolve().name if name else ""
    if not name or found != (driver or found) or (driver is None and found in DRIVERS.values()):
        what = f"driver {driver} does not take" if driver else "no driver of this kernel takes"
        raise EnvironmentProblemError(f"{what} {card.device.name}; the kernel's log says why")
    with suppress(EnvironmentProblemError):  # there is no udev; else it names the interface first
        run("udevadm", "settle", f"--timeout={PROBED_S:g}")
    if not until(deadline_s, lambda: _named(card)):
        raise EnvironmentProblemError(f"{_interface(card)} cannot be called {card.name} again")
    return found


def _check_back(card: Card, kept: Kept, client: str, silent: bool, deadline_s: float) -> None:
    """Wait for what was there before, the client last: without a route it cannot answer.

    Args:
        silent: the client answers no echo; then its next hop has to be heard, whose MAC address
            the new interface does not know.

    Raises:
        EnvironmentProblemError: something is not back in time; all that can be is.
    """
    missing = come_back(card.name, kept, deadline_s)
    if client and not until(deadline_s, lambda: _reaches(client, silent, card.name)):
        missing.append(f"{client}, from where you are logged in, did not answer in time")
    if missing:
        raise EnvironmentProblemError("; ".join(missing))


def _reaches(client: str, silent: bool, name: str) -> bool:
    return answers(client) or (silent and next_hop_known(client, name))


def _change(card: Card, driver: str | None, override: str, back_s: float) -> str:
    """Move the card; on any failure move it back. Which driver has it now.

    Raises:
        EnvironmentProblemError: it failed; the message says whether the card is as it was.
        KeyboardInterrupt: it was ended, and is as it was.
    """
    check_nothing_lost(card.name)
    kept = kept_of(card.name)
    client = client_over(card.name)
    silent = bool(client) and not answers(client)
    override_before = (card.device / "driver_override").read_text().strip()

    def work() -> str:
        found = _move(card, driver, override)
        hold(card.name)  # with the other driver it is another interface; until this process ends
        _check_back(card, kept, client, silent, time.monotonic() + back_s)
        return found

    def back() -> None:
        _move(card, card.driver, override_before.replace("(null)", ""))
        # however short back_s is: a card takes seconds for its link
        _check_back(card, kept, "", False, time.monotonic() + max(back_s, BACK_S))

    return guarded(work, back, f"{card.name} is with {card.driver} again, as it was")


def bind(name: str, back_s: float = BACK_S) -> str:
    """Give a card to Keepon's driver; a line on what was done.

    Args:
        name: interface, in this network namespace.
        back_s: how long link and ssh connection may take to come back.

    Raises:
        ConfigError: it is no card, or none of ours; nothing was touched.
        EnvironmentProblemError: not root, no such module, another command is at work with it, or it
            failed and the card was given back.
    """
    _check(back_s)
    with holding(name):
        return _bound(name, back_s)


def _bound(name: str, back_s: float) -> str:
    card = find(name)
    check_free(name)
    driver = card.ours
    if driver is None:
        raise ConfigError(
            f'argument NAME = "{name}": Keepon has no driver for cards of driver {card.driver}; '
            "docs/nics.md lists those it has"
        )
    if card.driver == driver:
        return f"{name} is with {driver} already"
    try:
        done = subprocess.run(["modprobe", driver], capture_output=True, text=True, check=False)
    except OSError as error:
        raise EnvironmentProblemError(f"modprobe: {error.strerror}") from error
    if done.returncode:
        raise EnvironmentProblemError(
            f"modprobe {driver}: {one_line(done.stderr.strip())}; install keepon's modules"
        )
    found = _change(card, driver, driver, back_s)
    back = f"back with keepon unbind {shell_word(name)}, or by a reboot"
    return f"{name}: {card.driver} -> {found}; {back}"


def unbind(name: str, back_s: float = BACK_S) -> str:
    """Give a card of ours back to the kernel's own driver; as `bind`."""
    _check(back_s)
    with holding(name):
        return _unbound(name, back_s)


def _unbound(name: str, back_s: float) -> str:
    card = find(name)
    if card.driver not in DRIVERS.values():
        raise ConfigError(
            f'argument NAME = "{name}": is with {card.driver}, no driver of Keepon; nothing to give'
            " back"
        )
    check_free(name)
    alias = (card.device / "modalias").read_text().strip()
    subprocess.run(["modprobe", "-q", alias], capture_output=True, check=False)
    return f"{name}: {card.driver} -> {_change(card, None, '', back_s)}"


def _check(back_s: float) -> None:
    if not 0 < back_s <= ROLLBACK_MAX_S:
        raise ConfigError(
            f"option --rollback = {back_s:g}: must be above 0 and at most {ROLLBACK_MAX_S:g}"
            " seconds"
        )
    if os.geteuid():
        raise EnvironmentProblemError("only root may move a card to another driver; use sudo")
