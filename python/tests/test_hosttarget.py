# SPDX-License-Identifier: BSD-3-Clause
"""Target host as far as it goes without interfaces: what is refused before any work, and what is
believed of stamps. The runs themselves are in kernel/tests/test_target_host.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
from keepon.cli import session
from keepon.errors import ConfigError, EnvironmentProblemError, TraceError
from keepon.measure.results import FrameArrays, accounting, quantities
from keepon.model import loading, outcomes
from keepon.model.plan import Bounds
from keepon.model.result import BoundCheck
from keepon.model.scenario import Fault
from keepon.model.tools import Listen, Talk
from keepon.targets.host import observations, places
from keepon.targets.host.observations import CARD, SOFTWARE_RECEIVED, Clocks, believed
from keepon.targets.host.places import clock_limit_ns, parse_map
from keepon.targets.host.target import ThisHost, check_supported
from keepon.targets.measured import stamps_table
from keepon_host.testbed import session as testbed
from keepon_host.testbed import stations
from keepon_host.testbed.clocks import Agreement, Offset, Phc
from keepon_host.testbed.job import Job
from keepon_host.testbed.session import Tell
from keepon_host.testbed.undo import EndedError, Undo, signals_end

ROOT = Path(__file__).resolve().parents[2]
TWO, THREE = (ROOT / "examples" / f"{name}-stations.toml" for name in ("two", "three"))


def refused(*options: str, scenario: Path = TWO, user: int | None = None) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "keepon", "run", str(scenario), "--target", "host", *options],
        capture_output=True, text=True, check=False, user=user,
        cwd="/", env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert not done.stdout
    (line,) = done.stderr.splitlines()
    return done.returncode, line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "option --map: is missing; target host needs the interface of every station, as"
         " --map talker=IFACE --map listener=IFACE"),
        (("--map", "talker"), "must be station=interface or station=namespace/interface"),
        (("--map", "talker=/eth0"), "must be station=interface or station=namespace/interface"),
        (("--map", "talker=eth0"), 'station "listener" has no interface; add --map listener=IFACE'),
        (("--map", "talker=eth0", "--map", "hearer=eth1"),
         'the scenario has no station "hearer" with a link; it has talker, listener'),
        (("--map", "talker=eth0", "--map", "listener=eth0"),
         'eth0 is the interface of station "talker" already; each station needs its own'),
        (("--map", "talker=eth0", "--map", "talker=eth1"),
         'station "talker" has an interface already; give each one'),
        (("--map", "talker=lab/a", "--map", "listener=lab/b"),
         'station "talker" is in namespace lab already; each station needs its own'),
        (("--map", "talker=eth0", "--map", "listener=eth1", "--duration", "100"),
         "must be at most 60 s for target host"),
    ],
)  # fmt: skip
def test_a_map_that_does_not_fit_is_refused(
    options: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    code, line = refused(*options, "--out", str(tmp_path / "out"))
    assert code == 2
    assert sentence in line
    assert not (tmp_path / "out").exists()


def test_options_of_host_with_another_target_are_refused() -> None:
    with pytest.raises(ConfigError, match="are of --target host, not sim; leave them out"):
        session.target_named("sim", "6.1", session.HostOptions(maps=("a=b",)))
    with pytest.raises(ConfigError, match="must be sim, vm or host"):
        session.target_named("moon", "6.1")


@pytest.mark.slow
def test_without_root_it_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for folder in tmp_path.parents:
        if folder.stat().st_uid == os.geteuid() and str(folder).startswith("/tmp/"):
            folder.chmod(0o755)
    out = str(tmp_path / "out")
    code, line = refused(
        "--map",
        "talker=none0",
        "--map",
        "listener=none1",
        "--out",
        out,
        user=None if os.geteuid() else 65534,
    )
    assert (code, line) == (
        3,
        "keepon: target host needs root, to set up interfaces; run it with sudo",
    )


def test_scenarios_it_cannot_run_are_refused() -> None:
    scenario = loading.load(TWO).model_copy(update={"duration_s": 1.0})
    check_supported(scenario)
    stall = Fault(kind="poll-stall", node="talker", at_s=0.5, value_ns=1000)
    stalled = scenario.model_copy(update={"fault": [stall]})
    with pytest.raises(ConfigError, match=r"`fault\[0\].kind` = \"poll-stall\": must be late-sub"):
        check_supported(stalled)


def test_a_job_survives_its_file() -> None:
    scenario = loading.load(THREE).model_copy(update={"duration_s": 1.0})
    places = parse_map([f"{name.name}=lab-{name.name}/eth0" for name in scenario.station])
    target = ThisHost(places, programs={"keepon-talk": "/opt/talk"})
    _, job = target.job(scenario, session.planned(scenario), scenario.drivers()[0])
    assert Job.from_json(job.to_json()) == job
    assert all(each.words[0] == "/opt/talk" for each in job.talkers)
    assert all(not each.own_namespace for each in job.stations)


def test_the_limit_of_clocks_follows_from_the_deadline() -> None:
    scenario = loading.load(TWO).model_copy(update={"duration_s": 1.0})
    plan = session.planned(scenario)
    assert clock_limit_ns(scenario, plan) == 1_000  # a tenth of 10 us
    (stream,) = scenario.stream
    slower = stream.model_copy(update={"deadline_ns": 1_000_000})
    scenario = scenario.model_copy(update={"stream": [slower]})
    assert clock_limit_ns(scenario, plan) == 100_000
    free = scenario.sync.model_copy(update={"mode": "none"})
    assert clock_limit_ns(scenario.model_copy(update={"sync": free}), plan) is None


class Standing(Phc):
    """A clock that is off by a constant."""

    def __init__(self, number: int, offset_ns: int) -> None:
        self.number, self.offset_ns = number, offset_ns

    def offset(self) -> Offset:
        return Offset(self.offset_ns, 10)


def test_clocks_that_disagree_are_named_with_the_number() -> None:
    apart: dict[str, Phc] = {"one": Standing(1, -400_000), "other": Standing(2, 600_123)}
    with pytest.raises(EnvironmentProblemError) as refusal:
        Agreement(apart, 1_000, 0).reached()
    assert str(refusal.value).startswith(
        "the clocks disagree by 1000123 ns (that of other is ahead of that of one), more than"
        " --clock-limit-ns 1000, after --clock-wait-s 0"
    )
    assert Agreement(apart, 1_000_123, 0).reached()


def test_clocks_have_to_agree_for_a_while_if_there_is_time() -> None:
    clock = Standing(1, 500)
    agreement = Agreement({"one": clock}, 1_000, 60)
    assert [agreement.reached() for _ in range(2)] == [False, False]
    clock.offset_ns = 5_000
    assert not agreement.reached()
    clock.offset_ns = 500
    assert [agreement.reached() for _ in range(4)] == [False, False, False, True]


def check(bound_ns: float, worst_ns: float) -> BoundCheck:
    return {"bound_ns": bound_ns, "worst_ns": worst_ns, "met": True, "outcome": "met"}


@pytest.mark.parametrize(
    ("name", "bound_ns", "worst_ns", "heard", "outcome"),
    [
        ("delay_ns", 1000, 1100, observations.CARD, "met"),  # within what clocks may be off
        ("delay_ns", 1000, 1101, observations.CARD, "missed"),
        ("delay_min_ns", 1000, 900, observations.CARD, "met"),
        ("delay_min_ns", 1000, 899, observations.CARD, "missed"),
        # a stamp that is late says that a frame was in time, not that it was late
        ("delay_ns", 1000, 1100, observations.SOFTWARE_RECEIVED, "met"),
        ("delay_ns", 1000, 9000, observations.SOFTWARE_RECEIVED, "nothing checked"),
        ("deadline_ns", 1000, 9000, observations.OWN_RECEIVED, "nothing checked"),
        ("delay_min_ns", 1000, 2000, observations.OWN_RECEIVED, "nothing checked"),
        ("delay_min_ns", 1000, 800, observations.OWN_RECEIVED, "missed"),
        ("jitter_ns", 10, 12, observations.CARD, "met"),
        ("jitter_ns", 10, 13, observations.CARD, "missed"),
        ("jitter_ns", 10, 500, observations.OWN_RECEIVED, "nothing checked"),
    ],
)
def test_bounds_are_judged_as_far_as_stamps_allow(
    name: str, bound_ns: float, worst_ns: float, heard: str, outcome: str
) -> None:
    checks = {name: check(bound_ns, worst_ns)}
    believed(checks, observations.OWN, [heard], 100, 2)
    assert checks[name]["outcome"] == outcome
    assert checks[name]["met"] == (outcome == outcomes.MET)


@pytest.mark.parametrize(
    ("stamped", "outcome"),
    [
        (observations.CARD, "met"),
        (observations.SOFTWARE, "nothing checked"),
        (observations.NOBODY, "nothing checked"),
    ],
)
def test_software_does_not_say_when_a_frame_left(stamped: str, outcome: str) -> None:
    checks = {"release_error_ns": check(5, 4)}
    believed(checks, stamped, [observations.CARD], 100, 2)
    assert checks["release_error_ns"]["outcome"] == outcome


def test_how_far_clocks_were_apart_is_the_worst_of_all_readings() -> None:
    readings = [
        {"tai_ns": 0, "offsets_ns": {"a": [100, 5], "b": [-50, 7]}},
        {"tai_ns": 1_000_000_000, "offsets_ns": {"a": [-500, 5], "b": [-50, 7]}},
    ]
    clocks = Clocks(readings)
    assert clocks.apart_ns("a", ["b"]) == 450
    assert clocks.uncertainty_ns("a", ["b"]) == 462
    assert clocks.rate("a", ["b"]) == pytest.approx(600e-9)
    # one without a clock of its own has the system's
    assert clocks.apart_ns("a", ["none"]) == 500


def test_all_steps_are_put_back_last_first_even_if_one_fails() -> None:
    undo, done = Undo(), []
    undo.add("first is there", lambda: done.append("first"))

    def fails() -> None:
        raise ModuleNotFoundError("no ctypes")

    undo.add("second is there", fails)
    undo.add("third is there", lambda: done.append("third"))
    undo.run()
    assert done == ["third", "first"]
    assert undo.failed == ["second is there: no ctypes"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_an_exception(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(EndedError, match=f"ended by {number.name}"), signals_end():
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


def test_routes_lose_what_the_kernel_would_refuse() -> None:
    """Two messages of struct nlmsghdr and rtmsg, the first dead and without a link, the second of
    odd length.
    """

    def message(flags: int, rest: bytes) -> bytes:
        length = 28 + len(rest)
        head = length.to_bytes(4, sys.byteorder) + bytes(12) + bytes(range(8))
        whole = head + flags.to_bytes(4, sys.byteorder) + rest
        return whole + bytes(-len(whole) % 4)

    saved = b"MAGC" + message(1 | 4 | 16, b"abcde") + message(16, b"xyz")
    wanted = b"MAGC" + message(4, b"abcde") + message(0, b"xyz")
    assert stations.restorable(saved) == wanted


def test_json_of_a_station_is_plain() -> None:
    scenario = loading.load(TWO).model_copy(update={"duration_s": 1.0})
    target = ThisHost(parse_map(["talker=eth0", "listener=eth1"]), programs={"x": "x"})
    _, job = target.job(scenario, session.planned(scenario), "keepon")
    talker = json.loads(job.to_json())["stations"][0]
    assert (talker["namespace"], talker["home"]) == ("keepon-talker", "")
    assert talker["queues"][0][:4] == ["qdisc", "add", "dev", "rt0"]
    assert "slot_bytes" in talker["link"]


def talked(stamps: list[int | None], source: str = "software") -> Talk:
    """What a talker says of frames 1 ms apart, from 1 s on."""
    frames = [
        {
            "seq": seq, "txtime_ns": 10**9 + seq * 10**6, "submitted_ns": 10**9 + seq * 10**6 - 9,
            "tx_stamp_ns": stamp, "sw_stamp_ns": stamp, "error": None, "errno": None,
        }
        for seq, stamp in enumerate(stamps)
    ]  # fmt: skip
    return cast(Talk, {"stamp_source": source, "stream_hash": 7, "frames": frames})


def listened(stamps: list[int | None], source: str = "software") -> Listen:
    frames = [
        {"seq": seq, "stream": "0x00000007", "rx_stamp_ns": stamp, "sw_stamp_ns": stamp}
        for seq, stamp in enumerate(stamps)
        if stamp is not None
    ]
    return cast(Listen, {"stamp_source": source, "frames": frames})


def seen_frames(talk: Talk, listen: Listen) -> FrameArrays:
    stream = loading.load(TWO).stream[0]
    return observations.stream_frames(
        stream, "eth0", talk, [listen], {}, ["on_time", "best_effort", "late", "invalid"],
        10**9, True, False,
    )  # fmt: skip


def test_a_frame_without_a_stamp_of_its_own_left_but_nobody_knows_when() -> None:
    """It arrived, so it was sent; no instant is made up for it, and none of software's is taken."""
    seen = seen_frames(talked([10**9 - 5, None, None]), listened([10**9 + 80, 10**9 + 10**6, None]))
    assert seen.sent.tolist() == [True, True, False]
    assert seen.timed.tolist() == [False, False, False]
    assert quantities(seen)["release_error_ns"]["count"] == 0
    assert quantities(seen)["delay_ns"]["count"] == 2


