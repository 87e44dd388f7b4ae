# SPDX-License-Identifier: BSD-3-Clause
"""`keepon unbind` takes the unit of `keepon bind --persistent` away, however the card is."""

from __future__ import annotations

from pathlib import Path

import pytest
from keepon.errors import ConfigError
from keepon.linux import bind, persistent


def files(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.rglob("*") if not each.is_dir())


@pytest.fixture(autouse=True)
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(persistent, "UNITS", tmp_path)
    monkeypatch.setattr(persistent, "WANTS", tmp_path / "multi-user.target.wants")
    monkeypatch.setattr(persistent, "RUNNING", tmp_path / "no systemd")
    return tmp_path


def test_of_a_card_that_the_kernels_driver_has(
    units: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given back by hand, or our module is missing on a new kernel."""
    card = bind.Card("eth0", Path("/sys/devices/none"), "pci", "e1000e")
    monkeypatch.setattr(bind, "find", lambda _name: card)
    persistent.keep("eth0")
    persistent.keep("eth1")
    assert len(files(units)) == 6
    said = bind._unbound("eth0", 1.0)
    assert said.startswith("eth0: at no boot with Keepon's driver any more (argument NAME = ")
    assert "is with e1000e, no driver of Keepon" in said
    assert [each for each in files(units) if "eth0" in each] == []
    assert len(files(units)) == 3
    with pytest.raises(ConfigError, match="no driver of Keepon; nothing to give back"):
        bind._unbound("eth0", 1.0)


def test_of_a_card_that_has_been_taken_out(units: Path) -> None:
    persistent.keep("nowhere0")
    assert "is no interface here" in bind._unbound("nowhere0", 1.0)
    assert files(units) == []
    with pytest.raises(ConfigError, match="is no interface here"):
        bind._unbound("nowhere0", 1.0)
