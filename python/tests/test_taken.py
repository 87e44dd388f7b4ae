# SPDX-License-Identifier: BSD-3-Clause
"""What a card sends itself goes by the device on it, whatever table or kind its route is of, and is
as it was when the device has gone; on interfaces of a network namespace of its own.
"""

from __future__ import annotations

import pytest
from helpers import RUN, python_apart
from test_carried import NEW, SET

AT_ONCE = """
for each in all default; do
	echo 0 > /proc/sys/net/ipv6/conf/$each/accept_dad
done
"""
DEFAULTS = """
ip -6 route add default via fe80::9 dev card proto ra metric 1024 expires 1800
ip -6 route add default via fe80::8 dev card metric 1025
ip route add default via 10.0.0.9 dev card table 101 metric 7
ip rule add from 10.0.0.1 table 101
ip -6 route add fd03::/64 via fe80::9 dev card table 102
ip link add away type veth peer name away1
ip link set dev away up
ip link set dev away1 up
ip addr add 10.30.0.1/24 dev away
ip -6 addr add fd30::1/64 dev away nodad
"""
ABOVE = """
ip link add above type veth peer name beyond
ip link set dev beyond up
ip link set dev above up mtu {mtu}
"""
VIA_6 = "10.11.0.7"
REACHED = (
    "10.0.0.7", "10.0.0.255", "10.1.0.7 from 10.0.0.1", "10.2.0.2", "10.3.0.7", "10.4.0.7",
    "10.5.0.7 from 10.0.0.1", "10.6.0.7", "10.7.0.7", "10.9.0.7", "10.10.0.7", VIA_6,
    "9.9.9.9 from 10.0.0.1",
)  # fmt: skip
REACHED_6 = ("fd00::7", "fd01::7", "fd02::7", "2001:db8::1")
CHECK = """
import subprocess, sys
from keepon.errors import KeeponError
from keepon.linux import taken

def told(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True).stdout

def table():
    # lifetimes run on; what is for this machine comes when it comes, and is not looked at
    lines = told("-d", "-4", "route", "show", "table", "all")
    lines += told("-d", "-6", "route", "show", "table", "all")
    kept = [line for line in lines.splitlines() if not line.startswith(("local", "anycast"))]
    return sorted(line.partition(" expires ")[0] for line in kept)

def devices():
    for to in sys.argv[1:]:
        words = told("route", "get", *to.split()).split()
        print(to.split()[0], words[words.index("dev") + 1])

before = table()
try:
    taken.take_routes("card", "above")
except KeeponError as error:
    print(error, file=sys.stderr)
devices()
told("link", "del", "above")
print("---")
devices()
own = [line for line in before if "above" not in line and "beyond" not in line]
print([line for line in table() if line not in own], [line for line in own if line not in table()])
"""


def taken(more: str, reached: tuple[str, ...], mtu: int = 1500) -> tuple[list[str], str]:
    """What is printed: by which device each is reached before and after "---", and which routes are
    more or fewer than before; and what is refused.
    """
    setup = f"{AT_ONCE}{NEW}{SET}{DEFAULTS}{more}{ABOVE.format(mtu=mtu)}"
    done = python_apart(setup + RUN, CHECK, *reached)
    return done.stdout.splitlines(), done.stderr.strip()


