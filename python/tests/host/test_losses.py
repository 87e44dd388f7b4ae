# SPDX-License-Identifier: BSD-3-Clause
"""What would be lost with a card's driver is seen, in a network namespace of its own."""

from __future__ import annotations

from pathlib import Path

from helpers import python_apart
from keepon_host import losses

CHECK = """
from keepon.errors import KeeponError
from keepon_host.losses import above, check_first_namespace, check_nothing_lost

def said(check):
    try:
        check("card")
    except KeeponError as error:
        print(error)

said(check_nothing_lost)
print(above("card"))
said(check_first_namespace)
"""
SCRIPT = """
ip link add card type veth peer name other
ip link add link card name above type macvlan
tc qdisc add dev card root handle 5: pfifo
exec "$@"
"""


def test_queues_what_is_built_on_it_and_the_namespace_are_seen() -> None:
    done = python_apart(SCRIPT, CHECK)
    queue, built, namespace = done.stdout.splitlines()
    assert queue == (
        "card has a queueing discipline of its own (pfifo), which would be lost; take it away with"
        " tc qdisc del dev card root"
    )
    assert built == "['above']"
    assert 'argument NAME = "card": is in a network namespace' in namespace


def test_what_takes_it_away_can_be_pasted() -> None:
    """The kernel takes an interface of any name without blanks."""
    odd = "a;$b"
    done = python_apart(SCRIPT.replace("card", f"'{odd}'"), CHECK.replace('"card"', f'"{odd}"'))
    assert done.stdout.splitlines()[0].endswith("take it away with tc qdisc del dev 'a;$b' root")


def test_a_phy_of_another_controller_is_seen(tmp_path: Path) -> None:
    """Two controllers, one MDIO bus: that of the first."""
    classes = tmp_path / "class/net"
    for number, phy in enumerate(("e000b000", "e000b000", "e000d000")):
        device = tmp_path / "devices" / f"e000{'bcd'[number]}000.ethernet"
        found = tmp_path / "devices" / f"{phy}.ethernet/mdio_bus/bus/phy:{number}"
        found.mkdir(parents=True, exist_ok=True)
        device.mkdir(parents=True, exist_ok=True)
        own = classes / f"eth{number}"
        own.mkdir(parents=True)
        (own / "device").symlink_to(device)
        (own / "phydev").symlink_to(found)
    assert [losses.phys_of_others(f"eth{number}", classes) for number in range(3)] == [
        ["eth1"], [], [],
    ]  # fmt: skip
