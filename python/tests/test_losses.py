# SPDX-License-Identifier: BSD-3-Clause
"""What would be lost with a card's driver is seen, in a network namespace of its own."""

from __future__ import annotations

import struct
from pathlib import Path

from helpers import python_apart
from keepon.linux import losses, namespaces
from keepon.linux.link import netlink

CHECK = """
from keepon.errors import KeeponError
from keepon.linux.losses import above, check_first_namespace, check_nothing_lost

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
    assert built == "['other']"  # that of a pair is linked with it, as a tunnel is
    assert 'argument NAME = "card": is in a network namespace' in namespace


def test_what_takes_it_away_can_be_pasted() -> None:
    """The kernel takes an interface of any name without blanks."""
    odd = "a;$b"
    done = python_apart(SCRIPT.replace("card", f"'{odd}'"), CHECK.replace('"card"', f'"{odd}"'))
    assert done.stdout.splitlines()[0].endswith("take it away with tc qdisc del dev 'a;$b' root")


ELSEWHERE = """
ip link add card type veth peer name other
ip link set dev card up
process() {
	unshare --net sleep 60 >/dev/null 2>&1 &
	until [ "$(readlink /proc/$!/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
}
process; container=$!
process; forgotten=$!
process; named=$!
process; own_card=$!
ip link set dev other netns $container
ip link add link card name mac0 type macvlan
ip link add link card name mac1 type macvlan
ip link set dev mac0 netns $container
ip link set dev mac1 netns $forgotten
mount --bind /proc/$named/ns/net /sys/kernel/uevent_seqnum  # of no other mount's concern
ip link add link card name mac2 netns $named type macvlan
kill $named
exec 9</proc/$forgotten/ns/net  # nothing else keeps it
kill $forgotten
ip link add vx0 type vxlan id 7 dstport 4789 dev card
ip link add vx1 type vxlan id 8 dstport 4789 dev card
ip link set dev vx1 netns $container
# of the same numbers, but there
number=$(cat /sys/class/net/card/ifindex)
nsenter --net=/proc/$own_card/ns/net ip link add away index $number type veth peer name away1
"$@" | sed "s/$container/CONTAINER/"
kill $container $own_card
"""
ABOVE = """
from keepon.linux.losses import above
for each in above("card"):
    print(each)
"""


def test_what_other_namespaces_have_on_it_is_seen() -> None:
    done = python_apart(ELSEWHERE, ABOVE)
    assert done.stdout.splitlines() == [
        "mac0 (in the network namespace of process CONTAINER, sleep)",
        "mac1 (in a network namespace without name and process)",
        "mac2 (in network namespace /sys/kernel/uevent_seqnum)",
        "other (in the network namespace of process CONTAINER, sleep)",
        "vx0",
        "vx1 (in the network namespace of process CONTAINER, sleep)",
    ]


def test_a_vxlan_tells_of_its_device_among_its_own_attributes() -> None:
    device = netlink.attribute(namespaces.IFLA_VXLAN_LINK, struct.pack("=I", 7))
    for kind, expected in (("vxlan", {7}), ("other", set())):
        info = netlink.nested(
            netlink.IFLA_LINKINFO,
            netlink.text(netlink.IFLA_INFO_KIND, kind),
            netlink.nested(netlink.IFLA_INFO_DATA, device),
        )
        assert namespaces._linked_with(netlink.Link(netlink.about_link(9, info))) == expected


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
