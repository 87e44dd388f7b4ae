# SPDX-License-Identifier: BSD-3-Clause
"""What is on an interface, would go with it when another driver takes its card, and is not made
again.
"""

from __future__ import annotations

from pathlib import Path

from keepon_host.errors import ConfigError, EnvironmentProblemError, shell_word
from keepon_host.interface import set_queues

FIRST_ONLY = Path("/proc/sys/net/core/netdev_max_backlog")
"""Is there in the network namespace that the machine starts with, and in no other:
net/core/sysctl_net_core.c. Process 1 may be in another, in a container.
"""


def check_first_namespace(name: str) -> None:
    """A card whose driver changes comes back in the machine's first network namespace.

    Raises:
        ConfigError: this is another one.
    """
    if not FIRST_ONLY.exists():
        raise ConfigError(
            f'argument NAME = "{name}": is in a network namespace, and would come back outside of'
            " it; move it to the machine's first one, with ip link set netns, and call keepon there"
        )


def above(name: str) -> list[str]:
    """Interfaces that are built on it: bridges, VLANs, links of Keepon, tunnels."""
    return sorted(
        each.name.partition("_")[2] for each in Path("/sys/class/net", name).glob("upper_*")
    )


def phys_of_others(name: str, classes: Path = Path("/sys/class/net")) -> list[str]:
    """Other interfaces whose PHY is on the MDIO bus of its controller, as on boards where two
    controllers share one bus.
    """
    device = (classes / name / "device").resolve()
    return sorted(
        phy.parent.name
        for phy in classes.glob("*/phydev")
        if phy.parent.name != name and device in phy.resolve().parents
    )


def check_nothing_lost(name: str) -> None:
    """Refuse a card whose driver has settings that its next driver would lose.

    Raises:
        EnvironmentProblemError: there is such a thing; the message says what takes it away.
    """
    found: list[tuple[str, str]] = []
    for kind, _ in set_queues(name):
        place = kind if kind in ("ingress", "clsact") else "root"
        what = f"a queueing discipline of its own ({kind})"
        found.append((what, f"tc qdisc del dev {shell_word(name)} {place}"))
    functions = Path("/sys/class/net", name, "device/sriov_numvfs")
    if functions.is_file() and functions.read_text().strip() != "0":
        found.append(("virtual functions", f"echo 0 > {shell_word(str(functions))}"))
    for what, remedy in found:
        raise EnvironmentProblemError(
            f"{name} has {what}, which would be lost; take it away with {remedy}"
        )
