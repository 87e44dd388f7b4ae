# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link add` beside something that sets every new device up."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from keepon.errors import EnvironmentProblemError
from keepon.linux.link import added
from test_link_raised import inline


class Machine:
    """A card with an address, and a link that something may set up with addresses."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.up, self.addresses, self.client, self.back = False, [], "", True
        self.deleted: list[str] = []
        commands = SimpleNamespace(add=lambda *words: "made", delete=self.deleted.append)
        monkeypatch.setattr(added, "commands", commands)
        monkeypatch.setattr(added, "ip", self.ip)
        monkeypatch.setattr(added, "client_over", lambda name: self.client)
        monkeypatch.setattr(added, "answers", lambda client: self.back)
        monkeypatch.setattr(added, "until", lambda deadline_s, found: found())
        monkeypatch.setattr(added, "MANAGERS", (str(folder),))
        monkeypatch.setattr(added, "guarded", inline)
        numbers = {"if_nametoindex": lambda name: 7, "if_indextoname": lambda number: "lan7"}
        monkeypatch.setattr(added, "socket", SimpleNamespace(**numbers))

    def ip(self, *words: str) -> str:
        has = ["192.0.2.1"] if words[-1] == "eth0" else self.addresses
        shown = [{"local": each, "scope": "global"} for each in has]
        return json.dumps([{"flags": ["UP"] if self.up else [], "addr_info": shown}])


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    return Machine(monkeypatch, tmp_path)


def test_a_link_that_nobody_sets_up_is_there(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert added.add("eth0", "rt0", []) == "made"
    assert (machine.deleted, capsys.readouterr().err) == ([], "")


def test_one_that_is_meant_to_be_up_is_told_of(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.up, machine.addresses = True, ["192.0.2.77"]
    assert added.add("eth0", "rt0", []) == "made"
    assert "nothing that eth0 sends itself leaves while it is up" in capsys.readouterr().err
    assert machine.deleted == []


def test_one_that_gets_the_cards_addresses_is_deleted(machine: Machine) -> None:
    machine.up, machine.addresses = True, ["192.0.2.1"]
    with pytest.raises(
        EnvironmentProblemError, match=r"with 192\.0\.2\.1 of eth0: .*; rt0 is deleted"
    ):
        added.add("eth0", "rt0", [])
    assert machine.deleted == ["lan7"]  # as it is called by then


def test_one_that_cuts_the_connection_is_deleted(machine: Machine) -> None:
    machine.up, machine.client, machine.back = True, "192.0.2.9", False
    with pytest.raises(EnvironmentProblemError, match=r"192\.0\.2\.9 does not answer any more"):
        added.add("eth0", "rt0", [])
    assert machine.deleted == ["lan7"]  # as it is called by then


def test_without_anything_that_configures_devices_nothing_is_waited_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.up, machine.addresses = True, ["192.0.2.1"]
    monkeypatch.setattr(added, "MANAGERS", ("/nowhere",))
    assert added.add("eth0", "rt0", []) == "made"


def test_whoever_is_ended_while_it_is_looked_for_leaves_no_link(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal that is closed as it does not answer any more."""

    def ended(*words: str) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(added, "ip", ended)
    with pytest.raises(KeyboardInterrupt):
        added.add("eth0", "rt0", [])
    assert machine.deleted == ["lan7"]
