# SPDX-License-Identifier: BSD-3-Clause
"""The experiment of Table 5 and Figure 27: its sets, three answers kept apart, who decides, what
the page says of them.
"""

from __future__ import annotations

import copy
import doctest
import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from partition_cases import instance
from schedulability_cases import HARD_SECONDS, QUICK, hard_task, made, task

from keepon.errors import ConfigError, PlanRejectedError
from keepon.model import documents
from keepon.planner.partition import problem
from keepon_papers import document as study
from keepon_papers import published
from keepon_papers import study as frame
from keepon_papers.partitions import counts, deciding, fig27, generate, schedulability, sets
from keepon_papers.partitions.deciding import find
from keepon_papers.partitions.sets import Finding
from keepon_papers.partitions.settings import ORIGINS, BeyondSettings, Settings
from keepon_papers.registry import STUDIES
from keepon_papers.schema_files import PACKAGE

FEASIBLE, INFEASIBLE, UNKNOWN = problem.FEASIBLE, problem.INFEASIBLE, problem.UNKNOWN

# --- the sets
# --------------------------------------------------------------------------------------------------


def test_sets_keep_table_5_and_its_definition_of_utilisation() -> None:
    settings = BeyondSettings(
        sets=3, levels_percent=list(range(5, 55, 5)), beyond_percent=[60, 100]
    )
    drawn = sets.tasks(settings)
    assert len(drawn) == 3 * 12
    assert [sets.outside(entry.instance, settings.flow_counts, True) for entry in drawn] == [
        ""
    ] * len(drawn)
    levels = [entry.instance["util_level_percent"] for entry in drawn]
    assert levels == [*range(5, 55, 5), 60, 100] * 3


def _flow(key: str, change: Callable[[Any], Any]) -> Callable[[dict[str, Any]], None]:
    def changed(case: dict[str, Any]) -> None:
        case["flows"][0][key] = change(case["flows"][0][key])

    return changed


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda case: case.update(slot_us=20), "32 slots of 20 us"),
        (lambda case: case.update(ring_slots=64), "64 slots of 10 us"),
        (lambda case: case["flows"].pop(), "3 flows"),
        (lambda case: case.update(util_level_percent=22), "utilisation 25.00 %"),
        (_flow("period_us", lambda p: p + 10), "periods [170, 160, 160, 160]"),
        (_flow("period_us", lambda _: 240), "are no chain"),
        (_flow("jitter_us", lambda _: 7.9), "jitter"),
        (_flow("jitter_us", lambda _: 32.1), "jitter"),
        (lambda case: case.update(n_classes=4), "classes"),
        (_flow("class", lambda _: 9), "classes"),
    ],
)
def test_what_a_set_does_not_keep_is_noticed(
    change: Callable[[dict[str, Any]], None], reason: str
) -> None:
    case = instance([(0, 16, 1), (0, 16, 2), (1, 16, 3), (2, 16, 1)], 32, util_level_percent=25)
    for flow, jitter in zip(case["flows"], (8, 16.5, 32, 10), strict=True):
        flow["jitter_us"] = jitter
    assert sets.outside(case, [2, 4], True) == ""
    change(case)
    case["util_level_percent"] = 23 if "no chain" in reason else case["util_level_percent"]
    assert reason in sets.outside(case, [2, 4], True)


def test_sets_come_from_the_seed_and_do_not_depend_on_the_other_sets() -> None:
    def drawn(**changes: Any) -> dict[str, Any]:
        return {entry.instance["id"]: entry.instance for entry in sets.tasks(Settings(**changes))}

    few = drawn(sets=2, levels_percent=[10, 30])
    assert drawn(sets=2, levels_percent=[10, 30]) == few
    assert few.items() <= drawn(sets=3, levels_percent=[10, 20, 30]).items()
    assert drawn(sets=2, levels_percent=[10, 30], seed=2).values() != few.values()
    assert all(
        entry["n_flows"] == 16
        for entry in drawn(sets=2, levels_percent=[30], flow_counts=[16]).values()
    )


# --- one set
# --------------------------------------------------------------------------------------------------


