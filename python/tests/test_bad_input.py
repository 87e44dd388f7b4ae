# SPDX-License-Identifier: BSD-3-Clause
"""Whatever a user gives a command: one line with key, value and remedy and exit code 2, never a
traceback.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import HABITAT, TWO_STATIONS, planned_example
from keepon.cli import app as cli
from keepon.errors import EXIT_MET, EXIT_MISSED, ConfigError
from keepon.model import documents, loading

CASES = Path(__file__).parent / "cases"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("nolink.toml", 'key `station[2].name` = "c": has no link; add a [[link]]'),
        ("bigint.toml", "must be between -1000 and 1000; choose a value in this range"),
        (
            "fault-range.toml",
            'key `station[0].keepon.ring_slots` (station "a") = 32: must be more, as stream "S0"',
        ),
    ],
)
@pytest.mark.parametrize("command", ["plan", "run"])
def test_scenarios_that_once_crashed_are_refused(
    refused: Any, command: str, name: str, expected: str
) -> None:
    sentence = refused(command, CASES / name)
    assert expected in sentence
    assert name in sentence


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("part-big.json", "key `period_us` = 1000"),
        ("part-inf.json", "part-inf.json: not JSON (1e999 is no finite number)"),
    ],
)
def test_instances_that_once_crashed_are_refused(refused: Any, name: str, expected: str) -> None:
    sentence = refused("partition", CASES / name, "--out", "answers.json")
    assert expected in sentence
    assert len(sentence) < 400, "values are cut"


@pytest.mark.parametrize(
    "value",
    ["1e-999999999", "NaN", "-Infinity", "1e99", '"x"', "true", "9" * 400, "9" * 5_000],
)
def test_numbers_of_instances_that_no_computer_holds_are_refused(
    refused: Any, tmp_path: Path, value: str
) -> None:
    text = (CASES / "part-inf.json").read_text(encoding="utf-8").replace("1e999", "0")
    path = tmp_path / "instance.json"
    path.write_text(text.replace('"slot_us": 2', f'"slot_us": {value}'), encoding="utf-8")
    sentence = refused("partition", path, "--out", "answers.json")
    assert "instance.json" in sentence and "sys.set_int" not in sentence


_DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'schema = "keepon.scenario/1"\nx = {_DEEP[95_000:105_000]}\n', "nested too deeply"),
        (f'schema = "keepon.scenario/1"\n\nseed = {"9" * 5_000}\n',
         ":3: key `seed` = a number of 5000 digits: must have 4300 at most; shorten that number"),
        (f'schema = "keepon.scenario/1"\n[[stream]]\nid = "F1"\nx = [1, -{"9_" * 4_399}9]\n',
         ":4: key `stream[0].x[1]` = a number of 4400 digits: must have 4300 at most"),
        ('schema = "keepon.scenario/1"\nname = "a\\nb\\u0007c"\n', 'key `name` = "a b c": must be'),
        (f'schema = "keepon.scenario/1"\nname = "{"x" * 5_000}"\n',
        'xxx...: must be 1 to 64 letters'),
        (f'schema = "{"y" * 5_000}"\n', "key `schema` = "),
    ],
    ids=["deep", "long-number", "long-in-list", "control", "long-name", "long-schema"],
)  # fmt: skip
def test_an_error_of_a_scenario_is_one_line(
    refused: Any, tmp_path: Path, text: str, expected: str
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(text, encoding="utf-8")
    sentence = refused("plan", path)
    assert expected in sentence
    assert len(sentence) < 600


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "marked.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TWO_STATIONS.read_bytes())
    assert loading.load(path) == loading.load(TWO_STATIONS)
    document = tmp_path / "marked.json"
    document.write_bytes(b'\xef\xbb\xbf{"schema": "x/1"}')
    assert documents.schema_of(document) == "x/1"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("plan", TWO_STATIONS, "--seed", 2**63), "--seed"),
        (("run", TWO_STATIONS, "--seed", 2**64, "--out", "o"), "--seed"),
        (("plan", TWO_STATIONS, "--out", ""), 'option --out = "": must name'),
        (("run", TWO_STATIONS, "--out", ""), 'option --out = "": must name'),
        (("run", TWO_STATIONS, "--out", "."), 'option --out = ".": must name'),
        (("plan", TWO_STATIONS, "--out", "/"), 'option --out = "/": must name'),
        (("report", "x", "--picture", "."), 'option --picture = ".": must name'),
        (("partition", CASES / "part-inf.json", "--out", ""), 'option --out = "": must name'),
        (("export", TWO_STATIONS, "--format", "dot", "--out", ""), 'option --out = "": must name'),
        (
            ("run", TWO_STATIONS, "--duration", "1ms", "--out", "o"),
            '--duration = "1ms": must be a number of seconds between 0.001 and 86400',
        ),
        (("plan", TWO_STATIONS, "--time-limit", "nan"), "--time-limit"),
    ],
)
def test_options_out_of_range_are_refused(
    refused: Any, arguments: tuple[object, ...], expected: str
) -> None:
    assert expected in refused(*arguments)


# -- plans
# --------------------------------------------------------------------------------------------------


_UNREADABLE = {
    "deep": _DEEP,
    "deep-inside": '{"schema": "keepon.plan/1", "x": ' + _DEEP + "}",
    "infinite": '{"schema": 1e999}',
    "long": "9" * 5_000,
}


@pytest.mark.parametrize("kind", sorted(_UNREADABLE))
def test_json_that_nothing_can_read_is_refused(refused: Any, tmp_path: Path, kind: str) -> None:
    path = tmp_path / "plan.json"
    path.write_text(_UNREADABLE[kind], encoding="utf-8")
    assert "plan.json" in refused("plan", TWO_STATIONS, "--keep", path)
    assert "plan.json" in refused(
        "export", TWO_STATIONS, "--plan", path, "--format", "dot", "--out", "x.dot"
    )


def test_a_plan_without_its_status_is_refused(refused: Any) -> None:
    assert 'key `status` = "None": must be' in refused(
        "plan", TWO_STATIONS, "--keep", CASES / "nostatus.json"
    )


def test_a_plan_that_breaks_its_schema_is_refused_with_the_key(
    refused: Any, tmp_path: Path
) -> None:
    changed = copy.deepcopy(planned_example("habitat").plan)
    changed["streams"]["F2"]["windows"][0]["open_ps"] = "soon"
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    for arguments in (
        ("plan", HABITAT, "--keep", path),
        ("export", HABITAT, "--plan", path, "--format", "dot", "--out", "x"),
    ):
        assert "key `streams.F2.windows[0].open_ps` = soon: must be a whole number" in refused(
            *arguments
        )


# -- results
# --------------------------------------------------------------------------------------------------


@pytest.fixture
def two_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Any:
    """Runs the example, and again with a piece of its text replaced, into folders one and two."""
    monkeypatch.chdir(tmp_path)

    def run(old: str, new: str) -> None:
        text = TWO_STATIONS.read_text(encoding="utf-8")
        assert old in text
        other = tmp_path / "other.toml"
        other.write_text(text.replace(old, new), encoding="utf-8")
        for scenario, folder in ((TWO_STATIONS, "one"), (other, "two")):
            words = ["run", str(scenario), "--duration", "0.01", "--out", folder, "--json"]
            monkeypatch.setattr(sys, "argv", ["keepon", *words])
            assert cli.main() in (EXIT_MET, EXIT_MISSED)
        capsys.readouterr()

    return run


@pytest.mark.slow
def test_results_without_a_stream_in_common_are_not_compared(refused: Any, two_runs: Any) -> None:
    two_runs('id = "S1"', 'id = "T1"')
    assert "no driver and stream in common" in refused("compare", "one", "two")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-stations", "longer-cable"])
def test_results_of_two_scenarios_are_compared_with_a_word_about_it(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    two_runs: Any,
    name: str,
) -> None:
    two_runs('name = "two-stations"', f'name = "{name}"')
    monkeypatch.setattr(sys, "argv", ["keepon", "compare", "one", "two"])
    assert cli.main() == EXIT_MET
    is_named = "not of one scenario: longer-cable, two-stations" in capsys.readouterr().out
    assert is_named == (name != "two-stations")


def _cut(text: str, *way: str) -> str:
    """A JSON file without one of its keys."""
    document = json.loads(text)
    around = document
    for step in way[:-1]:
        around = around[int(step) if isinstance(around, list) else step]
    around.pop(way[-1])
    return json.dumps(document)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "way", "expected"),
    [
        ("plan.json", ("status",), "key `status` = missing: must be there"),
        ("plan.json", ("streams", "S1"), 'key `streams` lacks "S1", which result.json beside it'),
        ("result.json", ("runs",), "key `runs` = missing: must be there"),
        (
            "result.json",
            ("runs", "0", "streams", "S1", "submitted"),
            "key `runs[0].streams.S1.submitted` = missing: must be there",
        ),
    ],
)
def test_a_result_folder_that_is_not_whole_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refused: Any,
    tmp_path: Path, name: str, way: tuple[str, ...], expected: str,
) -> None:  # fmt: skip
    words = ["keepon", "run", str(TWO_STATIONS), "--duration", "0.01", "--out", "r", "--json"]
    monkeypatch.setattr(sys, "argv", words)
    cli.main()
    capsys.readouterr()
    path = tmp_path / "r" / name
    path.write_text(_cut(path.read_text(encoding="utf-8"), *way), encoding="utf-8")
    assert expected in refused("report", "r")
    assert expected in refused("compare", "r", "r")


@pytest.mark.parametrize("value", [10**19, -(10**19)])
def test_an_instant_of_a_plan_that_64_bits_cannot_hold_is_refused(
    refused: Any, tmp_path: Path, value: int
) -> None:
    changed = copy.deepcopy(planned_example("habitat").plan)
    changed["streams"]["F2"]["windows"][0]["last_ps"] = value
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(changed), encoding="utf-8")
    sentence = refused("export", HABITAT, "--plan", path, "--format", "dot", "--out", "x")
    assert f"key `streams.F2.windows[0].last_ps` = {str(value)[:9]}" in sentence
    assert "must be" in sentence


def test_a_whole_number_that_a_float_cannot_hold_is_refused(refused: Any, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = planned_example("habitat").plan
    path.write_text(json.dumps({**plan, "seconds": 10**400}), encoding="utf-8")
    sentence = refused("export", HABITAT, "--plan", path, "--format", "dot", "--out", "x")
    assert "plan.json: not JSON (1000" in sentence and "is no finite number" in sentence


def test_a_run_without_streams_is_refused(refused: Any, tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    ends = '[[station]]\nname = "a"\n[[station]]\nname = "b"\n[[link]]\nends = ["a", "b"]\n'
    path.write_text(f'schema = "keepon.scenario/1"\nname = "x"\n{ends}')
    sentence = refused("run", path)
    assert sentence.endswith(
        "key `stream`: must have an entry, as there is nothing to measure; add a [[stream]]"
    )


@pytest.mark.slow
def test_what_a_command_reads_is_not_written_over(tmp_path: Path) -> None:
    text = TWO_STATIONS.read_text()
    scenario, plan, result = tmp_path / "x.toml", tmp_path / "p.json", tmp_path / "r"
    scenario.write_text(text)
    base = (sys.executable, "-m", "keepon")
    for words in (
        ("plan", scenario, "--out", plan),
        ("run", scenario, "--duration", "0.1", "--out", result),
    ):
        subprocess.run([*base, *map(str, words)], check=True, capture_output=True)
    kept = {path: path.read_bytes() for path in (scenario, plan, *result.iterdir())}
    for words in (
        ("plan", scenario, "--out", scenario),
        ("plan", scenario, "--keep", plan, "--out", plan),
        ("report", result, "--picture", result / "result.json"),
        ("compare", result, result, "--out", result / "plan.json"),
    ):
        done = subprocess.run(
            [*base, *map(str, words)], capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stdout) == (2, ""), words
        assert "is a file that the command reads" in done.stderr
    assert kept == {path: path.read_bytes() for path in kept}


@pytest.mark.slow
def test_a_closed_stderr_changes_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-m", "keepon", "run",
         str(TWO_STATIONS), "--duration", "0.1", "--out", str(tmp_path / "r")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0 and "met" in done.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["plan", TWO_STATIONS, "--seed", "-1"],
         "option --seed = -1: must be at least 0; see keepon plan --help"),
        (["plan", TWO_STATIONS, "--workers=65"], "option --workers = 65: must be at most 64; see"),
        (["plan", TWO_STATIONS, "--time-limit", "soon"],
         "option --time-limit = soon: must be a number; see keepon plan --help"),
        (["new", "star", "x.toml", "--stations", "x"],
         "option --stations = x: must be a whole number; see keepon new --help"),
        (["plan"], "argument SCENARIO: is missing; see keepon plan --help"),
        (["link", "add"], "argument LOWER: is missing; see keepon link add --help"),
        (["export", TWO_STATIONS, "--out", "x"],
         "option --format: is missing; see keepon export --help"),
        (["plan", TWO_STATIONS, "--sede", "1"], "see keepon plan --help"),
        (["plans"], "; see keepon --help"),
        (["run", TWO_STATIONS, "--kernel", "6.12"],
         'option --kernel = "6.12": is of --target vm, not sim; leave it out'),
    ],
)  # fmt: skip
def test_an_error_of_the_command_line_names_value_and_range(
    refused: Any, words: list[object], sentence: str
) -> None:
    assert sentence in refused(*words)


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(ConfigError, match="/dev/zero: has more than 33554432 characters; name a"):
        loading.load(Path("/dev/zero"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["link", "fit", "-", "--rate", "9" * 5000], ["link", "add", "lo", "k0", "depth", "9" * 5000]],
)
def test_a_long_value_of_a_link_is_cut(words: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "keepon", *words], capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == 2 and 50 < len(done.stderr) < 400
