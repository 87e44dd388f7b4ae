# SPDX-License-Identifier: BSD-3-Clause
"""Qdiscs that never let pass what a station sends, or that its card has not, are refused when the
scenario is read; what is left tells its cause in the trial.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from keepon.errors import EXIT_MISSED, ConfigError
from keepon.model import loading
from keepon.model.outcomes import qdisc_remedy
from keepon.planner import plan as make_plan
from keepon.planner.verify import verify
from keepon.targets.sim.refusals import check_supported
from keepon.targets.vm import target as vm
from keepon.trial.trial import trial

TEXT = """schema = "keepon.scenario/1"
name = "fits"
duration_s = 0.02
station = [
  { name = "a", driver = "DRIVER", qdisc = '''
COMMANDS
''' },
  { name = "b", driver = "standard" },
]
link = [{ ends = ["a", "b"] }]
[[stream]]
id = "s"
talker = "a"
listeners = ["b"]
period_ns = 1_000_000
frame_bytes = 200
tc = 1
advance_ns = 400_000
"""
CLASSES = "num_tc 2 map 0 1 0 0 queues 1@0 1@1"
ROOT = "tc qdisc add dev e root handle 100:"
SOFTWARE, OFFLOADED = "clockid CLOCK_TAI", "flags 0x2"
ASSISTED = "flags 0x1 txtime-delay 200000 clockid CLOCK_TAI"


def windows(*lengths_ns: int, how: str = SOFTWARE) -> str:
    """Of class 0, of class 1, and of both at once."""
    entries = (
        f"sched-entry S {mask:02x} {ns}" for mask, ns in zip((1, 2, 3), lengths_ns, strict=False)
    )
    return f"{ROOT} taprio {CLASSES} base-time 0 {' '.join(entries)} {how}"


def scenario_text(commands: str, driver: str = "standard", *changes: tuple[str, str]) -> str:
    text = TEXT.replace("DRIVER", driver).replace("COMMANDS", commands)
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


MQPRIO = f"{ROOT} mqprio {CLASSES}"
ETF = "tc qdisc add dev e parent 100:2 etf delta 200000 clockid CLOCK_TAI"
SLEEPING = ("''' },", "''', release = 'sleep' },")
LONG = ("frame_bytes = 200", "frame_bytes = 1518")
SLOW = ('["a", "b"] }', '["a", "b"], rate_bps = 100_000_000 }')
AT_ROOT = ("tc = 1", "tc = 0")
LOAD = '[[load]]\nid = "l"\ntalker = "a"\nlistener = "b"\nframe_bytes = 1518\ntc = 0\n'
REFUSED = [
    # 1526 bytes, preamble and FCS counted, and the latency of the host's timer
    (scenario_text(windows(990_000, 10_000), "standard", LONG),
     "the longest window of class 1, entry 2 (S 02), lasts 10000 ns, and a frame of stream s, 1518"
     " bytes, takes 12208 ns on the wire, and the CPU's timer opens it up to 4030 ns late, so that"
     " few or none leave in it (Linux drops what is too long without a word); make it longer than"
     " 16238 ns, or frames of at most 738 bytes"),
    (scenario_text(windows(900_000, 100_000), "standard", LONG, SLOW), "takes 122080 ns on the"),
    (scenario_text(windows(998_300, 1_700)), "lasts 1700 ns, and a frame of stream s, 200 bytes,"
     " takes 1664 ns on the wire, and the CPU's timer opens it up to 4030 ns late"),
    (scenario_text(windows(998_336, 1_664, how=OFFLOADED), "launchtime"),
     "takes 1664 ns on the wire, so that none leaves in it (Linux drops what is too long without a"
     " word); make it longer than 1664 ns, or frames of at most 199 bytes"),
    (scenario_text(windows(999_000, 1_000, how=ASSISTED)), "lasts 1000 ns, and a frame of stream"),
    # 1000 ns and 1000 ns in a row are one window, but not for a frame with a txtime
    (scenario_text(windows(998_000, 1_000, 1_000, how=ASSISTED)), "lasts 1000 ns, and a frame of"),
    (scenario_text(windows(10_000, 990_000)) + LOAD,
     "the longest window of class 0, entry 1 (S 01), lasts 10000 ns, and a frame of load l, 1518"),
    (scenario_text(windows(1_000_000, 479)),
     "line 1: 479: an entry must last at least the 480 ns of 60 bytes at the rate of the link"),
    (scenario_text("tc qdisc add dev e root guard mtu 128", "standard", AT_ROOT),
     "guard refuses frames above its mtu, 128 bytes, and those of stream s have 200; write mtu"),
    (scenario_text("tc qdisc add dev e root bfifo limit 195", "standard", AT_ROOT),
     "bfifo takes no frame above its limit, 195 bytes without FCS, and those of stream s have 196"),
    (scenario_text(f"{MQPRIO} hw 0\ntc qdisc add dev e parent 100:2 pfifo limit 0"),
     "a fifo with limit 0 drops all of stream s"),
    (scenario_text(MQPRIO), "mqprio with hw 1 (1 if it says none) is the work of the card"),
    (scenario_text(f"{MQPRIO} hw 2"), "mqprio with hw 2"),
    (scenario_text(f"{MQPRIO} hw 0\ntc qdisc add dev e parent 100:2 etf offload delta 200000"
                   " clockid CLOCK_TAI"),
     'etf with offload is the work of the card, and Linux refuses it of one that cannot, as that of'
     ' driver "standard"; leave offload out, or take driver "launchtime" or "keepon"'),
    (scenario_text(windows(500_000, 500_000, how=OFFLOADED)), "taprio with flags 0x2 is the work"),
    (scenario_text("tc qdisc add dev e root guard fudge 20000", "keepon", AT_ROOT),
     "guard sends frames at their times, when the slots of driver keepon are past; leave it out"),
    (scenario_text(f"{MQPRIO} hw 0\n{ETF}", "standard", SLEEPING),
     "etf drops what has no txtime, and stream s, in its class 1, has none; give it a class"),
    (scenario_text(f"{MQPRIO} hw 0\n{ETF}") + LOAD.replace("tc = 0", "tc = 1"),
     "etf drops what has no txtime, and load l, in its class 1, has none; give it a class"),
    (scenario_text(windows(500_000, 500_000, how="clockid CLOCK_MONOTONIC")),
     "taprio goes by CLOCK_MONOTONIC, which Linux takes, but streams, txtimes and other gates go by"
     " TAI"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence"), REFUSED)
def test_what_would_never_leave_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)) as refused:
        loading.parse(text, "fits.toml")
    assert str(refused.value).startswith('fits.toml: key `station[0].qdisc` (station "a"): ')
    assert "\n" not in str(refused.value)


TAKEN = [
    scenario_text(windows(998_304, 1_696, how=OFFLOADED), "launchtime"),
    scenario_text(windows(998_335, 1_665, how=ASSISTED)),
    scenario_text(windows(994_000, 6_000)),
    # class 0 is open over the end of the cycle, in a row long enough for a frame of 1518 bytes
    scenario_text(windows(10_000, 980_000, 10_000)) + LOAD,
    scenario_text("tc qdisc add dev e root guard mtu 200", "standard", AT_ROOT),
    scenario_text("tc qdisc add dev e root bfifo limit 196", "standard", AT_ROOT),
    scenario_text(MQPRIO, "launchtime"),
]


@pytest.mark.parametrize("text", TAKEN)
def test_what_is_just_long_enough_is_sent(text: str) -> None:
    scenario = loading.parse(text, "fits.toml")
    plan = make_plan(scenario)
    assert plan["status"] == "feasible"
    tried = trial(scenario, plan)
    assert tried["unsent"] == {} and tried["delivered"] == 10


def test_frames_that_wait_in_their_talker_when_the_trial_ends_are_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """Two a cycle, and a window for one of them."""
    twice = ("period_ns = 1_000_000", "period_ns = 500_000")
    file = tmp_path / "short.toml"
    file.write_text(scenario_text(windows(983_761, 16_239), "standard", LONG, SLEEPING, twice))
    assert keepon("plan", file) == EXIT_MISSED
    printed = " ".join(capsys.readouterr().out.split())
    assert "s: not sent in time: in a queue on its way when the trial ended" in printed


def test_a_guard_whose_queue_is_full_is_no_defect(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], keepon: Any
) -> None:
    """It was exit code 70: two frames at once, and room for one."""
    text = scenario_text("tc qdisc add dev e root guard limit 1", "standard", AT_ROOT)
    file = tmp_path / "full.toml"
    file.write_text(text + text[text.index("[[stream]]") :].replace('"s"', '"t"'))
    assert keepon("plan", file) == EXIT_MISSED
    assert "a queue of its talker is full: raise limit" in " ".join(capsys.readouterr().out.split())


TODAY_NS = 1_795_000_000_000_700_000


@pytest.mark.parametrize("how", [SOFTWARE, ASSISTED, OFFLOADED])
def test_a_base_time_of_today_counts_by_its_phase(how: str) -> None:
    """The simulator begins before it, and all frames were lost: no window was known yet."""
    text = scenario_text(windows(500_000, 500_000, how=how), "launchtime")
    releases = []
    for base_ns in (TODAY_NS, 700_000):
        scenario = loading.parse(text.replace("base-time 0", f"base-time {base_ns}"), "fits.toml")
        plan = make_plan(scenario)
        assert trial(scenario, plan)["unsent"] == {}
        releases.append(plan["streams"]["s"]["release_ns"])
    assert releases[0] == releases[1] and 200_000 < releases[0] < 201_000


def test_a_guest_would_wait_for_a_base_time_of_today() -> None:
    text = scenario_text(windows(500_000, 500_000)).replace("base-time 0", f"base-time {TODAY_NS}")
    with pytest.raises(
        ConfigError, match="begins with 2026, and Linux waits for it; write"
    ) as refused:
        vm.check_supported(loading.parse(text, "fits.toml"))
    assert "base-time 700000, which has the same phase" in str(refused.value)
    vm.check_supported(loading.parse(text.replace(f"{TODAY_NS}", "700000"), "fits.toml"))


def with_etf(delta_ns: int, root: str) -> str:
    return f"{root}\ntc qdisc add dev e parent 100:2 etf clockid CLOCK_TAI delta {delta_ns}"


KEEPON, LEAD_NS = 'keepon = { classes = [{ tc = 1 }, { tc = 7, slots = "rest" }] }', 12_391
ASSIST_KEEPON = 'keepon = { classes = [{ tc = 1 }, { tc = 0, slots = "rest" }] }'
BY_HAND = ("tc = 1", "tc = 1\noffset_ns = 500_500")


@pytest.mark.parametrize(
    ("driver", "lengths_ns", "etf", "behind_ns"),
    [
        ("standard", (500_000, 500_000), "", 100_000),
        ("standard", (500_000, 500_000), " deadline_mode", 100_000),
        ("standard", (900_000, 100_000), "", 4_030),  # too short for the timer at its latest
        # the driver's 11 us, what the NIC takes to fetch, 2 us
        ("launchtime", (500_000, 500_000), " offload", 100_000 + 13_000),
        ("launchtime", (900_000, 100_000), " offload", 4_030 + 13_000),
        # the driver's 7 us and its lead time
        ("keepon", (500_000, 500_000), "", 100_000 + 7_000 + LEAD_NS),
    ],
)
def test_behind_gates_of_software_and_etf_a_release_waits_for_the_timer(
    driver: str, lengths_ns: tuple[int, int], etf: str, behind_ns: int
) -> None:
    """The gate opened after the time of the frame, which etf had dropped by then, or the driver had
    no time left: at the timer's latest where the window has room, or usually.
    """
    classes = [("''' },", f"''', {KEEPON} }},")] if driver == "keepon" else []
    text = scenario_text(with_etf(200_000, windows(*lengths_ns)) + etf, driver, *classes)
    scenario = loading.parse(text, "fits.toml")
    plan = make_plan(scenario)
    late_ns = plan["streams"]["s"]["release_ns"] - lengths_ns[0] - behind_ns
    assert 0 < late_ns < (1_000 if driver == "keepon" else 100)  # the next slot, or the preamble
    assert trial(scenario, plan)["unsent"] == {}


@pytest.mark.parametrize(
    ("driver", "etf", "how"),
    [
        ("standard", "", SOFTWARE), ("launchtime", "", SOFTWARE), ("keepon", "", SOFTWARE),
        ("launchtime", " offload", SOFTWARE), ("launchtime", " offload", OFFLOADED),
    ],
)  # fmt: skip
def test_a_window_as_long_as_the_refusal_says_is_long_enough(
    driver: str, etf: str, how: str
) -> None:
    """What it counts: the frame, the timer, the driver and its NIC or lead time, the grid."""

    def planned_with(window_ns: int) -> dict[str, dict[str, int]]:
        root = windows(1_000_000 - window_ns, window_ns, how=how)
        root = root.replace("base-time 0", "base-time 16")  # no end on a launch-time NIC's grid
        classes = [("''' },", f"''', {KEEPON} }},")] if driver == "keepon" else []
        text = scenario_text(with_etf(200_000, root) + etf, driver, *classes)
        scenario = loading.parse(text, "fits.toml")
        return trial(scenario, make_plan(scenario))["unsent"]

    with pytest.raises(ConfigError, match="no window of class 1 is long enough for stream s") as of:
        planned_with(1_680)
    least_ns = int(re.findall(r"make one longer than (\d+) ns$", str(of.value))[0])
    assert planned_with(least_ns + 1) == {}


@pytest.mark.parametrize(("driver", "driver_ns"), [("keepon", 7_000), ("launchtime", 11_000)])
def test_frames_that_gather_behind_a_gate_leave_one_after_the_other(
    driver: str, driver_ns: int
) -> None:
    """The driver's time for one of two was counted, and 4 to 10 of 1000 were lost."""
    classes = [("''' },", f"''', {KEEPON} }},")] if driver == "keepon" else []
    offload = " offload" if driver == "launchtime" else ""
    text = scenario_text(with_etf(200_000, windows(900_000, 100_000)) + offload, driver, *classes)
    text += text[text.index("[[stream]]") :].replace('"s"', '"t"')
    plan = make_plan(loading.parse(text, "fits.toml"))
    first_ns = min(entry["release_ns"] for entry in plan["streams"].values())
    assert first_ns > 900_000 + 4_030 + 2 * driver_ns