def test_three_answers_are_distinct_and_what_the_partition_has_to_do_with_them() -> None:
    possible = find(task([(0, 4, 1), (1, 8, 2)], 8))
    assert (possible.answer, possible.checked, possible.shared_answer) == (FEASIBLE, True, FEASIBLE)
    assert possible.owned_slots is not None and 2 <= possible.owned_slots <= 8
    # Without jitter and with a period coprime to the ring, each class would need the whole ring.
    split = find(task([(0, 3, 0), (1, 3, 0)], 8))
    assert (split.answer, split.checked, split.shared_answer) == (INFEASIBLE, True, FEASIBLE)
    assert split.owned_slots is None
    overloaded = find(task([(0, 2, 0), (1, 2, 0), (2, 2, 0)], 8))
    assert (overloaded.answer, overloaded.shared_answer) == (INFEASIBLE, INFEASIBLE)
    undecided = find(hard_task(HARD_SECONDS))
    assert (undecided.answer, undecided.checked, undecided.owned_slots) == (UNKNOWN, False, None)
    assert undecided.shared_answer == FEASIBLE
    assert 0.9 * HARD_SECONDS <= undecided.seconds < 20


def test_the_one_set_without_a_partition_up_to_50_percent_is_as_documented() -> None:
    # docs/planner-measured.md has the answers of the default seed.
    exception = next(
        t for t in sets.tasks(Settings(levels_percent=[50])) if t.instance["id"] == "chain-u050-07"
    )
    found = find(exception)
    assert (found.flows, found.classes, found.actual_percent) == (12, 8, 50.0)
    assert (found.answer, found.method, found.shared_answer) == (
        INFEASIBLE,
        "analytic-bound",
        FEASIBLE,
    )


