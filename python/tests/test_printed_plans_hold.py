# SPDX-License-Identifier: BSD-3-Clause
"""Scenarios whose plans once failed the checker or their own trial; python/tests/cases has the
files.
"""

from __future__ import annotations

import itertools
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from keepon.cli import app as cli
from keepon.errors import EXIT_MET, EXIT_MISSED, ConfigError, PlanRejectedError
from keepon.model import launchtime, loading
from keepon.model.scenario import Scenario
from keepon.planner import plan as make_plan
from keepon.planner.checker.given import Given
from keepon.planner.verify import problems
from keepon.targets.sim import runner
from keepon.trial.trial import trial

CASES = Path(__file__).parent / "cases"


def case(name: str, **replacements: str) -> Scenario:
    """A case with pieces of its text replaced."""
    text = (CASES / f"{name}.toml").read_text(encoding="utf-8")
    for old, new in replacements.items():
        assert old in text, old
        text = text.replace(old, new)
    return loading.parse(text, f"{name}.toml")


def holds(scenario: Scenario) -> tuple[dict[str, Any], dict[str, Any]]:
    """The plan of a scenario and its trial, both without complaint."""
    plan = make_plan(scenario)
    assert plan["status"] == "feasible"
    assert problems(scenario, plan) == []
    return plan, trial(scenario, plan)


@pytest.mark.parametrize("gates", ["auto", "none"])
@pytest.mark.parametrize("ppm", ["30.0", "3.0", "-30.0", "-100.0"])
def test_frames_in_slots_that_are_trimmed_are_longer_or_shorter_behind_every_bridge(
    ppm: str, gates: str
) -> None:
    changes = {
        "processing_ns = 1500": f'processing_ns = 1500\ngates = "{gates}"',
        "warmup_s = 6.0": "warmup_s = 1.0",
    }
    scenario = case("crystal-ahead", **{"clock_ppm = 30.0": f"clock_ppm = {ppm}"}, **changes)
    plan, tried = holds(scenario)
    assert tried["unsent"] == {}
    frame_ps = plan["streams"]["act2"]["terms"]["frame_ps"]
    # Two bridges take it in whole: at 1 Gb/s a byte more each where the crystal is ahead.
    assert (frame_ps >= 2 * 231 * 8000) == (float(ppm) > 0)
    assert plan["streams"]["set2"]["terms"]["frame_ps"] == 2 * 230 * 8000


def test_frames_of_a_true_crystal_or_in_reserved_trims_keep_their_length() -> None:
    for changes in (
        {"clock_ppm = 30.0": "clock_ppm = 0.0"},
        {'host = "raspberry-pi-4"': 'keepon = { trim = "reserved" }'},
    ):
        plan = make_plan(case("crystal-ahead", **changes))
        assert plan["streams"]["act2"]["terms"]["frame_ps"] < 2 * 231 * 8000


@pytest.mark.parametrize(("name", "byte_ns"), [("lt100", 80), ("lt10", 800)])
def test_launch_times_on_slow_links_wait_for_the_next_byte(name: str, byte_ns: int) -> None:
    plan, tried = holds(case(name))
    assert tried["unsent"] == {}
    # The comparator's 32 ns, then the wire's next byte.
    assert plan["streams"]["S2"]["bounds"]["release_error_ns"] == 32 + byte_ns


def test_launches_count_their_preamble_in_whole_ns() -> None:
    plan, _ = holds(case("launch-2500m"))
    assert plan["streams"]["F"]["release_early_ps"] == -400
    assert plan["streams"]["F"]["bounds"]["delay_min_ns"] == 2803


def test_order_begins_to_be_measured_when_every_stream_is_sent() -> None:
    scenario = case("order-at-start")
    with pytest.raises(ConfigError, match=r"`warmup_s` = 0\.0: must be at least 0\.012 with"):
        trial(scenario, make_plan(scenario))
    plan, tried = holds(case("order-at-start", **{"warmup_s = 0.0": "warmup_s = 0.012"}))
    assert tried["unsent"] == {}
    # A bound that no start explains is the plan's own defect.
    plan["streams"]["F4"]["bounds"]["delay_min_ns"] += 1000
    with pytest.raises(PlanRejectedError, match="delay_min_ns of stream F4"):
        trial(scenario, plan)