@pytest.mark.slow
@pytest.mark.parametrize("mtu", [1500, 1000])
def test_every_route_goes_by_the_device_on_the_card_and_comes_back(mtu: int) -> None:
    reached = REACHED + REACHED_6
    said, refused = taken("", reached, mtu)
    assert refused == ""
    end = said.index("---")
    six = "above" if mtu >= 1280 else "card"
    by_six = (*REACHED_6, VIA_6)
    assert said[:end] == [f"{to.split()[0]} {six if to in by_six else 'above'}" for to in reached]
    assert said[end + 1 : -1] == [f"{to.split()[0]} card" for to in reached]
    assert said[-1] == "[] []"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (
            "ip route add 10.40.0.0/16 nexthop via 10.0.0.2 dev card"
            " nexthop via 10.30.0.2 dev away\n",
            "goes by card and by away, and would be another one when the link has gone: take it"
            " away first",
        ),
        (
            "ip -6 route add fd40::/64 via fe80::9 dev card metric 1\n",
            "can only be hidden by one of metric 0, which there is not: give it another metric"
            " first, 10 more than any other",
        ),
        (
            "ip -6 route add unreachable default metric 1023\n",
            "can only be hidden by one of metric 1023, which another route has: give it another"
            " metric first, 10 more than any other, by sysctl net.ipv6.conf.card.ra_defrtr_metric",
        ),
        (
            "ip -6 route add default via fe80::7 dev away metric 1023\n",
            "can only be hidden by one of metric 1023, which another route has: give it another"
            " metric first, 10 more than any other, by sysctl net.ipv6.conf.card.ra_defrtr_metric",
        ),
        (
            "ip route add 10.41.0.0/16 via 10.30.0.2 dev away\n"
            "ip route append 10.41.0.0/16 via 10.0.0.2 dev card\n",
            "of card is behind one of away with the same metric, and one before it would take that"
            " one's traffic: take one of the two away first",
        ),
        (
            "ip route add blackhole 10.42.0.0/16\n"
            "ip route append 10.42.0.0/16 via 10.0.0.2 dev card\n",
            "of card is behind one of blackhole with the same metric, and one before it would take"
            " that one's traffic: take one of the two away first",
        ),
        (
            "ip -6 route add fd41::/64 dev away metric 500\n"
            "ip -6 route append fd41::/64 dev card metric 500\n",
            "of card has the same metric as one of another device, and one before it would take"
            " that one's traffic: give it another metric first, 10 more than any other",
        ),
    ],
)
def test_a_route_that_cannot_be_hidden_is_refused_and_nothing_stays(
    more: str, sentence: str
) -> None:
    said, refused = taken(more, ())
    assert refused.startswith("the route ")
    assert refused.endswith(sentence)
    assert said[-1] == "[] []"


ORDERED = """
ip route add 10.43.0.0/16 via 10.0.0.2 dev card
ip route append 10.43.0.0/16 via 10.0.0.3 dev card
ip -6 addr add fd44::1/64 dev card
ip -6 addr add fd44::2/64 dev card
ip -6 addr add fd44::3/64 dev card preferred_lft 0
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
"""
SOURCES = """
import subprocess, sys
from keepon.linux import taken

def used():
    for to in "10.43.0.7", "fd44::7":
        told = subprocess.run(["ip", "route", "get", to], capture_output=True, text=True).stdout
        words = told.split()
        key = "src" if ":" in to else "via"
        print(words[words.index("dev") + 1], words[words.index(key) + 1])

used()
taken.take_routes("card", "above")
used()
"""


def test_the_first_of_equal_routes_and_addresses_stays_the_first() -> None:
    """Of IPv6 a deprecated address is used last, and new devices may be without IPv6."""
    setup = f"{AT_ONCE}{NEW}{SET}{DEFAULTS}{ORDERED}{ABOVE.format(mtu=1500)}"
    said = python_apart(setup + RUN, SOURCES).stdout.split()
    assert said[0::2] == ["card", "card", "above", "above"]
    assert said[1] == said[5] == "10.0.0.2"
    assert said[3] == said[7] == "fd44::2"


@pytest.mark.slow
@pytest.mark.parametrize("metric", [0, 1, 100])
def test_the_default_route_goes_by_the_device_though_its_gateway_is_heard_of_on_the_card(
    metric: int,
) -> None:
    """Of default routes of one metric Linux takes the one with a gateway that answers."""
    heard = f"""
ip route del default
ip route add default via 10.0.0.9 dev card metric {metric}
ip neigh replace 10.0.0.9 lladdr 02:00:00:00:00:09 dev card nud reachable
"""
    reached = ("9.9.9.9", "200.9.9.9") * 3
    setup = f"{AT_ONCE}{NEW}{SET}{heard}{ABOVE.format(mtu=1500)}"
    said = python_apart(setup + RUN, CHECK, *reached).stdout.splitlines()
    end = said.index("---")
    assert said[:end] == [f"{to} above" for to in reached]
    assert said[end + 1 : -1] == [f"{to} card" for to in reached]
    assert said[-1] == "[] []"


@pytest.mark.slow
def test_routes_whose_metrics_follow_each_other_are_as_they_were() -> None:
    """Linux makes one route of several with one prefix and metric."""
    routes = """
ip -6 route add fd46::/64 via fd00::5 dev card metric 99
ip -6 route add fd46::/64 via fd00::6 dev card metric 100
"""
    setup = f"{AT_ONCE}{NEW}{SET}{routes}{ABOVE.format(mtu=1500)}"
    said = python_apart(setup + RUN, CHECK, "fd46::7").stdout.splitlines()
    assert said == ["fd46::7 above", "---", "fd46::7 card", "[] []"]