def test_a_queue_for_each_of_two_streams_with_launch_times_is_not_tried() -> None:
    other = ETF.replace("100:2", "100:1")
    text = scenario_text(f"{MQPRIO} hw 0\n{ETF} offload\n{other} offload", "launchtime")
    text += text[text.index("[[stream]]") :].replace('"s"', '"t"').replace("tc = 1", "tc = 0")
    scenario = loading.parse(text, "rings.toml")
    assert make_plan(scenario)["status"] == "feasible"
    with pytest.raises(ConfigError, match="streams s and t have queues of their own with etf off"):
        check_supported(scenario)


def test_frames_come_before_a_station_s_own_etf_lets_the_first_go() -> None:
    """Handed over 100 us before, when etf's delta is 200 us, some were dropped."""
    text = scenario_text(f"{MQPRIO} hw 0\n{ETF}").replace("advance_ns = 400_000\n", "")
    text += text[text.index("[[stream]]") :].replace('"s"', '"t"')
    scenario = loading.parse(text, "fits.toml")
    assert [stream.advance_ns for stream in scenario.stream] == [250_000, 250_000]
    assert trial(scenario, make_plan(scenario))["unsent"] == {}


def test_slots_keep_best_effort_with_txtimes_out_of_streams() -> None:
    """The checker took the driver for one with launch times: exit code 70."""
    text = scenario_text(
        with_etf(200_000, windows(500_000, 500_000, how=ASSISTED).replace("1@0 1@1", "1@0 1@0"))
        .replace("100:2", "100:1") + " skip_sock_check",
        "keepon", ("''' },", f"''', {ASSIST_KEEPON} }},"),
    ) + LOAD.replace("1518", "1000")  # fmt: skip
    scenario = loading.parse(text, "assist.toml")
    plan = verify(scenario, make_plan(scenario))
    assert plan["streams"]["s"]["bounds"]["delay_ns"] == 60
    assert trial(scenario, plan)["unsent"] == {}


