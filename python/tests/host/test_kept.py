# SPDX-License-Identifier: BSD-3-Clause
"""Addresses and routes of an interface are there again, in a network namespace of its own; and who
manages it is seen.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from helpers import python_apart
from keepon_host import kept

SCRIPT = """
ip link add card type veth peer name other
ip link set other up
ip link set card up mtu 1400
echo 0 > /proc/sys/net/ipv6/conf/card/accept_dad
ip addr add 10.0.0.1/24 brd + metric 50 dev card
ip addr add 10.1.0.1 peer 10.1.0.2/32 dev card
ip addr add 10.4.0.1/24 noprefixroute valid_lft 80000 preferred_lft 80000 dev card
ip addr add fd00::1/64 dev card
ip route add 10.4.0.0/24 dev card proto static scope link src 10.4.0.1 metric 100
ip route add default via 10.0.0.2 dev card metric 7
ip route add 10.77.0.0/16 via 10.0.0.3 dev card table 100 mtu lock 1300
ip -6 route add fd02::/64 via fd00::2 dev card
exec "$@"
"""
MOVED = """
import re, subprocess, sys, time
from keepon_host.kept import come_back, kept_of

def shown():
    words = [["addr", "show", "dev", "card"], *(
        [family, "route", "show", "table", "all", "dev", "card"] for family in ("-4", "-6")
    )]
    text = "".join(
        subprocess.run(["ip", "-o", *each], capture_output=True, text=True).stdout for each in words
    )
    text = re.sub(r"_lft [0-9]+sec", "_lft some", text)
    lines = (re.sub(r"^[0-9]+: ", "", each) for each in text.splitlines())
    return sorted(each for each in lines if "fe80" not in each)

before = shown()
kept = kept_of("card")
for words in ("addr flush dev card", "-6 addr flush dev card", "link set card down mtu 1500"):
    subprocess.run(["ip", *words.split()], check=True)
assert shown() != before
print(come_back("card", kept, time.monotonic() + 5))
print([each for each in zip(before, shown()) if each[0] != each[1]])
"""


def test_addresses_and_routes_are_set_again() -> None:
    done = python_apart(SCRIPT, MOVED)
    assert done.stdout.splitlines() == ["[]", "[]"]


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("NetworkManager/devices/1", "[device]\nconnection-uuid=5c0\n", "NetworkManager"),
        ("NetworkManager/devices/1", "[device]\nmanaged=unmanaged\n", ""),
        ("systemd/netif/links/1", "ADMIN_STATE=configured\n", "systemd-networkd"),
        ("systemd/netif/links/1", "ADMIN_STATE=unmanaged\n", ""),
        ("network/ifstate.lo", "lo\n", "ifupdown"),
        ("dhcpcd/pid", "77\n", "dhcpcd"),
    ],
)
def test_who_manages_an_interface_is_seen(
    file: str, text: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "RUN", tmp_path)
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text)
    assert kept.manager_of("lo") == name


def test_a_manager_is_waited_for_and_then_helped(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    seen: list[float] = []
    item = ("addr", "replace", "10.0.0.1/24", "dev", "eth0")

    def missing(*_: object) -> list[tuple[str, ...]]:
        seen.append(time.monotonic())
        return [] if item in asked else [item]

    monkeypatch.setattr(kept, "MANAGED_S", 0.3)
    monkeypatch.setattr(kept, "_missing", missing)
    monkeypatch.setattr(kept, "ip", lambda *words: asked.append(words))
    monkeypatch.setattr(kept, "run", lambda *words: asked.append(words))
    found = kept.Kept(up=True, carrier=False, addresses=[item], manager="ifupdown")
    assert kept.come_back("eth0", found, 0.0) == []
    assert asked == [
        ("link", "set", "dev", "eth0", "up"), ("ifdown", "--force", "eth0"),
        ("ifup", "eth0"), item,
    ]  # fmt: skip
    assert seen[-1] - seen[0] >= 0.3
