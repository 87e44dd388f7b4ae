# SPDX-License-Identifier: BSD-3-Clause
"""`keepon partition`: files of instances in, files of answers out; wrong input is refused in one
sentence.
"""

from __future__ import annotations

import copy
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from keepon.cli import partition_command as command
from keepon.errors import EXIT_INPUT, EXIT_INTERRUPTED, EXIT_MET, EXIT_MISSED, ConfigError
from keepon.planner.partition import exact, files
from keepon.planner.partition.limits import Limits
from keepon.planner.partition.problem import parse
from keepon_papers.partitions.generate import Parameters, generate
from partition_cases import Instance, instance


def case(**more: Any) -> Instance:
    return instance([(0, 4, 1), (1, 8, 2)], 8, **more)


def written(folder: Path, *instances: Instance, **schema: Any) -> Path:
    path = folder / "instances.json"
    path.write_text(
        json.dumps(
            {"schema": {"version": 1, **schema}, "note": "kept", "instances": list(instances)}
        )
    )
    return path


REFUSED: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"slot_us": 0}, {}, r"key `slot_us` = 0: must be above 0; give"),
    ({"slot_us": "10"}, {}, r"key `slot_us` = 10: must be a finite number; give"),
    (
        {"ring_slots": 0},
        {},
        r"key `ring_slots` = 0: must be a whole number between 1 and 65536; choose",
    ),
    ({"ring_slots": 8.0}, {}, r"key `ring_slots` = 8.0: must be a whole number"),
    ({"n_classes": 17}, {}, r"key `n_classes` = 17: must be a whole number between 1 and 16"),
    ({"flows": []}, {}, r"key `flows` = \[\]: must be a list of 1 to 4096 entries"),
    ({"flows": [3]}, {}, r"flow 0: 3 must be a table"),
    ({"reserve_slots": 9}, {}, r"key `reserve_slots` = 9: must be a whole number between 0 and 8"),
    (
        {"unowned_slots": [8]},
        {},
        r"key `unowned_slots` = \[8\]: must be a list of different ring slots between 0 and 7",
    ),
    ({"unowned_slots": [1, 1]}, {}, r"key `unowned_slots`"),
    ({"shared_classes": [[0, 2]]}, {}, r"key `shared_classes` = .* between 0 and 1"),
    ({"shared_classes": [[0, 1], [1]]}, {}, r"key `shared_classes` .* each class at most once"),
    ({}, {"class": 2}, r"flow 1: key `class` = 2: must be a whole number between 0 and 1"),
    ({}, {"flow": 0}, r"flow 1: key `flow` = 0: must be a whole number between 1 and 1"),
    (
        {},
        {"period_us": 85},
        r"key `period_us` = 85: must be a multiple of slot_us = 10, 1 to 1000000000 slots; choose",
    ),
    ({}, {"period_us": 0}, r"key `period_us` = 0: must be a multiple"),
    ({}, {"period_us": float("inf")}, r"key `period_us` = inf: must be a finite number"),
    (
        {},
        {"jitter_us": -0.1},
        r"key `jitter_us` = -0.1: must be between 0 and period_us = 80; choose",
    ),
    ({}, {"jitter_us": 80.1}, r"key `jitter_us` = 80.1: must be between 0 and period_us = 80"),
    ({}, {"length_slots": 9}, r"key `length_slots` = 9: must be a whole number between 1 and 8"),
    ({}, {"earliest_us": 80, "latest_us": 90}, r"key `earliest_us` = 80: must be between 0 and 70"),
    (
        {},
        {"earliest_us": 20, "latest_us": 100},
        r"key `latest_us` = 100: must be between 20, .* and 90",
    ),
    (
        {},
        {"earliest_us": 21, "latest_us": 29},
        r"key `latest_us` = 29: must be between 30, the first whole slot",
    ),
]


@pytest.mark.parametrize(("changes", "flow_changes", "message"), REFUSED)
def test_wrong_instances_are_refused(
    changes: dict[str, Any], flow_changes: dict[str, Any], message: str
) -> None:
    wrong = copy.deepcopy(case()) | changes
    if flow_changes:
        wrong["flows"][1] |= flow_changes
    with pytest.raises(ConfigError, match=message) as refusal:
        parse(wrong, "file.json", 0)
    assert str(refusal.value).startswith('file.json: instance "case"')
    assert ";" in str(refusal.value), "no remedy"


def test_times_are_decimals_not_binary_fractions() -> None:
    # 0.3 / 0.1 is below 3 in binary floating point; 3 slots of jitter are allowed.
    decimal = case(slot_us=0.1)
    for flow in decimal["flows"]:
        flow |= {"period_us": 0.8, "jitter_us": 0.3}
    assert [stream.jitter_slots for stream in parse(decimal, "t", 0).streams] == [3, 3]


