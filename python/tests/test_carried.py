# SPDX-License-Identifier: BSD-3-Clause
"""What goes with an interface is read and set again, on interfaces of a network namespace of its
own that the test takes away and makes anew.
"""

from __future__ import annotations

import pytest
from helpers import RUN, python_apart
from keepon.linux import carried

NEW = """
ip link add card type veth peer name other
ip link set dev other up address 02:00:00:00:00:02
"""
SET = """
ip link set dev card address 02:00:00:00:00:77 txqueuelen 333 alias "uplink of the lab" mtu 1400
ip link set dev card promisc on
ip link property add dev card altname lab0
echo 2 > /proc/sys/net/ipv4/conf/card/rp_filter
echo 2 > /proc/sys/net/ipv6/conf/card/accept_ra
ip link set dev card up
ip addr add 10.0.0.1/24 brd + metric 50 dev card
ip addr add 10.1.0.1/32 scope link label card:one dev card
ip addr add 10.2.0.1 peer 10.2.0.2/32 dev card
ip addr add 10.3.0.1/24 noprefixroute valid_lft 80000 preferred_lft 70000 dev card
ip route add 10.3.0.0/24 dev card proto kernel scope link src 10.3.0.1 metric 100
ip route add default via 10.3.0.2 dev card proto dhcp src 10.3.0.1 metric 100
ip addr add 10.4.0.1/24 dev card
ip route del 10.4.0.0/24 dev card
ip route add 10.4.0.0/24 dev card mtu 1300
ip route add 10.5.0.0/16 via 10.0.0.3 dev card table 100
ip route add 10.6.0.0/16 nexthop via 10.0.0.2 dev card nexthop via 10.0.0.3 dev card weight 3
ip route add 10.7.0.0/16 via 10.0.0.2 dev card onlink mtu lock 1300 src 10.1.0.1 rto_min 5ms
ip route append 10.7.0.0/16 via 10.0.0.3 dev card
ip route add 10.8.0.0/16 dev other src 10.0.0.1
ip nexthop add id 7 via 10.0.0.2 dev card
ip nexthop add id 8 via 10.0.0.3 dev card
ip nexthop add id 9 group 7,2/8
ip nexthop add id 10 group 7/8 type resilient buckets 8
ip route add 10.9.0.0/16 nhid 7
ip route add 10.10.0.0/16 nhid 9 metric 4
ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 nud permanent dev card
ip neigh add proxy 10.0.0.50 dev card
ip maddr add 01:00:5e:11:22:33 dev card
ip addr add fd00::1/64 nodad valid_lft 1000 preferred_lft 500 dev card
ip -6 route add fd01::/64 nexthop via fd00::2 dev card nexthop via fd00::3 dev card
ip -6 route add fd02::/64 via fd00::2 dev card src fd00::1 expires 500
ip -4 route add 10.11.0.0/16 via inet6 fe80::1 dev card
ip token set ::5 dev card
"""
CHECK = f"""
import subprocess, sys
from keepon.linux import carried, ethtool

def plain():
    return [carried._key(item) for item in carried.items_of("card")]

ethtool.set_feature("card", "tx-generic-segmentation", False)
before, keys = carried.items_of("card"), plain()
assert ("feature", "tx-generic-segmentation", "off") in keys
subprocess.run(["sh", "-ec", "ip link del card\\n" + {NEW!r}], check=True)
assert plain() != keys
if len(sys.argv) > 1:
    subprocess.run(["sh", "-ec", sys.argv[1]], check=True)
print("\\n".join(carried.restore("card", before)))
missing = [item for item in keys if item not in plain()]
print(len(missing), *missing[:3], file=sys.stderr)
subprocess.run(["ip", "route", "show", "10.20.0.0/24"], check=True)
"""


def moved(*disturbed: str) -> tuple[list[str], str]:
    """What is said not to be there again, and what is not."""
    done = python_apart(NEW + SET + RUN, CHECK, *disturbed)
    return done.stdout.splitlines(), done.stderr.strip()


@pytest.mark.slow
def test_all_that_an_interface_had_is_there_again() -> None:
    assert moved() == ([""], "0")


