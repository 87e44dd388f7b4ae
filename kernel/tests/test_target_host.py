# SPDX-License-Identifier: GPL-2.0-only
"""`keepon run --target host` between namespaces of a guest, over a keepon link: what runs on the
machine runs there with a Python of nothing but the standard library; planning before and judging
after it are done here by what the command itself calls.
"""

from __future__ import annotations

import _ctypes
import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from guest_python import PYTHON, python_files
from keepon.cli import session
from keepon.model import documents, loading, resultfolder
from keepon.model.plan import Plan
from keepon.model.result import RunResult
from keepon.model.scenario import Scenario
from keepon.targets.host.places import Host, parse_map
from keepon.targets.host.target import ThisHost, constructed, judged_run
from keepon.targets.sim.runner import Simulator
from keepon.targets.vm import programs
from keepon_guests import GuestResult, build_modules, get_kernel, run_guest
from keepon_host.testbed.job import Job
from keepon_host.testbed.session import Tell

pytestmark = pytest.mark.vm

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
CTYPES = Path(str(_ctypes.__file__))
MODULES = ("native", "keepon", "hwsim")
SIMULATOR = Simulator()
PROGRAMS = {name: name for name in ("keepon-talk", "keepon-listen")}
MAP = ("talker=sim0", "listener=lab/sim1")
# Runs the program as far as it goes here: there is no such interface.
TRIED = """
import ctypes, tempfile
import keepon_host.testbed.__main__ as program
from keepon_host.testbed.job import Job, StationJob
from keepon_host.testbed import session
place = StationJob("a", "none0", "", "keepon-a", "none0", None, [], "", "", False)
job = Job([place], [], [], [], "free", None, 0.0, 1, 1, 1)
file = tempfile.NamedTemporaryFile("w")
file.write(job.to_json())
file.flush()
if program.main([file.name, "/tmp"]) != 3:
    sys.exit("none0 is an interface?")
"""


def planned(name: str | Path, duration_s: float, **changes: Any) -> tuple[Scenario, Plan]:
    scenario = loading.load(EXAMPLES / name if isinstance(name, str) else name)
    scenario = scenario.model_copy(update={"duration_s": duration_s, **changes})
    return scenario, session.planned(scenario)


def guest(
    script: str, files: dict[str, Path | bytes], folder: Path, family: str = "6.1", **more: Any
) -> GuestResult:
    kernel = get_kernel(family)
    return run_guest(
        kernel, HERE / script,
        {
            "/lib/keepon/host.sh": HERE / "host_common.sh",
            **python_files(TRIED, folder), **programs.guest_files(), **files,
        },
        modules=build_modules(kernel, [HERE.parent / name for name in MODULES]),
        tools=[PYTHON, CTYPES, *programs.tools(), "iperf3"], environment={"PYTHON": PYTHON.name},
        memory_mb=768, timeout_s=1200, **more,
    ).check()  # fmt: skip


def files_of(result: GuestResult, folder: str) -> dict[str, bytes]:
    prefix = f"{folder}/"
    return {
        name.removeprefix(prefix): data
        for name, data in result.files.items()
        if name.startswith(prefix)
    }


def job_of(
    scenario: Scenario, plan: Plan, maps: Sequence[str] = MAP, **options: Any
) -> tuple[Host, Job]:
    return ThisHost(parse_map(list(maps)), programs=PROGRAMS, **options).job(
        scenario, plan, "keepon"
    )


@dataclass(frozen=True)
class Ran:
    """A boot in which jobs ran, and the result folder of the one that came to its end."""

    guest: GuestResult
    scenario: Scenario
    plan: Plan
    run: RunResult
    folder: Path


@pytest.fixture(scope="module", params=["6.1", pytest.param("6.12", marks=pytest.mark.soak)])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """As the command does it, but for the machine: that is the guest."""
    folder = tmp_path_factory.mktemp("host")
    text = (EXAMPLES / "two-stations.toml").read_text()
    scenario, plan = planned("two-stations.toml", 0.5)
    # Polls are most of what a guest has to do, and faults do not need them often.
    (folder / "long.toml").write_text(
        text.replace("batch_slots = 8", "batch_slots = 32\nring_slots = 128")
    )
    long = planned(folder / "long.toml", 5.0)
    jobs = {
        "long": job_of(*long)[1],
        "none": job_of(*long, ["talker=none0", "listener=lab/sim1"])[1],
        "kept": job_of(*long, keep_clocks=True, wait_s=0.0)[1],
    }
    booted: list[GuestResult] = []

    def in_guest(job: Job, out: Path, tell: Tell) -> None:
        files: dict[str, Path | bytes] = {
            f"/lib/keepon/jobs/{name}.json": each.to_json().encode()
            for name, each in {**jobs, "run": job}.items()
        }
        booted.append(guest("host_stream.sh", files, folder, request.param, icount_shift=0))
        for name, data in files_of(booted[0], "run").items():
            (out / name).write_bytes(data)

    target = ThisHost(parse_map(list(MAP)), runner=in_guest, programs=PROGRAMS)
    out = folder / "out"
    session.run_scenario(scenario, plan, out, 1, 1000, None, target)
    result = json.loads((out / documents.RESULT_FILE).read_text())
    jsonschema.Draft202012Validator(documents.json_schema("result")).validate(result)
    assert result["target"] == "host"
    print(booted[0].stdout)
    return Ran(booted[0], scenario, plan, result["runs"][0], out)