def test_a_stamp_of_the_card_is_when_a_frame_left() -> None:
    stamps = [10**9 + 3, 10**9 + 10**6 + 4]
    seen = seen_frames(talked([*stamps], "hardware"), listened([None, None]))
    assert (seen.wire_ps[seen.timed] - seen.txtime_ps[seen.timed]).tolist() == [3000, 4000]


def test_a_frame_nobody_sent_is_no_result() -> None:
    with pytest.raises(TraceError, match="frame 1 arrived without having been sent"):
        seen_frames(talked([10**9]), listened([10**9, 10**9]))


@pytest.mark.parametrize(
    ("heard", "uncertainty_ns", "first"),
    [(CARD, 0, 0), (CARD, 100, 1), (CARD, 1000, None), (SOFTWARE_RECEIVED, 100, None)],
)
def test_the_first_bad_frame_is_one_that_is_beyond_its_bound_for_sure(
    heard: str, uncertainty_ns: float, first: int | None
) -> None:
    """Both come too late, by 80 and by 500 ns, if clocks and stamps are good enough to say so."""
    seen = seen_frames(talked([10**9, 10**9 + 10**6]), listened([10**9 + 180, 10**9 + 10**6 + 600]))
    bounds: Bounds = {
        "release_error_ns": None, "delay_ns": 100, "jitter_ns": None, "data_age_ns": None,
    }  # fmt: skip
    found = observations.first_bad(seen, bounds, None, [heard], uncertainty_ns)
    assert (None if found is None else found["seq"]) == first


