# SPDX-License-Identifier: BSD-3-Clause
"""Pictures, YANG documents and tsntool files, read back by readers that accept nothing the formats
do not say.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from helpers import HABITAT, ROBOT_CELL, ROOT, planned_example, small, with_plan
from hypothesis import given
from hypothesis import strategies as st
from keepon.errors import ConfigError
from keepon.export import dot, tsntool, yang
from keepon.export.exported import Exported, Planned, gated_ports

Gates = dict[tuple[str, str], tuple[int, int, list[tuple[int, int]]]]
"""By (bridge, port name): base time and cycle in ns, entries of (mask, ns)."""


def planned_gates(planned: Planned) -> Gates:
    """Straight from the plan, with port names worked out from the scenario's links."""
    found: Gates = {}
    for bridge, entry in planned.plan["bridges"].items():
        links = [link.ends for link in planned.scenario.link if bridge in link.ends]
        for peer, port in entry["ports"].items():
            if "entries" in port:
                number = next(index for index, ends in enumerate(links) if peer in ends)
                entries = [(int(gate["gates"], 16), gate["ns"]) for gate in port["entries"]]
                found[bridge, f"swp{number}"] = (port["base_ns"], port["cycle_ns"], entries)
    return found


# ---- dot ----

STRING = r'"((?:[^"\\]|\\.)*)"'
ATTRIBUTES = re.compile(rf"(\w+)={STRING}(?:, |\Z)")
STATEMENT = re.compile(rf"\t(?:(graph|node|edge)|{STRING}(?: -> {STRING})?) \[(.*)\];")


def unquoted(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text)


def attributes_of(text: str) -> dict[str, str]:
    found = {match[1]: unquoted(match[2]) for match in ATTRIBUTES.finditer(text)}
    assert "".join(match[0] for match in ATTRIBUTES.finditer(text)) == text, text
    return found


def read_dot(text: str) -> tuple[dict[str, dict[str, str]], list[tuple[str, str, dict[str, str]]]]:
    """Nodes and edges of a picture; every line must be a statement of the grammar."""
    first, *lines, last = text.splitlines()
    assert re.fullmatch(rf"digraph {STRING} \{{", first) and last == "}"
    nodes: dict[str, dict[str, str]] = {}
    edges: list[tuple[str, str, dict[str, str]]] = []
    for line in lines:
        match = STATEMENT.fullmatch(line)
        assert match is not None, line
        kind, here, there, rest = match.groups()
        if there is not None:
            edges.append((unquoted(here), unquoted(there), attributes_of(rest)))
        elif kind is None:
            assert unquoted(here) not in nodes
            nodes[unquoted(here)] = attributes_of(rest)
    return nodes, edges


@pytest.mark.slow
@given(st.text(st.characters(exclude_categories=("Cc", "Cs")) | st.just("\n")))
def test_a_quoted_string_is_read_back(text: str) -> None:
    match = re.fullmatch(STRING, dot.quoted(text), re.DOTALL)
    assert match is not None and unquoted(match[1]) == text


def test_the_picture_has_every_node_link_and_route(habitat: Planned) -> None:
    (text,) = dot.export(habitat).files.values()
    nodes, edges = read_dot(text)
    scenario = habitat.scenario
    assert {name for name, style in nodes.items() if style["shape"] == "box"} == {
        s.name for s in scenario.station
    }
    assert {name for name, style in nodes.items() if style["shape"] == "ellipse"} == {
        b.name for b in scenario.bridge
    }
    links = [(here, there) for here, there, style in edges if style.get("dir") == "none"]
    assert links == [tuple(link.ends) for link in scenario.link]
    for stream in scenario.stream:
        mine = [
            (here, there)
            for here, there, style in edges
            if style.get("tooltip", "").startswith(f"{stream.id}: ")
        ]
        path = [stream.talker, *habitat.plan["streams"][stream.id]["route"], stream.listeners[0]]
        assert mine == list(itertools.pairwise(path))
        colours = {
            style["color"]
            for _, _, style in edges
            if style.get("tooltip", "").startswith(f"{stream.id}: ")
        }
        assert len(colours) == 1
    assert len({style["color"] for _, _, style in edges}) == len(scenario.stream) + 1