def test_the_result_folder_is_that_of_every_target(ran: Ran) -> None:
    names = {path.name for path in ran.folder.iterdir()}
    assert names == {
        documents.SCENARIO_FILE, documents.PLAN_FILE, documents.RESULT_FILE,
        documents.CAPTURE_FILE, documents.REPORT_FILE, "packets-keepon-S1.csv",
    }  # fmt: skip
    assert all(path.stat().st_size for path in ran.folder.iterdir())
    assert resultfolder.read(ran.folder)[0]["runs"][0]["outcome"] == ran.run["outcome"]


def test_faults_end_in_a_sentence_and_everything_is_put_back(ran: Ran) -> None:
    assert ran.guest.tap.problems() == []


def on_grid_and_at_changes_of_rate(verdicts: dict[str, int]) -> tuple[int, dict[str, int]]:
    """Frames sent in their slots, and the other verdicts.

    phc2sys changes the rate eight times a second. A trim that comes too late to be stored leaves a
    slot or two before it off the grid, and a frame in one of them is `sent_stale`.
    """
    rest = dict(verdicts)
    on_time, stale = rest.pop("on_time"), rest.pop("sent_stale")
    assert stale <= 5, "more than there were changes of rate in half a second"
    return on_time + stale, rest


def test_every_frame_is_delivered_and_every_bound_kept(ran: Ran) -> None:
    stream = ran.run["streams"]["S1"]
    assert ran.run["met"], stream["bound_check"]
    assert (stream["due"], stream["delivered"]) == (500, 500)
    assert on_grid_and_at_changes_of_rate(stream["verdicts"])[0] == 500
    assert stream["stamps"]["talker"].startswith("keepon's own stamps")
    assert stream["stamps"]["listeners"] == {"listener": "hardware stamps of the card"}
    # Without what is widened by clocks that were compared: the model's own instants are exact.
    assert "uncertainty_ns" not in stream["bound_check"]["release_error_ns"]
    clocks = stream["bound_check"]["clocks_ns"]
    assert clocks["worst_ns"] is not None
    assert 0 < clocks["worst_ns"] <= clocks["bound_ns"] == 1_000


def test_it_is_what_the_simulator_says_to_within_what_is_stated(ran: Ran) -> None:
    """Verdicts equal, and delays apart by no more than clocks may have been."""
    simulated = SIMULATOR.run_all(ran.scenario, ran.plan, 1).runs[0].document
    assert simulated["outcome"] == ran.run["outcome"] == "met"
    theirs, ours = (run["streams"]["S1"] for run in (simulated, ran.run))
    for key in ("due", "submitted", "sent", "delivered", "missing"):
        assert theirs[key] == ours[key], key
    same = [on_grid_and_at_changes_of_rate(each["verdicts"]) for each in (theirs, ours)]
    assert same[0] == same[1]
    stated_ns = ours["stamps"]["uncertainty_ns"]
    assert stated_ns is not None
    assert stated_ns < 5_000
    for key in ("min", "max"):
        apart = ours["delay_ns"][key] - theirs["delay_ns"][key]  # type: ignore[literal-required]
        assert abs(apart) <= stated_ns, key


def test_four_stamps_of_each_frame_are_in_one_table(ran: Ran) -> None:
    """Stages follow each other in time, those of one clock exactly."""
    rows = list(csv.DictReader((ran.folder / "packets-keepon-S1.csv").read_text().splitlines()))
    assert len(rows) >= 700
    for row in rows:
        assert row["error"] == ""
        stamps = {name: int(row[name]) for name in row if name.endswith("_ns")}
        # handed over, taken by the driver, on the wire, off the wire, in the stack
        assert stamps["submitted_ns"] <= stamps["tx_software_ns"] < stamps["tx_hardware_ns"]
        assert stamps["tx_hardware_ns"] - 5_000 < stamps["rx_hardware_ns"]
        assert stamps["rx_hardware_ns"] < stamps["rx_software_ns"] + 5_000
        assert abs(stamps["tx_hardware_ns"] - stamps["txtime_ns"]) <= 5


