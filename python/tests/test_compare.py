# SPDX-License-Identifier: BSD-3-Clause
"""`keepon compare`: related results only, what differs is said, and a page with both over each
other.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from browser import Browser
from helpers import TWO_STATIONS
from keepon.cli import app as cli
from keepon.errors import EXIT_ENVIRONMENT, EXIT_INPUT, EXIT_MET, EXIT_MISSED

Keepon = Callable[..., tuple[int, str, str]]
LATE = '\n[[fault]]\nkind = "late-submit"\nnode = "talker"\nat_s = 0.25\nvalue_ns = 9_000_000\n'


@pytest.fixture
def keepon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Keepon:
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["keepon", *map(str, words)])
        code = cli.main()
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def run(keepon: Keepon, folder: str, more: str = "", **changes: str) -> None:
    text = TWO_STATIONS.read_text() + more
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    Path(f"{folder}.toml").write_text(text)
    words = ("--duration", 0.2, "--capture-frames", 0, "--out", folder)
    assert keepon("run", f"{folder}.toml", *words)[0] in (EXIT_MET, EXIT_MISSED)


@pytest.mark.slow
def test_the_page_has_both_runs_over_each_other_and_says_which_is_worse(keepon: Keepon) -> None:
    run(keepon, "a")
    run(
        keepon,
        "b",
        LATE,
        **{"seed = 1": "seed = 2"} if "seed = 1" in TWO_STATIONS.read_text() else {},
    )
    code, out, _ = keepon("compare", "a", "b", "--out", "c.html")
    assert (code, "page: c.html" in out) == (EXIT_MISSED, True)
    with Browser() as browser:
        for width in (400, 800, 1400):
            browser.open(Path("c.html"), width, dark=width == 800)
            assert browser.complaints() == []
            assert browser.does("document.documentElement.scrollWidth") <= width
            shown = "#stream-S1-keepon-time path.curve.bars"
            names = browser.does(
                f"[...document.querySelectorAll('{shown}')].map((p) => p.dataset.name)"
            )
            assert sorted(names) == ["a", "b"]
            assert "1 of 1 worse than in a" in browser.does(
                "document.querySelector('.verdict').textContent"
            )
    assert keepon("compare", "b", "a")[0] == EXIT_MET


@pytest.mark.slow
def test_a_result_is_not_worse_than_itself(keepon: Keepon) -> None:
    """Also where no delay is known, as with clocks that run free in target vm."""
    run(keepon, "a")
    code, out, _ = keepon("compare", "a", "a", "--json")
    assert (code, len(json.loads(out)["rows"][0]["max_ns"])) == (EXIT_MET, 2)
    path = Path("a/result.json")
    document = json.loads(path.read_text())
    (run_of_a,) = document["runs"]
    stream = run_of_a["streams"]["S1"]
    stream["delay_ns"].update(dict.fromkeys(stream["delay_ns"]), count=0)
    for check in stream["bound_check"].values():
        check.update(worst_ns=None, met=False, outcome="nothing checked")
    for entry in (stream, run_of_a):
        entry["outcome"] = "nothing checked"
    path.write_text(json.dumps(document))
    assert keepon("compare", "a", "a")[0] == EXIT_MET


@pytest.mark.slow
def test_streams_that_only_have_their_name_in_common_are_not_compared(keepon: Keepon) -> None:
    run(keepon, "a")
    run(keepon, "b", **{'"talker"': '"sender"'})
    code, _, err = keepon("compare", "a", "b", "--out", "c.html")
    assert code == EXIT_INPUT and not Path("c.html").exists()
    assert "stream S1 has talker talker in a and sender in b; name results of one scenario" in err


@pytest.mark.slow
def test_scenarios_that_share_few_streams_are_not_compared(keepon: Keepon) -> None:
    """Those of `keepon new` all have streams of the same names."""
    for shape, count in ("line", "2"), ("star", "9"):
        assert keepon("new", shape, f"{shape}.toml", "--stations", count)[0] == 0
        keepon("run", f"{shape}.toml", "--duration", "0.02", "--out", shape)
    code, _, err = keepon("compare", "line", "star")
    assert code == EXIT_INPUT and len(err.splitlines()) == 1
    assert "streams of star are in all; name results of one scenario" in err


@pytest.mark.slow
def test_a_scenario_that_has_grown_is_compared_with_what_it_was(keepon: Keepon) -> None:
    assert keepon("new", "line", "less.toml", "--stations", "3")[0] == 0
    text = Path("less.toml").read_text().replace('name = "', 'name = "more-', 1)
    stream = "[[stream]]" + text.split("[[stream]]")[1].split("\n[[")[0]
    name = next(line for line in stream.splitlines() if line.startswith("id ="))
    for number in range(8):
        text += stream.replace(name, f'id = "extra{number}"') + "\n"
    Path("more.toml").write_text(text)
    for each in "less", "more":
        keepon("run", f"{each}.toml", "--duration", "0.02", "--out", each)
    assert keepon("compare", "less", "more")[0] in (0, 1)
    assert keepon("compare", "more", "less")[0] in (0, 1)


@pytest.mark.slow
def test_what_differs_is_said(keepon: Keepon) -> None:
    run(keepon, "a")
    run(keepon, "b", **{"period_ns = 1_000_000": "period_ns = 2_000_000"})
    _, out, _ = keepon("compare", "a", "b")
    assert "stream S1 differs in period_ns: 1000000, 2000000" in out
    assert len(keepon("compare", *["a"] * 8)[2].splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("place", ["absent/c.html", "folder", "/dev/full/c.html"])
def test_a_page_that_cannot_be_written_is_one_sentence_and_leaves_nothing(
    keepon: Keepon, place: str
) -> None:
    run(keepon, "a")
    Path("folder").mkdir()
    before = sorted(Path().iterdir())
    code, out, err = keepon("compare", "a", "a", "--out", place)
    assert (code, out) == (EXIT_ENVIRONMENT, "")
    assert err.startswith(f"keepon: {place}: cannot be written (")
    assert len(err.splitlines()) == 1 and sorted(Path().iterdir()) == before


@pytest.mark.slow
def test_a_report_that_cannot_be_written_leaves_the_earlier_one(keepon: Keepon) -> None:
    run(keepon, "a")
    page = Path("a/report.html")
    page.unlink()
    page.mkdir()
    code, _, err = keepon("report", "a")
    assert code == EXIT_ENVIRONMENT and "cannot be written" in err
    assert sorted(path.name for path in Path("a").iterdir() if path.name.startswith(".")) == []


@pytest.mark.slow
def test_what_else_differs_is_said(keepon: Keepon) -> None:
    run(keepon, "a")
    load = '\n[[load]]\nid = "B1"\ntalker = "talker"\nlistener = "listener"\nkind = "saturate"\n'
    run(keepon, "b", load)
    text = (
        Path("b.toml").read_text().replace('name = "listener"', 'name = "listener"\ncpu_ppm = 3.0')
    )
    Path("c.toml").write_text("warmup_s = 0.1\n" + text.replace("warmup_s", "# warmup_s"))
    words = ("--duration", 0.1, "--capture-frames", 0, "--out", "c")
    assert keepon("run", "c.toml", *words)[0] in (EXIT_MET, EXIT_MISSED)
    out = keepon("compare", "a", "b")[1]
    assert "not the same: load B1" in out and "duration_s" not in out and "station" not in out
    out = keepon("compare", "a", "c")[1]
    assert "not of one duration_s: 0.2, 0.1" in out and "not of one warmup_s: " in out
    assert "not the same: station listener: cpu_ppm" in out


@pytest.mark.slow
def test_whatever_delays_depend_on_is_said(keepon: Keepon) -> None:
    """Of a new part of a scenario too: none is named for it."""
    run(keepon, "a")
    text = Path("a.toml").read_text().replace("advance_ns = 200_000", "advance_ns = 300_000")
    more = "host_tail_scale = 0.5\n" + text
    more += "\n[defaults]\npropagation_ns = 3_000\n\n[planner]\nroutes = 4\n"
    Path("b.toml").write_text(more)
    words = ("--duration", 0.2, "--capture-frames", 0, "--out", "b")
    assert keepon("run", "b.toml", *words)[0] in (EXIT_MET, EXIT_MISSED)
    out = " ".join(keepon("compare", "a", "b")[1].split())
    for sentence in (
        "not of one host_tail_scale: 1.0, 0.5",
        "not the same: defaults.propagation_ns (50, 3000)",
        "not the same: planner.routes (3, 4)",
        "differs in advance_ns: 200000, 300000",
    ):
        assert sentence in out, out