@pytest.mark.slow
@pytest.mark.parametrize("path", [HABITAT, ROBOT_CELL], ids=["habitat", "robot-cell"])
def test_graphviz_draws_every_node_and_edge(path: Path) -> None:
    (text,) = dot.export(planned_example(path.stem)).files.values()
    nodes, edges = read_dot(text)
    done = subprocess.run(
        ["dot", "-Tjson0"], input=text, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    drawn = json.loads(done.stdout)
    names = {entry["_gvid"]: entry["name"] for entry in drawn["objects"]}
    assert set(names.values()) == set(nodes)
    found = [
        (names[edge["tail"]], names[edge["head"]], edge.get("tooltip", ""))
        for edge in drawn["edges"]
    ]
    assert sorted(found) == sorted(
        (here, there, style.get("tooltip", "")) for here, there, style in edges
    )


def test_the_picture_says_rates_and_both_delays() -> None:
    text = (ROOT / "examples" / "three-stations.toml").read_text()
    ends = 'ends = ["left", "br1"]'
    planned = with_plan(text.replace(ends, f"{ends}\nasymmetry_ns = 30\nrate_bps = 1_000_000_000"))
    _, edges = read_dot(next(iter(dot.export(planned).files.values())))
    labels = {
        (here, there): style["label"] for here, there, style in edges if style.get("dir") == "none"
    }
    assert labels["left", "br1"] == "1 Gb/s\n80/50 ns"
    assert labels["right", "br1"] == "1 Gb/s\n50 ns"


def test_a_stream_with_two_listeners_passes_shared_links_once() -> None:
    text = (ROOT / "examples" / "three-stations.toml").read_text()
    planned = with_plan(
        text.replace('listeners = ["listener"]', 'listeners = ["listener", "right"]', 1)
    )
    _, edges = read_dot(next(iter(dot.export(planned).files.values())))
    mine = [
        (here, there) for here, there, style in edges if style.get("tooltip", "").startswith("L1: ")
    ]
    assert mine == [("left", "br1"), ("br1", "listener"), ("br1", "right")]


# ---- YANG: the tree of IEEE Std 802.1Qcw-2023 that these documents use, as far as JSON can be
# checked against it ----

Check = Callable[[Any], bool]


def whole(low: int, high: int) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def uint64(value: Any) -> bool:
    """RFC 7951 section 6.1: a string."""
    return (
        isinstance(value, str) and bool(re.fullmatch(r"0|[1-9]\d*", value)) and int(value) < 2**64
    )


def boolean(value: Any) -> bool:
    return type(value) is bool


UINT8, UINT32, INT32 = whole(0, 2**8 - 1), whole(0, 2**32 - 1), whole(-(2**31), 2**31 - 1)
RATIONAL = {"numerator": INT32, "denominator": INT32}
ENTRY = {
    "index": UINT32,
    "operation-name": lambda value: re.fullmatch(
        "ieee802-dot1q-sched:set-(gate-states|and-(hold|release)-mac)", value
    ),
    "time-interval-value": UINT32,
    "gate-states-value": UINT8,
}
TABLE: dict[str, Any] = {
    "gate-enabled": boolean,
    "admin-gate-states": UINT8,
    "admin-control-list": {"gate-control-entry": [ENTRY]},
    "admin-cycle-time": RATIONAL,
    "admin-cycle-time-extension": UINT32,
    "admin-base-time": {"seconds": uint64, "nanoseconds": UINT32},
    "config-change": boolean,
    "supported-list-max": UINT32,
    "supported-cycle-max": RATIONAL,
    "supported-interval-max": UINT32,
}
CLASSES = dict.fromkeys(["number-of-traffic-classes", *(f"priority{n}" for n in range(8))], UINT8)
INTERFACE = {
    "name": lambda value: isinstance(value, str),
    "description": lambda value: isinstance(value, str),
    "type": lambda value: value == "iana-if-type:ethernetCsmacd",
    "ieee802-dot1q-bridge:bridge-port": {
        "traffic-class": {"traffic-class-table": CLASSES},
        "ieee802-dot1q-sched-bridge:gate-parameter-table": TABLE,
    },
}
DOCUMENT = {"ietf-interfaces:interfaces": {"interface": [INTERFACE]}}
KEYS = {"interface": "name", "gate-control-entry": "index"}


def conform(value: Any, tree: Any, path: str = "") -> None:
    """Exactly the tree's nodes, each of its type, list keys unique."""
    if isinstance(tree, dict):
        assert isinstance(value, dict) and set(value) == set(tree), path
        for name, below in tree.items():
            conform(value[name], below, f"{path}/{name}")
    elif isinstance(tree, list):
        assert isinstance(value, list), path
        key = KEYS[path.rpartition("/")[2]]
        assert len({entry[key] for entry in value}) == len(value), path
        for number, entry in enumerate(value):
            conform(entry, tree[0], f"{path}[{number}]")
    else:
        assert tree(value), f"{path} = {value!r}"


def read_yang(text: str) -> dict[str, tuple[int, int, list[tuple[int, int]]]]:
    """Gates by interface; also what `must` demands of a table."""
    document = json.loads(text)
    conform(document, DOCUMENT)
    found = {}
    for interface in document["ietf-interfaces:interfaces"]["interface"]:
        table = interface["ieee802-dot1q-bridge:bridge-port"][
            "ieee802-dot1q-sched-bridge:gate-parameter-table"
        ]
        entries = table["admin-control-list"]["gate-control-entry"]
        cycle = Fraction(
            table["admin-cycle-time"]["numerator"], table["admin-cycle-time"]["denominator"]
        )
        most = Fraction(
            table["supported-cycle-max"]["numerator"], table["supported-cycle-max"]["denominator"]
        )
        assert len(entries) <= table["supported-list-max"] and cycle <= most
        assert all(
            entry["time-interval-value"] <= table["supported-interval-max"] for entry in entries
        )
        assert table["gate-enabled"] and table["config-change"]
        base = table["admin-base-time"]
        assert base["nanoseconds"] < 10**9
        assert [entry["index"] for entry in entries] == list(range(len(entries)))
        cycle_ns = cycle * 10**9
        assert cycle_ns.denominator == 1
        found[interface["name"]] = (
            int(base["seconds"]) * 10**9 + base["nanoseconds"], int(cycle_ns),
            [(entry["gate-states-value"], entry["time-interval-value"]) for entry in entries],
        )  # fmt: skip
    return found


def gates_in(exported: Exported) -> Gates:
    return {
        (name.removesuffix(".json"), port): gates
        for name, text in exported.files.items()
        for port, gates in read_yang(text).items()
    }


def test_yang_says_the_gates_of_the_plan(habitat: Planned) -> None:
    exported = yang.export(habitat)
    assert gates_in(exported) == planned_gates(habitat)
    assert any("supported-list-max" in note for note in exported.notes)


def with_gates(base_ns: int, entries: list[tuple[str, int]]) -> Planned:
    """The small scenario with a gate list by hand at the port of the listener."""
    listed = ", ".join(f'{{ gates = "{gates}", ns = {ns} }}' for gates, ns in entries)
    text = f'name = "br1"\n[bridge.gates.b]\nbase_ns = {base_ns}\nentries = [{listed}]'
    return with_plan(small(**{'name = "br1"': text}))


def test_base_times_are_split_into_seconds() -> None:
    planned = with_gates(3_000_000_025, [("0xff", 600_000), ("0xff", 400_000)])
    assert gates_in(yang.export(planned)) == planned_gates(planned)
    (text,) = yang.export(planned).files.values()
    assert '"seconds": "3"' in text and '"nanoseconds": 25' in text
    files = tsntool.export(planned).files
    assert "tsntool st configure 3.000000025 1/1000 0 swp1\n" in files["br1.sh"]


def test_cycles_beyond_the_module_are_refused() -> None:
    assert yang.rational(2**31 - 1, "x") == {"numerator": 2**31 - 1, "denominator": 10**9}
    with pytest.raises(ConfigError, match="numerator above 2147483647; choose periods"):
        yang.rational(2**31 + 1, "x")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("seconds", 0),
        ("time-interval-value", 2**32),
        ("operation-name", "set-gate-states"),
        ("gate-enabled", "true"),
    ],
)
def test_the_reader_of_yang_is_strict(habitat: Planned, key: str, value: Any) -> None:
    text = yang.export(habitat).files["br1.json"]
    wrong = re.sub(rf'"{key}": [^,\n]+', f'"{key}": {json.dumps(value)}', text, count=1)
    assert wrong != text
    with pytest.raises((AssertionError, TypeError)):
        read_yang(wrong)


