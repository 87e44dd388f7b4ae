# SPDX-License-Identifier: BSD-3-Clause
"""`qdisc` of a station: read when the scenario is, refused in one sentence, and what a run makes of
it.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers import ROOT, TWO_STATIONS, with_plan
from keepon.cli import session
from keepon.errors import ConfigError
from keepon.export import commands as export_commands
from keepon.machines.planned import Guest, queue_commands
from keepon.model import loading
from keepon.model.qdiscs import reader, scenarios, stations
from keepon.model.scenario import Scenario
from keepon.targets.sim import refusals, runner
from keepon.targets.sim.build import Build
from keepon.targets.vm import target as vm
from keepon_papers import published

EXAMPLE = ROOT / "examples" / "three-classes.toml"
TEXT = EXAMPLE.read_text()
ALONE = re.compile(r"\[\[load\]\]\n([^\[\n][^\n]*\n)+")
"""Best effort; streams beside it behind txtime-assist have no bound."""
MS = 1_000_000


def changed(*changes: tuple[str, str]) -> str:
    text = TEXT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def built(scenario: Scenario, seed: int = 1) -> Build:
    run = scenario.drivers()[0]
    return Build(scenario, session.planned(scenario), run, seed)


def test_the_three_classes_are_the_published_ones() -> None:
    """N8, N11, N13 to N16."""
    station = loading.load(EXAMPLE).station_named("talker")
    tree = stations.tree_of(station)
    assert tree is not None and stations.assisted(tree)
    assert [stations.priority_of(tree, tc) for tc in range(3)] == [3, 2, 15]
    assert {stations.queue_of(tree, tc) for tc in range(3)} == {0}
    assert stations.delta_ns(tree) == 200_000
    assert all(stations.launches(station, tc) for tc in range(3))


REFUSED: list[tuple[tuple[tuple[str, str], ...], str]] = [
    ((("flags 0x1 \\\n  txtime-delay 40000 \\\n", "flags 0x0 \\\n"),
      ("queues 1@0 1@0 1@0", "queues 1@0 1@1 1@2"), ("S 04 400000", "S 02 400000"),
      ("parent 100:1 etf", "parent 100:3 etf")),
     "class 2 is open in no window, and load"),
    ((("txtime-delay 40000", "txtime-delay 10000"),),
     "line 10: txtime-delay: a frame needs 11865 ns at least from taprio to its launch, and"
     " txtime-delay is 10000; write txtime-delay 11865 or more"),
    ((("delta 200000", "delta 600000000"),), "line 13: 600000000: delta is above the 500000000 ns"),
    ((("S 04 400000", "S 04 400000 cycle-time 900000"),),
     "the windows last 1000000 ns and the cycle 900000"),
    ((("flags 0x1 \\\n  txtime-delay 40000 \\\n", ""),), "classes share a transmit queue"),
    ((("num_tc 3", "num_tc 3 colour 5"),), "line 2: colour: taprio has no such option"),
    ((("dev enp2s0 parent 100:2", "dev esp2s0 parent 100:2"),), "esp2s0: is another device"),
    ((("tc = 2", "tc = 3"),), "has no class 3, or no priority in its map that leads there, and"),
    ((("map 2 2 1 0", "map 2 2 2 0"),), "has no class 1, or no priority"),
    ((("qdisc = '''", "release = \"etf\"\nqdisc = '''"),), 'goes without release = "etf"'),
    ((("qdisc = '''", "release = \"reschedule\"\nqdisc = '''"), ("flags 0x1", "flags 0x0"),
      ("1@0 1@0 1@0", "1@0 1@1 1@2"), ("  txtime-delay 40000 \\\n", "")),
     "has no taprio with txtime-assist"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_what_does_not_go_is_refused(changes: tuple[tuple[str, str], ...], sentence: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(sentence)) as refused:
        loading.parse(changed(*changes), "three.toml")
    assert re.match(
        r'three.toml: key `station\[0\].qdisc` \(station "talker"\): ', str(refused.value)
    )
    assert "\n" not in str(refused.value)


def test_rescheduling_needs_commands() -> None:
    text = (ROOT / "examples" / "two-stations.toml").read_text()
    scenario = loading.load(ROOT / "examples" / "two-stations.toml")
    name = scenario.station[0].name
    text = text.replace(f'name = "{name}"\n', f'name = "{name}"\nrelease = "reschedule"\n', 1)
    with pytest.raises(ConfigError, match='"reschedule": goes with taprio'):
        loading.parse(text, "two.toml")


@pytest.mark.parametrize(
    ("commands", "sentence"),
    [
        ("tc qdisc add dev e root cbs idleslope 1", "the simulator has no cbs in front"),
        ("tc qdisc add dev e root taprio num_tc 1 queues 1@0 sched-entry S 1 1000000 flags 0x2",
         'the NIC of driver "keepon" has no gates'),
    ],
)  # fmt: skip
def test_what_the_simulator_has_not_is_refused(commands: str, sentence: str) -> None:
    text = re.sub(r"qdisc = '''.*?'''", f"qdisc = '{commands}'", TEXT, flags=re.DOTALL)
    for old in ("tc = 1", "tc = 2"):
        text = text.replace(old, "tc = 0")
    text = text.replace('"launchtime"', '"keepon"', 1)
    scenario = loading.parse(text, "three.toml")
    with pytest.raises(ConfigError, match=sentence):
        refusals.check_supported(scenario)


@pytest.mark.parametrize(("rate", "most_bps"), [("", 10**9), (" rate 100mbit", 10**8)])
def test_guard_has_the_rate_of_its_option(rate: str, most_bps: int) -> None:
    """As sch_guard, which takes that of the link only without the option."""
    text = _by_root(f"tc qdisc replace dev e root guard fudge 20000{rate}").replace(
        '"launchtime"', '"standard"', 1
    )
    build = built(loading.parse(text.replace("300_000_000", "950_000_000"), "guard.toml"))
    build.simulation.run(200 * MS)
    (load,) = build.loads.values()
    carried_bps = build.simulation.load(load)["delivered_bytes"] * 8 / 0.2
    assert 0.8 * most_bps < carried_bps < most_bps


def test_rescheduling_which_no_kernel_has_is_refused() -> None:
    text = changed(("qdisc = '''", "release = \"reschedule\"\nqdisc = '''"))
    with pytest.raises(ConfigError, match="no kernel has it"):
        vm.check_supported(loading.parse(text, "three.toml"))


def test_a_guest_gets_the_commands_as_they_are_written() -> None:
    scenario = loading.load(EXAMPLE)
    vm.check_supported(scenario)
    guest = Guest(scenario, session.planned(scenario), "launchtime")
    lines = list(queue_commands(guest, scenario.station_named("talker")))
    assert all(line.startswith("tc -n talker qdisc replace dev n0 ") for line in lines)
    assert reader.parse_one("\n".join(lines), "guest") == replace(
        reader.parse_one(loading.load(EXAMPLE).station_named("talker").qdisc or "", "own"),
        device="n0",
    )


def test_the_least_txtime_delay_is_what_driver_and_nic_take() -> None:
    scenario = loading.load(EXAMPLE)
    station = scenario.station_named("talker")
    assert scenarios.least_txtime_delay_ns(scenario, station, "launchtime") == 11_000 + 800 + 64 + 1


@pytest.mark.parametrize(("delay_ns", "late"), [(11_865, False), (11_800, True)])
def test_with_the_least_txtime_delay_no_launch_is_late(
    monkeypatch: pytest.MonkeyPatch, delay_ns: int, *, late: bool
) -> None:
    """Frames so few that each gets the least time there is."""
    monkeypatch.setattr(scenarios, "ceil_ns", lambda ps: -1)  # nothing is refused
    few = ("300_000_000", "20_000_000"), ("frame_bytes = 1518", "frame_bytes = 200")
    delay = ("txtime-delay 40000", f"txtime-delay {delay_ns}")
    text = changed(delay, ("duration_s = 15.0", "duration_s = 0.2"), *few)
    scenario = loading.parse(text, "three.toml")
    run = runner.run_all(scenario, session.planned(scenario), 1).runs[0]
    nic = run.document["stations"]["talker"]["nic"]
    assert nic["late_launches"] > 100 if late else nic["late_launches"] == 0, nic


def test_what_counts_is_the_drivers_that_are_compared() -> None:
    under_test = ('driver = "launchtime"\nhost = {', 'driver = "under-test"\nhost = {')
    for drivers, why in (
        (["launchtime", "standard"], "needs 11865 ns at least"),
        (["standard"], "etf with offload is the work of the card"),
    ):
        text = changed(("txtime-delay 40000", "txtime-delay 7800"), under_test)
        text += f"[compare]\ndrivers = {json.dumps(drivers)}\n"
        with pytest.raises(ConfigError, match=why):
            loading.parse(text, "three.toml")


def deviations_ns(build: Build, name: str) -> Any:
    frames = build.frames(name)
    sent = frames.wire_ps >= 0
    wire_ps = frames.wire_ps[sent]
    return (wire_ps[1:] - wire_ps[:-1] - MS * 1000) / 1000


def test_the_example_runs_and_every_frame_ends_in_one_place() -> None:
    scenario = loading.parse(changed(("duration_s = 15.0", "duration_s = 0.5")), "three.toml")
    build = built(scenario)
    build.simulation.run(700 * MS)
    raw = build.simulation.station(build.nodes["talker"])
    assert raw["qdisc"]["taprio_assisted"] > 10_000
    summaries = [build.simulation.stream(flow) for flow in build.streams.values()]
    summaries += [build.simulation.load(flow) for flow in build.loads.values()]
    for summary in summaries:
        ended = sum(summary["verdicts"].values())
        assert summary["submitted"] == ended + summary["pending"]
        assert summary["sent"] > 500
    for name in ("TC0", "TC1"):
        assert len(deviations_ns(build, name)) > 500


def test_sleeping_senders_are_as_uneven_as_published() -> None:
    """L22: 10000 packets by clock_nanosleep every 500 us; the host model through the simulator."""
    figure = published.load("fejes")["fig1"]
    text = re.sub(r"qdisc = '''.*?'''", 'release = "sleep"', TEXT, flags=re.DOTALL)
    text = text[: text.index('[[stream]]\nid = "TC1"')].replace("1_000_000", "500_000")
    text = text.replace("seed = 1", "seed = 1\nhost_tail_scale = 0.0")
    text = text.replace("duration_s = 15.0", "duration_s = 5.1").replace("tc = 0", "tc = 0")
    build = built(loading.parse(text, "sleep.toml"))
    build.simulation.run(5_300 * MS)
    wire_ps = build.frames("TC0").wire_ps
    off_us = np.abs(np.diff(wire_ps[wire_ps >= 0][-10_000:]) / 1e6 - 500)
    within = float(np.quantile(off_us, 0.8))
    assert within == pytest.approx(figure["sw_tx_80_percent_within_us"], rel=0.05)
    assert off_us.max() == pytest.approx(figure["max_diff_intended_to_actual_us"], rel=0.15)


def test_an_etf_that_is_not_offloaded_promises_nothing_and_can_be_planned() -> None:
    """N19: it hands frames on delta early: neither the earliest instant nor the delay is bound."""
    scenario = loading.parse(changed(("offload delta", "delta")), "soft.toml")
    plan = session.planned(scenario)
    assert plan["status"] == "feasible" and plan["verified"]
    for stream in ("TC0", "TC1"):
        assert set(plan["streams"][stream]["bounds"].values()) == {None}
    offloaded = session.planned(loading.parse(ALONE.sub("", TEXT), "alone.toml"))
    assert offloaded["streams"]["TC0"]["bounds"]["delay_ns"] is not None


ROOT_ETF = "\ntc qdisc replace dev enp2s0 root etf offload delta 200000 clockid CLOCK_TAI\n"
DELETED = "tc qdisc del dev enp2s0 root\n"


def _by_root(commands: str) -> str:
    return re.sub("(?s)'''.*'''", f"'''{commands}'''", TEXT)


@pytest.mark.parametrize(
    ("text", "timed"),
    [
        (TEXT.replace("offload delta", "delta", 1), False),
        # nobody's: all classes have queue 0
        ("delta".join(TEXT.rsplit("offload delta", 1)), True),
        (_by_root(ROOT_ETF), True),
        (_by_root(ROOT_ETF.replace("offload ", "")), False),
        (_by_root(ROOT_ETF.replace("offload ", "") + DELETED + ROOT_ETF), True),
        (_by_root(ROOT_ETF + DELETED + ROOT_ETF.replace("offload ", "")), False),
    ],
    ids=["100:1", "100:2", "root", "root, not offloaded", "replaced", "replaced the other way"],
)
def test_the_checker_reads_by_itself_which_etf_times_a_stream(text: str, timed: bool) -> None:
    plan = session.planned(loading.parse(ALONE.sub("", text), "etf.toml"))
    assert plan["status"] == "feasible" and plan["verified"]
    assert (plan["streams"]["TC0"]["bounds"]["delay_ns"] is not None) == timed


def test_a_stall_of_the_cpu_needs_cores() -> None:
    fault = '[[fault]]\nat_s = 1.0\nkind = "cpu-stall"\nnode = "talker"\nvalue_ns = 600_000\n'
    with pytest.raises(ConfigError, match=r'"cpu-stall": needs a station with `host\.cores`'):
        refusals.check_supported(
            loading.parse(changed(("cores = 4", "cores = 0")) + fault, "stall.toml")
        )
    refusals.check_supported(loading.parse(TEXT + fault, "stall.toml"))


def in_software(*changes: tuple[str, str]) -> str:
    """The example with gates of software, its best effort too."""
    assisted = "  txtime-delay 40000 \\\n"
    return changed(
        ("1@0 1@0 1@0", "1@0 1@1 1@2"), ("flags 0x1 \\\n", "\\\n"), (assisted, ""),
        ("skip_sock_check offload delta", "delta"), *changes,
    )  # fmt: skip


def test_windows_of_software_fill_the_cycle_that_streams_count_on() -> None:
    """Linux begins again at once after the last."""
    longer = ("S 04 400000 \\\n", "S 04 400000 \\\n  cycle-time 1500000 \\\n")
    text = in_software(longer)
    with pytest.raises(ConfigError) as refused:
        loading.parse(text, "three.toml")
    assert str(refused.value) == (
        'three.toml: key `station[0].qdisc` (station "talker"): line 9: cycle-time: the windows'
        " last 1000000 ns and the cycle 1500000, and without flags Linux begins again at once after"
        " the last, so that the cycle of streams is another; add sched-entry S 00 500000, or write"
        " cycle-time 1000000"
    )
    filled = ("S 04 400000 \\\n", "S 04 400000 sched-entry S 00 500000 cycle-time 1500000 \\\n")
    loading.parse(in_software(filled), "three.toml")
    loading.parse(changed(longer), "three.toml")  # txtime-assist keeps the cycle
    without_streams = re.sub(r"\[\[stream\]\].*?(?=\[\[load)", "", text, flags=re.DOTALL)
    loading.parse(without_streams, "three.toml")


def test_a_delta_of_the_users_own_commands_is_refused_by_its_line() -> None:
    scenario = loading.parse(changed(("offload delta 200000", "offload delta 5000")), "three.toml")
    with pytest.raises(ConfigError) as refused:
        session.planned(scenario)
    assert str(refused.value).startswith(
        'key `station[0].qdisc` (station "talker"): line 13: delta = 5000: must be between '
    )
    assert "auto" not in str(refused.value) and str(refused.value).endswith("; raise it")


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ((), True),
        ((("check offload delta", "check delta"),), False),
    ],
)
def test_txtime_delay_has_a_least_value_where_something_launches(
    changes: tuple[tuple[str, str], ...], *, refused: bool
) -> None:
    text = changed(("txtime-delay 40000", "txtime-delay 5000"), *changes)
    if not refused:
        loading.parse(text, "three.toml")
        return
    with pytest.raises(ConfigError, match="needs 11865 ns at least from taprio to its launch"):
        loading.parse(text, "three.toml")


@pytest.mark.parametrize("cores", [None, 0])
def test_the_example_has_the_published_cores_and_tcp_collapses_on_them_only(
    cores: int | None,
) -> None:
    """N8, N25: of its share, 33 places a cycle."""
    text = changed(('kind = "udp"\nrate_bps = 300_000_000', 'kind = "tcp"'))
    if cores is not None:
        text = text.replace("cores = 4", f"cores = {cores}")
    scenario = loading.parse(text, "three.toml")
    host = scenario.station_named("talker").host
    assert not isinstance(host, str)
    of_cpu = published.load("mitsubishi")["table2"]["cpu"]
    assert host.cores == cores or f"({host.cores} cores)" in of_cpu
    build = built(scenario)
    build.simulation.set_window(1_200 * MS, 2_200 * MS)
    build.simulation.run(2_200 * MS)
    share_bps = 33 * 1448 * 8 * 1000
    payload_bps = build.simulation.load(build.loads["TC2"])["tcp"]["window_bytes"] * 8
    refused = build.simulation.station(build.nodes["talker"])["qdisc"]["etf_wrong"]
    if cores is None:
        assert payload_bps < share_bps / 100 and refused > 0
    else:
        assert payload_bps > 0.99 * share_bps and refused == 0


@pytest.mark.parametrize(
    ("commands", "refused"),
    [
        ("root pfifo", ""),
        ("root fq_codel", ""),
        ("root guard fudge 60000", "guard sends frames at their times, when the slots of driver"),
        ("root etf delta 5000 clockid CLOCK_TAI", "line 1: delta = 5000: must be between "),
    ],
)
def test_a_keepon_driver_needs_frames_before_their_time_and_gets_them_without_etf(
    commands: str, refused: str
) -> None:
    text = TWO_STATIONS.read_text().replace(
        'driver = "keepon"', f'driver = "keepon"\nqdisc = "tc qdisc replace dev eth0 {commands}"', 1
    )
    if refused:
        with pytest.raises(ConfigError, match=refused):
            session.planned(loading.parse(text, "two.toml"))
    else:
        assert session.planned(loading.parse(text, "two.toml"))["status"] == "feasible"


def test_exports_say_that_nothing_gives_gates_of_software_again() -> None:
    launchtime = 'driver = "launchtime"\nhost = {'
    text = in_software((launchtime, launchtime.replace("launchtime", "standard")))
    bare = re.sub(r"(?m)^tc qdisc replace dev enp2s0 parent 100:.*\\\n.*\n", "", text)
    for commands, said in ((bare, True), (TEXT, False)):
        files = export_commands.export(with_plan(commands)).files
        assert ("let a hook of your network manager do it" in files["talker.sh"]) == said


FAULT = '[[fault]]\nat_s = 0.1\nkind = "KIND"\nnode = "NODE"\nvalue_ns = 1_000_000\n'


@pytest.mark.parametrize("node", ["talker", "listener"])
def test_gates_of_software_do_not_open_once_the_link_was_down(node: str) -> None:
    """Seen on 6.1 and 6.12: of 20 frames of a class that has windows none leaves then."""
    fault = FAULT.replace("NODE", node)
    with pytest.raises(ConfigError, match=r"once the link was down, as by fault\[0\]; take flags"):
        loading.parse(in_software() + fault.replace("KIND", "link-down"), "three.toml")
    loading.parse(in_software() + fault.replace("KIND", "wire-pause"), "three.toml")
    loading.parse(TEXT + fault.replace("KIND", "link-down"), "three.toml")


def test_gates_that_linux_would_stop_are_refused_where_the_device_is_up() -> None:
    """A qdisc in a class of taprio in software; on target vm the device is down then."""
    scenario = loading.parse(in_software(), "three.toml")
    talker = scenario.station[0]
    with pytest.raises(ConfigError, match="Linux stops the gates of taprio in software"):
        stations.check_put_to_up("key `station[0]", talker)
    stations.check_put_to_up("key `station[0]", loading.parse(TEXT, "three.toml").station[0])
