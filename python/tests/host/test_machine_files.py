# SPDX-License-Identifier: BSD-3-Clause
"""/etc/keepon/NAME.toml: what it may say, and what its units get of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from keepon.cli import edge, machine_commands
from keepon.errors import ConfigError, KeeponError
from keepon_host import journal
from keepon_host.start import steps

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
    setup = machine_commands.boot_setup("machine")
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
        ("", 'key `schema` is missing; the first line must be schema = "keepon.machine/1"'),
        (
            FIRST + "keepon_devise = 1\n" + LINK,
            ":3: key `keepon_devise` = 1: unknown key; did you mean",
        ),
        (FIRST.replace("eth1", "no such one") + LINK, ':2: key `iface` = "no such one": '),
        (FIRST, "tables [plan] and [link] are both missing; add one"),
        (FIRST + LINK + PLAN, "tables [plan] and [link] are both there; keep one of them"),
        (
            FIRST + LINK + "rate_mbps = 7\n",
            ":4: key `link.rate_mbps` = 7: must be one of 10, 100, 1000, 2500, 5000, 10000; write"
            " the number without quotes",
        ),
        (FIRST + LINK + 'rate_mbps = "100"\n', '= "100": must be one of 10, 100, 1000,'),
        (
            FIRST.replace("eth1", "eth0/x") + LINK,
            'key `iface` = "eth0/x": must be a letter or digit, then letters, digits and . _ -'
            " (15 at most)",
        ),
        (FIRST + 'driver = "own"\n' + LINK, ':3: key `driver` = "own": must be one of "auto"'),
        (FIRST + LINK + 'ptp = "slave"\n', ':4: key `link.ptp` = "slave": must be one of "none"'),
        (FIRST + LINK + 'options = "slot_bytes x"\n', ':4: key `link.options` = "slot_bytes x": '),
        (FIRST + LINK + "options = 'slot_bytes \"1'\n", "no closing quotation; write the options"),
        (FIRST + 'keepon_device = "eth1"\n' + LINK, ':3: key `keepon_device` = "eth1": must diff'),
        (FIRST + PLAN.replace('station = "a"\n', ""), "key `plan.station` is missing; add it"),
        (FIRST + PLAN, "cell.toml: cannot be read"),
    ],
)
def test_what_is_wrong_is_refused_with_file_line_and_key(
    folder: Path, text: str, sentence: str
) -> None:
    (folder / "machine.toml").write_text(text)
    with pytest.raises(KeeponError) as caught:
        machine_commands.boot_setup("machine")
    said = edge._placed(str(caught.value))
    assert sentence in said and str(folder) in said, said


@pytest.mark.parametrize("name", ["../eth0", "", "a/b", "a b", ".hidden"])
def test_a_name_that_leaves_the_folder_is_refused(name: str) -> None:
    with pytest.raises(ConfigError, match="must be the name of a file in"):
        journal.boot_file(name)