def test_the_result_has_the_settings_of_the_machine(ran: Ran) -> None:
    host = ran.run["host"]
    assert host["kernel"].startswith("6.")
    assert (host["cpus"]["governors"], host["cpus"]["isolated"]) == ([], ""), "a guest has neither"
    assert host["stations"]["talker"]["driver"] == "keepon_hwsim"
    gathered = host["stations"]["listener"]["coalescing"]
    assert (gathered["rx_us"], gathered["tx_us"]) == (0, 50), "hwsim's default"


PTP = """
[sync]
mode = "ptp"
grandmaster = "talker"
interval_ms = 125
delay_interval_ms = 125
tc = 0
"""
CLASSES = """
[[station.keepon.classes]]
tc = 7
[[station.keepon.classes]]
tc = 0
late = "reschedule"
slots = "rest"
"""


@pytest.mark.soak
def test_clocks_are_set_by_ptp_over_the_same_wire(tmp_path: Path) -> None:
    """A keepon link leads, and a card with stamps of hardware follows; phc2sys sets the leader."""
    text = (EXAMPLES / "two-stations.toml").read_text()
    text = text.replace("\n[[station]]", PTP + "\n[[station]]", 1)
    text = text.replace("batch_slots = 8\n", "batch_slots = 8\n" + CLASSES)
    text = text.replace("deadline_ns = 10_000\n", "deadline_ns = 200_000\ntc = 7\n")
    # The guest's one CPU has the command, ptp4l and phc2sys beside the talker: so far ahead that it
    # is in time, and not so many frames that its share of a link is full (24 of 64, those that
    # have left and are not completed among them).
    assert "advance_ns = 200_000\n" in text
    text = text.replace("advance_ns = 200_000\n", "advance_ns = 16_000_000\n")
    file = tmp_path / "ptp.toml"
    file.write_text(text)
    scenario, plan = planned(file, 0.5)
    host, job = job_of(scenario, plan)
    result = guest("host_ptp.sh", {"/lib/keepon/jobs/ptp.json": job.to_json().encode()}, tmp_path)
    assert result.tap.problems() == []
    run = judged_run(host, job, files_of(result, "run"))
    stream = run.document["streams"]["S1"]
    said = run.document["host"]["messages"]
    print(stream["bound_check"], run.document["host"]["clock_offsets_ns"])
    assert run.document["met"], stream["bound_check"]
    assert any("UNCALIBRATED to SLAVE" in line for line in said["ptp4l-listener.txt"])
    assert "phc2sys-listener.txt" not in said
    assert stream["delivered"] == 500


LOAD = """
[[load]]
id = "B1"
talker = "left"
listener = "listener"
kind = "udp"
rate_bps = 20_000_000
"""


@pytest.mark.soak
def test_streams_and_a_load_over_a_bridge_that_is_there(tmp_path: Path) -> None:
    """All stations and the load share the guest's one CPU: frames are handed over early, and polls
    are few, or talkers would not come to it in time.
    """
    file = tmp_path / "bridge.toml"
    text = (EXAMPLES / "three-stations.toml").read_text() + LOAD
    text = text.replace("batch_slots = 8", "batch_slots = 32\nring_slots = 128")
    file.write_text(text.replace("advance_ns = 200_000", "advance_ns = 2_000_000"))
    scenario, plan = planned(file, 0.5)
    places = parse_map(["left=sim0", "right=sim1", "listener=sim2"])
    host, job = ThisHost(places, programs=PROGRAMS).job(scenario, plan, "keepon")
    result = guest(
        "host_bridge.sh", {"/lib/keepon/jobs/bridge.json": job.to_json().encode()}, tmp_path,
        icount_shift=0,
    )  # fmt: skip
    assert result.tap.problems() == []
    run = judged_run(host, job, files_of(result, "run")).document
    for name in ("L1", "R1"):
        assert run["streams"][name]["delivered"] == 500
        assert run["streams"][name]["outcome"] == "met", run["streams"][name]["bound_check"]
    assert 15_000_000 < run["loads"]["B1"]["goodput_bps"] <= 20_000_000
    assert run["bridges"] == {}
    (sentence,) = (each for each in constructed(scenario, plan, job) if "br1" in each)
    assert "neither sets nor reads" in sentence
