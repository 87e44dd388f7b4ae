# SPDX-License-Identifier: BSD-3-Clause
"""Pages of studies in a browser: nothing complains, nothing is cut, all can be read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, schemes_of_a_whole_page
from helpers import HABITAT

from keepon.cli import session
from keepon.model import loading
from keepon_papers import registry
from keepon_papers.cli import reproduce_scenario
from keepon_papers.report import study_page
from keepon_papers.spread import Spread, read
from keepon_papers.study import run as run_study


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as one:
        yield one


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A study, and the case study with its other parts."""
    root = tmp_path_factory.mktemp("studies")
    study_page.write_folder(root / "eq4", run_study(registry.STUDIES["eq4"], "eq4", [], None, None))
    scenario = loading.load(HABITAT).model_copy(update={"duration_s": 0.1})
    plan = session.planned(scenario)
    with Spread(read({})) as spread:
        reproduce_scenario(scenario, plan, root / "habitat", 1, 2, 0, None, spread)
    return {name: root / name / "report.html" for name in ("eq4", "habitat")}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["eq4", "habitat"])
def test_the_page_of_a_study_is_whole_at_every_width_and_in_both_schemes(
    browser: Browser, studies: dict[str, Path], name: str
) -> None:
    for _ in schemes_of_a_whole_page(browser, studies[name]):
        ink = browser.does(
            "[...document.querySelectorAll('figure.drawn text')].map((t) =>"
            " getComputedStyle(t).fill)"
        )
        paper = browser.does("getComputedStyle(document.body).color")
        assert ink and set(ink) == {paper}, "words of a plot have the colour of those around it"