def test_launch_times_of_a_crystal_that_is_off_wait_for_the_next_byte_at_any_rate() -> None:
    plan, _ = holds(case("ltadv", **{'name = "a"': 'name = "a"\nclock_ppm = 20.0'}))
    assert plan["streams"]["S1"]["bounds"]["release_error_ns"] == 32 + 8


@pytest.mark.parametrize("period_ns", [16_683_333, 333_333, 1_000_000])
def test_launch_times_of_any_period_wait_for_the_next_byte(period_ns: int) -> None:
    """A clock that was set has any phase to the bytes of its wire; the simulator's begins with a
    multiple of the period.
    """
    text = f"""
schema = "keepon.scenario/1"
name = "camera"
station = [{{ name = "camera", driver = "launchtime" }}, {{ name = "controller" }}]
link = [{{ ends = ["camera", "controller"] }}]

[[stream]]
id = "frame"
talker = "camera"
listeners = ["controller"]
period_ns = {period_ns}
frame_bytes = 500
"""
    plan, _ = holds(loading.parse(text, "camera.toml"))
    assert plan["streams"]["frame"]["bounds"]["release_error_ns"] == 32 + 8


def test_launch_times_that_txtime_assist_gives_best_effort_cost_streams_their_bound() -> None:
    """It counts 196 bytes and not the 220 of the wire, so 55 us of best effort are left over at the
    end of its window.
    """
    text = """
schema = "keepon.scenario/1"
name = "assist"
duration_s = 0.1
host_tail_scale = 0.0
defaults = { rate_bps = 100_000_000 }
link = [{ ends = ["a", "b"] }]
load = [{ id = "bulk", talker = "a", listener = "b", kind = "saturate", frame_bytes = 200, tc = 1 }]

[[station]]
name = "a"
driver = "launchtime"
qdisc = '''
tc qdisc replace dev eth0 root handle 100 taprio num_tc 2 map 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 \
   queues 1@0 1@0 base-time 0 sched-entry S 01 300000 sched-entry S 02 700000 flags 0x1 \
   txtime-delay 500000 clockid CLOCK_TAI
tc qdisc replace dev eth0 parent 100:1 etf skip_sock_check offload delta 300000 clockid CLOCK_TAI
'''

[[station]]
name = "b"

[[stream]]
id = "rtc"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 200
tc = 0
"""
    plan, _ = holds(loading.parse(text, "camera.toml"))
    assert plan["streams"]["rtc"]["bounds"]["delay_ns"] is None
    alone = re.sub("load = .*", "", text)
    plan, _ = holds(loading.parse(alone, "assist.toml"))
    assert plan["streams"]["rtc"]["bounds"]["delay_ns"] is not None


@pytest.mark.parametrize("ppm", ["25.5", "1000.0", "-1000.0"])
@pytest.mark.parametrize("rate_bps", [10_000_000, 1_000_000_000])
def test_the_earliest_instant_of_a_launch_knows_that_a_fast_crystal_ends_preambles_early(
    ppm: str, rate_bps: int
) -> None:
    scenario = case("fast-launch", **{"25.5": ppm, "1000000000": str(rate_bps)})
    plan, _ = holds(scenario)
    short_ps = -plan["streams"]["S1"]["release_early_ps"]
    assert 8 * 8 * 10**12 // rate_bps // 1000 < short_ps < 8 * 8 * 10**12 // rate_bps // 400
    result = runner.run_all(scenario, plan, 1).runs[0].document
    assert result["streams"]["S1"]["outcome"] == "met"


def test_streams_with_launch_times_that_state_no_advance_get_one_that_etf_can_sort() -> None:
    scenario = case("ltadv")
    assert [stream.advance_ns for stream in scenario.stream] == [200_000, 200_000]
    _, tried = holds(scenario)
    assert tried["unsent"] == {}
    longer = case("ltadv", **{'name = "a"': 'name = "a"\netf_delta_ns = 300_000'})
    assert [stream.advance_ns for stream in longer.stream] == [350_000, 350_000]
    assert holds(longer)[1]["unsent"] == {}