def test_a_schedule_the_checker_does_not_confirm_is_an_error_and_no_row(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    decide = deciding.decide

    def wrong(*arguments: Any) -> problem.Outcome:
        outcome = decide(*arguments)
        assert outcome.witness is not None
        owners = (problem.UNOWNED,) * len(outcome.witness.owners)
        return replace(outcome, witness=replace(outcome.witness, owners=owners))

    monkeypatch.setattr(deciding, "decide", wrong)
    with pytest.raises(PlanRejectedError, match="does not hold"):
        find(task([(0, 4, 1)], 8))
    assert keepon("reproduce", "fig27", "--out", tmp_path / "x", "--workers", 1, *QUICK) == 70
    assert "does not hold" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(deciding, "decide", decide)
    # Nor is one counted that the checker merely cannot tell about.
    monkeypatch.setattr(
        deciding.check,
        "check",
        lambda row: deciding.check.Verdict(deciding.check.UNCHECKABLE, "cannot tell"),
    )
    with pytest.raises(PlanRejectedError, match="is not confirmed"):
        find(task([(0, 4, 1)], 8))


# --- what the page says
# -------------------------------------------------------------------------------------------------


def test_percentiles_are_nearest_rank() -> None:
    assert doctest.testmod(counts) == doctest.TestResults(failed=0, attempted=1)
    values = [float(value) for value in range(1, 65)]
    assert [counts.percentile(values, percent) for percent in (1, 50, 90, 100)] == [1, 32, 58, 64]


def test_what_is_unknown_is_neither_feasible_nor_infeasible_and_late_is_counted_apart() -> None:
    findings = [
        made(50, FEASIBLE),
        made(50, FEASIBLE, 150.5),
        made(50, INFEASIBLE),
        made(50, UNKNOWN, 149.9),
    ]
    assert [counts.share_percent(findings, given) for given in (FEASIBLE, INFEASIBLE, UNKNOWN)] == [
        50,
        25,
        25,
    ]
    assert fig27.published_percent(findings) == 25
    raw = counts.raw(findings)
    column = raw["columns"].index("no_answer_in_150_s_or_limit")
    assert [row[column] for row in raw["rows"]] == [0, 1, 0, 1]
    settings = Settings(levels_percent=[50], time_limit_s=200.0)
    part = part_of(findings, settings)
    assert part.tables[0].rows[0][:7] == [50, 4, 2, 1, 1, 50.0, 25.0]
    assert part.tables[0].rows[0][7:] == pytest.approx([1.0, 150.5e3, 75100.5, 150.5])
    over = next(row for row in part.compared if "150 s" in row.quantity)
    assert (over.ours, over.id) == (2, "keepon.table5")


def part_of(findings: list[Finding], settings: Settings) -> study.Part:
    """Figure 27 from findings made by hand; all of them stand for one set that keeps Table 5."""
    drawn = sets.tasks(settings.model_copy(update={"sets": 1}))[0]
    return fig27.part(findings, [replace(drawn, position=0)], settings)


def test_every_published_figure_stands_beside_ours() -> None:
    levels = (5, 20, 25, 40, 50)
    part = part_of([made(level, FEASIBLE) for level in levels], Settings())
    known = {entry["id"] for entry in published.load("keepon").values() if isinstance(entry, dict)}
    assert {row.id for row in part.compared} == {"keepon.fig27", "keepon.table5"} <= known
    assert [row.published for row in part.compared if row.published is not None] == [
        896, "almost 100", "decreases sharply", "< 500", "> 100000",
    ]  # fmt: skip
    assert [row.ours for row in part.compared if row.quantity.startswith("mean")] == pytest.approx(
        [1.0, 1.0]
    )
    assert [curve.y for curve in part.plots[0].panels[1].curves][-1] == [0.5, 100.0, 100.0]
    assert part.plots[0].panels[1].log_y


def test_where_the_fall_comes_from_is_said_only_if_the_answers_say_so() -> None:
    few = [made(level, FEASIBLE) for level in (5, 20) for _ in range(20)]
    clear = part_of([*few, *[made(50, FEASIBLE)] * 39, made(50, UNKNOWN)], Settings())
    assert "does not come from the problem" in clear.findings[0]
    assert "39 feasible, 0 infeasible, proven, 1 unknown" in clear.findings[0]
    for other in (INFEASIBLE, UNKNOWN):
        part = part_of([*few, *[made(50, FEASIBLE)] * 20, *[made(50, other)] * 20], Settings())
        assert "beyond 25 % 50.0 % of the sets are feasible" in part.findings[0]
        assert "does not come from the problem" not in part.findings[0]
    assert part_of(few, Settings()).findings == []


def test_too_few_feasible_sets_at_low_utilisation_fail_the_check() -> None:
    share = [made(10, FEASIBLE)] * 18 + [made(10, INFEASIBLE)] * 2
    assert [check.met for check in part_of(share, Settings()).checks] == [True, False]
    assert [check.met for check in part_of(share[:19], Settings()).checks] == [True, False]
    assert [check.met for check in part_of(share[1:18], Settings()).checks] == [True, True]


def test_a_set_outside_table_5_fails_the_check() -> None:
    settings = Settings(sets=1, levels_percent=[30])
    drawn = sets.tasks(settings)[0]
    wrong = copy.deepcopy(drawn.instance)
    wrong["ring_slots"] = 64
    check = fig27.part([made(30, FEASIBLE)], [replace(drawn, instance=wrong)], settings).checks[0]
    assert not check.met
    assert check.found == "0 of 1 sets do; u30: 64 slots of 10 us"


def test_the_limit_of_partitions_is_what_goes_without_one() -> None:
    findings = [
        made(50, FEASIBLE, owned_slots=16), made(90, FEASIBLE, owned_slots=32),
        made(90, INFEASIBLE, shared_answer=FEASIBLE, method="analytic-bound", classes=8),
        made(90, UNKNOWN, shared_answer=FEASIBLE), made(90, INFEASIBLE, actual_percent=101.0),
    ]  # fmt: skip
    part = schedulability.limit(findings, BeyondSettings())
    assert part.tables[0].rows == [
        [50, 1, 100.0, 0.0, 0.0, 0, 0, 0, 0, 50.0],
        [90, 4, 25.0, 50.0, 25.0, 3, 2, 1, 0, 100.0],
    ]
    assert part.tables[1].rows == [[2, 4, 2, 1, 1, 25.0], [8, 1, 0, 1, 0, 100.0]]
    with_partition, without, possible = part.plots[0].panels[0].curves
    assert (with_partition.y, without.y, possible.y) == (
        [100.0, 25.0],
        [100.0, 75.0],
        [100.0, 50.0],
    )
    assert "of 5 sets 2 have no partition, the first at 90 %; 1 of them" in part.findings[0]
    assert "1 of these 2 are feasible when all classes share" in part.findings[1]
    assert (
        "1 are infeasible even then (1 of them carry more than one frame a slot), 0 unknown"
        in part.findings[1]
    )
    assert (
        "partitions cost no schedulability"
        in schedulability.limit(findings[:2], BeyondSettings()).findings[0]
    )


# --- the command
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_command_writes_every_set_and_prints_the_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    folder = tmp_path / "x"
    more = ("--workers", 1, "--set", "beyond_percent=[60]", "--seed", 3, *QUICK)
    assert keepon("reproduce", "schedulability", "--out", folder, *more) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    for text in (
        "fig27: holds: ",
        "partition-limit: found: ",
        "keepon.fig27",
        "chosen: ",
        "period chain = drawn",
    ):
        assert text in printed.out
    document = documents.read(folder / "result.json", study.STUDY_SCHEMA)
    jsonschema.validate(document, documents.json_schema("study", PACKAGE))
    assert [part["name"] for part in document["parts"]] == ["fig27", "partition-limit"]
    assert document["interrupted"] is False
    rows = [
        dict(zip(document["sets"]["columns"], row, strict=True)) for row in document["sets"]["rows"]
    ]
    assert [row["id"] for row in rows] == [f"chain-u{level:03d}-00" for level in (5, 30, 50, 60)]
    assert all(row["answer"] == FEASIBLE and row["confirmed_by_checker"] == 1 for row in rows)
    levels = [[row[0] for row in part["tables"][0]["rows"]] for part in document["parts"]]
    assert levels == [[5, 30, 50], [5, 30, 50, 60]]
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 2
    assert keepon("report", folder, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["published"] == 896


def test_settings_are_calibrated_or_chosen_and_changed_ones_are_the_users() -> None:
    for settings in (Settings(), BeyondSettings()):
        calibrated, chosen = ORIGINS.documents(settings)
        named = [entry["parameter"] for entry in (*calibrated, *chosen)]
        assert len(named) == len(set(named))
        assert set(type(settings).model_fields) <= set(named)
        assert {entry["source_id"] for entry in calibrated} == {"keepon.table5"}
    calibrated, chosen = ORIGINS.documents(Settings(sets=3))
    assert "sets" not in {entry["parameter"] for entry in calibrated}
    assert {"parameter": "sets", "value": 3, "why": "set on the command line"} in chosen
    assert asdict(generate.Parameters()) == asdict(Settings().parameters)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fig27", "--sets", "0"], "setting `sets` = 0: must be between 1 and 1000; choose"),
        (
            ["fig27", "--workers", "65"],
            'setting `workers` = 65: must be "auto" or between 1 and 64; choose',
        ),
        (
            ["fig27", "--workers", "2", "--cluster", "tcp://h:1"],
            "setting `workers` = 2: is not for a cluster",
        ),
        (
            ["fig27", "--cluster", "8786"],
            "setting `cluster` = 8786: must be a string; write it in quotes",
        ),
        (
            ["fig27", "--set", "levels_percent=[0]"],
            "setting `levels_percent` = [0]: must be a list of distinct",
        ),
        (
            ["fig27", "--set", "levels_percent=[]"],
            "setting `levels_percent` = []: must have one entry at least",
        ),
        (["fig27", "--set", "beyond_percent=[60]"], "setting `beyond_percent` = [60]: unknown key"),
        (
            ["fig27", "--set", "periods=any"],
            'setting `periods` = "any": must be one of "chain", "bounded"',
        ),
        (
            ["fig27", "--set", "time_limit_s=0"],
            "setting `time_limit_s` = 0: must be between 0.01 and 86400",
        ),
        (["fig27", "--set", "set=2"], 'setting `set` = 2: unknown key; did you mean "sets"?'),
        (
            ["fig27", "--sets", "2", "--set", "sets=3"],
            "option --sets = 2: --set gives `sets` as well; drop one",
        ),
        (
            ["fig27", "--seeds", "2"],
            'option --seeds = 2: not for study "fig27"; --sets says how many',
        ),
        (
            ["fig27", "--seed", "1", "--set", "seed=2"],
            "setting `seed` = 2: --seed gives it as well; drop one",
        ),
        (
            ["fig28", "--sets", "2"],
            'option --sets = 2: not for study "fig28"; it is for fig27, schedulability',
        ),
        (
            ["habitat", "--sets", "2"],
            'option --sets = 2: not for study "habitat"; it is for fig27, schedulability',
        ),
        (
            ["fig27", "--set", "levels_percent=[50]", "--set", "flow_counts=[2]"],
            (
                "utilisation level 50 %: no 2 flows with periods from 80 us reach it; choose a"
                " lower level"
            ),
        ),
    ],
)
def test_wrong_settings_are_refused_in_one_sentence(
    arguments: list[str],
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    assert keepon("reproduce", *arguments, "--out", tmp_path / "x") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert sentence in printed.err
    assert list(tmp_path.iterdir()) == []


def test_a_setting_given_to_the_study_itself_is_checked_too() -> None:
    with pytest.raises(ConfigError, match="must be between 1 and 1000"):
        frame.run(STUDIES["schedulability"], "schedulability", ["sets=1001"])
