# SPDX-License-Identifier: BSD-3-Clause
"""What the device on a card has of the card beside its routes: addresses for as long as they last,
MTU, sources; and the groups that it has not.
"""

from __future__ import annotations

import pytest
from helpers import RUN, python_apart
from keepon.linux import taken as taken_module
from test_taken import ABOVE, AT_ONCE, BEHIND


def test_an_address_that_somebody_gave_the_link_meanwhile_stays() -> None:
    """In the card's network it is one behind the lent one, with which Linux takes it away."""
    script = """
import subprocess
from keepon.linux import taken

taken.take_routes("card", "above")
subprocess.run("ip addr add 10.0.0.77/24 dev above", shell=True, check=True)
taken.give_back("above")
print(subprocess.run(["ip", "-4", "-o", "addr", "show", "dev", "above"],
                     capture_output=True, text=True).stdout)
print(open("/proc/sys/net/ipv4/conf/above/promote_secondaries").read())
"""
    more = "echo 0 > /proc/sys/net/ipv4/conf/all/promote_secondaries\n"
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1500)}{RUN}", script).stdout
    assert "10.0.0.77/24" in said and "10.0.0.1/24" not in said
    assert said.split()[-1] == "0"


def test_an_address_that_both_have_is_told() -> None:
    script = """
from keepon.errors import KeeponError
from keepon.linux import taken

try:
    taken.take_routes("card", "above")
except KeeponError as error:
    print(error)
"""
    own = ABOVE.format(mtu=1500) + "ip addr add 10.0.0.1/24 dev above\n"
    said = python_apart(f"{AT_ONCE}{BEHIND}{own}{RUN}", script).stdout
    assert said.strip().endswith("while it is up: ip addr del 10.0.0.1/24 dev above")


def test_a_card_with_no_room_for_ipv6_has_a_link_without() -> None:
    script = """
from keepon.linux import taken

taken.take_routes("card", "above")
print(open("/sys/class/net/above/mtu").read())
"""
    more = "ip link set card mtu 1200\n"
    done = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1500)}{RUN}", script)
    assert done.stdout.strip() == "1200", done.stderr


def test_the_device_has_no_greater_mtu_than_its_card() -> None:
    """Nor in IPv6, where a router may have said less."""
    script = """
from pathlib import Path
from keepon.linux import taken

taken.take_routes("card", "above")
print(Path("/sys/class/net/above/mtu").read_text(), end="")
print(Path("/proc/sys/net/ipv6/conf/above/mtu").read_text(), end="")
"""
    more = "ip link set card mtu 1400\necho 1280 > /proc/sys/net/ipv6/conf/card/mtu\n"
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1500)}{RUN}", script).stdout
    assert said.split() == ["1400", "1280"]


@pytest.mark.parametrize("lock", ["", "lock "])
def test_a_route_has_no_greater_mtu_than_its_device(lock: str) -> None:
    """Linux believes the route: what is longer than the link's slots would be lost."""
    script = """
import subprocess
from keepon.linux import taken

taken.take_routes("card", "above")
for to in "8.8.8.8", "9.9.9.9", "2001:db8:1::1":
    print(subprocess.run(["ip", "-o", "route", "get", to], capture_output=True, text=True).stdout)
"""
    more = (
        f"ip route add default via 10.0.0.2 dev card mtu {lock}1400\n"
        f"ip route add 9.0.0.0/8 via 10.0.0.2 dev card mtu {lock}900\n"
        "ip -6 addr add 2001:db8::1/64 dev card nodad\n"
        f"ip -6 route add default via fe80::9 dev card mtu {lock}1400\n"
    )
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1300)}{RUN}", script).stdout
    lines = [line for line in said.splitlines() if line]
    for line, mtu in zip(lines, (1300, 900, 1300), strict=True):
        assert "dev above" in line and f"mtu {lock}{mtu}" in line