def test_settings_of_the_card_and_neighbours_that_somebody_made_go_along() -> None:
    settings = """
for each in ipv4/conf/card/forwarding ipv4/conf/card/proxy_arp ipv6/conf/card/accept_redirects; do
	echo $((1 - $(cat /proc/sys/net/$each))) >/proc/sys/net/$each
done
ip neigh replace 10.0.0.77 lladdr 02:00:00:00:00:77 nud permanent dev card
ip neigh replace fd00::77 lladdr 02:00:00:00:00:78 nud permanent dev card
"""
    script = """
import subprocess
from pathlib import Path
from keepon.linux import taken

def settings(name):
    for family, each in ("ipv4", "forwarding"), ("ipv4", "proxy_arp"), ("ipv6", "accept_redirects"):
        print(Path("/proc/sys/net", family, "conf", name, each).read_text().strip())

settings("card")
settings("above")
taken.take_routes("card", "above")
settings("above")
told = subprocess.run(["ip", "neigh", "show", "nud", "permanent", "dev", "above"],
                      capture_output=True, text=True).stdout
print(told.count("10.0.0.77 "), told.count("fd00::77 "))
"""
    setup = f"{AT_ONCE}{NEW}{SET}{settings}{ABOVE.format(mtu=1500)}"
    said = python_apart(setup + RUN, script).stdout.split()
    assert all(mine != its for mine, its in zip(said[:3], said[3:6], strict=True))
    assert said[6:] == [*said[:3], "1", "1"]


def test_addresses_go_along_where_each_device_answers_for_its_own_only() -> None:
    """With arp_ignore nobody would answer for those of the card."""
    settings = "echo 1 > /proc/sys/net/ipv4/conf/all/arp_ignore\n"
    script = """
import subprocess
from keepon.linux import taken

taken.take_routes("card", "above")
print(subprocess.run(["ip", "-4", "-o", "addr", "show", "dev", "above"],
                     capture_output=True, text=True).stdout)
"""
    setup = f"{AT_ONCE}{NEW}{SET}{settings}{ABOVE.format(mtu=1500)}"
    said = python_apart(setup + RUN, script).stdout
    for address in ("10.0.0.1/24", "10.1.0.1/32", "10.2.0.1 peer 10.2.0.2/32", "10.4.0.1/24"):
        assert address in said


TAKEN_TWICE = """
set -e
ip link add card type veth peer name other
ip link set other up
ip -6 addr add fd45::1/128 dev other nodad
ip link set card up
ip -6 addr add fd45::1/64 dev card
ip -6 addr add fd45::2/64 dev card
for each in $(seq 100); do
	ip -6 addr show dev card | grep -q dadfailed && break
	sleep 0.1
done
"""


def test_an_address_that_another_station_has_is_not_taken_along() -> None:
    setup = f"{TAKEN_TWICE}{ABOVE.format(mtu=1500)}"
    script = """
import subprocess
from keepon.linux import taken

taken.take_routes("card", "above")
print(subprocess.run(["ip", "-6", "-o", "addr", "show"], capture_output=True, text=True).stdout)
"""
    lines = python_apart(setup + RUN, script).stdout.splitlines()
    of = {
        name: {words[3] for words in map(str.split, lines) if words[1:2] == [name]}
        for name in ("card", "above")
    }
    assert any("dadfailed" in line and "fd45::1/64" in line for line in lines)
    assert "fd45::2/64" in of["above"]
    assert "fd45::1/64" in of["card"] and "fd45::1/64" not in of["above"]


def test_a_card_that_is_part_of_something_is_refused() -> None:
    """Its traffic goes by the bridge or VRF, whose routes are not the card's."""
    script = """
import sys
from keepon.errors import KeeponError
from keepon.linux.apply import before, steps

for found in (), (steps.TakeRoutes("card", "rt0"),):
    try:
        print(before.check_ways(steps.Setup("of a plan", "card", "rt0", (), found)))
    except KeeponError as error:
        print(error)
"""
    setup = f"{NEW}ip link add whole type bridge\nip link set dev card master whole\n"
    done = python_apart(setup + RUN, script)
    assert done.stdout.splitlines() == [
        "[]",
        "card is part of whole, to which its traffic would be lost: take it out with ip link set"
        " dev card nomaster",
    ]


