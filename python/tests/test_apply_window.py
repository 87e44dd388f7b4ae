# SPDX-License-Identifier: BSD-3-Clause
"""When `keepon apply` keeps what it has set up, when it puts it back, and what that takes away."""

from __future__ import annotations

import json
import socket
from types import SimpleNamespace
from typing import Any

import pytest
from keepon.errors import EnvironmentProblemError
from keepon.linux import taken
from keepon.linux.apply import before, command, undo, watcher
from keepon.linux.apply.journal import KEEP, UNDO, Journal
from keepon.linux.apply.steps import Setup, TakeRoutes

CLIENT = "192.0.2.7"


def ended(
    monkeypatch: pytest.MonkeyPatch, verb: str, seconds: float, kind: str, away: tuple[float, float]
) -> tuple[str, float]:
    """The verdict on a window, and when; `kind`, "link" or "client", is away from and until."""
    now_s = 100.0

    def there(what: str) -> bool:
        return what != kind or not away[0] <= now_s - 100 < away[1]

    def answers(client: str) -> bool:
        nonlocal now_s
        assert client == CLIENT
        now_s += 0.001 if there("client") else 1
        return there("client")

    monkeypatch.setattr(watcher, "time", SimpleNamespace(monotonic=lambda: now_s))
    monkeypatch.setattr(watcher, "has_carrier", lambda name: there("link"))
    monkeypatch.setattr(watcher, "answers", answers)
    window = watcher.Window.begin(verb, seconds, CLIENT)
    while True:
        now_s += watcher.LOOK_S
        verdict, _ = window.ended("eth0")
        if verdict:
            return verdict, now_s - 100


@pytest.mark.parametrize("kind", ["link", "client"])
@pytest.mark.parametrize("lost_s", [0.0, 0.3, 1.0, 1.5, 2.5, 2.95])
def test_what_is_lost_while_it_settles_is_put_back(
    monkeypatch: pytest.MonkeyPatch, kind: str, lost_s: float
) -> None:
    verdict, after_s = ended(monkeypatch, "settle", 3, kind, (lost_s, 1e9))
    assert verdict == UNDO
    assert after_s < lost_s + watcher.LOST_S + 2.5


@pytest.mark.parametrize("kind", ["link", "client"])
@pytest.mark.parametrize("away", [(5.0, 6.0), (0.5, 2.0), (2.5, 4.5)])
def test_what_comes_back_is_kept(
    monkeypatch: pytest.MonkeyPatch, kind: str, away: tuple[float, float]
) -> None:
    """Not before it is there again."""
    verdict, after_s = ended(monkeypatch, "settle", 3, kind, away)
    assert verdict == KEEP
    assert not away[0] <= after_s < away[1]
    assert after_s < max(3, away[1]) + 1.5


def test_what_is_not_confirmed_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    verdict, after_s = ended(monkeypatch, "window", 60, "none", (0, 0))
    assert verdict == UNDO
    assert after_s == pytest.approx(60, abs=1.2)


def test_vlans_of_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those made after keepon apply; its own has ID 0, and may have got another name."""

    def vlan(number: int, name: str, lower: str, id_: int) -> dict[str, Any]:
        info = {"info_kind": "vlan", "info_data": {"id": id_}}
        return {"ifindex": number, "ifname": name, "link": lower, "linkinfo": info}

    there = [
        {"ifindex": 2, "ifname": "eth0"}, vlan(7, "streams", "eth0", 0),
        vlan(9, "office", "eth0", 100), vlan(10, "eth1.0", "eth1", 0),
    ]  # fmt: skip
    deleted = []

    def ip(*words: str) -> str:
        if words[:2] == ("link", "del"):
            deleted.append(words[-1])
        return json.dumps(there)

    monkeypatch.setattr(undo, "ip", ip)
    monkeypatch.setattr(Journal, "name", property(lambda self: "eth0"))
    journal = Journal(1, 2, "eth0", "station x", rest=[1, 2])
    assert list(undo._deleted(journal, "vlan")) == ["streams deleted"]
    assert deleted == ["streams"]


def test_a_card_that_something_is_built_on_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whose frames would be lost, and the connection over it, which nobody would watch."""
    monkeypatch.setattr(taken, "above", lambda name, with_peer: ["br0", "eth0.5", "rt0"])
    for module in (before, taken):
        monkeypatch.setattr(module, "ip", lambda *words: json.dumps([{"flags": ["UP"]}]))
    setup = Setup("of a plan", "eth0", "rt0", (), (TakeRoutes("eth0", "rt0"),))
    with pytest.raises(EnvironmentProblemError, match=r"eth0 has br0, eth0\.5 built on it"):
        before.check_ways(setup)
    # qdiscs alone leave it its own way
    assert before.check_ways(Setup("of a plan", "eth0", "eth0", (), ())) == []
    for masquerades in (False, True):
        monkeypatch.setattr(before, "check_alone", lambda nic, device, told=masquerades: told)
        said = before.check_ways(setup)
        assert len(said) == masquerades
        assert not said or "# connections that the firewall masquerades by eth0 end" in said[0]


def test_a_watcher_that_was_killed_before_it_is_told_the_time_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, its = socket.socketpair()
    its.close()
    undone: list[str] = []
    journal: Any = SimpleNamespace(path="journal", begun=0, mark=None, nic="eth0")
    monkeypatch.setattr(command, "_watched", lambda journal, lock: ours)
    monkeypatch.setattr(command.journals, "save", lambda journal: None)
    monkeypatch.setattr(command.journals, "read", lambda path: None)
    monkeypatch.setattr(command.undo, "undo", lambda journal: undone.append("undone") or [])
    setup = Setup("of a plan", "eth0", "rt0", (), ())
    end = command._carried_out(journal, setup, -1, ("settle", 3), "", undone.append)
    assert end["verdict"] == "undo" and "was killed" in end["why"]
    assert undone == ["undone"]
