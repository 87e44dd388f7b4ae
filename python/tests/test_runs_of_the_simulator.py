# SPDX-License-Identifier: BSD-3-Clause
"""Whole runs: plan, simulate, result files, command line; each file against its JSON Schema."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import dpkt
import jsonschema
import pytest
from helpers import HABITAT, SMALL, TWO_STATIONS, small
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.model import documents, loading
from keepon.model.scenario import Scenario
from keepon.targets.sim.refusals import check_supported
from keepon.targets.sim.runner import run_all, simulate
from keepon.targets.sim.specs import station_spec
from keepon_host.doctor.checks import EXIT_CODES


def _habitat(duration_s: float, **changes: Any) -> Scenario:
    return loading.load(HABITAT).model_copy(update={"duration_s": duration_s, **changes})


def _valid(document: Any, name: str) -> None:
    jsonschema.Draft202012Validator(documents.json_schema(name)).validate(document)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result folder of a short habitat run."""
    path = tmp_path_factory.mktemp("runs") / "habitat"
    scenario = _habitat(0.5)
    outcome = session.run_scenario(scenario, session.planned(scenario), path, 1, 600, None)
    assert [run.driver for run in outcome.runs] == ["keepon", "standard", "launchtime"]
    return path


@pytest.mark.slow
def test_a_load_that_a_full_queue_refuses_does_not_keep_time_from_passing(tmp_path: Path) -> None:
    """It offered the next frame at the same instant, without end; others fill the queue."""
    case = Path(__file__).parent / "cases" / "guard-full.toml"
    command = [sys.executable, "-m", "keepon", "run", str(case), "--out", str(tmp_path / "run")]
    subprocess.run(command, check=False, capture_output=True, timeout=600)
    (run,) = json.loads((tmp_path / "run" / "result.json").read_text())["runs"]
    full = run["loads"]["v"]["verdicts"]
    # 0.1 s in which it offers 32 frames at most each time the wire can have sent one.
    assert 0 < full["no_room"] <= 32 * 0.1 / (1338 * 8 / 100e6)
    assert run["loads"]["v"]["delivered"] > 0


def test_a_slow_fetch_needs_no_key_of_another_driver() -> None:
    slow = small(**{'driver = "launchtime"': 'driver = "launchtime"\nnic = { fetch_ns = 100000 }'})
    run = run_all(slow, session.planned(slow), 1).runs[0]
    assert run.document["streams"]["F1"]["outcome"] == "met"


@pytest.mark.parametrize("name", ["scenario", "plan", "result", "talk", "listen"])
def test_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(documents.json_schema(name))


@pytest.mark.slow
def test_every_file_of_a_result_folder_is_there_and_fits_its_schema(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "capture.pcapng", "plan.json", "report.html", "result.json", "scenario.toml",
    ]  # fmt: skip
    _valid(tomllib.loads((folder / "scenario.toml").read_text()), "scenario")
    _valid(json.loads((folder / "plan.json").read_text()), "plan")
    _valid(json.loads((folder / "result.json").read_text()), "result")


def test_the_effective_scenario_of_a_result_runs_to_the_same_trace(folder: Path) -> None:
    again = loading.load(folder / "scenario.toml")
    result = json.loads((folder / "result.json").read_text())
    run, _ = simulate(again, session.planned(again), "standard", 1)
    assert run.trace_hash == result["runs"][1]["trace_hash"]


def test_keepon_keeps_every_bound_of_the_habitat_study(folder: Path) -> None:
    run = json.loads((folder / "result.json").read_text())["runs"][0]
    assert run["met"]
    for name, stream in run["streams"].items():
        assert stream["missing"] == 0, name
        assert stream["bound_check"]["delay_ns"]["met"], name


def test_measured_delay_is_the_planned_one_for_padded_frames(folder: Path) -> None:
    plan = json.loads((folder / "plan.json").read_text())
    run = json.loads((folder / "result.json").read_text())["runs"][0]
    for name in ("F2", "F3", "F4", "F7", "F8"):
        assert (
            run["streams"][name]["delay_ns"]["max"] * 1000
            == plan["streams"][name]["delay_planned_ps"]
        )


def test_the_capture_holds_every_stream_in_order_of_stamps(folder: Path) -> None:
    with (folder / "capture.pcapng").open("rb") as handle:
        packets = list(dpkt.pcapng.Reader(handle))
    stated = json.loads((folder / "result.json").read_text())["capture"]
    assert stated["frames"] == len(packets) and 550 < len(packets) <= stated["limit"] == 600
    assert [stamp for stamp, _ in packets] == sorted(stamp for stamp, _ in packets)
    assert {len(data) for _, data in packets} == {200, 230}