def test_solves_a_file_and_checks_it(tmp_path: Path, capsys: Any, keepon: Any) -> None:
    full = instance([(0, 3, 0), (1, 8, 0)], 8, id="full", answer="feasible", witness={"stale": 1})
    source, out = written(tmp_path, case(comment="kept"), full), tmp_path / "answers.json"
    before = source.read_bytes()
    assert keepon("partition", source, "--out", out, "--check", "--json") == EXIT_MET
    summary, end = json.JSONDecoder().raw_decode(text := capsys.readouterr().out)
    assert summary["decided"] == summary["instances"] == 2
    assert summary["answers"] == {"feasible": 1, "proven_infeasible": 1}
    assert json.loads(text[end:])["passed"] == 2
    document = json.loads(out.read_text())
    assert document["note"] == "kept"
    first, second = document["instances"]
    assert (first["comment"], first["answer"]) == ("kept", "feasible")
    assert first["seconds"] >= 0
    assert (second["answer"], second["witness"]) == ("proven_infeasible", None)
    assert second["proof"]["bound"] == "slots-per-class"
    assert source.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.json", "instances.json"]

    first["witness"]["tx_slot_by_flow"][0].pop()
    out.write_text(json.dumps(document))
    assert keepon("partition", out, "--check") == EXIT_MISSED
    assert 'instance "case": feasible is rejected' in capsys.readouterr().out


def test_undecided_instances_make_the_exit_code_1(tmp_path: Path, capsys: Any, keepon: Any) -> None:
    hard = instance([(0, 4, 0), (0, 6, 0), (0, 6, 1), (0, 6, 0), (0, 6, 0)], 8)
    source, out = written(tmp_path, hard), tmp_path / "answers.json"
    assert keepon("partition", source, "--out", out, "--time-limit", "1e-9") == EXIT_MISSED
    assert "0 of 1 decided" in capsys.readouterr().out
    row = json.loads(out.read_text())["instances"][0]
    assert (row["answer"], row["witness"]) == ("unknown", None)
    assert row["best"]["streams"] == 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[]", "key `schema.version` = None: must be 1"),
        ('{"schema": {"version": 2}, "instances": []}', "key `schema.version` = 2: must be 1"),
        (
            '{"schema": {"version": 1}, "instances": []}',
            "key `instances` = 0 entries: must be a list of 1 to 100000",
        ),
        (
            '{"schema": {"version": 1}, "instances": [{}]}',
            "key `instances[0].id` = None: must be a name",
        ),
        ('{"schema": {"version": 1}, "instances": [7]}', "key `instances[0]` = 7: must be a table"),
    ],
)
def test_wrong_files_are_refused(
    tmp_path: Path, capsys: Any, text: str, message: str, keepon: Any
) -> None:
    source, out = tmp_path / "x.json", tmp_path / "out.json"
    source.write_text(text)
    assert keepon("partition", source, "--out", out) == EXIT_INPUT
    error = capsys.readouterr().err
    assert error.startswith(f"keepon: {source}: ")
    assert message in error
    assert error.count("\n") == 1
    assert not out.exists()


def test_two_instances_of_one_id_are_refused(tmp_path: Path, capsys: Any, keepon: Any) -> None:
    assert (
        keepon("partition", written(tmp_path, case(), case()), "--out", tmp_path / "out.json")
        == EXIT_INPUT
    )
    assert 'key `id` = "case": must be used once' in capsys.readouterr().err


def test_neither_input_nor_folder_is_overwritten(tmp_path: Path, capsys: Any, keepon: Any) -> None:
    source = written(tmp_path, case())
    before = source.read_bytes()
    (tmp_path / "link.json").symlink_to(source)
    assert keepon("partition", source, "--out", source) == EXIT_INPUT
    assert keepon("partition", source, "--out", tmp_path / "link.json") == EXIT_INPUT
    assert keepon("partition", source, "--out", tmp_path) == EXIT_INPUT
    assert keepon("partition", source) == EXIT_INPUT
    assert (
        keepon("partition", source, "--out", tmp_path / "a.json", "--time-limit", "0") == EXIT_INPUT
    )
    assert keepon("partition", source, "--out", tmp_path / "no" / "a.json") == 3
    assert capsys.readouterr().err.count("\n") == 6
    assert source.read_bytes() == before
    assert not (tmp_path / "a.json").exists()


def test_ctrl_c_writes_what_is_decided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any, keepon: Any
) -> None:
    rows = [case(), case(id="second"), case(id="third")]
    source, out = written(tmp_path, *rows), tmp_path / "answers.json"

    @contextmanager
    def interrupting() -> Iterator[files.Told]:
        yield lambda done, count, what: os.kill(os.getpid(), signal.SIGINT) if done == 1 else None

    monkeypatch.setattr(command, "_progress", interrupting)
    assert keepon("partition", source, "--out", out) == EXIT_INTERRUPTED
    error = capsys.readouterr().err
    assert "interrupted; 1 of 3 instances were attempted" in error
    assert "nothing was written" not in error
    found = json.loads(out.read_text())["instances"]
    assert [row["answer"] for row in found] == ["feasible", "unknown", "unknown"]
    assert found[2]["answer_method"] == "not-attempted"


@pytest.mark.slow
def test_ctrl_c_ends_a_search_at_once() -> None:
    # An instance whose whole model is not decided in 20 s.
    parameters = Parameters(
        levels_percent=(80,), per_level=7, harmonic=False, flow_counts=(4, 8, 12, 16, 24)
    )
    problem = parse(generate(parameters, 2)["instances"][6], "test", 0)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    began: list[float] = []

    def begin(_: str) -> None:
        began.append(time.process_time())
        timer.start()

    try:
        with pytest.raises(KeyboardInterrupt):
            exact.solve_full(problem, None, Limits(time.monotonic() + 120, progress=begin))
    finally:
        timer.cancel()
    assert time.process_time() - began[0] < 60
