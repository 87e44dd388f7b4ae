# SPDX-License-Identifier: BSD-3-Clause
"""Which chips and drivers Keepon can send through, and why, or why not; docs/nics.md says what was
seen of each.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

YES, GENERIC, NO = "yes", "generic", "no"


@dataclass(frozen=True)
class Known:
    """What is known of a chip or driver.

    Attributes:
        backend: YES: `module` lends its ring; GENERIC: through the driver it has; NO.
        module: which of Keepon's.
        why: half a sentence.
    """

    backend: str
    module: str
    why: str


def _intel(chip: str, seen: str) -> Known:
    return Known(YES, "keepon_intel", f"{chip}, {seen}")


def _gem(chip: str, seen: str) -> Known:
    return Known(YES, "keepon_gem", f"Cadence GEM of {chip}, {seen}")


_MODEL = "seen on a model only"
_NOTHING = "seen on nothing yet"
_UNPACED = "its model sends at once, and no real one was seen"

CHIPS = {
    "8086:100e": _intel("82540EM", _UNPACED),
    "8086:100f": _intel("82545EM", _UNPACED),
    "8086:10d3": _intel("82574L", _MODEL),
    "8086:10f6": _intel("82574LA", _MODEL),
    "8086:10c9": _intel("82576", _MODEL),
    "8086:1521": _intel("I350", _NOTHING),
    "8086:1533": _intel("I210", _NOTHING),
    "8086:1539": _intel("I211", _NOTHING),
    "brcm,bcm2711-genet-v5": Known(YES, "keepon_genet", f"GENET of the BCM2711, {_MODEL}"),
    "xlnx,zynqmp-gem": _gem("ZynqMP", _NOTHING),
    "cdns,zynqmp-gem": _gem("ZynqMP or Versal", _MODEL),
    "xlnx,zynq-gem": _gem("Zynq-7000", _NOTHING),
    "cdns,zynq-gem": _gem("Zynq-7000", _NOTHING),
    "raspberrypi,rp1-gem": _gem("the RP1 (Raspberry Pi 5)", _NOTHING),
    "cdns,gem": _gem("another chip", _NOTHING),
}
"""PCI vendor and device, or name in the device tree."""

LENDING = {
    name: Known(YES, name, "its driver lends its ring")
    for name in ("keepon_intel", "keepon_genet", "keepon_gem", "keepon_hwsim")
}

_GENERIC = "keepon_generic"
_VIRTUAL = "a virtual card has no wire that takes time"
DRIVERS = {
    "e1000e": Known(GENERIC, _GENERIC, "the PHY of I217 to I219 is the management engine's too"),
    "igc": Known(GENERIC, _GENERIC, "interrupts and PHY of I225 and I226 are not those of an I210"),
    **{
        name: Known(NO, "", _VIRTUAL)
        for name in (
            "bonding", "bridge", "dummy", "ena", "gve", "hv_netvsc", "ifb", "macvlan", "mana",
            "openvswitch", "team", "tun", "veth", "vmxnet3", "vif", "xen_netfront",
        )
    },
    "virtio_net": Known(NO, "", "the link is on its host's card, which sends for its guests"),
    "802.1Q VLAN Support": Known(NO, "", "a VLAN sends through the card below it"),
}  # fmt: skip
"""What is known of the kernel's drivers, by the name that ethtool shows."""

ANY = Known(GENERIC, _GENERIC, "Keepon has no driver for this chip; its own driver is measured")
NO_CARD = Known(NO, "", "it is no Ethernet card of a bus")


def known(chip: Iterable[str], driver: str, is_card: bool) -> Known:
    """What is known of a card, by what is most certain first."""
    if driver in LENDING:
        return LENDING[driver]
    for name in chip:
        if name in CHIPS:
            return CHIPS[name]
    if driver in DRIVERS:
        return DRIVERS[driver]
    return ANY if is_card else NO_CARD
