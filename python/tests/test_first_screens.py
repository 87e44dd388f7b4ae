# SPDX-License-Identifier: BSD-3-Clause
"""What `keepon plan` and `keepon run` show of a cell of one PLC, six drives, two cameras and three
switches: at 80 and 120 columns as in python/tests/screens/, and what each line is worth.

To write the screens again: `KEEPON_SCREENS=write pytest python/tests/test_first_screens.py`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import Any

import pytest
from keepon import _sim
from keepon.cli import plan_command
from keepon.errors import EXIT_MET, EXIT_MISSED
from keepon.measure import causes
from keepon.measure.results import SENT_VERDICTS
from keepon.model import loading
from keepon.model.names import ranged
from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.planner.network.plan import plan as make_plan
from keepon.report import screen

CELL = Path(__file__).parent / "cases" / "cell.toml"
SCREENS = Path(__file__).parent / "screens"
ROOT = Path(__file__).parents[2]
LINES_MAX = 40
pytestmark = pytest.mark.slow
# Advances too short for hosts that are late a hundred times as often, and cameras of 900 Mb/s.
CROWDED = (
    CELL.read_text()
    .replace("advance_ns = 200_000", "advance_ns = 120_000")
    .replace("rate_bps = 200_000_000", "rate_bps = 900_000_000")
    .replace('host = "raspberry-pi-4"', "host = { wakeup = { tail_probability = 0.01 } }")
)


def planned(text: str) -> tuple[Scenario, Plan]:
    scenario = loading.parse(text, "cell.toml")
    return scenario, make_plan(scenario)


def same_as_kept(name: str, printed: str) -> None:
    """The screen is the one that is kept; times are those of this machine."""
    steady = re.sub(r"planned in [0-9.]+ s", "planned in N s", printed)
    path = SCREENS / f"{name}.txt"
    if os.environ.get("KEEPON_SCREENS") == "write":
        path.write_text(steady)
    assert steady == path.read_text()


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("name", ["plan", "plan-crowded"])
def test_the_first_screen(
    name: str,
    columns: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    file = tmp_path / "cell.toml"
    file.write_text(CELL.read_text() if name == "plan" else CROWDED)
    assert keepon("plan", file) == EXIT_MET
    printed = capsys.readouterr().out
    assert len(printed.splitlines()) <= LINES_MAX
    assert max(map(len, printed.splitlines())) <= columns
    same_as_kept(f"{name}-{columns}", printed)


@pytest.mark.parametrize("columns", [80, 120])
def test_the_screen_of_a_run(
    columns: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.chdir(tmp_path)
    Path("cell.toml").write_text(CROWDED)
    assert keepon("run", "cell.toml", "--out", "out") == EXIT_MISSED
    same_as_kept(f"run-{columns}", capsys.readouterr().out)


def test_make_run_shows_what_it_is_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """An ordinary driver misses a deadline and Keepon none, and README says by how much."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    example = ROOT / "examples" / "plain-cell.toml"
    assert keepon("run", example) == EXIT_MET
    same_as_kept("make-run-80", capsys.readouterr().out)
    monkeypatch.setenv("COLUMNS", "120")
    assert keepon("report", "out/plain-cell", "--picture", "it.svg") == EXIT_MET
    same_as_kept("make-run-120", capsys.readouterr().out)
    result = json.loads(Path("out/plain-cell/result.json").read_text())
    assert all(stream["by_deadline"] == "met" for stream in result["runs"][0]["streams"].values())
    late = result["runs"][1]["streams"]["act-drive2"]
    check = late["bound_check"]["deadline_ns"]
    assert late["by_deadline"] == "missed"
    readme = (ROOT / "README.md").read_text()
    assert f"up to {(check['worst_ns'] - check['bound_ns']) / 1000:.0f} µs past" in readme
    drawn, kept = (
        re.findall(r">([^<>]+)</text>", path.read_text())
        for path in (Path("it.svg"), ROOT / "docs" / "plain-cell.svg")
    )
    assert drawn == kept


