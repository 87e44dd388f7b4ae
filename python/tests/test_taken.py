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
            "can only be hidden by one of metric 0, which there is not: give it a greater metric"
            " first",
        ),
        (
            "ip -6 route add default via fe80::7 dev away metric 1023\n",
            "can only be hidden by one of metric 1023, which another device has: give it a greater"
            " metric first",
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


def test_a_card_that_is_part_of_something_is_refused() -> None:
    """Its traffic goes by the bridge or VRF, whose routes are not the card's."""
    script = """
import sys
from keepon.errors import KeeponError
from keepon.linux.apply import before, steps

for found in (), (steps.TakeRoutes("card", "rt0"),):
    try:
        print(before.of_setup(steps.Setup("of a plan", "card", "rt0", (), found)))
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