def test_the_report_needs_nothing_else_and_names_what_is_not_published(folder: Path) -> None:
    text = (folder / "report.html").read_text()
    assert text.count("<svg") >= 1
    assert "http:" not in text and "https:" not in text
    assert "not published" in text
    for word in (
        "Calibrated",
        "True by construction",
        "keepon.table1",
        "tail_probability",
        "seed 1",
    ):
        assert word in text


def test_one_station_under_test_with_another_driver_is_another_run() -> None:
    scenario = small()
    outcome = run_all(scenario, session.planned(scenario), 1)
    assert [run.driver for run in outcome.runs] == ["keepon", "standard"]
    assert outcome.runs[0].document["met"]
    assert outcome.result["judged"] == "keepon"


def test_two_stations_on_a_link_meet_their_bounds() -> None:
    scenario = loading.load(TWO_STATIONS).model_copy(update={"duration_s": 2.0})
    outcome = run_all(scenario, session.planned(scenario), 1)
    assert outcome.runs[0].document["met"]
    assert outcome.runs[0].document["streams"]["S1"]["submitted"] == 2000


@pytest.mark.slow
def test_an_early_stop_keeps_the_drivers_that_were_complete(tmp_path: Path) -> None:
    scenario = _habitat(20.0)

    def stop(driver: str, share: float) -> None:
        if driver == "standard" and share > 0:
            raise KeyboardInterrupt

    outcome = session.run_scenario(scenario, session.planned(scenario), tmp_path / "x", 1, 0, stop)
    assert outcome.interrupted
    result = json.loads((tmp_path / "x" / "result.json").read_text())
    assert result["interrupted"]
    assert [run["driver"] for run in result["runs"]] == ["keepon"]
    _valid(result, "result")