def test_a_greater_mtu_than_the_device_has_is_found() -> None:
    """Whoever set the routes."""
    script = """
from keepon.errors import KeeponError
from keepon.linux import taken

taken._within = lambda mtu, words: words
try:
    taken.take_routes("card", "above")
except KeeponError as error:
    print(error)
"""
    more = "ip route add default via 10.0.0.2 dev card mtu 1400\n"
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1300)}{RUN}", script).stdout
    assert said.strip().endswith("in packets of 1400 now")


@pytest.mark.parametrize("prefers", [1, 2])
def test_the_source_is_the_temporary_address_only_where_the_card_prefers_it(prefers: int) -> None:
    script = """
from keepon.linux import reached, taken

settled = [
    {"local": f"2001:db8::{each}", "prefixlen": 64, "scope": "global", "family": "inet6",
     **({"temporary": True} if each == "7e" else {})}
    for each in ("7e", "1")
]
taken._take_addresses("card", settled, "above")
import subprocess
subprocess.run("ip -6 route add default via fe80::9 dev above", shell=True, check=True)
print(reached.answers(["2001:4860::1"])[0][3])
"""
    more = f"echo {prefers} > /proc/sys/net/ipv6/conf/card/use_tempaddr\n"
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1500)}{RUN}", script).stdout
    assert said.strip() == ("2001:db8::7e" if prefers == 2 else "2001:db8::1")


def test_addresses_end_when_they_end_on_the_card_and_those_of_the_link_stay() -> None:
    """A server gives an address to the next one when its lease has ended."""
    script = """
import json, subprocess
from keepon.linux import taken

def addresses():
    told = subprocess.run(["ip", "-json", "addr", "show", "dev", "above"], capture_output=True,
                          text=True).stdout
    return {entry["local"]: entry for entry in json.loads(told)[0]["addr_info"]
            if entry["scope"] == "global"}

taken.take_routes("card", "above")
for address, entry in addresses().items():
    print(address, entry["valid_life_time"], entry["preferred_life_time"])
taken.give_back("above")
print(*addresses())
"""
    more = (
        "ip addr add 10.0.0.5/24 dev card valid_lft 5000 preferred_lft 4000\n"
        "ip -6 addr add fd00::5/64 dev card nodad valid_lft 3000 preferred_lft 2000\n"
        "ip -6 addr add fd00::6/64 dev card nodad preferred_lft 0\n"
    )
    own = "ip addr add 10.5.0.1/24 dev above noprefixroute\n"
    setup = f"{AT_ONCE}{BEHIND}{more}{ABOVE.format(mtu=1500)}{own}{RUN}"
    *ends, left = python_apart(setup, script).stdout.splitlines()
    found = {line.split()[0]: tuple(map(int, line.split()[1:])) for line in ends}
    for_ever = 2**32 - 1
    assert found["10.0.0.1"] == found["10.5.0.1"] == (for_ever, for_ever)
    assert 4990 < found["10.0.0.5"][0] <= 5000 and 3990 < found["10.0.0.5"][1] <= 4000
    assert 2990 < found["fd00::5"][0] <= 3000 and 1990 < found["fd00::5"][1] <= 2000
    assert found["fd00::6"] == (for_ever, 0)
    assert left == "10.5.0.1"


def test_groups_that_programs_have_joined_are_known() -> None:
    script = """
import socket, struct
from keepon.linux import taken

print(taken.groups("card"))
index = socket.if_nametoindex("card")
four = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
four.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                struct.pack("=4s4si", socket.inet_aton("239.1.2.3"), bytes(4), index))
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
six.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP,
               socket.inet_pton(socket.AF_INET6, "ff05::77") + struct.pack("=i", index))
print(taken.groups("card"))
print(taken.groups("tun"))
"""
    said = python_apart(f"{AT_ONCE}{BEHIND}{RUN}", script).stdout.splitlines()
    assert said == ["[]", "['239.1.2.3', 'ff05::77']", "[]"]


