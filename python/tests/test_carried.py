# SPDX-License-Identifier: BSD-3-Clause
"""What goes with an interface is read and set again, on interfaces of a network namespace of its
own that the test takes away and makes anew.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import keepon
from helpers import apart

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
    done = subprocess.run(
        [*apart(f'{NEW}{SET}exec "$@"'), sys.executable, "-S", "-c", CHECK, *disturbed],
        env={**os.environ, "PYTHONPATH": str(Path(keepon.__file__).parents[1])},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines(), done.stderr.strip()


def test_all_that_an_interface_had_is_there_again() -> None:
    assert moved() == ([""], "0")


def test_one_thing_that_cannot_be_set_keeps_nothing_else_from_it() -> None:
    said, missing = moved("ip link property add dev lo altname lab0")
    assert len(said) == 1
    assert said[0].startswith("ip link property add dev card altname lab0: ")
    assert missing.startswith("1 ('link', 'property', ")


def test_what_somebody_else_has_set_meanwhile_stays() -> None:
    said, missing = moved("ip link set dev card up; ip addr add 10.20.0.1/24 dev card")
    assert missing == "0"
    assert [line.split()[0] for line in said if line] == ["10.20.0.0/24"]