def test_the_table_has_a_line_for_each_frame_and_listener() -> None:
    stream = loading.load(TWO).stream[0]
    heard = {"near": listened([5, None], "hardware"), "far": listened([None, 8])}
    lines = stamps_table(stream, talked([1, None]), heard).decode().splitlines()
    assert lines == [
        "seq,txtime_ns,submitted_ns,tx_software_ns,tx_hardware_ns,listener,rx_hardware_ns,"
        "rx_software_ns,error",
        "0,1000000000,999999991,1,,near,5,5,",
        "0,1000000000,999999991,1,,far,,,",
        "1,1001000000,1000999991,,,near,,,",
        "1,1001000000,1000999991,,,far,,8,",
    ]


def test_a_frame_in_doubt_was_sent_in_its_slot_if_it_arrived() -> None:
    """It keeps its verdict, and counts as sent where a capture or a listener has it."""
    stream = loading.load(TWO).stream[0]
    start_ps = (10**9 + 7) * 1000
    ended = {
        ("rt0", stream.tc, 10**9 + seq * 10**6): [("in_doubt", start_ps + seq * 10**9)]
        for seq in (0, 1)
    }
    names = ["best_effort", "in_doubt"]
    seen = observations.stream_frames(
        stream, "rt0", talked([None, None]), [listened([10**9 + 80, None])], ended, names, 10**9,
        True, True,
    )  # fmt: skip
    assert (seen.wire_ps - seen.txtime_ps)[seen.timed].tolist() == [7000]
    counted = accounting(seen, names, {}, stream.id)
    assert counted["verdicts"] == {"best_effort": 0, "in_doubt": 2}
    assert [counted[key] for key in ("submitted", "sent", "delivered", "pending", "missing")] == [
        2, 1, 1, 0, 1,
    ]  # fmt: skip


def test_a_disk_that_is_full_in_the_run_is_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk with no room at all stands where the run keeps what it saw."""
    full = tmp_path / "run"
    full.symlink_to("/dev/full")

    def work(job: Job, folder: Path, undo: Undo, tell: Tell) -> None:
        undo.add("it stays", lambda: (tmp_path / "undone").touch())
        folder.write_text("what was seen")

    monkeypatch.setattr(testbed, "_run", work)
    job = Job([], [], [], [], "free", None, 0.0, 1, 1, 1)
    said = r"^the files of the run cannot be kept \(No space left on device\): make room in /"
    with pytest.raises(EnvironmentProblemError, match=said):
        testbed.run(job, full)
    assert (tmp_path / "undone").exists()


def test_loads_without_their_program_are_refused_before_anything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(places.shutil, "which", lambda name: None)
    scenario = loading.load(TWO.with_name("robot-cell.toml"))
    with pytest.raises(EnvironmentProblemError, match="is sent by iperf3, which is not installed"):
        places.check_loads(scenario)
    places.check_loads(scenario.model_copy(update={"load": []}))