@pytest.mark.slow
def test_one_thing_that_cannot_be_set_keeps_nothing_else_from_it() -> None:
    said, missing = moved("ip link property add dev lo altname lab0")
    assert len(said) == 1
    assert said[0].startswith("ip link property add dev card altname lab0: ")
    assert missing.startswith("1 ('link', 'property', ")


@pytest.mark.slow
def test_what_somebody_else_has_set_meanwhile_stays() -> None:
    said, missing = moved("ip link set dev card up; ip addr add 10.20.0.1/24 dev card")
    assert missing == "0"
    assert [line.split()[0] for line in said if line] == ["10.20.0.0/24"]


# Another card that stays, in one of the card's networks, too.
BESIDE = """
for each in all default; do
	echo 0 > /proc/sys/net/ipv6/conf/$each/accept_dad
done
ip link add away type veth peer name away1
ip link set dev away up
ip link set dev away1 up
ip link set dev card up
"""
LOOK = f"""
import json, subprocess, sys
from keepon.linux import carried

NEW_EACH_TIME = ("ifindex", "operstate", "qdisc", "flags")

def run(text):
    return subprocess.run(
        ["sh", "-ec", text], check=True, stdout=subprocess.PIPE, text=True
    ).stdout

def told():
    # those of IPv6 have no order
    lines = run("ip -4 -o route show table all").splitlines()
    # what is for this machine is whatever it came by
    lines.sort(key=lambda each: each if each.startswith("local") else "")
    lines += sorted(run("ip -6 route show table all").splitlines())
    lines += run("ip neigh show proxy dev card; ip neigh show nud noarp dev card").splitlines()
    (link,) = json.loads(run("ip -d -json link show dev card"))
    lines += [f"{{key}} {{value}}" for key, value in link.items() if key not in NEW_EACH_TIME]
    # the links' own addresses come when they come, and so do neighbours of groups, and what the
    # kernel makes of an address of IPv6
    noise = ("fe80:", "ff00:", "lladdr 33:33:", "lladdr 01:00:", "local fd")
    return [" ".join(each.split()) for each in lines if not any(word in each for word in noise)]

run(sys.argv[1])
before, items = told(), carried.items_of("card")
run("ip link del card;" + {NEW!r})
run(sys.argv[2])
carried.restore("card", items, once=True)
left = carried.restore("card", items)
after = told()
for each in left:
    print("left:", each)
if sorted(before) != sorted(after):
    print("gone:", [each for each in before if each not in after])
    print("more:", [each for each in after if each not in before])
elif before != after:
    print("order:", [pair for pair in zip(before, after) if pair[0] != pair[1]])
"""


def looked(before: str, meanwhile: str = "") -> str:
    """What is said to be missing and what of all routes, of the link and of its neighbours is not
    as before the card went.
    """
    done = python_apart(NEW + BESIDE + RUN, LOOK, before, meanwhile)
    return done.stdout


SIX = """
ip -6 addr add fd00::1/64 dev card nodad
ip -6 addr add fd10::1/64 dev away nodad
"""


@pytest.mark.parametrize(
    "hops",
    [
        "nexthop via fd00::2 dev card nexthop via fd10::2 dev away",
        "nexthop via fd00::2 dev card weight 3 nexthop via fd10::2 dev away weight 2",
        "nexthop via fd10::2 dev away nexthop via fd00::2 dev card nexthop via fd00::3 dev card",
        "nexthop via fd00::2 dev card nexthop via fd00::3 dev card weight 5",
    ],
)
def test_next_hops_of_ipv6_over_the_card_are_there_again(hops: str) -> None:
    """The kernel takes those out alone, and refuses to set the whole beside the others."""
    assert looked(f"{SIX}ip -6 route add fd77::/64 mtu 1400 {hops}\n") == ""


def test_a_next_hop_whose_other_is_taken_away_meanwhile_is_there_again() -> None:
    said = looked(
        f"{SIX}ip -6 route add fd77::/64 nexthop via fd00::2 dev card"
        " nexthop via fd10::2 dev away\n",
        "ip -6 route del fd77::/64 via fd10::2 dev away",
    )
    gone, more = said.splitlines()
    assert "'nexthop via fd00::2 dev card weight 1'" in gone
    assert more == "more: ['fd77::/64 via fd00::2 dev card metric 1024 pref medium']"


