# SPDX-License-Identifier: BSD-3-Clause
"""What the report draws, held against the numbers it is drawn from."""

from __future__ import annotations

import dataclasses
import itertools
import re
import time
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from helpers import HABITAT, ROBOT_CELL, ROOT, TWO_STATIONS, frames, small, small_text
from hypothesis import given
from hypothesis import strategies as st
from keepon.cli import session
from keepon.measure.series import POINTS_MAX, delay_distribution, delay_series, offset_series
from keepon.model import loading
from keepon.model.loading import parse
from keepon.model.plan import Plan
from keepon.model.result import Result
from keepon.report import delayplots, gantt, page, panels, screen, sections, topology
from keepon.targets.sim.runner import run_all

EXAMPLES = sorted(HABITAT.parent.glob("*.toml"))


def short(path: Path) -> tuple[Result, Plan]:
    """A scenario, run as briefly as shows it."""
    few: dict[str, Any] = {"duration_s": 0.02, "warmup_s": 0.3}
    scenario = loading.load(path).model_copy(update=few)
    plan = session.planned(scenario)
    return run_all(scenario, plan, 1).result, plan


@pytest.fixture(scope="module")
def habitat() -> tuple[Result, Plan]:
    return short(HABITAT)


@pytest.fixture(scope="module")
def robot_cell() -> tuple[Result, Plan]:
    return short(ROBOT_CELL)


# -- series and distributions


@given(st.lists(st.none() | st.integers(-(10**6), 10**9), max_size=60), st.integers(1, 40))
def test_no_extreme_and_no_missing_frame_is_left_out_of_a_series(
    some_ps: list[int | None], times: int
) -> None:
    delays_ps = some_ps * times
    found = delay_series(frames(delays_ps), 0)
    count = len(delays_ps)
    assert len(found["seq"]) == min(count, POINTS_MAX)
    edges = [*found["seq"], count]
    for point, (start, end) in enumerate(itertools.pairwise(edges)):
        part = delays_ps[start:end]
        known = [delay / 1000 for delay in part if delay is not None]
        assert found["min_ns"][point] == min(known, default=None)
        assert found["max_ns"][point] == max(known, default=None)
        assert found["missing"][point] == part.count(None)


@given(st.lists(st.none() | st.integers(0, 50), min_size=1, max_size=600))
def test_every_point_of_a_distribution_is_exact(delays_ps: list[int | None]) -> None:
    found = delay_distribution(frames(delays_ps))
    known = [delay for delay in delays_ps if delay is not None]
    for delay_ns, share in zip(found["delay_ns"], found["share"], strict=True):
        upto = sum(delay <= round(delay_ns * 1000) for delay in known)
        assert share == upto / len(delays_ps)
    assert (found["share"] or [0])[-1] == len(known) / len(delays_ps)
    assert found["delay_ns"] == sorted(set(found["delay_ns"]))


def test_a_million_frames_are_as_many_points_as_a_thousand() -> None:
    """And the one that is late is seen."""
    delays = [1_000_000] * 1_000_000
    delays[777_777] = 9_000_000_000
    many = frames(cast(list[int | None], delays))
    series, distribution = delay_series(many, 0), delay_distribution(many)
    assert len(series["seq"]) == POINTS_MAX and len(distribution["delay_ns"]) <= 110
    assert max(value for value in series["max_ns"] if value) == 9_000_000
    assert distribution["delay_ns"][-1] == 9_000_000


def test_offsets_keep_their_extremes() -> None:
    at_ps = np.arange(10_000, dtype=np.int64) * 10**10
    offsets = np.zeros(10_000, dtype=np.int64)
    offsets[1234], offsets[4321] = -7_000, 9_000
    found = offset_series(at_ps, offsets)
    assert (min(found["min_ns"]), max(found["max_ns"])) == (-7.0, 9.0)
    assert offset_series(at_ps[:0], offsets[:0]) == {"time_s": [], "min_ns": [], "max_ns": []}


# -- axes


@given(
    st.lists(st.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-3), min_size=1),
    st.sampled_from([1.0, 0.001, 100.0]),
)
def test_values_lie_within_their_axis_and_ticks_say_where_they_are(
    values: list[float], scale: float
) -> None:
    axis = panels.around("x", values, scale)
    for value in values:
        assert axis.low <= axis.place(value) <= axis.high
    ticks = axis.ticks
    assert 1 <= len(ticks) <= 14
    step = max(abs(float(tick.text)) for tick in ticks) or 1
    for tick in ticks:
        assert -1e-6 <= tick.share <= 1 + 1e-6
        place = axis.low + tick.share * (axis.high - axis.low)
        value = 10**place if axis.log else place
        assert float(tick.text) == pytest.approx(value * scale, rel=1e-3, abs=1e-3 * step)