def test_following_the_remedy_brings_every_frame(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """The plan knows how early is early enough; with that, not one is late."""
    file, out = tmp_path / "cell.toml", tmp_path / "out"
    file.write_text(CROWDED)
    assert keepon("run", file, "--out", out) == EXIT_MISSED
    (run,) = json.loads((out / "result.json").read_text())["runs"]
    late = next(row for row in run["causes"] if row["cause"] == "late")
    assert late["frames"].keys() == late["advances_ns"].keys()
    assert sum(late["frames"].values()) == sum(
        entry["missing"] for entry in run["streams"].values()
    )
    said = " ".join(capsys.readouterr().out.split())
    page = (out / "report.html").read_text()
    for name, advance_ns in late["advances_ns"].items():
        text = file.read_text()
        own = text.index(f'id = "{name}"')
        file.write_text(text[:own] + text[own:].replace("120_000", str(advance_ns), 1))
        assert f"{late['frames'][name]} of {name}" in said and f"{advance_ns}" in said
    assert causes.text(late) in said and causes.text(late) in page
    assert keepon("run", file, "--out", out) == EXIT_MET


def test_warnings_have_what_helps_and_following_it_ends_them() -> None:
    scenario, plan = planned(CROWDED)
    found = screen.warnings(scenario, plan)
    assert any("get1..6 come late" in line for line in found)
    assert any(line.startswith("sw1 to plc, sw2 to sw1, sw3 to sw2: best") for line in found)
    enough = max(
        int(match) for line in found for match in re.findall(r"raise advance_ns to (\d+)", line)
    )
    text = CROWDED.replace("120_000", str(enough)).replace("900_000_000", "400_000_000")
    # A longer advance leaves room for no MTU of 1500.
    assert [line for line in screen.warnings(*planned(text)) if ": MTU 1369 left" not in line] == []


def test_a_link_with_more_than_there_is_is_in_red(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "cell.toml"
    file.write_text(CROWDED)
    lines = on_terminal(80, {"TERM": "xterm"}, "plan", file)
    red = re.findall(r"\x1b\[31m(\S+ to \S+)", "\n".join(lines))
    assert red == ["sw1 to plc", "sw2 to sw1", "sw3 to sw2"]
    assert len(lines) <= LINES_MAX


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("ideal", 'clocks assumed perfect (sync.mode = "ideal")'),
        ("none", "no common clock: each station runs on its own crystal"),
        ("gptp", "needs clocks within 5 us: gPTP"),
    ],
)
def test_what_the_plan_needs(mode: str, said: str) -> None:
    scenario, plan = planned(CELL.read_text())
    changed = scenario.sync.model_copy(update={"mode": mode, "grandmaster": "sw1"})
    other = scenario.model_copy(update={"sync": changed})
    switches, clocks = screen.needs(other, plan)
    assert clocks == said
    lists = [port["entries"] for bridge in plan["bridges"].values() for port in
             bridge["ports"].values()]  # fmt: skip
    most, shortest = max(map(len, lists)), min(row["ns"] for rows in lists for row in rows)
    assert switches == (
        f"needs 3 switches with 802.1Qbv: at most {most} entries, shortest {shortest} ns,"
        " length-aware gates"
    )


def test_every_part_of_the_plan_can_be_seen(capsys: pytest.CaptureFixture[str]) -> None:
    scenario, plan = planned(CELL.read_text())

    def shown(**asked: Any) -> str:
        plan_command._show(scenario, plan, plan_command.Shown(**asked))
        return " ".join(capsys.readouterr().out.split())

    whole = shown(everything=True)
    for row in plan["stations"]["plc"]["rationale"]:
        assert row["why"] in whole and row["why"] in shown(why="plc")
        assert row["why"] not in shown()
    for name, entry in plan["streams"].items():
        assert f"{entry['release_ns']} {entry['bounds']['release_error_ns']}" in whole, name
    assert "drive1" not in shown(why="plc")
    assert "sw1 plc 1000 19 480" in whole and "sw1 plc 1000 19 480" in shown(gates=True)
    assert "more: --why STATION, --gates, --all" in shown()
    assert shown(quiet=True) == shown()[: len(shown(quiet=True))]


def test_names_are_ranges_where_they_can_be() -> None:
    assert ranged(["a1", "a2", "a3", "b", "a4", "a05", "a06", "7"]) == "a1..3, b, a4, a05, a06, 7"
    assert ranged([]) == ""


def test_every_cause_is_in_the_guide() -> None:
    """docs/troubleshooting.md has each: what it looks like, its remedy."""
    ended = {*_sim.verdict_names()} - {*SENT_VERDICTS}
    assert ended <= causes.MEANINGS.keys()
    guide = (ROOT / "docs" / "troubleshooting.md").read_text()
    for cause, (meaning, remedy) in causes.MEANINGS.items():
        assert f"| `{cause.strip()}`" in guide and meaning in guide and remedy in guide


def on_terminal(columns: int, more: dict[str, str], *command: str | Path) -> list[str]:
    """Lines of the command on a terminal of that width."""
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    kept = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-m", "keepon", *map(str, command)],
        stdout=far, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, env={**kept, **more},
    ) as program:  # fmt: skip
        os.close(far)
        text = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(near, 65536):
                text += part
        os.close(near)
    assert program.returncode == 0
    return text.decode().splitlines()


@pytest.mark.parametrize("columns", [80, 40])
def test_a_plan_on_a_terminal(columns: int) -> None:
    lines = on_terminal(columns, {"NO_COLOR": "1", "TERM": "dumb"}, "plan", CELL)
    assert len(lines) <= LINES_MAX or columns < 80
    # A line is longer only where a single word is.
    assert all(len(line) <= columns or len(line.split()) == 1 for line in lines)