# ---- tsntool (KeepON paper artifact, Example 3) ----

CONFIGURE = re.compile(r"tsntool st configure (\d+)\.(\d{1,9}) (\d+)/(\d+) 0 (\S+)")


def read_tsntool(files: dict[str, str]) -> Gates:
    found: Gates = {}
    loaded: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for name, text in files.items():
        if not name.endswith(".sh"):
            continue
        bridge = name.removesuffix(".sh")
        for line in text.splitlines():
            if match := re.fullmatch(r"tsntool st wrcl (\S+) (\S+)", line):
                lines = [
                    re.fullmatch(r"sgs (\d+) (0x[0-9a-f]{2})", entry)
                    for entry in files[match[2]].splitlines()
                ]
                loaded[bridge, match[1]] = [
                    (int(entry[2], 16), int(entry[1])) for entry in lines if entry is not None
                ]
                assert None not in lines
            elif match := CONFIGURE.fullmatch(line):
                seconds, decimals, numerator, denominator, port = match.groups()
                cycle = Fraction(int(numerator), int(denominator)) * 10**9
                base_ns = int(seconds) * 10**9 + int(decimals.ljust(9, "0"))
                found[bridge, port] = (base_ns, int(cycle), loaded.pop((bridge, port)))
    assert not loaded
    return found


def test_tsntool_says_the_gates_of_the_plan(habitat: Planned) -> None:
    files = tsntool.export(habitat).files
    assert read_tsntool(files) == planned_gates(habitat)
    assert sum(name.endswith(".cfg") for name in files) == len(gated_ports(habitat))


def test_tsntool_files_look_like_the_published_one() -> None:
    planned = with_gates(0, [("0x20", 400_000), ("0xff", 600_000)])
    files = tsntool.export(planned).files
    assert files["br1-swp1.cfg"] == "sgs 400000 0x20\nsgs 600000 0xff\n"
    assert files["br1.sh"].splitlines()[-2:] == [
        "tsntool st wrcl swp1 br1-swp1.cfg",
        "tsntool st configure 0.0 1/1000 0 swp1",
    ]
