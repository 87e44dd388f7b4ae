# SPDX-License-Identifier: BSD-3-Clause
"""The report in a browser: nothing complains, every plot is there, nothing is cut at any width, all
can be read in both schemes, zooming shows more.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CUT, Browser, schemes_of_a_whole_page
from helpers import HABITAT, ROBOT_CELL, TWO_STATIONS, small_text
from keepon.cli import session
from keepon.model import loading
from keepon.model.loading import parse

LATE = '\n[[fault]]\nkind = "late-submit"\nnode = "talker"\nat_s = 0.35\nvalue_ns = 900_000\n'
NAMES = ("habitat", "robot-cell", "gptp", "gateway", "three-stations", "late", "nothing", "long")

# Plots without a curve within their axes, without size or without values beside an axis.
EMPTY = """[...document.querySelectorAll('figure.panel')].filter((f) => {
  const size = f.querySelector('.area svg').getBoundingClientRect();
  const drawn = [...f.querySelectorAll('path.curve:not(.limit):not(.feet)')];
  const seen = drawn.filter((p) => { const b = p.getBBox(), v = p.ownerSVGElement.viewBox.baseVal;
    return b.x <= v.x + v.width && b.x + b.width >= v.x
      && -b.y - b.height <= v.y + v.height && -b.y >= v.y; });
  return f.getClientRects().length && (size.height < 50 || size.width < 100 || !seen.length
    || f.querySelectorAll('.ticks.x span').length < 2);
}).map((f) => f.id)"""


def write(folder: Path, name: str) -> None:
    texts = {"late": TWO_STATIONS.read_text() + LATE}
    texts["nothing"] = TWO_STATIONS.read_text().replace(
        "period_ns = 1_000_000", "period_ns = 1_000_000_000"
    )
    texts["long"] = small_text()
    for short, letters in (("a", "W"), ("b", "station-of-line."), ("br1", "MgOQ_0")):
        texts["long"] = texts["long"].replace(f'"{short}"', f'"{(letters * 60)[:60]}"')
    if name in texts:
        scenario = parse(texts[name], name)
        few: dict[str, Any] = {"duration_s": 0.4}
    else:
        path = {"habitat": HABITAT, "robot-cell": ROBOT_CELL}.get(
            name, HABITAT.with_name(f"{name}.toml")
        )
        scenario = loading.load(path)
        few = {"duration_s": 0.3, "warmup_s": min(scenario.warmup_s, 2.0)}
    scenario = scenario.model_copy(update=few)
    session.run_scenario(scenario, session.planned(scenario), folder, 1, 0, None)


class Pages(dict[str, Path]):
    """Each is made when a test first asks for it."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __missing__(self, name: str) -> Path:
        write(self.root / name, name)
        return self.setdefault(name, self.root / name / "report.html")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    return Pages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_whole_at_every_width_and_in_both_schemes(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    for dark in schemes_of_a_whole_page(browser, pages[name]):
        assert browser.does(EMPTY) == [], dark
    result = json.loads(pages[name].with_name("result.json").read_text())
    streams = [
        entry for entry in result["runs"][0]["streams"].values() if entry["delay_ns"]["count"]
    ]
    plots = 2 * len(streams)
    assert (plots == 0) == (name == "nothing")
    assert browser.does("document.querySelectorAll('.stream figure.panel').length") == plots
    rows = browser.does("document.querySelectorAll('#gantt .track rect').length")
    assert rows > 0
    assert browser.does("document.querySelectorAll('.network .way').length") == len(
        result["effective"]["stream"]
    )
    first = browser.does("document.querySelector('.verdict strong').textContent")
    assert result["runs"][0]["outcome"] in first


@pytest.mark.slow
def test_a_name_that_has_no_room_in_its_bar_is_not_cut_to_another(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["habitat"], 1920, dark=False)
    visible = "[...document.querySelectorAll('.track b')].filter((b) => b.offsetWidth).length"
    count = browser.does(visible)
    assert count > 0
    browser.does("document.querySelector('.track b').textContent += '1'.repeat(200)")
    browser.resize(400, dark=False)
    assert browser.does(CUT) == [] and 0 < browser.does(visible) < count


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_everything_has_a_name_for_those_who_do_not_see_it(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.open(pages[name])
    unnamed = browser.does(
        "[...document.querySelectorAll('[role=img], button, table, svg:not([aria-hidden])')]"
        ".filter((e) => !e.closest('.track') && !e.getAttribute('aria-label') &&"
        " !e.getAttribute('aria-labelledby') && !e.caption && !e.textContent.trim())"
        ".map((e) => e.outerHTML.slice(0, 80))"
    )
    assert unnamed == []
    assert browser.does("document.documentElement.lang") == "en"
    ids = browser.does("[...document.querySelectorAll('[id]')].map((e) => e.id)")
    assert len(ids) == len(set(ids))
    broken = browser.does(
        "[...document.querySelectorAll('a[href^=\"#\"]')].map((a) => a.hash.slice(1))"
        ".filter((id) => !document.getElementById(id))"
    )
    assert broken == []


def test_without_scripts_all_plots_and_tables_are_there(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["habitat"], 800, scripts=False)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert not browser.does("document.documentElement.classList.contains('js')")
    assert browser.does(EMPTY) == [] and browser.does(CUT) == []
    shown = browser.does(
        "[...document.querySelectorAll('.tools')].filter((t) => t.getClientRects().length).length"
    )
    assert shown == 0


def area(browser: Browser, figure: str) -> dict[str, float]:
    found: dict[str, float] = browser.does(
        f"(() => {{ const f = document.getElementById('{figure}');"
        " f.scrollIntoView({block: 'center'});"
        " const b = (f.querySelector('.area') || f.querySelector('.track'))"
        ".getBoundingClientRect();"
        " return {x: b.x, y: b.y, width: b.width, height: b.height}; })()"
    )
    return found


def ticks(browser: Browser, figure: str) -> list[float]:
    texts = browser.does(
        f"[...document.querySelectorAll('#{figure} .ticks.x span')].map((s) => s.textContent)"
    )
    return [float(text) for text in texts]


def press(browser: Browser, figure: str, button: str) -> None:
    browser.does(f"document.querySelector('#{figure} [data-do={button}]').click()")


def test_dragging_enlarges_what_was_chosen_and_all_brings_everything_back(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["habitat"], 1400)
    for figure in ("stream-F2-time", "gantt"):
        before, box = ticks(browser, figure), area(browser, figure)
        y = box["y"] + box["height"] / 2
        browser.drag((box["x"] + box["width"] * 0.5, y), (box["x"] + box["width"] * 0.7, y + 2))
        after = ticks(browser, figure)
        low, span = before[0], before[-1] - before[0]
        assert after[-1] - after[0] < span / 3, (figure, before, after)
        assert low + span * 0.3 < after[0] < after[-1] < low + span * 0.9
        press(browser, figure, "out")
        assert ticks(browser, figure) != after
        press(browser, figure, "all")
        assert ticks(browser, figure)[-1] >= before[-1]
    assert browser.complaints() == []


def test_zooming_in_shows_single_frames_where_they_are(
    browser: Browser, pages: dict[str, Path]
) -> None:
    """The table of a plot has the numbers of the result, however far it is enlarged."""
    browser.open(pages["habitat"], 1400)
    for _ in range(12):
        press(browser, "stream-F2-time", "in")
    marks = ticks(browser, "stream-F2-time")
    assert len(marks) >= 2 and marks[-1] - marks[0] < 0.01
    press(browser, "stream-F2-time", "table")
    rows = browser.does(
        "[...document.querySelectorAll('#stream-F2-time .values tbody tr')].map((r) =>"
        " [...r.cells].map((c) => c.textContent))"
    )
    result = json.loads(pages["habitat"].with_name("result.json").read_text())
    expected = [
        (run["driver"], at, low, high)
        for run in result["runs"]
        for series in [run["streams"]["F2"]["delay_series"]]
        for at, low, high in zip(series["time_s"], series["min_ns"], series["max_ns"], strict=True)
    ]
    shown = [row for row in rows if row[0] in ("keepon", "standard", "launchtime")]
    assert len(shown) == len(expected)
    for row, (driver, at, low, high) in zip(shown, expected, strict=True):
        assert row[0] == driver
        assert [float(text) for text in row[1:]] == pytest.approx(
            [at, low / 1000, high / 1000], rel=1e-5
        )
    assert ["bound", "all"] in [row[:2] for row in rows]


def test_the_pointer_tells_values_and_the_legend_hides_curves(
    browser: Browser, pages: dict[str, Path]
) -> None:
    browser.open(pages["gptp"], 1400)
    box = area(browser, "stream-S1-time")
    for share in range(10, 95, 5):
        browser.mouse(
            "mouseMoved", box["x"] + box["width"] / 2, box["y"] + box["height"] * share / 100
        )
        tip = browser.does(
            "((tip) => tip.hidden ? '' : tip.textContent)(document.querySelector('.tip'))"
        )
        if "keepon" in tip:
            break
    assert "keepon" in tip and "time, s: " in tip and "delay, µs: " in tip
    seen = "getComputedStyle(document.querySelector('#stream-S1-time [data-name=keepon]')).display"
    button = "document.querySelector('#stream-S1-time .legend button')"
    assert browser.does(seen) != "none"
    browser.does(f"{button}.click()")
    assert browser.does(seen) == "none"
    assert browser.does(f"{button}.getAttribute('aria-pressed')") == "false"


@pytest.mark.slow
def test_limits_of_a_plot_differ_in_their_dashes(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["late"], 1400)
    for place in ("legend .limit", "area .limit"):
        found = browser.does(
            f"[...document.querySelectorAll('#stream-S1-time .{place}')]"
            ".map((e) => getComputedStyle(e).strokeDasharray)"
        )
        assert len(found) == len(set(found)) > 1 and "none" not in found, found


@pytest.mark.slow
def test_a_route_that_is_chosen_stands_out(browser: Browser, pages: dict[str, Path]) -> None:
    browser.open(pages["robot-cell"], 1000)
    hidden = "getComputedStyle(document.getElementById('route-act-drive1')).display"
    assert browser.does(hidden) == "none", "32 streams on one link are not drawn beside each other"
    browser.does("document.querySelector('a[href=\"#route-act-drive1\"]').click()")
    assert browser.does(hidden) != "none"