@pytest.mark.parametrize(
    ("ipv6", "ipv4", "told"),
    [
        ("ff020000000000000000000000000001", "010000E0", []),
        ("ff0200000000000000000001ff000007", "", []),
        ("ff020000000000000000000000000012", "120000E0", ["224.0.0.18", "ff02::12"]),
        ("ff020000000000000000000000010002", "6B0000E0", ["224.0.0.107", "ff02::1:2"]),
        ("ff020000000000000000000000000101", "820000E0", ["224.0.0.130", "ff02::101"]),
    ],
)
def test_groups_are_told_apart_from_those_of_every_device_to_the_last_letter(
    monkeypatch: pytest.MonkeyPatch, ipv6: str, ipv4: str, told: list[str]
) -> None:
    tables = {
        "/proc/net/igmp": ["Idx Device", "2\tcard : 1 V3"] + [f"\t\t\t{ipv4}  1 0:0"] * bool(ipv4),
        "/proc/net/igmp6": [f"2 card {ipv6} 1 0000000C 0"],
    }
    monkeypatch.setattr(taken_module, "_lines", tables.get)
    assert taken_module.groups("card") == told


def test_many_commands_of_ip_are_one_process_and_the_one_that_fails_is_told() -> None:
    script = """
import os, subprocess
from keepon.errors import KeeponError
from keepon.linux import interface

started = []
run = subprocess.run
subprocess.run = lambda words, **options: started.append(words) or run(words, **options)
routes = [["route", "add", f"10.{at}.0.0/16", "dev", "card"] for at in range(1, 201)]
interface.ip_each("-4", routes)
print(len(started))
for device in "card", 'a"b':
    wrong = ["route", "add", "10.250.0.0/16", "via", "192.0.2.1", "dev", device]
    try:
        interface.ip_each("-4", [["route", "add", "10.251.0.0/16", "dev", device], wrong])
    except KeeponError as error:
        print(error)
print(run(["ip", "-4", "route"], capture_output=True, text=True).stdout.count("10.251.0.0/16"))
"""
    more = "ip link add 'a\"b' type veth peer name beyond1\nip link set 'a\"b' up\n"
    said = python_apart(f"{BEHIND}{more}{RUN}", script).stdout.splitlines()
    assert said[0] == "1" and said[-1] == "1"
    assert said[1].startswith("ip -4 route add 10.250.0.0/16 via 192.0.2.1 dev card: ")
    assert "invalid gateway" in said[1]
    assert said[2].startswith('ip -4 route add 10.251.0.0/16 dev a"b: ')