# -- network


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_picture_has_every_node_apart_and_every_route(path: Path) -> None:
    scenario = loading.load(path)
    plan = session.planned(scenario)
    result = cast(Result, {"effective": scenario.effective()})
    picture = topology.drawn(result["effective"], plan)
    names = {node.name for node in (*scenario.station, *scenario.bridge)}
    assert {box.name for box in picture.boxes} == names
    for one, other in itertools.combinations(picture.boxes, 2):
        across = abs(one.x - other.x) >= (one.width + other.width) / 2
        assert across or abs(one.y - other.y) >= topology.BOX_HEIGHT, (one.name, other.name)
    for box in picture.boxes:
        assert box.width / 2 <= box.x <= picture.width - box.width / 2
        assert topology.BOX_HEIGHT / 2 <= box.y <= picture.height - topology.BOX_HEIGHT / 2
    assert len(picture.links) == len(scenario.link)
    for stream, way in zip(scenario.stream, picture.ways, strict=True):
        pairs = {
            pair
            for listener, route in plan["streams"][stream.id]["routes"].items()
            for pair in itertools.pairwise([stream.talker, *route, listener])
        }
        assert (way.stream, len(way.segments)) == (stream.id, len(pairs))


@pytest.mark.parametrize(("shape", "bridges"), [("star", 1), ("line", 9), ("ring", 8), ("tree", 7)])
def test_boxes_do_not_cover_each_other_in_other_networks(shape: str, bridges: int) -> None:
    names = [f"b{number}" for number in range(bridges)]
    pairs = {
        "star": [],
        "line": list(itertools.pairwise(names)),
        "ring": [*itertools.pairwise(names), (names[-1], names[0])],
        "tree": [(names[(number - 1) // 2], names[number]) for number in range(1, bridges)],
    }[shape]
    stations = [f"s{number}" for number in range(4 * bridges)]
    links = [*pairs, *((name, names[n % bridges]) for n, name in enumerate(stations))]
    effective = {
        "bridge": [{"name": name, "processing_ns": 2000} for name in names],
        "station": [{"name": name, "driver": "keepon"} for name in stations],
        "link": [{"ends": pair} for pair in links],
        "defaults": {"rate_bps": 10**9},
        "stream": [],
    }
    picture = topology.drawn(effective, None)
    for one, other in itertools.combinations(picture.boxes, 2):
        across = abs(one.x - other.x) >= (one.width + other.width) / 2
        assert across or abs(one.y - other.y) >= topology.BOX_HEIGHT, (one.name, other.name)


def test_cables_have_rates_and_loads_and_stations_mtu_and_cpu() -> None:
    scenario = loading.load(ROOT / "examples" / "plain-cell.toml")
    plan = session.planned(scenario)
    result = cast(Result, {"effective": scenario.effective()})
    picture = topology.drawn(result["effective"], plan, screen.uses(scenario, plan))
    by_ends = {frozenset(link.ends): link for link in scenario.link}
    (robots,) = (link for link in picture.links if link.title.startswith("sw-cell – sw-robots"))
    # 100 Mb/s of 1518 bytes of each camera with 20 of preamble and gap, two streams of robots.
    share = 0.2 * 1538 / 1518 + 2 * 200 * 8 / 1e6
    assert robots.text == f"4: 1 Gb/s, {share:.1%}" and not robots.over
    assert "set-robot1..2, act-robot1..2" in robots.title and len(by_ends) == len(picture.links)
    (drive,) = (link for link in picture.links if link.title.startswith("drive2 – "))
    assert drive.text.startswith("2: 100 Mb/s") and drive.text.endswith(" + rest")
    (camera,) = (box for box in picture.boxes if box.name == "camera1")
    assert camera.lines[1] == "sends video1"
    over = [dataclasses.replace(use, room_bps=0.0) for use in screen.uses(scenario, plan)]
    assert any(link.over for link in topology.drawn(result["effective"], plan, over).links)
    rows = {row[0].text: row for row in sections.planned_stations(scenario, plan).rows}
    assert rows.keys() == {station.name for station in scenario.station}
    share = plan["stations"]["drive2"]["headroom"]["cpu_share"]
    assert [cell.text for cell in rows["drive2"][2:4]] == ["1500", f"{share:.1%}"]
    assert [cell.text for cell in rows["camera1"][1:4]] == ["standard", "1500", "-"]


def test_two_stations_on_one_cable_stand_beside_each_other() -> None:
    scenario = loading.load(TWO_STATIONS)
    plan = session.planned(scenario)
    picture = topology.drawn(scenario.effective(), plan)
    one, other = picture.boxes
    assert one.y == other.y < topology.BOX_HEIGHT * 1.5


# -- slots and gates


def _open(chart: gantt.Chart, label: str, queue: int, at_ns: float) -> bool:
    (row,) = (
        row for row in chart.rows if row.label == label and row.below.startswith(f"queue {queue},")
    )
    return any(b.start <= at_ns < b.end for b in row.blocks if b.kind == "open")


def test_gates_are_drawn_as_the_plan_has_them(robot_cell: tuple[Result, Plan]) -> None:
    result, plan = robot_cell
    chart = gantt.chart(result, plan)
    gated = 0
    for bridge, entry in plan["bridges"].items():
        for peer, port in entry["ports"].items():
            for at_ns in range(500, chart.span_ns, 12_347):
                since, gates = (at_ns - port["base_ns"]) % port["cycle_ns"], 0
                for gate in port["entries"]:
                    if since < gate["ns"]:
                        gates = int(gate["gates"], 16)
                        break
                    since -= gate["ns"]
                for queue in set(port["queues"].values()):
                    drawn = _open(chart, f"{bridge} → {peer}", queue, at_ns)
                    assert drawn == bool(gates >> queue & 1), (bridge, peer, queue, at_ns)
                    gated += not drawn
    assert gated


def test_a_gate_list_that_begins_later_is_drawn_later() -> None:
    gates = [{"gates": "0x40", "ns": 300}, {"gates": "0x01", "ns": 700}]
    port = cast(Any, {"queues": {}, "cycle_ns": 1000, "base_ns": 5400, "entries": gates})
    assert gantt._gates(port, 6, 2000) == [(400, 700), (1400, 1700)]
    assert gantt._gates(port, 0, 2000) == [(0, 400), (700, 1400), (1700, 2000)]
    assert gantt._gates(port, 3, 2000) == []


def test_slots_and_frames_are_drawn_where_the_plan_puts_them(habitat: tuple[Result, Plan]) -> None:
    result, plan = habitat
    rows = {row.label: row for row in gantt.chart(result, plan).rows}
    for name, station in plan["stations"].items():
        row = rows[name]
        for stream in station["streams"]:
            (block,) = (b for b in row.blocks if b.name == stream)
            assert block.start == plan["streams"][stream]["release_ns"]
        if "allowed" not in station:
            continue
        classes = {entry["tc"] for entry in station["streams"].values()}
        for number, mask in enumerate(station["allowed"]):
            middle = (number + 0.5) * station["slot_time_ps"] / 1000
            drawn = any(b.kind == "slot" and b.start <= middle < b.end for b in row.blocks)
            assert drawn == any(mask >> tc & 1 for tc in classes), (name, number)


# -- page


def test_margins_are_those_to_the_deadline_and_the_bound_stands_beside(
    habitat: tuple[Result, Plan],
) -> None:
    result, plan = habitat
    for row, stream in zip(
        sections.streams(result, plan, ()).rows, result["effective"]["stream"], strict=True
    ):
        entry = result["runs"][0]["streams"][stream["id"]]
        bound = plan["streams"][stream["id"]]["bounds"]["delay_ns"]
        assert bound is not None and entry["delay_ns"]["max"] is not None
        for cell, limit in ((row[1], stream["deadline_ns"]), (row[6], bound)):
            assert cell.text == f"{(limit - entry['delay_ns']['max']) / 1000:.3f}" and not cell.bad


def test_a_limit_that_was_nearly_reached_is_not_shown_as_reached(
    habitat: tuple[Result, Plan],
) -> None:
    result, plan = habitat
    run = result["runs"][0]
    for worst_ns, shown in ((99_999.0, "99.9%"), (100_000.0, "100.0%"), (100_051.0, "100.1%")):
        check = {"bound_ns": 100_000, "worst_ns": worst_ns, "met": True, "outcome": "met"}
        entry = {**run["streams"]["F1"], "bound_check": {"deadline_ns": check}}
        entry["delay_ns"] = {**entry["delay_ns"], "max": worst_ns}
        changed = {**run, "streams": {**run["streams"], "F1": entry}}
        rows = sections.streams(cast(Result, {**result, "runs": [changed]}), plan, ()).rows
        assert rows[0][4].text == shown and rows[0][4].bad == (worst_ns > 100_000)


@pytest.mark.slow
def test_a_page_of_many_streams_is_bounded_and_keeps_the_worst(
    habitat: tuple[Result, Plan],
) -> None:
    """A thousand streams: plots and rows of those with the least margin."""
    result, plan = habitat
    many = cast(Result, {**result, "effective": dict(result["effective"])})
    model = next(s for s in result["effective"]["stream"] if s["id"] == "F2")
    streams = [{**model, "id": f"X{number}"} for number in range(1000)]
    many["effective"]["stream"] = streams
    run = result["runs"][0]
    entries = {s["id"]: {**run["streams"]["F2"]} for s in streams}
    entries["X777"]["missing"] = 1
    many["runs"] = [cast(Any, {**run, "streams": entries})]
    gateway = plan["stations"]["power-gateway"]
    talker = {**gateway, "streams": dict.fromkeys(entries, gateway["streams"]["F2"])}
    planned = cast(
        Plan,
        {
            **plan,
            "streams": dict.fromkeys(entries, plan["streams"]["F2"]),
            "stations": {"power-gateway": talker},
            "bridges": {},
        },
    )
    started = time.process_time()
    text = page.render(many, planned)
    spent_s = time.process_time() - started
    assert len(text) < 3_000_000
    assert 'id="stream-X777"' in text
    assert len(re.findall(r'<section id="stream-', text)) == page.PLOTTED_STREAMS_MAX
    assert "952 streams with more margin are left out" in text
    few = page.render(result, plan)
    assert len(few) < 1_000_000 and "left out" not in few
    assert spent_s < 60  # no endless loop; how fast it is says the machine


def test_a_result_of_an_earlier_version_has_a_page_without_these_plots(
    habitat: tuple[Result, Plan],
) -> None:
    result, plan = habitat
    earlier = {"delay_series", "delay_distribution"}
    runs = [
        {
            **run,
            "streams": {
                name: {key: value for key, value in entry.items() if key not in earlier}
                for name, entry in run["streams"].items()
            },
        }
        for run in result["runs"]
    ]
    text = page.render(cast(Result, {**result, "runs": runs}), plan)
    assert "an earlier version made it" in text and 'id="first-keepon"' in text


def test_a_result_without_a_run_has_a_page(habitat: tuple[Result, Plan]) -> None:
    result, plan = habitat
    none = cast(Result, {**result, "runs": [], "judged": None, "interrupted": True})
    text = page.render(none, plan)
    assert "nothing to judge" in text and "interrupted" in text and 'id="gantt"' in text


def test_markup_in_texts_of_a_scenario_stays_text() -> None:
    notes = '<script>alert(1)</script> & "quoted" </style>'
    scenario = parse(f"notes = ['{notes}']\n" + small_text(), "small.toml")
    plan = session.planned(scenario)
    text = page.render(run_all(scenario, plan, 1).result, plan)
    assert "<script>alert" not in text and "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert text.count("</style>") == text.count("<style>") == 1


def test_a_stream_whose_delays_nobody_knows_has_no_plot() -> None:
    """Clocks that run free: a line of nothing would look like a measurement."""
    fault = '[[fault]]\nkind = "link-down"\nnode = "a"\nat_s = 0.0\nvalue_ns = 90_000_000_000'
    scenario = small(**{"warmup_s = 0.0": f"warmup_s = 0.0\n{fault}"})
    plan = session.planned(scenario)
    result = run_all(scenario, plan, 1).result
    assert delayplots.first_frames(result) == []
    assert "none is known" in page.render(result, plan)


def test_far_deadlines_do_not_flatten_a_plot() -> None:
    scenario = loading.load(TWO_STATIONS).model_copy(update={"duration_s": 0.02})
    far = scenario.stream[0].model_copy(update={"deadline_ns": 900_000})
    scenario = scenario.model_copy(update={"stream": [far]})
    result = run_all(scenario, session.planned(scenario), 1).result
    named = delayplots.Named("keepon", result["runs"][0]["streams"]["S1"])
    for panel in delayplots.of_stream("S1", [named], "x"):
        assert "deadline 900.000 µs, beyond the plot" in panel.note.lower()
        assert [curve.name for curve in panel.curves if curve.kind == "limit"].count("bound") == 1