def test_an_advance_that_leaves_the_order_of_launch_times_to_chance_is_refused() -> None:
    text = (
        (CASES / "ltadv.toml")
        .read_text(encoding="utf-8")
        .replace("frame_bytes = 100", "frame_bytes = 100\nadvance_ns = 100_000")
    )
    with pytest.raises(
        ConfigError,
        match=r'key `stream\[0\].advance_ns` \(stream "S1"\) = 100000: must be between 159030 and',
    ):
        make_plan(loading.parse(text, "ltadv.toml"))
    alone = text[: text.rindex("[[stream]]")]
    assert holds(loading.parse(alone, "ltadv.toml"))[1]["unsent"] == {}
    with pytest.raises(
        ConfigError,
        match=r"key `station\[0\].etf_delta_ns` .* = 9000: must be between \d+ and 1000000000",
    ):
        make_plan(case("ltadv", **{'name = "a"': 'name = "a"\netf_delta_ns = 9_000'}))


def test_a_nic_that_fetches_slowly_needs_a_longer_delta() -> None:
    scenarios = [
        case("ltadv"),
        case(
            "ltadv",
            **{'name = "a"': 'name = "a"\nnic = { fetch_ns = 50_800, restart_ns = 60_000 }'},
        ),
    ]
    fast_ns, slow_ns = (
        launchtime.least_delta_ns(scenario, scenario.station[0]) for scenario in scenarios
    )
    assert slow_ns - fast_ns == 50_000
    assert holds(scenarios[1])[1]["unsent"] == {}


@pytest.mark.parametrize(("beyond_ns", "key"), [(1_000_000, "etf_delta_ns"), (0, "advance_ns")])
def test_no_more_frames_are_handed_over_than_the_nics_ring_holds(
    monkeypatch: pytest.MonkeyPatch, beyond_ns: int, key: str
) -> None:
    """The trial of 10 ms cannot show it: the ring takes longer to fill."""

    def ahead(delta_ns: int) -> Scenario:
        text = (CASES / "ltadv.toml").read_text(encoding="utf-8")
        advance = f"100_000\nadvance_ns = {delta_ns + beyond_ns}"
        text = text[: text.rindex("[[stream]]")].replace("1_000_000", advance)
        text = text.replace('name = "a"', f'name = "a"\netf_delta_ns = {delta_ns}', 1)
        return loading.parse(text, "ring.toml").model_copy(update={"duration_s": 0.2})

    def refused_frames(scenario: Scenario) -> int:
        run, _ = runner.simulate(scenario, make_plan(scenario), "launchtime", 1, None)
        return run.document["streams"]["S1"]["verdicts"]["no_room"]

    full_ns = launchtime.RING_FRAMES * 100_000 - 1
    assert refused_frames(ahead(full_ns)) == 0
    more = ahead(full_ns + 500_000)
    with pytest.raises(ConfigError, match=rf"{key}` .* must be less, as 261 frames .* holds 256;"):
        make_plan(more)
    monkeypatch.setattr(launchtime, "_check_ring", lambda *_: None)
    assert refused_frames(more) > 0


def test_what_is_sent_without_a_launch_time_gets_no_bound() -> None:
    plan, _ = holds(case("ltadv", **{'name = "a"': 'name = "a"\nrelease = "sleep"'}))
    bounds = dict(plan["streams"]["S1"]["bounds"])
    assert bounds.pop("delay_min_ns") > 0
    assert set(bounds.values()) == {None}


def test_a_frame_that_leaves_in_the_next_hyperperiod_is_compared_with_its_neighbours_there() -> (
    None
):
    plan, tried = holds(case("g1048-min"))
    assert tried["unsent"] == {}
    window = plan["streams"]["f35"]["windows"][-1]
    assert window["open_ps"] > 500_000_000, (
        "the case no longer has a frame that leaves after its period"
    )


@pytest.mark.parametrize("ppm", ["20.0", "-20.0", "0.0"])
def test_a_frame_that_waits_in_a_queue_does_not_leave_with_the_end_of_a_shorter_one(
    ppm: str,
) -> None:
    text = (CASES / "crystal-ahead.toml").read_text(encoding="utf-8")
    text = text.replace("clock_ppm = 30.0", f"clock_ppm = {ppm}").replace(
        "warmup_s = 6.0", "warmup_s = 1.0"
    )
    text = text.replace("[sync]", '[planner]\nisolation = "order"\n[sync]')
    third = text[text.index('[[stream]]\nid = "act2"') :]
    scenario = loading.parse(
        text + third.replace("act2", "act3") + third.replace("act2", "act4"), "order.toml"
    )
    plan, tried = holds(scenario)
    assert tried["unsent"] == {}
    opened = sorted(
        plan["streams"][name]["windows"][-1]["open_ps"] for name in ("act1", "act2", "act3", "act4")
    )
    # Slots follow each other every 2 us; so do windows of frames that have exactly their length.
    assert (min(late - early for early, late in itertools.pairwise(opened)) == 2_000_000) == (
        ppm == "0.0"
    )