ADVERTISED = """
import json, socket, struct, subprocess, sys, time
from pathlib import Path
from keepon.linux import advertised, taken

def advertise(by, network):
    with socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6) as router:
        number = socket.if_nametoindex(by)
        router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
        router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_LOOP, 0)
        router.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, number)
        prefix = struct.pack("!BBBBIII", 3, 4, 64, 0xC0, 7200, 3600, 0)
        said = struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0) + prefix
        said += socket.inet_pton(socket.AF_INET6, network)
        for _ in range(100):  # it has just come up
            try:
                router.sendto(said, ("ff02::1", 0, 0, number))
                return
            except OSError:
                time.sleep(0.02)
        sys.exit(f"{by} sends nothing")

def made(name):
    shown = subprocess.run(["ip", "-json", "-6", "addr", "show", "dev", name],
                           capture_output=True, check=True).stdout
    found = [each for link in json.loads(shown) for each in link["addr_info"]]
    return sorted(each["local"] for each in found if each["scope"] == "global")

def heard(name, count):
    until(lambda: len(made(name)) >= count)

def until(what):
    end = time.monotonic() + 60
    while not what() and time.monotonic() < end:
        time.sleep(0.02)

ways, networks = sys.argv[1], sys.argv[2:]
if ways.endswith("token"):
    subprocess.run(["ip", "token", "set", "::1234", "dev", "card"], check=True)
elif ways == "secret":
    Path("/proc/sys/net/ipv6/conf/card/stable_secret").write_text("2001:db8::5ec:2e7")
elif ways != "mac":
    Path("/proc/sys/net/ipv6/conf/card/addr_gen_mode").write_text("3")
if ways == "unlike":
    advertised._permanent = lambda name: name
if ways.startswith("unasked"):
    Path("/proc/sys/net/ipv6/conf/card/router_solicitations").write_text("0")
for number, network in enumerate(networks, 1):
    advertise("other", network)
    heard("card", number)
before = made("card")
assert len(before) == len(networks), before
taken.take_settings("card", "above")
subprocess.run(["ip", "link", "set", "dev", "above", "up"], check=True)
for network in networks:
    advertise("beyond", network)
time.sleep(0.2)
goes_on = taken.take_routes("card", "above")
assert made("above") == before, (made("above"), before)
asked = Path("/proc/sys/net/ipv6/conf/above/router_solicitations").read_text().strip()
assert (asked == "0") == ways.startswith("unasked")
for network in (*networks, "2001:db8:99::"):
    advertise("beyond", network)
    advertise("other", network)
heard("card", len(networks) + 1)
heard("above", len(before) + goes_on)
time.sleep(0.3)
print(goes_on, sorted(set(made("card")) - set(before)) == sorted(set(made("above")) - set(before)))
print(len(made("above")) - len(before), len(made("card")) - len(before))
subprocess.run(["ip", "link", "set", "dev", "above", "down"], check=True)
taken.give_back("above")
left = subprocess.run(["ip", "token", "get", "dev", "above"], capture_output=True, text=True)
assert left.stdout.split()[1] == "::" and not made("above"), (left.stdout, made("above"))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ways", "count", "goes_on"),
    [
        ("mac", 1, True),
        ("token", 1, True),
        ("token", 2, True),
        ("unasked token", 1, True),
        ("random", 1, True),
        ("random", 2, True),
        ("random", 0, True),
        ("secret", 2, True),
        ("unlike", 1, True),
        ("unlike", 2, False),
        ("unlike", 0, False),
    ],
)
def test_the_link_makes_the_addresses_that_its_card_would_make_in_networks_of_routers(
    ways: str, count: int, goes_on: bool
) -> None:
    """The card would hear the router as well here. What cannot be made alike is not made."""
    networks = [f"2001:db8:{number}::" for number in range(1, count + 1)]
    same_mac = ABOVE.format(mtu=1500).replace(
        "ip link set dev above up",
        'ip link set dev above address "$(cat /sys/class/net/card/address)"',
    )
    done = python_apart(f"{AT_ONCE}{BEHIND}{same_mac}{RUN}", ADVERTISED, ways, *networks)
    # By a token where the card has a secret, networks that come later have it, too.
    is_alike = goes_on and (ways, count) != ("unlike", 1)
    assert done.stdout.splitlines() == [f"{goes_on} {is_alike}", f"{int(goes_on)} 1"]


def test_a_link_of_a_card_that_hears_no_router_never_does() -> None:
    """It has the card's sysctls before it is up for the first time."""
    script = """
from pathlib import Path
from keepon.linux import taken

taken.take_settings("card", "above")
print(Path("/sys/class/net/above/operstate").read_text(), end="")
for name in "accept_ra", "disable_ipv6":
    print(Path("/proc/sys/net/ipv6/conf/above", name).read_text(), end="")
"""
    more = "".join(
        f"echo {value} > /proc/sys/net/ipv6/conf/card/{name}\n"
        for name, value in (("accept_ra", 0), ("disable_ipv6", 1))
    )
    still_down = ABOVE.format(mtu=1500).replace("ip link set dev above up", "ip link set dev above")
    said = python_apart(f"{AT_ONCE}{BEHIND}{more}{still_down}{RUN}", script).stdout
    assert said.split() == ["down", "0", "1"]
