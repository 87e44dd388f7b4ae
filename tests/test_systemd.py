# SPDX-License-Identifier: BSD-3-Clause
"""The units of systemd/, started by systemd itself in a container of namespaces.

It sees this machine's files, read-only; so it runs in `make soak`, and not on every desk in `make
test`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from keepon.cli import session
from keepon.model import loading

HERE = Path(__file__).parent
UNITS = HERE.parent / "systemd"
KEEPON = Path(sys.executable).parent / "keepon"
EXAMPLE = HERE.parent / "examples" / "gptp.toml"


def scenario_text() -> str:
    """The example with ordinary cards on links as fast as a veth, and PTP between them."""
    text = EXAMPLE.read_text().replace('driver = "under-test"', 'driver = "standard"')
    text = re.sub(r"\n\[compare\]\n(.+\n)*", "\n", text)
    text = re.sub(r"\n\[station\.keepon\]\n(.+\n)*", "\n", text)
    return text.replace("[sync]", "[defaults]\nrate_bps = 10_000_000_000\n\n[sync]", 1)


@pytest.fixture(scope="module")
def container(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the checks in the container have left."""
    folder = tmp_path_factory.mktemp("systemd")
    text = scenario_text()
    (folder / "cell.toml").write_text(text)
    scenario = loading.parse(text, "cell.toml")
    (folder / "plan.json").write_text(json.dumps(session.planned(scenario)))
    first = 'schema = "keepon.machine/1"\niface = "eth0"\n'
    plan = '[plan]\nfile = "plan.json"\nscenario = "cell.toml"\nstation = "listener"\n'
    (folder / "eth0.toml").write_text(first + plan)
    (folder / "wrong.toml").write_text(first + "[link]\nrate_mbps = 7\n")
    (folder / "both.toml").write_text(first + plan + "[link]\n")
    words = ["--mount", "--net", "--pid", "--uts", "--ipc", "--cgroup", "--fork", "--mount-proc"]
    apart = [] if os.geteuid() == 0 else ["--map-root-user"]
    done = subprocess.run(
        ["unshare", *apart, *words, "sh", HERE / "systemd_units.sh"],
        env={**os.environ, "CONTAINER": str(folder), "KEEPON": str(KEEPON), "UNITS": str(UNITS)},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    print(done.stdout, done.stderr)
    said = folder / "said"
    assert said.is_file() and "\nfinished\n" in said.read_text(), (done, said)
    return folder


def said_by(container: Path) -> dict[str, str]:
    lines = (container / "said").read_text().splitlines()
    return {name: rest.strip() for name, _, rest in (line.partition(" ") for line in lines)}


@pytest.mark.soak
def test_a_link_and_its_ptp_are_up_before_the_network(container: Path) -> None:
    found = said_by(container)
    assert (container / "at-network").read_text() == "up\n"
    assert found["active"] == "active"
    assert found["ptp4l"] == "active" and found["running"] == "1"
    assert found["phc2sys"] == "inactive", "a veth has no clock that could be followed"


@pytest.mark.soak
def test_a_stopped_unit_puts_all_back(container: Path) -> None:
    found = said_by(container)
    assert found["stopped"] == "inactive" and found["restarted"] == "active"
    before = (container / "before").read_text()
    assert "ptp4l" not in before
    assert (container / "after-stop").read_text() == before


@pytest.mark.soak
@pytest.mark.parametrize(("fault", "result"), [("unplugged", "exit-code"), ("killed", "signal")])
def test_a_start_that_fails_puts_all_back(container: Path, fault: str, result: str) -> None:
    assert said_by(container)[fault] == result
    assert (container / f"after-{fault}").read_text() == (container / "before").read_text()


@pytest.mark.soak
def test_a_wrong_file_is_refused_in_one_sentence(container: Path) -> None:
    found = said_by(container)
    for name, sentence in (
        ("wrong", "keepon: /etc/keepon/wrong.toml:4: key `link.rate_mbps` = 7: must be one of"),
        ("both", "keepon: /etc/keepon/both.toml: tables [plan] and [link] are both there; keep"),
        ("none", "keepon: /etc/keepon/none.toml: cannot be read (No such file or directory)"),
        ("odd", 'keepon: option --boot = "../eth0": must be the name of a file in /etc/keepon'),
    ):
        assert found[name].startswith(sentence), found[name]


def test_systemd_finds_nothing_wrong_with_the_units(tmp_path: Path) -> None:
    for unit in UNITS.glob("*.service"):
        text = unit.read_text().replace("/usr/bin/keepon", str(KEEPON))
        (tmp_path / unit.name).write_text(re.sub(r"^Documentation=.*\n", "", text, flags=re.M))
    done = subprocess.run(
        ["systemd-analyze", "verify", *map(str, sorted(tmp_path.glob("*.service")))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