BEHIND = """
ip link add first type veth peer name first1
ip link set first up
ip link set first1 up
ip addr add 192.168.5.1/24 dev first
ip link add card type veth peer name other
ip link set other up
ip link set card up
ip addr add 10.0.0.1/24 dev card
ip link add tun type veth peer name tun1
ip link set tun up
ip link set tun1 up
ip addr add 10.66.0.2/24 dev tun
"""
ASKED = """
import subprocess, sys
from keepon.errors import KeeponError
from keepon.linux import taken

def told(*words):
    return subprocess.run(["ip", *words], capture_output=True, text=True).stdout

def ways():
    for to in sys.argv[1:]:
        line = told("-N", "-o", "route", "get", *to.split()).partition("uid")[0]
        print(" ".join(line.partition(" pref ")[0].replace("rt_offload_failed", "").split()))

ways()
try:
    taken.take_routes("card", "above")
except KeeponError as error:
    print(error, file=sys.stderr)
print("---")
ways()
told("link", "set", "above", "down")
taken.give_back("above")
print("---")
ways()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("routes", "questions"),
    [
        # the card has no first address of the machine, and its routes do not say one
        ("ip route add default via 10.0.0.2 dev card", ["172.30.0.9"]),
        # a tunnel for everything, by two halves and by a rule
        (
            "ip route add default via 10.0.0.2 dev card\n"
            "ip route add 0.0.0.0/1 via 10.66.0.1 dev tun\n"
            "ip route add 128.0.0.0/1 via 10.66.0.1 dev tun metric 3",
            ["8.8.8.8", "200.1.1.1"],
        ),
        (
            "ip route add default via 10.0.0.2 dev card\n"
            "ip route add default dev tun table 51820\n"
            "ip rule add not fwmark 51820 table 51820\n"
            "ip rule add table main suppress_prefixlength 0",
            ["8.8.8.8", "8.8.8.8 mark 51820", "10.0.0.7"],
        ),
        # types of service, also of the card
        (
            "ip route add default via 10.0.0.2 dev card\n"
            "ip route add default tos 0x10 via 10.66.0.1 dev tun\n"
            "ip route add default tos 0x08 via 10.0.0.3 dev card",
            ["8.8.8.8", "8.8.8.8 tos 0x10", "8.8.8.8 tos 0x08"],
        ),
        (
            "ip route add default metric 2 nexthop via 10.0.0.6 dev card weight 2"
            " nexthop via 10.0.0.7 dev card\n"
            "ip route add 0.0.0.0/1 metric 100 via 10.0.0.9 dev card",
            ["8.8.8.8", "200.1.1.1", "200.1.1.2", "200.1.1.3"],
        ),
        # what is bound to an address does not ask routes
        (
            "ip addr add 10.0.0.5/24 dev card",
            ["224.0.0.251 from 10.0.0.5", "255.255.255.255 from 10.0.0.1", "10.0.0.255"],
        ),
        # groups of IPv6, of which the card has the first route
        ("ip -6 addr add 2001:db8::1/64 dev card nodad", ["ff05::1", "ff0e::7 from 2001:db8::1"]),
        ("ip route add default via 10.0.0.2 dev card realm 10", ["8.8.8.8"]),
        # routers that advertise themselves
        (
            "ip -6 addr add 2001:db8::1/64 dev card nodad\n"
            "ip -6 route add default via fe80::a2 dev card proto ra metric 1024 pref low\n"
            "ip -6 route add default via fe80::a3 dev tun proto ra metric 2000",
            ["2001:db8:1::1", "2001:db8:1::2", "2001:db8:1::3"],
        ),
    ],
)
def test_packets_go_the_same_way_by_the_device(routes: str, questions: list[str]) -> None:
    setup = f"{AT_ONCE}{BEHIND}{routes}\n{ABOVE.format(mtu=1500)}"
    done = python_apart(setup + RUN, ASKED, *questions)
    assert done.stderr == ""
    before, during, after = (part.split("\n") for part in done.stdout.strip().split("\n---\n"))
    assert all("dev" in line for line in before)
    # the metric before one's own is what hides a route of IPv6
    assert during == [
        line.replace("dev card", "dev above").replace("metric 1024", "metric 1023")
        for line in before
    ]
    assert after == before


def test_routers_that_advertise_themselves_are_not_made_one_route() -> None:
    """Linux sends by the preferred one, and by the others when that is not there."""
    script = """
from keepon.linux import taken

taken.routes.listed = lambda family: [
    f"unicast default via fe80::{each} dev card table main proto ra metric 1024 pref {how}".split()
    for each, how in (("a1", "low"), ("a2", "high"))
]
for words in taken._with_metrics("card"):
    print(*words[3:4], *words[-4:])
