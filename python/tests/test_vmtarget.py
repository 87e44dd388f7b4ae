# SPDX-License-Identifier: BSD-3-Clause
"""Target vm without a vm: the script a guest gets, and what is made of the files it leaves."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keepon.cli import session
from keepon.errors import ConfigError, EnvironmentProblemError, TraceError
from keepon.machines.network import guest_script
from keepon.machines.planned import slot_list
from keepon.measure import results
from keepon.model import loading, outcomes
from keepon.model.scenario import Scenario
from keepon.targets.vm import observations
from keepon.targets.vm.observations import load_result
from keepon.targets.vm.target import _check_clock, check_plan, check_supported

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = ["on_time", "moved", "best_effort", "sent_stale", "late", "invalid"]


@pytest.fixture
def three() -> Scenario:
    return loading.load(ROOT / "examples" / "three-stations.toml")


def changed(scenario: Scenario, table: str, key: str, value: Any) -> Scenario:
    """The scenario with one key of its first table of a kind changed."""
    entries = list(getattr(scenario, table))
    entries[0] = entries[0].model_copy(update={key: value})
    return scenario.model_copy(update={table: entries})


@given(st.sets(st.integers(0, 400)))
def test_slot_lists_say_exactly_the_slots(slots: set[int]) -> None:
    text = slot_list(sorted(slots))
    read: set[int] = set()
    for term in [] if text == "none" else text.split(","):
        span, _, step = term.partition("/")
        first, _, last = span.partition("-")
        read |= set(range(int(first), int(last or first) + 1, int(step or 1)))
    assert read == slots


def test_slot_lists_are_short() -> None:
    assert slot_list(list(range(250))) == "0-249"
    assert slot_list(list(range(0, 250, 10))) == "0-240/10"
    assert slot_list([]) == "none"


def test_the_script_says_what_the_plan_says(three: Scenario) -> None:
    plan = session.planned(three)
    script = guest_script(three, plan, "keepon")
    for name in ("left", "right"):
        station = plan["stations"][name]
        assert f"slot_bytes {station['slot_bytes']} ring {station['ring_slots']}" in script
        assert f"batch {station['batch_slots']} depth {station['depth_slots']}" in script
    for stream in three.stream:
        assert f"--stream {stream.id} --period {stream.period_ns}" in script
        assert (
            f"--offset {plan['streams'][stream.id]['release_ns']} --advance {stream.advance_ns}"
            in script
        )
    assert script.count("control link ") == len(three.link)
    assert (
        "control bridge b0 ports=3 processing_ns=2000 rate_bps=1000000000 classes=10234567"
        in script
    )


def test_listeners_wait_for_what_may_still_come(three: Scenario) -> None:
    """A second beyond lead, window and what frames are allowed: 100 ms, or the longest deadline."""
    seconds = three.duration_s + three.warmup_s + 2 + 1
    for deadline_ns, drain_s in ((None, 0.1), (3_000_000_000, 3.0)):
        scenario = changed(three, "stream", "deadline_ns", deadline_ns)
        script = guest_script(scenario, session.planned(scenario), "keepon")
        assert f"--duration {round((seconds + drain_s) * 1000)}ms" in script


def test_faults_reach_the_right_part(three: Scenario) -> None:
    text = (ROOT / "examples" / "three-stations.toml").read_text()
    for kind in ("poll-stall", "wire-pause", "link-down", "clock-step", "late-submit"):
        text += f'\n[[fault]]\nat_s = 0.5\nkind = "{kind}"\nnode = "right"\nvalue_ns = 1_000\n'
    scenario = _load_text(text)
    check_supported(scenario)
    script = guest_script(scenario, session.planned(scenario), "keepon")
    assert "echo 1000 > /sys/kernel/debug/keepon/rt1/stall_ns" in script
    assert "echo pause 1000 > /sys/kernel/debug/keepon_hwsim/n1/fault" in script
    assert "echo flap 1000 > /sys/kernel/debug/keepon_hwsim/n1/fault" in script
    assert "phc_ctl rt1 adj 0.000001000" in script
    assert "--delay 501=1000" in script and script.count("--delay") == 1


def _load_text(text: str) -> Scenario:
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text)
        file.flush()
        return loading.load(Path(file.name))


@pytest.mark.parametrize(
    ("table", "key", "value", "said"),
    [
        ("station", "clock_ppm", 1.0, "`station[0].clock_ppm` = 1.0"),
        ("station", "cpu_ppm", 1.0, "`station[0].cpu_ppm` = 1.0"),
        ("station", "cpu_tick_ns", 19, "`station[0].cpu_tick_ns` = 19"),
        ("station", "wander_ppb_per_s", 1.0, "`station[0].wander_ppb_per_s` = 1.0"),
        ("bridge", "gates", {"left": None}, "`bridge[0].gates`"),
    ],
)
def test_what_the_target_cannot_do_is_refused(
    three: Scenario, table: str, key: str, value: Any, said: str
) -> None:
    check_supported(three)
    with pytest.raises(ConfigError, match=r"target vm") as refused:
        check_supported(changed(three, table, key, value))
    assert said in str(refused.value)


def test_a_run_too_long_is_refused(three: Scenario) -> None:
    with pytest.raises(ConfigError, match="use --duration"):
        check_supported(three.model_copy(update={"duration_s": 61.0}))


def test_a_plan_with_gates_is_refused() -> None:
    habitat = loading.load(ROOT / "examples" / "habitat.toml")
    with pytest.raises(ConfigError, match="bridge br"):
        check_plan(session.planned(habitat))


def test_stream_hash_is_that_of_the_talker() -> None:
    assert observations.stream_hash("") == 0x811C9DC5
    assert observations.stream_hash("a") == 0xE40C292C  # published FNV-1a vectors
    assert observations.stream_hash("foobar") == 0xBF9CF968


@pytest.mark.parametrize(
    ("text", "ps"), [("12.345", 12345), ("0.001", 1), ("7", 7000), ("1.5", 1500)]
)
def test_decimal_nanoseconds_are_exact(text: str, ps: int) -> None:
    assert observations.picoseconds(text) == ps


def head(stream: str, seq: int) -> str:
    """First bytes of a test frame: addresses, a tag, the type, the payload header."""
    number = observations.stream_hash(stream)
    payload = (
        observations.MAGIC
        + bytes([1, 11, 0, 1])
        + number.to_bytes(4, "big")
        + seq.to_bytes(8, "big")
        + bytes(16)
    )
    return (bytes(12) + b"\x81\x00\xa0\x00\x88\xb5" + payload).hex()


def wire_line(stream: str, seq: int, raw_ns: str, phc_ns: str) -> str:
    times = f"raw_ns={raw_ns} phc_ns={phc_ns}"
    return f"frame seq={seq * 100} {times} bytes=1230 queue=0 verdict=good head={head(stream, seq)}"


def talk_frame(
    seq: int, txtime_ns: int, stamp_ns: int | None, error: str | None = None
) -> dict[str, Any]:
    return {
        "seq": seq,
        "txtime_ns": txtime_ns,
        "submitted_ns": txtime_ns - 150_000,
        "tx_stamp_ns": stamp_ns,
        "error": error,
    }


def outcome_line(verdict: str, slot: int, txtime_ns: int, start_ns: str) -> str:
    """What the kernel traces of a frame of rt0."""
    fields = f"tc=0 verdict={verdict} slot={slot} txtime_ns={txtime_ns} start_ns={start_ns}"
    return f" talk-1 [000] 1.0: keepon_outcome: dev=rt0 {fields}\n"


OUTCOMES = (
    outcome_line("on_time", 100, 1_000_000_064, "1000000064.000")
    + outcome_line("on_time", 200, 1_001_000_064, "1001000064.000")
    + outcome_line("late", 0, 1_002_000_064, "0.000")
)


def joined(
    three: Scenario,
    outcomes: str = OUTCOMES,
    stamp_error_ns: int = 0,
    clock_ns: int = 0,
    device: str = "rt0",
) -> observations.StreamFrames:
    """Three frames: on time, 8 ns late on the wire, refused as late.

    Args:
        stamp_error_ns: by which every hardware stamp is wrong.
        clock_ns: by how much the NIC's own clock is behind the talker's.
    """
    stream = three.stream[0]
    record = observations.read_wire(
        "placeholders seq=0 count=99 raw_ns=1.0 phc_ns=5.0 bytes=1230 pitch_ps=10000000\n"
        + wire_line("L1", 0, "2000000.064", f"{1_000_000_064 - clock_ns}.000")
        + "\n"
        + wire_line("L1", 1, "3000008.064", f"{1_001_000_072 - clock_ns}.000")
    )
    assert (record.frames, record.placeholders) == (2, 99)
    talk = {
        "frames": [
            talk_frame(0, 1_000_000_064, 1_000_000_064 + stamp_error_ns),
            talk_frame(1, 1_001_000_064, 1_001_000_064 + stamp_error_ns),
            talk_frame(2, 1_002_000_064, None, "missed"),
        ]
    }
    listen = {
        "frames": [
            {"seq": 0, "stream": "L1", "rx_stamp_ns": 1_000_000_178 - clock_ns},
            {"seq": 1, "stream": "L1", "rx_stamp_ns": 1_001_000_186 - clock_ns},
        ]
    }
    return observations.stream_frames(
        stream,
        device,
        talk,
        [listen],
        record,
        observations.read_outcomes(outcomes),
        VERDICTS,
        1_000_000_000,
        True,
        {"slot_time_ps": 10_000_000, "preamble_ps": 64_000},
        device == "rt0",
    )


def test_frames_are_joined_from_talker_wire_and_listener(three: Scenario) -> None:
    frames = joined(three)
    arrays = frames.arrays
    assert arrays.verdict.tolist() == [0, 0, VERDICTS.index("late")]
    assert arrays.arrival_ps[0, 2] == arrays.wire_ps[2] == -1
    # one constant joins both clocks; what remains is the deviation of the second frame
    assert int(arrays.wire_ps[1] - arrays.wire_ps[0]) == 1_000_008_000
    assert int(frames.stamp_error_ps[0] - frames.stamp_error_ps[1]) == 8_000
    assert (arrays.arrival_ps[0, :2] - arrays.wire_ps[:2]).tolist() == [114_000, 114_000]


def test_an_error_that_all_stamps_share_shows(three: Scenario) -> None:
    """Stamps that forget the preamble, all 64 ns early: the wire is where the kernel says, and they
    are off.
    """
    wrong, right = joined(three, stamp_error_ns=-64), joined(three)
    assert (wrong.stamp_error_ps - right.stamp_error_ps).tolist() == [-64_000, -64_000, 0]
    assert np.array_equal(wrong.arrays.wire_ps, right.arrays.wire_ps)
    assert np.array_equal(wrong.arrays.arrival_ps, right.arrays.arrival_ps)


@pytest.mark.parametrize(
    ("clock_ns", "underruns", "suspected", "outcome"),
    [
        (0, 0, 0, "met"),
        (1_900, 0, 0, "met"),
        (-10_000, 0, 0, "missed"),
        (3_900, 1, 0, "met"),
        (4_100, 1, 0, "missed"),
        (-5_900, 0, 1, "met"),
        (-6_100, 0, 1, "missed"),
    ],
)
def test_a_talker_whose_clock_is_off_by_a_slot_is_not_called_met(
    three: Scenario, clock_ns: int, underruns: int, suspected: int, outcome: str
) -> None:
    """Joined by one constant its frames look right; how large the constant may be is a bound of its
    own. An underrun that was seen is made up for; one that is only suspected is not, and the clock
    is behind by what the wire was idle, 4 us here.
    """
    # the constant is the lower of two, that of the frame which is 8 ns late
    assert joined(three, clock_ns=clock_ns).clock_ps == clock_ns * 1000 - 8_000
    stream: dict[str, Any] = {
        "due": 2,
        "missing": 0,
        "bound_check": {"delay_ns": results.check(200, 114_000)},
    }
    station: Any = {
        "underruns": underruns,
        "suspected_underruns": suspected,
        "nic": {"tx_idle_ns": 4_000},
    }
    _check_clock(three, stream, station, "left", clock_ns * 1000)
    assert stream["outcome"] == stream["bound_check"]["talker_clock_ns"]["outcome"] == outcome


def test_a_stamp_alone_does_not_make_a_frame_on_time(three: Scenario) -> None:
    """An ordinary NIC stamps what it sends, whenever that is; a keepon device must say what became
    of a frame.
    """
    frames = joined(three, "", device="n0")
    assert [VERDICTS[index] for index in frames.arrays.verdict] == [
        "best_effort",
        "best_effort",
        "late",
    ]
    with pytest.raises(TraceError, match="frame 0 was sent without a verdict of the kernel"):
        joined(three, "")


def test_delays_by_clocks_that_run_free_are_not_known(three: Scenario) -> None:
    arrays = dataclasses.replace(joined(three).arrays, one_clock=False)
    got = results.stream_result(
        arrays, VERDICTS, {}, {"delay_ns": 1, "delay_min_ns": 1}, "L1", 1_000_000, 1
    )
    assert got["delay_ns"]["count"] == got["listener"]["delay_ns"]["count"] == 0
    assert {check["outcome"] for check in got["bound_check"].values()} == {outcomes.NOTHING_CHECKED}


def test_verdicts_come_from_the_kernel(three: Scenario) -> None:
    lines = "".join(
        outcome_line(verdict, slot, txtime_ns, start_ns)
        for verdict, slot, txtime_ns, start_ns in (
            ("moved", 100, 1_000_000_064, "1000010064.000"),
            ("on_time", 200, 1_001_000_064, "1001000063.999"),
            ("late", 0, 1_002_000_064, "0.000"),
        )
    )
    frames = joined(three, lines)
    assert [VERDICTS[index] for index in frames.arrays.verdict] == ["moved", "on_time", "late"]
    assert frames.net_slot.tolist() == [100_001, 100_100, -1]


def test_a_frame_from_nowhere_is_an_error(three: Scenario) -> None:
    record = observations.read_wire(wire_line("L1", 0, "1.0", "2.0"))
    listen = {"frames": [{"seq": 5, "stream": "L1", "rx_stamp_ns": 9}]}
    talk = {"frames": [talk_frame(0, 0, None)]}
    with pytest.raises(TraceError, match="frame 5 arrived without having been sent"):
        observations.stream_frames(
            three.stream[0], "rt0", talk, [listen], record, {}, VERDICTS, 0, True, {}, False
        )


def test_a_record_without_its_beginning_is_an_error() -> None:
    with pytest.raises(TraceError, match="lost its beginning"):
        observations.read_wire("forgotten slots=12")


def test_a_talker_that_died_is_named() -> None:
    files = {"talk-S1.json": b'{"frames": [', "talk-S1.txt": b"keepon-talk: no such device\n"}
    with pytest.raises(TraceError, match="no such device"):
        observations.load_json(files, "talk-S1.json")


def test_counters_are_read_from_either_kind_of_file() -> None:
    text = (
        "NIC statistics:\n     tx_frames: 12\n     verdict_on_time: 3\nrx_fcs_errors 44\nport 0\n"
    )
    assert observations.read_counters(text) == {
        "tx_frames": 12,
        "verdict_on_time": 3,
        "rx_fcs_errors": 44,
        "port": 0,
    }


def test_counters_that_are_not_there_are_not_zero() -> None:
    files = {
        "stats-n0.txt": b"NIC statistics:\n     tx_frames: 12\n",
        "stats-n1.txt": b"no such device\n",
    }
    assert observations.counters_of(files, "n0", ("tx_frames",)) == {"tx_frames": 12}
    for interface, needed, said in (
        ("n9", (), "left no counters in stats-n9.txt"),
        ("n1", (), "left no counters in stats-n1.txt"),
        ("n0", ("underruns",), "has no counter underruns"),
    ):
        with pytest.raises(TraceError, match=said):
            observations.counters_of(files, interface, needed)


def test_best_effort_is_what_the_wire_saw_beside_the_streams_in_the_window() -> None:
    lines = [wire_line("L1", 0, "1.0", "100.0")]
    for at_ns in ("99.999", "100.0", "199.999", "200.0"):
        lines.append(
            f"frame seq=1 raw_ns=5.0 phc_ns={at_ns} bytes=1230 queue=7 verdict=good head=00"
        )
    record = observations.read_wire("\n".join(lines))
    assert observations.rate_bps(record.others, 100, 200) == 2 * 1230 * 8 * 10**7


def test_goodput_is_what_arrived_over_the_time_iperf_measured() -> None:
    def files(**end: Any) -> dict[str, bytes]:
        return {"load-L.json": json.dumps({"end": end}).encode()}

    sent = {"bytes": 9_000, "seconds": 2.0, "lost_packets": 3}
    got = load_result(
        files(sum=sent, sum_sent=sent, sum_received={"bytes": 6_000, "seconds": 2.0}), "L"
    )
    assert (got["goodput_bps"], got["window_s"], got["lost"]) == (24_000, 2.0, 3)
    with pytest.raises(TraceError, match="does not say what arrived"):
        load_result(files(sum=sent, sum_sent=sent), "L")


def test_lost_frames_of_the_trace_are_an_error() -> None:
    with pytest.raises(TraceError, match="trace buffer"):
        observations.read_outcomes("CPU:0 [LOST 17 EVENTS]\n")
    assert observations.read_outcomes("nothing") == {}


def test_an_installed_keepon_says_that_target_vm_needs_the_repository(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No wheel has keepon_guests."""
    monkeypatch.delitem(sys.modules, "keepon.targets.vm.target")
    for name in [name for name in sys.modules if name.partition(".")[0] == "keepon_guests"]:
        monkeypatch.setitem(sys.modules, name, None)
    sentence = "vm: needs the repository, as keepon_guests is not installed; run it from a checkout"
    with pytest.raises(EnvironmentProblemError, match=sentence):
        session.target_named("vm", None)
