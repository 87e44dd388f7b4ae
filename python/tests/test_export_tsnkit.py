# SPDX-License-Identifier: BSD-3-Clause
"""tsnkit's CSV files: a scenario goes out and comes back with all that the format carries; what is
lost is named.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import ROOT, with_plan
from hypothesis import given, settings
from hypothesis import strategies as st
from keepon.cli import app as cli
from keepon.cli import session
from keepon.errors import EXIT_INPUT, EXIT_MET, ConfigError
from keepon.export import tsnkit, tsnkit_reader
from keepon.export.exported import Exported, Planned
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.model.topology import Topology


def planned(scenario: Scenario) -> Planned:
    plan = session.planned(scenario)
    assert plan["status"] == "feasible", plan["why"]
    return Planned(scenario, plan)


def written(folder: Path, one: Planned) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in tsnkit.export(one).files.items():
        (folder / name).write_text(text)
    return folder


def read(folder: Path) -> tuple[str, Exported]:
    problem = tsnkit_reader.problem_of(folder)
    assert problem is not None
    return tsnkit_reader.read(problem)


def back(folder: Path) -> Scenario:
    name, exported = read(folder)
    return loading.parse(exported.files[f"{name}.toml"], "back.toml")


@pytest.fixture
def folder(habitat: Planned, tmp_path: Path) -> Path:
    return written(tmp_path / "tsnkit", habitat)


STARS = """
schema = "keepon.scenario/1"
name = "line"
[[station]]
name = "a"
driver = "launchtime"
[[station]]
name = "b"
driver = "launchtime"
[[station]]
name = "c"
driver = "launchtime"
[[bridge]]
name = "left"
processing_ns = 1_500
[[bridge]]
name = "right"
processing_ns = 3_000
gates = "auto"
[[link]]
ends = ["a", "left"]
rate_bps = 100_000_000
[[link]]
ends = ["b", "left"]
[[link]]
ends = ["left", "right"]
propagation_ns = 120
asymmetry_ns = 40
[[link]]
ends = ["c", "right"]
"""


def line(streams: list[dict[str, Any]], gates: str = "auto") -> Scenario:
    text = STARS.replace('gates = "auto"', f'gates = "{gates}"').replace(
        "processing_ns = 1_500", f'processing_ns = 1_500\ngates = "{gates}"'
    )
    for number, entry in enumerate(streams):
        text += f'[[stream]]\nid = "S{number}"\n' + "".join(
            f"{k} = {json.dumps(v)}\n" for k, v in entry.items()
        )
    return loading.parse(text, "line.toml")


def network(scenario: Scenario) -> dict[tuple[str, str], tuple[int, int]]:
    return {
        ends: (wire.rate_bps, wire.propagation_ns)
        for ends, wire in Topology(scenario).wires.items()
    }


STREAMS = st.lists(
    st.fixed_dictionaries(
        {
            "talker": st.sampled_from(["a", "b"]),
            "listeners": st.just(["c"]),
            "period_ns": st.sampled_from([500_000, 1_000_000, 2_000_000]),
            "frame_bytes": st.integers(64, 1522),
            "priority": st.integers(0, 7),
            "deadline_ns": st.integers(400_000, 500_000),
            "jitter_ns": st.integers(300_000, 500_000),
        }
    ),
    min_size=1,
    max_size=4,
)


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(streams=STREAMS, gates=st.sampled_from(["auto", "none"]))
def test_what_the_format_carries_comes_back(
    tmp_path_factory: pytest.TempPathFactory, streams: list[dict[str, Any]], gates: str
) -> None:
    one = planned(line(streams, gates))
    again = back(written(tmp_path_factory.mktemp("line"), one))
    assert again.name == "line" and network(again) == network(one.scenario)
    assert [bridge.processing_ns for bridge in again.bridge] == [1_500, 3_000]
    assert [station.name for station in again.station] == ["a", "b", "c"]
    for stream, other in zip(one.scenario.stream, again.stream, strict=True):
        planned_stream = one.plan["streams"][stream.id]
        kept = {"offset_ns": "auto", "route": "auto", "priority": stream.priority}
        assert other.model_copy(update=kept) == stream
        for one_bridge, bridge in zip(one.scenario.bridge, again.bridge, strict=True):
            assert bridge.class_of(other.priority) == one_bridge.class_of(stream.priority)
        assert (other.offset_ns, other.route) == (
            planned_stream["release_ns"],
            planned_stream["route"],
        )
    for bridge in again.bridge:
        ports = one.plan["bridges"][bridge.name]["ports"]
        if gates == "none":
            assert bridge.gates == "none"
            continue
        assert isinstance(bridge.gates, dict) and set(bridge.gates) == set(ports)
        for peer, gate_list in bridge.gates.items():
            assert gate_list.model_dump() == {
                key: ports[peer][key] for key in ("base_ns", "entries")
            }


def test_a_schedule_that_came_back_is_planned_the_same(tmp_path: Path) -> None:
    common = {"listeners": ["c"], "frame_bytes": 300, "deadline_ns": 400_000, "jitter_ns": 100_000}
    one = planned(
        line(
            [
                {**common, "talker": "a", "period_ns": 1_000_000, "priority": 3},
                {**common, "talker": "b", "period_ns": 1_000_000, "priority": 6},
            ]
        )
    )
    plan = planned(back(written(tmp_path, one))).plan
    for key in ("bridges", "streams"):
        assert plan[key] == one.plan[key]


def test_without_a_schedule_the_planner_is_free(folder: Path, habitat: Planned) -> None:
    for path in folder.glob("habitat-*.csv"):
        path.unlink()
    again = back(folder)
    assert all(stream.offset_ns == "auto" and stream.route == "auto" for stream in again.stream)
    assert all(bridge.gates == "auto" for bridge in again.bridge)
    assert network(again) == network(habitat.scenario)
    (folder / "ids.json").unlink()
    numbered = back(folder)
    assert (
        numbered.name == "tsnkit"
        and numbered.stream[0].id == "s0"
        and numbered.station[0].name == "n0"
    )
    assert planned(numbered).plan["status"] == "feasible"


def test_blanks_that_align_columns_and_jitters_above_the_period_are_read(tmp_path: Path) -> None:
    """Published sets have both: "must be a whole number", and a jitter that no plan takes."""
    (tmp_path / "stream.csv").write_text(
        "stream, src, dst  , size, period , deadline, jitter\n"
        "0     , 1  , [2]  , 500 , 500000 , 450000  , 450000\r\n"
        "1     , 2  ,\t[1], 200 , 200000 , 450000  , 450000 \n"
    )
    rows = [f'"({here}, {there})" , 8, 1 , 2000, 0' for here, there in ((0, 1), (1, 0))]
    rows += [f' "({here}, {there})",8 , 1 , 2000, 0 ' for here, there in ((0, 2), (2, 0))]
    (tmp_path / "topo.csv").write_text("\n".join(["link  ,q_num,rate,t_proc,t_prop", *rows]))
    _, exported = read(tmp_path)
    again = back(tmp_path)
    assert [stream.jitter_ns for stream in again.stream] == [450_000, None]
    assert any(note.startswith("stream s1: its jitter of 450000 ns") for note in exported.notes)
    plan = planned(again).plan
    assert plan["status"] == "feasible"
    (tmp_path / "stream.csv").write_text("stream,src,dst,size,period,deadline,jitter\n0,1,[2],5 0,")
    with pytest.raises(ConfigError, match="line 2: has 5 fields"):
        back(tmp_path)


def test_columns_and_forms_are_tsnkits(folder: Path) -> None:
    heads = {path.name: path.read_text().splitlines()[0] for path in folder.glob("*.csv")}
    assert heads == {
        "stream.csv": "stream,src,dst,size,period,deadline,jitter",
        "topo.csv": "link,q_num,rate,t_proc,t_prop",
        "habitat-GCL.csv": "link,queue,start,end,cycle",
        "habitat-OFFSET.csv": "stream,frame,offset",
        "habitat-ROUTE.csv": "stream,link",
        "habitat-QUEUE.csv": "stream,frame,link,queue",
        "habitat-DELAY.csv": "stream,frame,delay",
    }
    topo = list(csv.DictReader((folder / "topo.csv").open()))
    nodes = {int(number) for row in topo for number in re.findall(r"\d+", row["link"])}
    assert nodes == set(range(len(nodes)))
    assert all(re.fullmatch(r"\(\d+, \d+\)", row["link"]) for row in topo)
    streams = list(csv.DictReader((folder / "stream.csv").open()))
    assert all(int(row["deadline"]) <= int(row["period"]) >= int(row["jitter"]) for row in streams)
    assert all(re.fullmatch(r"\[\d+\]", row["dst"]) for row in streams)


def test_windows_stay_within_the_cycle_and_talkers_own_frames(
    folder: Path, habitat: Planned
) -> None:
    rows = list(csv.DictReader((folder / "habitat-GCL.csv").open()))
    assert all(0 <= int(row["start"]) < int(row["end"]) <= int(row["cycle"]) for row in rows)
    ids = json.loads((folder / "ids.json").read_text())
    sender, bridge = ids["nodes"].index("power-gateway"), ids["nodes"].index("br3")
    mine = [(int(r["start"]), int(r["end"])) for r in rows if r["link"] == f"({sender}, {bridge})"]
    # 230 bytes at 1 Gb/s: the planner pads 200 bytes to the slot.
    assert mine == [(start, start + 1_840) for start in (64, 2_064, 4_064)]


@pytest.mark.parametrize(
    ("entries", "windows"),
    [
        (
            "{ gates = '0x20', ns = 400_000 }, { gates = '0xdf', ns = 600_000 }",
            [(0, 100_000), (700_000, 1_000_000)],
        ),
        (
            "{ gates = '0xdf', ns = 600_000 }, { gates = '0x20', ns = 400_000 }",
            [(300_000, 700_000)],
        ),
    ],
)
def test_gates_whose_base_is_not_the_origin_are_turned(
    entries: str, windows: list[tuple[int, int]]
) -> None:
    gates = f"[bridge.gates.c]\nbase_ns = 700_000\nentries = [{entries}]"
    text = STARS.replace('gates = "auto"', gates)
    text += (
        '[[stream]]\nid = "S"\ntalker = "b"\nlisteners = ["c"]\nperiod_ns = 1_000_000\nframe_bytes'
        " = 100\n"
    )
    one = planned(loading.parse(text, "x.toml"))
    table = csv.DictReader(tsnkit.export(one).files["line-GCL.csv"].splitlines())
    port = [(int(row["start"]), int(row["end"])) for row in table if row["link"] == "(4, 2)"]
    assert port == windows


def test_a_port_without_gates_beside_one_with_gates_stays_open(folder: Path) -> None:
    path = folder / "habitat-GCL.csv"
    rows = [row for row in path.read_text().splitlines() if not row.startswith('"(8, 1)"')]
    path.write_text("\n".join([*rows, '"(8, 1)",6,0,1000000,1000000']) + "\n")
    (bridge,) = (bridge for bridge in back(folder).bridge if bridge.name == "br2")
    assert isinstance(bridge.gates, dict)
    assert [(entry.gates, entry.ns) for entry in bridge.gates["power-load"].entries] == [
        ("0xff", 1_000_000)
    ]
    assert len(bridge.gates["br1"].entries) > 1


def test_what_is_lost_is_named(habitat: Planned) -> None:
    notes = " | ".join(tsnkit.export(habitat).notes)
    for text in (
        "slots, partitions",
        "without preamble and gap",
        "streams F2, F3, F4",
        "is not asked for becomes",
    ):
        assert text in notes
    longer = {
        "talker": "b",
        "listeners": ["c"],
        "period_ns": 500_000,
        "frame_bytes": 64,
        "deadline_ns": 900_000,
    }
    one = planned(line([longer]))
    assert any(
        "streams S0: a deadline or jitter above the period" in note
        for note in tsnkit.export(one).notes
    )
    (row,) = csv.DictReader(tsnkit.export(one).files["stream.csv"].splitlines())
    assert row["deadline"] == "500000"


def test_what_cannot_be_written_is_refused() -> None:
    streams = [{"talker": "b", "listeners": ["c", "a"], "period_ns": 500_000, "frame_bytes": 64}]
    with pytest.raises(ConfigError, match=r'stream "S0" has 2 listeners: tsnkit knows one'):
        tsnkit.export(planned(line(streams)))
    text = (ROOT / "examples" / "three-stations.toml").read_text()
    fast = loading.parse(
        text.replace("seed = 1", "seed = 1\n[defaults]\nrate_bps = 10_000_000_000"), "fast.toml"
    )
    with pytest.raises(
        ConfigError, match=r"rate_bps = 10000000000: tsnkit knows 10000000, 100000000, 1000000000"
    ):
        tsnkit.export(with_plan(fast))


WRONG = [
    ("topo.csv", r"link,", "links,", r'topo.csv: line 1 = "links,q_num.*must be link,q_num'),
    (
        "topo.csv",
        r'"\(7, 8\)"',
        "__import__('os')",
        r"line 2: column `link` = \"__import__\('os'\)\": must be two node",
    ),
    (
        "topo.csv",
        r'"\(7, 8\)",8,1,',
        '"(7, 8)",8,7,',
        r'column `rate` = "7": must be one of 1, 10, 100',
    ),
    ("topo.csv", r'"\(7, 8\)",8,1,', '"(7, 8)",8,10,', r"must be that of the way back, 1"),
    ("topo.csv", r'"\(7, 8\)".*\n', "", r"has no way back; add"),
    ("topo.csv", r'("\(7, 8\)".*\n)', r"\1\1", r"is listed twice"),
    (
        "topo.csv",
        r'"\(7, 8\)",8,1,2000',
        '"(7, 8)",8,1,1000',
        r"column `t_proc` = .*as on other links to 8",
    ),
    ("stream.csv", r"\[0\]", '"[0, 2]"', r'column `dst` = "\[0, 2\]": must be one node number'),
    (
        "stream.csv",
        r"\n0,1,",
        "\n0,8,",
        r'column `src` = "8": must be a node with exactly one link',
    ),
    ("stream.csv", r",200,", ",-200,", r'column `size` = "-200": must be a whole number'),
    ("stream.csv", r",200,", ",40,", r"frame_bytes"),
    ("stream.csv", r",200,", ",", r"has 6 fields: must have 7"),
    ("habitat-OFFSET.csv", r"\n0,0,", "\n0,1,", r"column `frame` = \"1\": must be 0"),
    ("habitat-OFFSET.csv", r"\n0,0,.*", "", r"no offset or no route for stream 0"),
    ("habitat-ROUTE.csv", r'\n0,"\(8, 7\)"', "", r"route of stream 0 does not lead"),
    ("habitat-ROUTE.csv", r'\n0,"\(8, 7\)"', '\n0,"(8, 10)"', r"is not in topo.csv"),
    (
        "habitat-QUEUE.csv",
        r'\n0,0,"\(8, 7\)",6',
        '\n0,0,"(8, 7)",5',
        r"as at other bridges of the stream",
    ),
    (
        "habitat-GCL.csv",
        r",3690,5450,",
        ",5450,5450,",
        r"column `end` = \"5450\": must be above start",
    ),
    ("habitat-GCL.csv", r'(7, 0\)",4,.*),1000000', r"\1,2000000", r"column `cycle`"),
]


@pytest.mark.parametrize(("name", "old", "new", "sentence"), WRONG)
def test_wrong_files_are_refused_in_one_sentence(
    folder: Path, name: str, old: str, new: str, sentence: str, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    text = (folder / name).read_text()
    changed = re.sub(old, new, text, count=1)
    assert changed != text
    (folder / name).write_text(changed)
    out = folder.parent / "out.toml"
    monkeypatch.setattr(sys, "argv", ["keepon", "import", str(folder), "--out", str(out)])
    assert cli.main() == EXIT_INPUT
    said = capsys.readouterr().err
    assert re.search(sentence, said) and said.count("\n") == 1, said
    assert not out.exists()


def test_the_command_reads_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder.parent / "back.toml"
    monkeypatch.setattr(sys, "argv", ["keepon", "import", str(folder), "--out", str(out)])
    assert cli.main() == EXIT_MET
    assert 'driver "launchtime"' in capsys.readouterr().err
    assert loading.load(out).name == "habitat"
    word, _, place = out.read_text().partition("\n")[0].partition(" ")
    assert word == "#:schema"
    assert json.loads((out.parent / place).read_text())["title"] == "keepon.scenario/1"
    assert cli.main() == EXIT_INPUT
    assert "is there already and stays as it is" in capsys.readouterr().err