def burst(count: int, delta: str = "") -> str:
    """A scenario whose station "a" sends so many frames in a row; station "other" is beside it."""
    text = 'schema = "keepon.scenario/1"\nname = "burst"\n[[bridge]]\nname = "b"\n'
    text += f'[[station]]\nname = "a"\ndriver = "launchtime"\n{delta}'
    text += '[[station]]\nname = "other"\ndriver = "launchtime"\n[[station]]\nname = "z"\n'
    text += "".join(f'[[link]]\nends = ["{name}", "b"]\n' for name in ("a", "other", "z"))
    return text + "".join(
        stream(f"F{number}", "a") + f"offset_ns = {2_000 * number}\n" for number in range(count)
    )


def stream(name: str, talker: str) -> str:
    return (
        f'[[stream]]\nid = "{name}"\ntalker = "{talker}"\nlisteners = ["z"]\n'
        "period_ns = 1_000_000\nframe_bytes = 200\npriority = 5\n"
    )


def test_a_burst_that_etfs_driver_cannot_keep_up_with_is_named_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twenty frames in a row, 9 us each in the driver: more than ETF's 150 us. Shown, and no
    success.
    """

    def planned(delta: str) -> tuple[int, str]:
        path = tmp_path / "burst.toml"
        path.write_text(burst(20, delta))
        monkeypatch.setattr(sys, "argv", ["keepon", "plan", str(path)])
        return cli.main(), capsys.readouterr().out

    code, printed = planned("")
    assert code == EXIT_MISSED
    assert "frames, not all of them in time" in printed
    late = [line for line in printed.splitlines() if "not sent in time" in line]
    assert len(late) == 1
    assert late[0].startswith("F0, F1, F2, F3, F4 and 15 others: ")
    assert late[0].endswith("raise etf_delta_ns, and advance_ns with it")
    code, printed = planned("etf_delta_ns = 300_000\n")
    assert code == EXIT_MET
    assert "frames within every bound" in printed


@pytest.mark.parametrize("isolation", ["frame", "order"])
def test_who_waits_for_frames_of_others_that_came_late_is_named_and_no_defect(
    isolation: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Frames of "a" come up to 50 us behind their windows and take that of "other" in the bridge's
    queue.
    """
    beside = stream("beside", "other").replace("200", "1500") + "offset_ns = 60_000\n"
    text = burst(22) + beside
    path = tmp_path / "burst.toml"
    path.write_text(text + f'[planner]\nisolation = "{isolation}"\n')
    monkeypatch.setattr(sys, "argv", ["keepon", "plan", str(path)])
    assert cli.main() == EXIT_MISSED
    late = [line for line in capsys.readouterr().out.splitlines() if "not sent in time" in line]
    assert [line.partition(":")[0] for line in late] == [
        "F0, F1, F2, F3, F4 and 17 others",
        "beside",
    ]
    assert "at ports with frames of other talkers that came late" in late[1]
    assert late[1].endswith("; what helps those that came late helps these, too")


def test_streams_begin_when_slots_that_are_trimmed_are_on_the_grid() -> None:
    """Later than usual with few slots to trim: what was moved before stayed late for good."""
    assert holds(case("settling"))[1]["unsent"] == {}


def test_frames_of_a_queue_do_not_come_at_the_same_instant() -> None:
    """Either could be the first then, and wait for its window before the other one."""
    scenario = case("tie")
    plan, _ = holds(scenario)
    given = Given(scenario, plan)
    place = ("b0", "b1")

    def ready_ps(name: str, error: str) -> int:
        """When a frame is whole in the queue of the bridge that its talker is linked to."""
        byte_ps, cable_ps = given.links[given.streams[name].talker, place[0]]
        entry: Any = plan["streams"][name]
        wire_ps = entry["frame_bytes_on_wire"] * byte_ps
        processing_ps = 1000 * given.bridges[place[0]].processing_ns
        return int(1000 * entry["release_ns"] + entry[error] + cable_ps + wire_ps + processing_ps)

    first, second = "f10", "f19"
    if ready_ps(first, "release_early_ps") > ready_ps(second, "release_early_ps"):
        first, second = second, first
    assert ready_ps(first, "release_late_ps") < ready_ps(second, "release_early_ps")
