# SPDX-License-Identifier: BSD-3-Clause
"""`keepon import` of a user's requests in YANG: groups of IEEE Std 802.1Q-2022 clause 46.2.3."""

from __future__ import annotations

import copy
import json
from os.path import normpath
from pathlib import Path
from typing import Any

import pytest
from keepon.cli import new_command
from keepon.errors import ConfigError
from keepon.export import yang_reader
from keepon.model import loading

PLC, DRIVE, CAMERA = (f"00-00-5E-00-53-0{n}" for n in (1, 2, 3))
SET = {
    "stream-id": "00-00-5e-00-53-01:00-07",
    "talker": {
        "stream-rank": {"rank": 1},
        "end-station-interfaces": [{"mac-address": PLC.lower(), "interface-name": "eth0"}],
        "data-frame-specification": [
            {"index": 0, "ieee802-mac-addresses": {"destination-mac-address": DRIVE}},
            {"index": 1, "ieee802-vlan-tag": {"priority-code-point": 6, "vlan-id": 9}},
        ],
        "traffic-specification": {
            "interval": {"numerator": 1, "denominator": 2000},
            "max-frames-per-interval": 1,
            "max-frame-size": 100,
        },
        "user-to-network-requirements": {"num-seamless-trees": 1, "max-latency": 400000},
    },
    "listener": [
        {"index": 0, "end-station-interfaces": [{"mac-address": DRIVE, "interface-name": ""}]},
        {
            "index": 1,
            "end-station-interfaces": [{"mac-address": CAMERA, "interface-name": ""}],
            "user-to-network-requirements": {"max-latency": 300000},
        },
    ],
}
VIDEO = {
    "stream-id": "00-00-5E-00-53-03:00-01",
    "talker": {
        "end-station-interfaces": [{"mac-address": CAMERA}],
        "traffic-specification": {
            "interval": {"numerator": 1001, "denominator": 60000},
            "max-frames-per-interval": 2,
            "max-frame-size": 10,
            "time-aware": {
                "earliest-transmit-offset": 1000, "latest-transmit-offset": 50000, "jitter": 500,
            },
        },
        "user-to-network-requirements": {"num-seamless-trees": 2, "max-latency": 250000},
    },
    "listener": [{"index": 4, "end-station-interfaces": [{"mac-address": PLC}]}],
}  # fmt: skip
NOTES = [
    "left out: rank, interface-name, destination-mac-address, vlan-id, jitter",
    "two ways need a ring, keepon new ring FILE --from this file: 00-00-5E-00-53-03-00-01",
    "offset_ns is left to the plan, which knows no window: compare it with"
    " earliest-transmit-offset and latest-transmit-offset of 00-00-5E-00-53-03-00-01",
]


def of(*streams: Any, module: str = "ieee802-dot1q-cnc-config:cnc-config") -> dict[str, Any]:
    cuc = {"cuc-id": "cell", "stream": list(streams)}
    return {module: {"domain": [{"domain-id": "hall 2", "cuc": [cuc]}]}}