@pytest.mark.parametrize(
    ("text", "end", "helps"),
    [
        (scenario_text(with_etf(200_000, windows(500_000, 500_000)), "standard", BY_HAND),
         "by its etf, as the CPU's timer opens the gates of taprio after their times, dropped 10;"
         " give it an offset_ns that is farther from the start of its window",
         ("offset_ns = 500_500", "offset_ns = 504_500")),
        (scenario_text(with_etf(1, f"{MQPRIO} hw 0")),
         "by its etf, whose delta (1 ns) is below the 4030 ns that its timer may be late, dropped"
         " 10; raise delta of that etf",
         ("delta 1\n", "delta 4031\n")),
    ],
)  # fmt: skip
def test_what_etf_drops_has_its_cause_and_what_is_said_of_it_helps(
    text: str,
    end: str,
    helps: tuple[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    file = tmp_path / "etf.toml"
    file.write_text(text)
    assert keepon("plan", file) == EXIT_MISSED
    assert f"s: not sent in time: {end}" in " ".join(capsys.readouterr().out.split())
    assert keepon("run", file, "--out", tmp_path / "out") == EXIT_MISSED
    assert "its time had passed when its qdisc could hand it on: raise" in " ".join(
        capsys.readouterr().out.split()
    )
    assert helps[0] in text
    scenario = loading.parse(text.replace(*helps), "etf.toml")
    assert trial(scenario, make_plan(scenario))["unsent"] == {}


@pytest.mark.parametrize(
    ("qdisc", "is_named"),
    [
        (None, True),  # of a station whose driver or `release` has etf
        (windows(500_000, 500_000), False),
        (with_etf(200_000, windows(500_000, 500_000)), True),
    ],
)
def test_delta_is_named_only_where_there_is_etf(qdisc: str | None, is_named: bool) -> None:
    said = qdisc_remedy(["late"], qdisc, 1_000_000)
    assert said is not None
    assert is_named == (": raise advance_ns or delta of its etf, or, with taprio," in said)
    assert is_named == ("etf" in said)


@pytest.mark.parametrize(
    ("period_ns", "instants", "tried"),
    [
        (500_000, 2, "0.01 s: "),
        (960_000, 25, "0.096 s: "),  # four common cycles of 24 ms
        (960_001, 1_000_000, "0.5 s of the 960.001 s after which streams and gates repeat: "),
    ],
)
def test_a_period_that_its_cycle_does_not_divide_is_named_and_tried_over_their_common_cycle(
    period_ns: int,
    instants: int,
    tried: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    keepon: Any,
) -> None:
    file = tmp_path / "period.toml"
    file.write_text(
        scenario_text(windows(500_000, 500_000)).replace(
            "period_ns = 1_000_000", f"period_ns = {period_ns}"
        )
    )
    why = (
        f"its period, {period_ns} ns, is no multiple of the cycle of its talker's taprio, 1000000"
        f" ns, so that its frames come at {instants} instants of the cycle"
    )
    assert keepon("plan", file) == EXIT_MISSED
    printed = " ".join(capsys.readouterr().out.split())
    assert why in printed and f"in the simulator over {tried}" in printed
    assert keepon("run", file, "--out", tmp_path / "out") == EXIT_MISSED
    assert why in " ".join(capsys.readouterr().out.split())


def test_a_trial_lasts_until_a_long_cycle_has_shut_the_gate() -> None:
    """Of a frame in 25, whose class is not open: 10 ms held none of those."""
    at_first = ("tc = 1", "tc = 0\noffset_ns = 100_000")
    text = scenario_text(windows(24_000_000, 1_000_000), "standard", at_first)
    scenario = loading.parse(text, "long.toml")
    assert trial(scenario, make_plan(scenario))["unsent"] == {"s": {"not_allowed": 4}}