FOUR = """
ip addr add 10.0.0.1/24 dev card
ip addr add 10.0.0.5/24 dev away
ip addr add 10.1.0.1/24 dev away
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        "",  # its network itself, and where it is broadcast
        """
        ip route add default via 10.0.0.2 dev card metric 1024
        ip route append default via 10.1.0.2 dev away metric 1024
        ip route append default via 10.0.0.3 dev card metric 1024
        """,
        """
        ip route add default via 10.0.0.2 dev card metric 1024
        ip route append default via 10.0.0.3 dev card metric 1024
        ip route append default via 10.1.0.2 dev away metric 1024
        ip route add default via 10.1.0.2 dev away
        ip route add default via 10.0.0.2 dev card tos 0x10
        """,
        """
        ip route add 10.9.0.0/16 via 10.1.0.2 dev away
        ip route append 10.9.0.0/16 via 10.0.0.2 dev card
        """,
        """
        ip nexthop add id 7 via 10.0.0.2 dev card
        ip route add 10.9.0.0/16 nhid 7
        ip route append 10.9.0.0/16 via 10.0.0.3 dev card
        ip route append 10.9.0.0/16 via 10.1.0.2 dev away
        """,
    ],
)
def test_routes_of_ipv4_are_before_those_of_another_card_that_they_were_before(more: str) -> None:
    assert looked(f"{FOUR}{more}") == ""


def test_routes_are_in_front_again_of_those_of_a_card_with_the_same_address() -> None:
    assert looked("ip addr add 10.0.0.1/24 dev card; ip addr add 10.0.0.1/24 dev away") == ""


def test_a_route_is_in_front_again_that_somebody_has_set_behind_meanwhile() -> None:
    both = """
    ip route add default via 10.0.0.2 dev card
    ip route append default via 10.1.0.2 dev away
    """
    again = """
    ip link set dev card up
    ip addr add 10.0.0.1/24 dev card
    ip route append default via 10.0.0.2 dev card
    """
    assert looked(f"{FOUR}{both}", again) == ""


def test_routes_that_nobody_is_behind_any_more_are_there_again() -> None:
    both = """
    ip route add default via 10.0.0.2 dev card
    ip route append default via 10.1.0.2 dev away
    """
    said = looked(f"{FOUR}{both}", "ip addr flush dev away")
    gone, more = said.splitlines()
    assert "'default via 10.1.0.2 dev away'" in gone
    assert "dev card" not in gone
    assert more == "more: []"


def test_a_queue_length_of_0_which_ip_does_not_show_is_there_again() -> None:
    assert looked("ip link set dev card txqueuelen 0\n") == ""


def test_limits_of_segments_and_neighbours_that_nobody_asks_for_are_there_again() -> None:
    said = looked("""
    ip addr add 10.0.0.1/24 dev card
    ip link set dev card gso_max_size 30000 gso_max_segs 10
    ip link set dev card gro_max_size 20000
    ip neigh add 10.0.0.8 lladdr 02:00:00:00:00:08 nud noarp dev card
    ip neigh add proxy 10.0.0.50 dev card protocol 77
    """)
    assert said == ""


def test_segments_of_ipv6_that_ip_shows_in_brackets_are_there_again() -> None:
    said = looked(f"""{SIX}
    ip -6 route add fd77::/64 encap seg6 mode encap segs fd00::5,fd00::6 dev card
    ip -6 nexthop add id 5 encap seg6 mode inline segs fd00::5 via fd00::2 dev card
    ip -6 route add fd78::/64 nhid 5
    """)
    assert said == ""


def test_an_address_keeps_who_made_it() -> None:
    """As iproute2 shows it since 6.2; the kernel's own link-local address has kernel_ll."""
    entry = {"family": "inet6", "local": "fe80::1", "prefixlen": 64, "protocol": "kernel_ll"}
    words = carried._address("eth0", entry)
    assert words[words.index("proto") + 1] == "kernel_ll"
    del entry["protocol"]
    assert "proto" not in carried._address("eth0", entry)