def written(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def as_xml(name: str, value: Any) -> str:
    """A node's elements; modules are namespaces."""
    if isinstance(value, list):
        return "".join(as_xml(name, each) for each in value)
    module, _, own = name.rpartition(":")
    inner = "".join(as_xml(*item) for item in value.items()) if isinstance(value, dict) else value
    space = f' xmlns="urn:ieee:std:802.1Q:yang:{module}"' if module else ""
    return f"<{own}{space}>{inner}</{own}>"


def test_a_request_is_a_stream(tmp_path: Path) -> None:
    """Period 1/2000 s = 500 us; 100 bytes get header 14, tag 4 and FCS 4; the deadline is the
    least of talker and listeners. 60000/1001 frames a second have no period in whole ns; 10 bytes
    become the least frame, 64; latency counts from the interval and the deadline from the release,
    50 us later at most: 250 - 50 = 200 us.
    """
    source = written(tmp_path / "cell.json", of(SET, VIDEO))
    table = yang_reader.read(source)
    assert table.notes == NOTES
    out = tmp_path / "cell.toml"
    new_command.write(out, new_command.Asked("ring", table=source))
    scenario = loading.load(out)
    assert [one.name for one in scenario.station] == [PLC, DRIVE, CAMERA]
    first, *frames = scenario.stream
    assert (first.id, first.talker) == ("00-00-5E-00-53-01-00-07", PLC)
    assert first.listeners == [DRIVE, CAMERA]
    assert (first.period_ns, first.frame_bytes, first.priority) == (500_000, 122, 6)
    assert (first.deadline_ns, first.offset_ns, first.redundancy) == (300_000, "auto", 1)
    assert [one.id for one in frames] == [f"00-00-5E-00-53-03-00-01-{n}" for n in (1, 2)]
    for one in frames:
        assert (one.talker, one.listeners, one.priority) == (CAMERA, [PLC], 5)
        assert (one.rate_hz, one.frame_bytes) == ("60000/1001", 64)
        assert (one.deadline_ns, one.offset_ns, one.redundancy) == (200_000, "auto", 2)


@pytest.mark.parametrize("module", ["ieee802-dot1q-tsn-config-uni:tsn-uni", "data"])
def test_xml_and_drafts_say_the_same(tmp_path: Path, module: str) -> None:
    table = yang_reader.read(written(tmp_path / "cell.json", of(SET, VIDEO)))
    file = tmp_path / "cell.xml"
    file.write_text('<?xml version="1.0"?>\n' + as_xml(*of(SET, VIDEO, module=module).popitem()))
    assert yang_reader.read(file) == table
    asked = [{"stream-id": one["stream-id"], "request": one} for one in copy.deepcopy([SET, VIDEO])]
    for one in asked:
        one["request"]["listeners-list"] = one["request"].pop("listener")
    draft = {"ieee802-dot1q-tsn-types-upc-version:tsn-uni": {"stream-list": asked}}
    assert yang_reader.read(written(file.with_suffix(".JSON"), draft)) == table


def test_an_instant_stays_one(tmp_path: Path) -> None:
    """Earliest and latest alike: the release. 250 - 50 us are left from it."""
    one = copy.deepcopy(VIDEO)
    one["talker"]["traffic-specification"]["time-aware"]["earliest-transmit-offset"] = 50000
    (stream, _) = yang_reader.read(written(tmp_path / "a.json", of(one))).streams
    assert (stream["offset_ns"], stream["deadline_ns"]) == (50_000, 200_000)


def test_a_burst_begins_at_its_instant(tmp_path: Path) -> None:
    one = copy.deepcopy(VIDEO)
    one["talker"]["traffic-specification"]["time-aware"]["earliest-transmit-offset"] = 50000
    table = yang_reader.read(written(tmp_path / "a.json", of(one)))
    assert [stream.get("offset_ns") for stream in table.streams] == [50_000, None]
    assert any(note.startswith("offset_ns is left to the plan") for note in table.notes)


def test_interfaces_of_a_station_are_one_station(tmp_path: Path) -> None:
    one, second = copy.deepcopy(SET), "00-00-5e-00-53-1A"
    one["talker"]["end-station-interfaces"].append({"mac-address": second})
    other = copy.deepcopy(VIDEO)
    other["listener"] = [{"end-station-interfaces": [{"mac-address": second.upper()}]}]
    table = yang_reader.read(written(tmp_path / "a.json", of(one, other)))
    assert [stream["listeners"] for stream in table.streams[1:]] == [[PLC], [PLC]]
    one["talker"]["end-station-interfaces"].reverse()
    other["listener"][0]["end-station-interfaces"].append({"mac-address": PLC})
    table = yang_reader.read(written(tmp_path / "a.json", of(other, one)))
    assert [stream["listeners"] for stream in table.streams[:2]] == [[second.upper()]] * 2
    assert table.streams[2]["talker"] == second.upper()


TALKER = "/cnc-config/domain[0]/cuc[0]/stream[0]/talker"
SPEC = f"{TALKER}/traffic-specification"


@pytest.mark.parametrize(
    ("keys", "value", "said"),
    [
        ("max-frame-size", "long", f'{SPEC}/max-frame-size = "long": must be a whole number from'),
        ("max-frame-size", 9000, f"{SPEC}/max-frame-size = 9022: must be between 64 and 9018"),
        ("max-frame-size", None, f"{SPEC}/max-frame-size: is missing; state it"),
        ("max-frames-per-interval", 65, f"{SPEC}/max-frames-per-interval = 65: must be a whole"
         " number from 1 to 64"),
        ("interval/denominator", 0, f"{SPEC}/interval/denominator = 0: must be a whole number"),
        ("interval/denominator", 2000000, f"{SPEC}/interval = 500: must be between 1000 and"),
        ("interval/denominator", 1999, f'{SPEC}/interval = "1/1999 s": repeats in whole ns after'),
        ("time-aware", {"earliest-transmit-offset": 7}, f"{SPEC}/time-aware/latest-transmit-offset:"
         " is missing"),
        ("time-aware", {"earliest-transmit-offset": 7, "latest-transmit-offset": 300000},
         f"{SPEC}/time-aware/latest-transmit-offset = 300000: must be below max-latency (300000)"),
        ("../end-station-interfaces", [{"mac-address": "plc"}],
         f'{TALKER}/end-station-interfaces[0]/mac-address = "plc": must be octets such as'),
        ("../end-station-interfaces", [], f"{TALKER}/end-station-interfaces/mac-address: is"),
        ("../end-station-interfaces", [{"mac-address": DRIVE}],
         f'/cnc-config/domain[0]/cuc[0]/stream[0]/listener = "{DRIVE}": is the talker itself'),
        ("../user-to-network-requirements/num-seamless-trees", 2, f"{TALKER}/user-to-network-"
         "requirements/num-seamless-trees = 2: must be a whole number from 0 to 1"),
        ("..", None, f"{TALKER}/end-station-interfaces/mac-address: is missing; state it"),
        ("../../stream-id", 7, "/stream-id = 7: must be octets such as 00-00-5E-00-53-01:00-01"),
        ("../../stream-id", "7", '/stream-id = "7": must be octets such as 00-00-5E-00-53-01:'),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_by_its_path(
    tmp_path: Path, keys: str, value: Any, said: str
) -> None:
    one = copy.deepcopy(SET)
    *way, last = normpath(f"talker/traffic-specification/{keys}").split("/")
    table: Any = one
    for key in way:
        table = table[key]
    table.pop(last, None) if value is None else table.update({last: value})
    with pytest.raises(ConfigError, match=r"cell\.json: ") as error:
        yang_reader.read(written(tmp_path / "cell.json", of(one)))
    assert said in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.json", "{", "is no JSON ("),
        ("a.xml", "<a>", "is no XML ("),
        ("a.json", "[" * 100_000, "is no JSON ("),
        ("a.json", '{"ietf-interfaces:interfaces": {"interface": []}}',
         "has no stream with stream-id, talker and listener; add one"),
        ("a.xml", "<a><stream-id>x</stream-id></a>", "has no stream with stream-id"),
    ],
)  # fmt: skip
def test_what_is_no_request(tmp_path: Path, name: str, text: str, said: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError) as error:
        yang_reader.read(tmp_path / name)
    assert f"{name}: {said}" in str(error.value)


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    broken = [dict(SET, listener=[]), dict(SET, **{"stream-id": "x"})]
    with pytest.raises(ConfigError) as error:
        yang_reader.read(written(tmp_path / "a.json", of(*broken)))
    lines = str(error.value).splitlines()
    assert len(lines) == 2 and "stream[0]/listener" in lines[0] and "stream[1]" in lines[1]
