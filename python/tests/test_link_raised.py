# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link up` over the card that one is logged in by."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
from helpers import RUN, python_apart
from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.linux.link import raised

CLIENT = "192.0.2.7"
LINK = {"ifname": "rt0", "link": "eth0", "flags": [], "linkinfo": {"info_kind": "keepon"}}


@pytest.fixture
def did(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done; the client answers until the link comes up."""
    done: list[str] = []
    clock = iter(range(1000))

    def ip(*words: str) -> str:
        if words[0] == "link":
            done.append(words[-1])
        return json.dumps([LINK])

    monkeypatch.setattr(raised, "ip", ip)
    monkeypatch.setattr(raised, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(raised, "check_alone", lambda card, name: bool(done.append("alone")))
    monkeypatch.setattr(raised, "client_over", lambda card: CLIENT)
    monkeypatch.setattr(raised, "has_carrier", lambda name: True)
    monkeypatch.setattr(raised, "take_settings", lambda card, name: done.append(f"as {card}"))
    took = lambda card, name: not done.append(f"{card} {name}")  # noqa: E731
    monkeypatch.setattr(raised, "take_routes", took)
    monkeypatch.setattr(raised, "masks", lambda name: [0x80, 0x7F])
    monkeypatch.setattr(raised, "give_back", lambda name: done.append(f"{name} gives back"))
    monkeypatch.setattr(raised, "answers", lambda client: "up" not in done)
    monkeypatch.setattr(raised, "until", lambda deadline_s, found: found())
    monkeypatch.setattr(raised, "holding", lambda card: nullcontext())
    monkeypatch.setattr(raised, "guarded", inline)
    monkeypatch.setattr(raised, "leases_s", lambda card: {})
    monkeypatch.setattr(raised, "groups", lambda card: [])
    monkeypatch.setattr(raised, "cut_off", lambda card, name: "")
    numbers = SimpleNamespace(if_nametoindex=lambda name: 7, if_indextoname=lambda number: "rt0")
    monkeypatch.setattr(raised, "socket", numbers)
    return done


def inline(work: Callable[[], str], back: Callable[[], None], restored: str) -> str:
    """As guarded() does, in this process."""
    try:
        return work()
    except KeyboardInterrupt:
        back()
        raise
    except EnvironmentProblemError as error:
        back()
        raise EnvironmentProblemError(f"{error}; {restored}") from error


def test_a_connection_that_does_not_come_back_sets_it_down(did: list[str]) -> None:
    with pytest.raises(EnvironmentProblemError) as caught:
        raised.up("rt0", 30, False)
    assert str(caught.value) == (
        f"{CLIENT}, from where you are logged in over eth0, does not answer any more; rt0 is down"
        " again"
    )
    assert did == ["alone", "as eth0", "up", "eth0 rt0", "down", "rt0 gives back"]


def test_one_that_does_is_told(did: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raised, "answers", lambda client: True)
    assert raised.up("rt0", 30, False) == (
        f"rt0 is up; what eth0 sends goes by it, and {CLIENT} still answers"
    )
    assert did == ["alone", "as eth0", "up", "eth0 rt0"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, EnvironmentProblemError("no such route")])
def test_whatever_ends_it_sets_it_down(
    did: list[str], monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def fail(card: str, name: str) -> None:
        raise failure

    monkeypatch.setattr(raised, "take_routes", fail)
    with pytest.raises((KeyboardInterrupt, EnvironmentProblemError)):
        raised.up("rt0", 30, False)
    assert did[-2:] == ["down", "rt0 gives back"]


def test_a_link_that_is_set_down_gives_back_what_it_was_lent(did: list[str]) -> None:
    """Addresses of IPv4 stay otherwise, and what is bound to one sends by it."""
    assert raised.down("rt0", False) == "rt0 is down; what eth0 sends goes by eth0 itself"
    assert did == ["down", "rt0 gives back"]


@pytest.mark.parametrize("back_s", [0, -1, 1e9, float("nan")])
def test_a_time_that_is_none(did: list[str], back_s: float) -> None:
    with pytest.raises(ConfigError, match="must be above 0 and at most 3600 seconds"):
        raised.up("rt0", back_s, False)
    assert did == []


def test_addresses_that_end_are_told(did: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A DHCP client is bound to the card, whose way is closed."""
    monkeypatch.setattr(raised, "answers", lambda client: True)
    monkeypatch.setattr(raised, "leases_s", lambda card: {"10.0.0.5": 3600})
    assert raised.up("rt0", 30, False).endswith(
        "; 10.0.0.5 is lent to eth0 for 3600 s more, and what would renew that by eth0 cannot while"
        " rt0 is up: give eth0 a fixed address"
    )


def test_ipv6_that_finds_no_room_is_told(did: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raised, "answers", lambda client: True)
    monkeypatch.setattr(raised, "cut_off", lambda card, name: "IPv6")
    said = raised.up("rt0", 30, False)
    assert said.endswith(
        "; but IPv6 of eth0 is cut off meanwhile, which needs an MTU of 1280 or more"
    )
    assert json.loads(raised.up("rt0", 30, True))["cut_off"] == "IPv6"


def test_groups_that_are_not_heard_are_told(
    did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raised, "answers", lambda client: True)
    monkeypatch.setattr(raised, "groups", lambda card: ["239.1.2.3"])
    assert raised.up("rt0", 30, False).endswith(
        "; but groups joined on eth0 are not heard there meanwhile, 239.1.2.3: have them joined on"
        " rt0"
    )
    assert json.loads(raised.up("rt0", 30, True))["groups"] == ["239.1.2.3"]


@pytest.mark.parametrize(
    ("asked", "answer", "key", "told"),
    [
        ("take_routes", False, "advertised_end",
         "addresses of IPv6 that eth0 has of routers end with their lifetime while rt0 is up: ip"
         " token set ::NUMBER dev eth0 first"),
        ("check_alone", True, "masquerades",
         "connections that the firewall masquerades by eth0 end when rt0 comes up, and those by rt0"
         " when it goes: they have to be made again"),
    ],
)  # fmt: skip
def test_what_ends_is_told(
    did: list[str], monkeypatch: pytest.MonkeyPatch, asked: str, answer: bool, key: str, told: str
) -> None:
    monkeypatch.setattr(raised, "answers", lambda client: True)
    assert told not in raised.up("rt0", 30, False)
    assert json.loads(raised.up("rt0", 30, True))[key] is False
    monkeypatch.setattr(raised, asked, lambda card, name: answer)
    assert raised.up("rt0", 30, False).endswith(f"; but {told}")
    assert json.loads(raised.up("rt0", 30, True))[key] is True


def test_that_nothing_has_slots_by_default_is_told(
    did: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raised, "answers", lambda client: True)
    monkeypatch.setattr(raised, "masks", lambda name: [0x80, 0])
    assert raised.up("rt0", 30, False).endswith("keepon link set rt0 class 0 slots rest")
    assert json.loads(raised.up("rt0", 30, True))["class_0_without_slots"]


KILLED = """
import os, signal, subprocess, sys, time
from contextlib import nullcontext
from keepon.linux.link import raised

def is_up(name):
    return "UP" in subprocess.run(["ip", "-o", "link", "show", name], capture_output=True,
                                  text=True).stdout.partition("<")[2].partition(">")[0].split(",")

raised.card_of = lambda name: "card"
raised.holding = lambda card: nullcontext()
raised.check_alone = lambda card, name: None
raised.take_routes = lambda card, name: time.sleep(600)
child = os.fork()
if not child:
    raised.up("above", 30, False)
    os._exit(0)
while not is_up("above"):
    time.sleep(0.01)
# kernels before 6.2 do that only while it is down
subprocess.run("ip link set above down; ip link set above name other1; ip link set other1 up",
               shell=True, check=True)
os.kill(child, signal.SIGKILL)
for _ in range(6000):
    if not is_up("other1"):
        print("down again")
        break
    time.sleep(0.01)
"""


def test_a_command_that_is_killed_leaves_it_down() -> None:
    setup = """
ip link add card type veth peer name other
ip link add above type veth peer name beyond
ip link set beyond up
"""
    assert python_apart(setup + RUN, KILLED).stdout == "down again\n"


@pytest.mark.parametrize("verb", ["up", "down"])
def test_a_link_whose_card_is_in_another_namespace_is_told_of(
    did: list[str], verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`ip` knows its card by number alone, then."""
    moved = {**LINK, "link_index": 6, "link_netnsid": 0}
    del moved["link"]
    monkeypatch.setattr(raised, "ip", lambda *words: json.dumps([moved]))
    with pytest.raises(ConfigError, match="its card is in another network namespace"):
        raised.up("rt0", 30.0, False) if verb == "up" else raised.down("rt0", False)
    assert did == []