@pytest.mark.slow
def test_ctrl_c_stops_soon_and_leaves_no_half_written_folder(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "keepon",
        "run",
        str(HABITAT),
        "--duration",
        "3000",
        "--out",
        str(tmp_path / "x"),
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 300
        while not _is_simulating(process.pid):
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        before_s = _cpu_s(process.pid)
        process.send_signal(signal.SIGINT)
        while (spent_s := _cpu_s(process.pid)) and process.poll() is None:
            assert spent_s - before_s < 5, "it goes on computing"
            time.sleep(0.05)
        _, errors = process.communicate()
    finally:
        process.kill()
    assert process.returncode == 130
    assert "interrupted" in errors
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def _cpu_s(pid: int) -> float:
    """CPU time a process has had, of a machine however busy; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return sum(int(ticks) for ticks in fields[11:13]) / os.sysconf("SC_CLK_TCK")


def _is_simulating(pid: int) -> bool:
    """Whether the extension is loaded and has worked for two seconds of CPU time."""
    try:
        maps = Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return False
    return "keepon/_sim" in maps or ("_sim." in maps and _cpu_s(pid) > 2)


def test_every_driver_has_the_same_delta_unless_the_scenario_says_otherwise() -> None:
    scenario = _habitat(0.1)
    plan = session.planned(scenario)
    gateway = next(station for station in scenario.station if station.driver == "under-test")
    deltas = {
        driver: station_spec(scenario, gateway, driver, plan, [gateway.name])[0].etf_delta_ns
        for driver in ("keepon", "standard", "launchtime")
    }
    assert set(deltas.values()) == {150_000}


def test_what_the_simulator_cannot_do_is_refused_before_any_work() -> None:
    for replacements, message in (
        ({"warmup_s = 0.0": 'warmup_s = 0.0\nsync = { mode = "ptp" }'}, "sync.grandmaster"),
        ({'driver = "under-test"': 'driver = "under-test"\nkeepon = { clock = "dual" }'}, "dual"),
        (
            {
                "[compare]": (
                    '[[load]]\nid = "L"\ntalker = "a"\nlistener = "b"\nkind = "tcp"\n'
                    "frame_bytes = 70\n[compare]"
                )
            },
            "within 71 to 9018",
        ),
        (
            {"[compare]": '[[fault]]\nat_s = 0.0\nkind = "babbling"\nnode = "a"\n[compare]'},
            "babbling",
        ),
        (
            {
                "[compare]": (
                    '[[fault]]\nat_s = 0.0\nkind = "wire-pause"\nnode = "a"\nvalue_ns ='
                    " -1\n[compare]"
                )
            },
            r"`fault\[0\]\.value_ns` = -1: must be within 0 to 1000000000000",
        ),
    ):
        with pytest.raises(ConfigError, match=message):
            check_supported(small(**replacements))


def test_loads_and_faults_reach_the_simulator() -> None:
    extra = (
        '[[load]]\nid = "L"\ntalker = "a"\nlistener = "b"\nkind = "udp"\nrate_bps ='
        ' 100_000_000\nframe_bytes = 200\n[[fault]]\nat_s = 0.05\nkind = "poll-stall"\nnode ='
        ' "a"\nvalue_ns = 5_000_000\n[compare]'
    )
    scenario = small(**{"[compare]": extra})
    outcome = run_all(scenario, session.planned(scenario), 1)
    run = outcome.runs[0].document
    assert run["loads"]["L"]["goodput_bps"] > 50_000_000
    assert run["stations"]["a"]["underruns"] + run["stations"]["a"]["suspected_underruns"] > 0


def test_accounts_of_streams_and_loads_add_up_alike() -> None:
    """Also where the run ends with frames on the wire that the NIC has not reported yet."""
    extra = (
        '[[load]]\nid = "L"\ntalker = "a"\nlistener = "b"\nkind = "saturate"\n'
        "frame_bytes = 1518\ntc = 7\n"
        '[[load]]\nid = "T"\ntalker = "a"\nlistener = "b"\nkind = "tcp"\ntc = 7\n'
    )
    compared = '[compare]\ndrivers = ["keepon", "standard"]'
    listener = 'name = "b"\ndriver = "launchtime"'
    scenario = small(
        **{
            compared: extra, '"under-test"': '"standard"',
            listener: listener.replace("launchtime", "standard"),
        }
    )  # fmt: skip
    run = run_all(scenario, session.planned(scenario), 1).runs[0].document
    loads: Any = run["loads"]
    counts: list[dict[str, Any]] = [dict(run["streams"]["F1"]), loads["L"], loads["T"]["acks"]]
    for entry in counts:
        assert entry["submitted"] == sum(entry["verdicts"].values()) + entry["pending"]
        lost = sum(entry["lost"].values())
        assert entry["sent"] == entry["delivered"] + lost + entry["in_flight"]
    for entry in counts[1:]:
        assert entry["sent"] == entry["on_wire"] > 1000
        ended = entry["verdicts"]["best_effort"]
        assert ended < entry["sent"] <= ended + entry["pending"]


def test_a_paused_wire_reaches_the_simulator_with_every_driver() -> None:
    extra = (
        '[[fault]]\nat_s = 0.05\nkind = "wire-pause"\nnode = "a"\nvalue_ns = 3_000_000\n[compare]'
    )
    scenario = small(**{"[compare]": extra})
    outcome = run_all(scenario, session.planned(scenario), 1)
    assert [run.driver for run in outcome.runs] == ["keepon", "standard"]
    keepon, standard = (run.document["stations"]["a"] for run in outcome.runs)
    assert keepon["nic"]["paused_ps"] == 3_000_000_000
    assert keepon["counters"]["slips"] > 0
    assert keepon["underruns"] == 0
    assert 0 < standard["nic"]["paused_ps"] <= 3_000_000_000


# -- command line
# --------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_run_prints_a_table_writes_the_folder_and_exits_0(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    out = tmp_path / "h"
    assert keepon("run", HABITAT, "--duration", "0.1", "--out", out) == 0
    printed = capsys.readouterr()
    assert "F12" in printed.out
    assert "GENET*" in printed.out
    assert printed.err == ""
    assert keepon("report", out) == 0
    assert keepon("compare", out, out) == 0
    assert "0 of" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["run"], ["plan"], ["report"], ["compare"], ["reproduce"], ["doctor"], []]
)
def test_every_command_has_help(
    command: list[str], capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    assert keepon(*command, "--help") == 0
    assert "Usage:" in capsys.readouterr().out


@pytest.mark.slow
def test_json_output_is_json_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    out = str(tmp_path / "h")
    assert keepon("run", HABITAT, "--duration", "0.1", "--out", out, "--json") == 0
    _valid(json.loads(capsys.readouterr().out), "result")
    assert keepon("plan", HABITAT, "--json") == 0
    _valid(json.loads(capsys.readouterr().out), "plan")
    code = keepon("doctor", "--json")
    document = json.loads(capsys.readouterr().out)
    _valid(document, "doctor")
    assert code == EXIT_CODES[document["worst"]]
    ours = [each for each in document["checks"] if each["about"] == "installation"]
    assert {each["state"] for each in ours} <= {"ok", "note"}
    assert keepon("report", out, "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["stream"] == "F1"
    assert keepon("compare", out, out, "--json") == 0
    assert json.loads(capsys.readouterr().out)["worse"] == 0


def test_a_missed_deadline_exits_1(tmp_path: Path, keepon: Any) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL.replace('drivers = ["keepon", "standard"]', 'drivers = ["standard"]'))
    assert keepon("run", path, "--out", tmp_path / "x") == 1


def test_no_plan_exits_1_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    path = tmp_path / "s.toml"
    text = SMALL.replace("frame_bytes = 200", "frame_bytes = 200\ndeadline_ns = 3_900")
    one_slot = 'driver = "under-test"\nkeepon = { frame_bytes_max = 0 }'
    path.write_text(text.replace('driver = "under-test"', one_slot))
    assert keepon("run", path, "--out", tmp_path / "x") == 1
    assert "no plan: stream" in capsys.readouterr().err
    assert keepon("plan", path, "--json") == 1
    _valid(json.loads(capsys.readouterr().out), "plan")
    assert not (tmp_path / "x").exists()


def test_wrong_input_exits_2_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(SMALL.replace("frame_bytes", "frame_byte"))
    for arguments in (
        ["run", str(path)],
        ["run", str(tmp_path / "absent.toml")],
        ["run"],
        ["frobnicate"],
        ["run", str(HABITAT), "--seed", "x"],
        ["run", str(HABITAT), "--duration", "-1"],
        ["run", str(HABITAT), "--out", str(path)],
        ["report", str(tmp_path)],
        ["compare", str(tmp_path)],
    ):
        assert keepon(*arguments) == 2, arguments
        printed = capsys.readouterr()
        assert printed.err.startswith("keepon: "), arguments
        assert printed.err.count("\n") == 1, arguments
        assert printed.out == "", arguments


@pytest.mark.slow
def test_a_result_whose_scenario_was_damaged_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """The scenario inside a result has a schema of its own."""
    path, out = tmp_path / "s.toml", tmp_path / "x"
    path.write_text(SMALL)
    keepon("run", path, "--out", out)
    result = json.loads((out / "result.json").read_text())
    result["effective"]["stream"][0]["period_ns"] = "soon"
    (out / "result.json").write_text(json.dumps(result))
    capsys.readouterr()
    for arguments in (["report", str(out)], ["compare", str(out), str(out)]):
        assert keepon(*arguments) == 2
        printed = capsys.readouterr().err
        wrong = 'key `stream[0].period_ns` (stream "F1") = "soon": must be a whole number, '
        assert f"table `effective`: {wrong}" in printed, printed
        assert printed.count("\n") == 1


def test_an_unwritable_folder_exits_3_before_any_work(
    capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    start_s = time.process_time()
    assert keepon("run", HABITAT, "--out", "/proc/keepon/x") == 3
    assert "cannot be written" in capsys.readouterr().err
    assert time.process_time() - start_s < 5


def test_tracebacks_are_shown_on_request_only(
    capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    assert keepon("run", "absent.toml") == 2
    assert "Traceback" not in capsys.readouterr().err
    assert keepon("--debug", "run", "absent.toml") == 2
    assert "Traceback" in capsys.readouterr().err


def test_cores_of_a_host_are_named_as_chosen_and_their_use_is_in_the_result() -> None:
    text = TWO_STATIONS.read_text().replace("duration_s = 1000.0", "duration_s = 0.1")
    cores = "host = { cores = 1, irq_ns = 1_500, softirq_ns = 4_000 }"
    scenario = loading.parse(text.replace('host = "raspberry-pi-4"', cores), "cores")
    run, sources = simulate(scenario, session.planned(scenario), "keepon", 1)
    chosen = {
        one.parameter: one.value
        for group in sources.values()
        for one in group
        if one.kind == "chosen"
    }
    assert chosen["host: cores"] == 1
    assert chosen["host: irq_ns"] == 1_500
    assert chosen["host: softirq_ns"] == 4_000
    stations: Any = run.document["stations"]
    assert stations["talker"]["cpu"]["fifo"]["steps"] > 50
    assert stations["talker"]["cpu"]["hard-irq"]["busy_ps"] > 0
    assert "cpu" not in stations["listener"]