"""
    said = python_apart(RUN, script).stdout.splitlines()
    assert said == ["fe80::a2 metric 1022 pref high", "fe80::a1 metric 1023 pref low"]


@pytest.mark.slow
def test_an_address_of_the_link_that_somebody_made_goes_along() -> None:
    """Whoever has this machine as its gateway knows it by that."""
    script = """
import subprocess
from keepon.linux import taken

for _ in range(2):  # also where addresses stay while it is down
    taken.take_routes("card", "above")
    subprocess.run("ip link set above down; ip link set above up", shell=True, check=True)
taken.take_routes("card", "above")
print(subprocess.run(["ip", "-6", "-o", "addr", "show", "dev", "above"],
                     capture_output=True, text=True).stdout)
"""
    more = (
        "ip addr add fe80::1/64 dev card nodad\nip -6 addr add fd00::1/64 dev card nodad\n"
        "echo 1 > /proc/sys/net/ipv6/conf/all/keep_addr_on_down\n"
    )
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1500)}{RUN}", script).stdout
    assert said.count(" fe80::1/64 ") == said.count(" fd00::1/64 ") == 1


def test_an_address_that_the_card_has_no_more_does_not_stay() -> None:
    script = """
import subprocess
from keepon.linux import taken

taken.take_routes("card", "above")
subprocess.run("ip addr del 10.0.0.1/24 dev card; ip addr add 10.0.0.7/24 dev card", shell=True)
taken.take_routes("card", "above")
print(subprocess.run(["ip", "-4", "-o", "addr", "show", "dev", "above"],
                     capture_output=True, text=True).stdout)
"""
    said = python_apart(f"{AT_ONCE}{BEHIND}{ABOVE.format(mtu=1500)}{RUN}", script).stdout
    assert "10.0.0.7/24" in said and "10.0.0.1/24" not in said


def test_another_way_than_before_is_refused() -> None:
    """Whoever set the routes: it is Linux that is asked."""
    script = """
from keepon.errors import KeeponError
from keepon.linux import taken

taken._to_prepend = lambda nic: [["unicast", "default", "via", "10.0.0.9", "dev", nic, "onlink"]]
try:
    taken.take_routes("card", "above")
except KeeponError as error:
    print(error)
"""
    setup = f"{AT_ONCE}{BEHIND}ip route add default via 10.0.0.2 dev card\n"
    said = python_apart(f"{setup}{ABOVE.format(mtu=1500)}{RUN}", script).stdout
    assert said.startswith("packets to ")
    assert "went via 10.0.0.2 by card from 10.0.0.1 and would go " in said


def test_the_other_end_of_a_pair_is_not_built_on_it() -> None:
    """The card of every container is one end of a pair."""
    script = """
from keepon.errors import KeeponError
from keepon.linux import taken

for card in "card", "tun":
    try:
        taken.check_alone(card, "above")
        print("alone")
    except KeeponError as error:
        print(str(error).partition(",")[0])
"""
    more = "ip link add link tun name tun7 type macvlan\n"
    assert (
        python_apart(f"{BEHIND}{more}{RUN}", script).stdout == "alone\ntun has tun7 built on it\n"
    )


def test_default_routes_that_forwarding_would_take_away_are_kept() -> None:
    script = """
import subprocess
from keepon.errors import KeeponError
from keepon.linux import taken

def routes():
    return subprocess.run(["ip", "-6", "route", "show", "default"], capture_output=True,
                          text=True).stdout.count("proto ra")

for accepted in 1, 2:
    with open("/proc/sys/net/ipv6/conf/tun/accept_ra", "w") as file:
        file.write(str(accepted))
    try:
        taken.take_routes("card", "above")
        print("taken", routes())
    except KeeponError as error:
        print(error)
        print(routes())
"""
    more = (
        "ip -6 addr add fd00::5/64 dev card nodad\n"
        "echo 1 > /proc/sys/net/ipv6/conf/card/forwarding\n"
        "ip -6 route add default via fe80::b1 dev tun proto ra metric 1024\n"
    )
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1500)}{RUN}", script).stdout
    assert said.splitlines() == [
        "card forwards IPv6, and when above is to do so Linux takes the default route of tun away,"
        " which is a router's that advertises itself: sysctl net.ipv6.conf.tun.accept_ra=2 first",
        "1",
        "taken 1",
    ]
