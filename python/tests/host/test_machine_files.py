# SPDX-License-Identifier: BSD-3-Clause
"""/etc/keepon/NAME.toml: what it may say, and what its units get of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from keepon_host import journal
from keepon_host.errors import ConfigError
from keepon_host.start import boot, direct, steps

FIRST = 'schema = "keepon.machine/1"\niface = "eth1"\n'
LINK = "[link]\n"
PLAN = '[plan]\nfile = "plan.json"\nscenario = "cell.toml"\nstation = "a"\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(journal, "UNITS", tmp_path)
    return tmp_path


def test_a_link_without_a_plan_has_its_programs_in_files(folder: Path) -> None:
    text = (
        FIRST
        + LINK
        + 'options = "slot_bytes 1230 partition 250 class 7 slots 0-240/10"\nptp = "lead"\n'
    )
    (folder / "machine.toml").write_text(text)
    setup = direct.for_units(boot.setup(boot.load(folder / "machine.toml")), "machine")
    assert (setup.nic, setup.device) == ("eth1", "rt0")
    (link,) = [step for step in setup.steps if isinstance(step, steps.AddKeepon)]
    assert " ".join(link.options) == "slot_bytes 1230 partition 250 class 7 slots 0-240/10"
    (queues,) = [step for step in setup.steps if isinstance(step, steps.RootQueues)]
    assert " num_tc 8 map 0 0 0 0 0 0 0 7 0 " in " ".join(queues.words)
    assert not any(isinstance(step, steps.Ptp4l | steps.Phc2sys) for step in setup.steps)
    written = {step.path: step.text for step in setup.steps if isinstance(step, steps.WriteFile)}
    config = written["/run/keepon/machine-ptp4l.cfg"]
    assert "priority1 100\n" in config and config.endswith("[eth1]\n") and "slave" not in config
    assert written["/run/keepon/machine-ptp4l.env"] == "OPTIONS=-H\n"
    assert written["/run/keepon/machine-phc2sys.env"].startswith("OPTIONS=-s rt0 -c CLOCK_REAL")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", 'key `schema` is missing; must be one of "keepon.machine/1"'),
        ("iface = eth1", ": cannot be read as TOML: "),
        (
            FIRST + "keepon_devise = 1\n" + LINK,
            ": key `keepon_devise` = 1: unknown key; did you mean",
        ),
        (FIRST.replace("eth1", "no such one") + LINK, ': key `iface` = "no such one": '),
        (FIRST, "one of [plan], [steps] and [link] is missing; add it"),
        (FIRST + LINK + PLAN, "tables [plan] and [link] are there; keep one of them"),
        (
            FIRST + LINK + "rate_mbps = 7\n",
            ": key `link.rate_mbps` = 7: must be one of 10, 100, 1000, 2500, 5000, 10000",
        ),
        (FIRST + LINK + 'rate_mbps = "100"\n', '= "100": must be one of 10, 100, 1000,'),
        (
            FIRST.replace("eth1", "eth0/x") + LINK,
            'key `iface` = "eth0/x": must be a letter or digit, then letters, digits and . _ -'
            " (15 at most)",
        ),
        (FIRST + 'driver = "own"\n' + LINK, ': key `driver` = "own": must be one of "auto"'),
        (FIRST + LINK + 'ptp = "slave"\n', ': key `link.ptp` = "slave": must be one of "none"'),
        (FIRST + LINK + 'options = "slot_bytes x"\n', ': key `link.options` = "slot_bytes x": '),
        (FIRST + LINK + "options = 'slot_bytes \"1'\n", "no closing quotation; write the options"),
        (FIRST + 'keepon_device = "eth1"\n' + LINK, ': key `keepon_device` = "eth1": must diff'),
        (
            FIRST + PLAN.replace('station = "a"\n', ""),
            "key `plan.station` is missing; must be a text in quotes",
        ),
        (FIRST + PLAN + "link = 3\n", "key `plan.link` = 3: unknown key; known are file, scen"),
        ("link = 3\n" + FIRST, "key `link` = 3: must be a table"),
    ],
)
def test_what_is_wrong_is_refused_with_file_line_and_key(
    folder: Path, text: str, sentence: str
) -> None:
    (folder / "machine.toml").write_text(text)
    with pytest.raises(ConfigError) as caught:
        boot.setup(boot.load(folder / "machine.toml"))
    said = str(caught.value)
    assert sentence in said and said.startswith(str(folder / "machine.toml: ")), said


def test_steps_made_elsewhere_are_those_of_their_card(folder: Path) -> None:
    made = direct.direct("a", "eth1", "rt0", 1000, (), "none")
    (folder / "a.json").write_text(json.dumps(steps.to_document(made)))
    text = FIRST + '[steps]\nfile = "a.json"\n'
    (folder / "machine.toml").write_text(text)
    assert boot.setup(boot.load(folder / "machine.toml")) == made
    (folder / "machine.toml").write_text(text.replace("eth1", "eth2"))
    with pytest.raises(
        ConfigError, match=r'key `iface` = "eth2": must be eth1, the card of the st'
    ):
        boot.setup(boot.load(folder / "machine.toml"))


@pytest.mark.parametrize("name", ["../eth0", "", "a/b", "a b", ".hidden"])
def test_a_name_that_leaves_the_folder_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="must be the name of a file in"):
        journal.boot_file(name)
