# SPDX-License-Identifier: BSD-3-Clause
"""`keepon import` and `keepon new --from`: tables of streams become scenarios."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from helpers import ROOT
from keepon.cli import app, new_command
from keepon.errors import EXIT_INPUT, EXIT_MET, ConfigError
from keepon.export import streamtable
from keepon.model import loading
from keepon.model.scenario import Scenario

PAGE = (ROOT / "docs" / "import.md").read_text(encoding="utf-8")
TABLE = "".join(
    line.strip() + "\n"
    for line in PAGE.splitlines()
    if line.startswith("    ") and line.count(";") > 5
)
"""The page's own example."""


@pytest.fixture
def keepon(tmp_path: Path, monkeypatch: Any, capsys: Any) -> Any:
    """Runs a command in an empty folder; what it printed on both streams."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, code: int = EXIT_MET) -> tuple[str, str]:
        monkeypatch.setattr(sys, "argv", ["keepon", *arguments])
        assert app.main() == code
        said = capsys.readouterr()
        return said.out, said.err

    return run


def imported(keepon: Any, text: str, code: str = "utf-8") -> Scenario:
    Path("t.csv").write_bytes(text.encode(code))
    keepon("import", "t.csv")
    return loading.load(Path("t.toml"))


def test_the_table_of_the_page_is_a_cell(keepon: Any) -> None:
    Path("streams.csv").write_text(TABLE, encoding="utf-8")
    out, err = keepon("import", "streams.csv")
    assert out == "streams.toml: written; change it, then: keepon plan streams.toml\n"
    assert err == "keepon: note: columns left out: Comment\n".replace("keepon: ", "")
    scenario = loading.load(Path("streams.toml"))
    drives = [f"drive{n}" for n in range(1, 7)]
    assert [one.name for one in scenario.station] == ["plc", *drives, "cam1"]
    assert [one.ends for one in scenario.link] == [[one.name, "br1"] for one in scenario.station]
    first, sync, video = scenario.stream[0], scenario.stream[6], scenario.stream[7]
    assert (first.id, first.talker, first.listeners) == ("set1", "plc", ["drive1"])
    assert (first.period_ns, first.frame_bytes, first.deadline_ns) == (1_000_000, 100, 300_000)
    assert (first.jitter_ns, first.priority) == (20_000, 6)
    assert sync.listeners == drives and sync.jitter_ns is None
    assert (video.period_ns, video.frame_bytes) == (16_700_000, 1400)
    text = Path("streams.toml").read_text(encoding="utf-8")
    assert 'period_ns = "1 ms"' in text and 'deadline_ns = "300 us"' in text


@pytest.mark.slow
def test_it_has_a_plan_and_keeps_it(keepon: Any) -> None:
    Path("streams.csv").write_text(TABLE, encoding="utf-8")
    keepon("import", "streams.csv")
    out, _ = keepon("run", "streams.toml", "--duration", "0.05", "--out", "out")
    assert "every bound kept" in out


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name,src,dst,period [us],bytes\nf,a,b,250.5,100\n", "utf-8"),
        ("Flow ID\tSourceNode\tDestination Node\tPeriod_us\tSize (Bytes)\n"
         "f\ta\tb\t250.5\t100\n", "utf-8"),
        ("Strom;;;;\n\nname;from;to;cycle time in µs;length\nf;a;b;250,5;100\n", "cp1252"),
        ("name|sender|receivers|interval|payload\nf|a|[b]|250.5 µs|78 B\n", "utf-16"),
        ("Stream:,From,To (s),Max. Latency in MS,Interval [US],Frame size (incl. FCS)\n"
         "f,a,b,1,250.5,100\n", "utf-8"),
        ("\ufefftalker,listener,period,frame size\na,b,0.2505 ms,0.1 kB\n", "utf-8"),
        ("name,talker,listener,period_ns,frame_bytes\n#x\nf,a,b,250500,100\n,,,,\n", "utf-8"),
    ],
)  # fmt: skip
def test_columns_and_units_as_people_write_them(keepon: Any, text: str, code: str) -> None:
    (stream,) = imported(keepon, text, code).stream
    assert (stream.talker, stream.listeners) == ("a", ["b"])
    assert (stream.period_ns, stream.frame_bytes, stream.priority) == (250_500, 100, 5)


def test_rows_of_one_stream_are_its_listeners(keepon: Any) -> None:
    head = "id,src,dst,rate [Hz],size\n"
    (stream,) = imported(keepon, head + 'f,a,"b, c",4000,64\nf,a,d,4000,64\n').stream
    assert (stream.listeners, stream.period_ns) == (["b", "c", "d"], 250_000)


def test_a_rate_without_a_whole_period_stays_one(keepon: Any) -> None:
    (stream,) = imported(keepon, "id,src,dst,rate,size\nf,a,b,4.8 kHz,64\n").stream
    assert (stream.rate_hz, stream.period_ns) == (4800, 208_333)


HEAD = "Name,Source,Destination,Period [us],Payload [B],Max latency [ms],PCP\n"
WRONG = (
    "a,plc,d1,250,100,1,5\n"
    "b,plc,plc,1 ms,50,1,5\n"
    'c,plc,d1,1 Mb/s,100,"0,5",9\n'
    "a,plc,d2,1 ms,910,1,5\n"
    "d,,d1,2 ms,46,1,\n"
    "e,plc,d1,0.3333333 ms,x,,\n"
    "f5..1,plc,d1,2 ms,46,1,\n"
)
SAID = [
    'row 3, column "Destination" = "plc": is the talker itself; name another station',
    'row 4, column "Max latency [ms]" = "0,5": may have a decimal comma only where columns are not',
    'row 4, column "PCP" = 9: must be between 0 and 7; choose a value in this range',
    'row 4, column "Period [us]" = "1 Mb/s": must be a whole number, between 1000 and',
    'row 5, column "Name" = "a": already used by row 2; rename one of the two',
    "row 6: has no talker; fill the cell in",
    'row 7, column "Payload [B]" = "x": must be a number of bytes; write one',
    'row 7, column "Period [us]" = "0.3333333 ms": is 333333.3 ns: must be a whole number, between',
    'row 8, column "Name" = "f5..1": counts down; write the least first',
]


def test_all_that_is_wrong_is_said_with_row_and_column(keepon: Any) -> None:
    Path("t.csv").write_text(HEAD + WRONG, encoding="utf-8")
    _, err = keepon("import", "t.csv", code=EXIT_INPUT)
    lines = [line.removeprefix("keepon: t.csv: ") for line in err.splitlines()]
    assert len(lines) == len(SAID), err
    for line, said in zip(sorted(lines), sorted(SAID), strict=True):
        assert line.startswith(said)
    assert not Path("t.toml").exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no column for talker: one of its first 20 rows must name it as one of talker,"),
        ("a,b\n1,2\n", "has no column for talker"),
        ("talker,listener,size\n", "has no column for period: one of its first 20 rows must"),
        ("talker,listener,period [us],size\n", "has no row of a stream below its header"),
        ("talker,listener,period,size\na,b,250,64\na,c,500,64\n",
         'column "period" has no unit; write it into the header, "period [us]", or each cell'),
        ("talker,listener,rate,size\na,b,59.94,64\n",
         'row 2, column "rate" = "59.94": repeats in whole ns after 2997 frames: must do so after'
         ' at most 128; write "60000/1001" if that is meant'),
        ("talker,listener,rate,size\na,b,0,64\n", '"0": must be above 0 Hz, kHz, kb/s or Mb/s'),
    ],
)  # fmt: skip
def test_what_is_no_table_of_streams(keepon: Any, text: str, said: str) -> None:
    Path("t.csv").write_text(text, encoding="utf-8")
    _, err = keepon("import", "t.csv", code=EXIT_INPUT)
    assert err.startswith(f"keepon: t.csv: {said}" if said[0] != '"' else "keepon: t.csv: row 2")
    assert said in err and err.count("\n") == 1


def test_a_workbook_is_read_as_its_csv_is(keepon: Any) -> None:
    book = openpyxl.Workbook()
    sheet: Any = book.active
    sheet.append(["Streams of hall 2"])
    sheet.append(["Name", "Talker", "Listener", "Period [ms]", "Size", "PCP"])
    sheet.append(["f", "PLC 1", "d1", 0.25, 100, 6])
    sheet.append([None, "PLC 1", "d2", "1", 100.0, None])
    book.save("t.xlsx")
    _, err = keepon("import", "t.xlsx")
    assert err == "note: names changed: PLC 1 -> PLC-1\n"
    first, second = loading.load(Path("t.toml")).stream
    assert (first.talker, first.period_ns, first.frame_bytes, first.priority) == (
        "PLC-1", 250_000, 100, 6,
    )  # fmt: skip
    assert (second.id, second.period_ns, second.priority) == ("s2", 1_000_000, 5)


def test_a_workbook_without_its_reader_or_damaged(keepon: Any, monkeypatch: Any) -> None:
    Path("t.xlsx").write_text("no workbook")
    _, err = keepon("import", "t.xlsx", code=EXIT_INPUT)
    assert err.startswith("keepon: t.xlsx: is no workbook (")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    _, err = keepon("import", "t.xlsx", code=EXIT_INPUT)
    assert "needs openpyxl, which is not installed; pip install openpyxl, or save" in err


TOPO = "link,q_num,rate,t_proc,t_prop\n" + "".join(
    f'"({here}, {there})",8,1,2000,0\n'
    for one, other in ((0, 1), (0, 2), (1, 3))
    for here, there in ((one, other), (other, one))
)


@pytest.mark.parametrize("first", ["stream", "id"])
def test_files_of_tsnkits_benchmark(keepon: Any, first: str) -> None:
    task = f"{first},src,dst,size,period,deadline,jitter\n0,2,[3],500,500000,450000,450000\n"
    Path("7_task.csv").write_text(task)
    Path("7_topo.csv").write_text(TOPO)
    _, err = keepon("import", "7_task.csv")
    assert "note: chosen, as tsnkit says nothing of it" in err
    scenario = loading.load(Path("7_task.toml"))
    assert scenario.name == "7_task" and scenario.stream[0].period_ns == 500_000
    Path("folder").mkdir()
    Path("7_task.csv").rename("folder/stream.csv")
    Path("7_topo.csv").rename("folder/topo.csv")
    keepon("import", "folder", "--out", "again.toml")
    assert loading.load(Path("again.toml")).stream == scenario.stream


def test_new_puts_stations_where_it_is_asked_to(keepon: Any) -> None:
    Path("s.csv").write_text(TABLE, encoding="utf-8")
    where = ("--at", "plc=br1", "--at", "drive1..3=br2")
    size = ("--bridges", "3", "--rate", "100 Mb/s")
    keepon("new", "tree", "c.toml", "--from", "s.csv", *size, *where)
    scenario = loading.load(Path("c.toml"))
    assert scenario.defaults.rate_bps == 100_000_000
    ends = [tuple(one.ends) for one in scenario.link]
    assert ends[:2] == [("br1", "br2"), ("br1", "br3")]
    homes = dict(ends[2:])
    assert homes["plc"] == "br1" and {homes[f"drive{n}"] for n in (1, 2, 3)} == {"br2"}
    assert homes["drive4"] == "br2" and homes["drive5"] == "br3"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--from", "s.csv", "--at", "plc=br9"), '"br9" is no bridge; did you mean "br1"?'),
        (("--from", "s.csv", "--at", "pcl=br1"), '"pcl" is no station; did you mean "plc"?'),
        (("--from", "s.csv", "--stations", "4"), "option --stations: has no use with --from"),
        (("--at", "plc=br1"), "option --at: needs the stations of a table; give --from, too"),
        (("--rate", "fast"), 'option --rate = "fast": must be a number with a unit, such as "100'),
        (("--rate", "1 kb/s"), 'key `defaults.rate_bps` = "1 kb/s": must be between 10000000 and'),
        (("--from", "no.csv"), "no.csv: cannot be read (No such file or directory)"),
    ],
)  # fmt: skip
def test_what_new_refuses(keepon: Any, arguments: tuple[str, ...], said: str) -> None:
    Path("s.csv").write_text(TABLE, encoding="utf-8")
    _, err = keepon("new", "line", "c.toml", *arguments, code=EXIT_INPUT)
    assert said in err and err.count("\n") == 1 and not Path("c.toml").exists()


def test_the_page_names_the_first_names_of_each_column() -> None:
    for names in streamtable.COLUMNS.values():
        assert names.partition(",")[0] in PAGE


def test_a_rate_may_be_a_fraction(tmp_path: Path) -> None:
    table = tmp_path / "cameras.csv"
    table.write_text("name,talker,listener,fps,size\nv,cam,rec,60000/1001,1400\n")
    (stream,) = streamtable.read(table).streams
    assert stream["rate_hz"] == "60000/1001"


LOADS = """Stream; Talker; Listeners; Cycle [ms]; Rate [Mb/s]; Size; Deadline; PCP
set; plc; drive; 1; ; 120; 250 us; 6
video1..2; cam1..2; rec; ; 300; ; ;
log; plc; rec, drive; ; 0,5; 1500; ; 1
"""


def test_a_row_with_a_bit_rate_is_best_effort(tmp_path: Path) -> None:
    table = tmp_path / "cell.csv"
    table.write_text(LOADS)
    file = tmp_path / "cell.toml"
    new_command.read(table, file)
    scenario = loading.load(file)
    assert [stream.id for stream in scenario.stream] == ["set"]
    assert [
        (load.id, load.talker, load.listener, load.rate_bps, load.frame_bytes, load.priority)
        for load in scenario.load
    ] == [
        ("video1", "cam1", "rec", 300_000_000, 1518, 0),
        ("video2", "cam2", "rec", 300_000_000, 1518, 0),
        ("log-1", "plc", "rec", 500_000, 1500, 1),
        ("log-2", "plc", "drive", 500_000, 1500, 1),
    ]
    for change, message in (
        (("300; ;", "300; ; 5 ms"), 'row 3, column "Deadline" = "5 ms": is beside a bit rate'),
        (("[Mb/s]", "[baud]"), 'row 3, column "Rate [baud]" = "300": must be above 0 Hz'),
        (("; 300;", "; 300 Tb;"), '"300 Tb": must be above 0 Hz'),
        (("; 300;", "; 0;"), "must be"),
        (("; 120;", "; 1.200;"), 'row 2, column "Size" = "1.200": has a point where other cells'),
    ):
        table.write_text(LOADS.replace(*change))
        with pytest.raises(ConfigError) as error:
            streamtable.read(table)
        assert message in str(error.value)
