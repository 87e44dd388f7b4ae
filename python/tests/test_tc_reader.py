# SPDX-License-Identifier: BSD-3-Clause
"""Commands of tc as trees: the published ones, any that hypothesis makes, our own scripts'; and
what is refused, judged by tc itself where its words are what is wrong.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from export_scripts import tc_parses
from helpers import planned_example
from hypothesis import given, settings
from hypothesis import strategies as st
from keepon.errors import ConfigError
from keepon.export import commands as export_commands
from keepon.export.exported import gated_ports
from keepon.machines.queues import queues_of
from keepon.model.hosts import etf_delta_ns
from keepon.model.qdiscs import reader
from keepon.model.qdiscs.options import Limits
from keepon.model.qdiscs.tree import Cbs, Classes, Etf, Fifo, FqCodel, Guard, Mqprio, Taprio, Tree

# Mitsubishi paper, Figure 6 (2) to (4), its names of devices as printed; requirement N13, N14.
ASSIST = """\
tc qdisc replace dev enp2s0 parent root \\
  handle 100 taprio num_tc 3 \\
  map 2 2 1 0 2 2 2 2 2 2 2 2 2 2 2 2 \\
  queues 1@0 1@0 1@0 base-time 0 \\
  sched-entry S 01 300000 sched-entry S 02 300000 sched-entry S 04 400000 \\
  flags 0x1 txtime-delay 40000 clockid CLOCK_TAI
tc qdisc replace dev enp2s0 parent 100:1 etf \\
  skip_sock_check offload delta 200000 clockid CLOCK_TAI
tc qdisc replace dev DEVICE parent 100:2 etf \\
  skip_sock_check offload delta 200000 clockid CLOCK_TAI
"""
# KeepON paper, Listing 2; requirement F8.
LISTING_2 = """\
# four classes
sudo tc qdisc add dev eth0 root handle 1: mqprio num_tc 4 \\
    map 0 0 0 0 0 0 0 1 2 2 2 2 3 3 3 3 queues 1@0 1@1 1@2 1@3 hw 0
sudo tc qdisc replace dev eth0 parent 1:1 pfifo
sudo tc qdisc replace dev eth0 parent 1:2 pfifo
sudo tc qdisc replace dev eth0 parent 1:3 etf clockid CLOCK_TAI delta 50000
sudo tc qdisc replace dev eth0 parent 1:4 etf clockid CLOCK_TAI delta 50000
"""
# Artifact, Example 1: 14 classes in the map where mqprio has 16 (D-EX1MAP).
EXAMPLE_1 = """\
sudo tc qdisc add dev eth0 root handle 1: mqprio num_tc 2 \\
    map 1 1 1 1 1 1 1 0 0 0 0 0 0 0 queues 1@0 1@1 hw 0
sudo tc qdisc replace dev eth0 parent 1:1 etf clockid CLOCK_TAI delta 150000
"""


def assist(device: str = "enp2s0") -> str:
    return ASSIST.replace("DEVICE", device)


def test_the_published_commands_of_txtime_assist() -> None:
    tree = reader.parse_one(assist(), "figure6")
    etf = Etf("CLOCK_TAI", 200_000, offload=True, skip_sock_check=True)
    assert tree == Tree(
        "enp2s0",
        Taprio(
            Classes(3, (2, 2, 1, 0, *[2] * 12), ((1, 0), (1, 0), (1, 0))),
            ((1, 300_000), (2, 300_000), (4, 400_000)),
            base_ns=0, cycle_ns=1_000_000, clockid="CLOCK_TAI", flags=1, txtime_delay_ns=40_000,
        ),
        0x100, {0: etf, 1: etf},
    )  # fmt: skip
    assert tree.classes is not None and tree.classes.overlap
    # N16: priority 3 is TC0, 2 is TC1, all else TC2, and all of it is in queue 0
    assert {tree.classes.queue_of(priority) for priority in range(16)} == {0}


def test_the_published_pre_buffering() -> None:
    tree = reader.parse_one(LISTING_2, "listing2")
    assert isinstance(tree.root, Mqprio) and tree.root.hw == 0
    assert tree.root.classes.map == (0, 0, 0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 3, 3, 3, 3)
    etf = Etf("CLOCK_TAI", 50_000)
    assert tree.leaves == {0: Fifo("pfifo"), 1: Fifo("pfifo"), 2: etf, 3: etf}


def test_a_map_that_is_too_short_ends_with_zeros_as_tc_has_it() -> None:
    tree = reader.parse_one(EXAMPLE_1, "example1")
    assert tree.classes is not None and tree.classes.map == (*[1] * 7, *[0] * 9)


def test_mqprio_alone_has_a_queue_for_each_of_eight_classes() -> None:
    tree = reader.parse_one("tc qdisc add dev eth0 root mqprio", "alone")
    assert tree.classes is not None
    assert tree.classes.queues == tuple((1, number) for number in range(8))


def test_a_device_that_is_misspelt_is_noticed() -> None:
    """As it is printed: Figure 6 (4) has esp2s0 (D-DEVNAME)."""
    with pytest.raises(ConfigError) as refused:
        reader.parse_one(assist("esp2s0"), "figure6")
    assert str(refused.value) == (
        "figure6: line 9: esp2s0: is another device than enp2s0; a station has one port"
    )


TAPRIO = "tc qdisc add dev e root taprio num_tc 2 map 0 1 queues 1@0 1@1 "
ETF = "tc qdisc add dev e root etf "
GUARD = "tc qdisc add dev e root guard "

# text, what is said, whether tc itself stumbles over the words (its kernel may refuse the rest)
REFUSED: list[tuple[str, str, bool]] = [
    (TAPRIO + "sched-entry S 01 1000 colour 3", "colour: taprio has no such option; it has", True),
    (TAPRIO + "sched-entry H 01 1000 clockid CLOCK_TAI", "H: must be S", False),
    (TAPRIO + "sched-entry S 0q 1000", "0q: gates must be a whole number from 0 to 65535", True),
    (TAPRIO + "sched-entry S 01", "nothing follows; it needs a number, 1 to", True),
    (TAPRIO + "clockid CLOCK_TAI", "has no windows; add sched-entry S GATES NS", False),
    (TAPRIO + "sched-entry S 01 600 sched-entry S 02 500 cycle-time 1000 clockid TAI",
     "the windows last 1100 ns and the cycle 1000; shorten them, or write cycle-time 1100", False),
    (TAPRIO + "sched-entry S 01 1000", "needs a clock unless it is offloaded", False),
    (TAPRIO + "sched-entry S 01 1000 flags 0x2 clockid CLOCK_TAI", "leave it out", False),
    (TAPRIO + "sched-entry S 01 1000 flags 0x3", "0x3 is both txtime-assist and full", False),
    (TAPRIO + "sched-entry S 01 1000 clockid CLOCK_ATOMIC", "is no clock; take one of", True),
    (TAPRIO + "sched-entry S 01 1000 clockid CLOCK_TAI txtime-delay 5",
     "belongs to txtime-assist; add flags 0x1", False),
    (TAPRIO.replace("1@1", "1@0") + "sched-entry S 01 1000 clockid CLOCK_TAI",
     "1@0: classes share a transmit queue, which only taprio with txtime-assist may", False),
    (TAPRIO.replace("0 1 ", "0 2 ") + "sched-entry S 01 1000 clockid CLOCK_TAI",
     "2: map gives priority 1 a class that is not there; classes are 0 to 1", False),
    (TAPRIO.replace(" 1@1", "") + "sched-entry S 01 1000 clockid CLOCK_TAI",
     "queues has 1 entries, and num_tc is 2", False),
    ("tc qdisc add dev e root mqprio num_tc 2 queues 1@0 1@1 hw 0", "write map with 16", False),
    ("tc qdisc add dev e root mqprio num_tc 2 map 0 1 hw 0", "needs queues with hw 0", False),
    ("tc qdisc add dev e root mqprio num_tc 2 map 0 1 queues 2@0 1@1 hw 0", "share a", False),
    (ETF + "delta -5 clockid CLOCK_TAI", "-5: delta must be a whole number from 0 to", False),
    (ETF + "delta 5", "etf: needs a clock; add clockid CLOCK_TAI", False),
    (ETF + "delta 5 clockid CLOCK_MONOTONIC", "etf takes no clock but CLOCK_TAI", False),
    (ETF + "delta much clockid CLOCK_TAI", "much: delta must be a whole number", True),
    (ETF + "latency 5 clockid CLOCK_TAI", "latency: etf has no such option", True),
    (ETF + "clockid CLOCK_TAI", "etf: etf hands frames on within delta of their times", False),
    (ETF + "delta 0 skip_sock_check clockid CLOCK_TAI", "0: etf hands frames on within", False),
    (LISTING_2 + "tc qdisc del dev eth0 parent 1:1\n"
     "tc qdisc add dev eth0 parent 1:1 handle 5: etf offload delta 5 clockid CLOCK_TAI\n"
     "tc qdisc replace dev eth0 parent 1:1 handle 6: etf offload delta 5 clockid CLOCK_TAI",
     "etf: the qdisc that stands would take the offload away; delete it first: tc qdisc del dev"
     " eth0 parent 1:1", False),
    ("tc qdisc add dev e root cbs idleslope 1 burst 3", "burst: cbs has no such option", True),
    (GUARD + "mtu 63", "63: mtu must be 0, or a whole number from 64 to 65535 bytes", False),
    (GUARD + "mtu 1", "1: mtu must be 0, or a whole number from 64", False),
    (GUARD + "rate 3mbit", "3mbit: rate must be 0, or from 10000000 to 100000000000 bit/s", False),
    (GUARD + "rate 30mbit", "30mbit: rate must be 0, or from 10000000", False),
    (GUARD + "rate 200gbit", "200gbit: rate must be 0 to 100000000000 bit/s", False),
    ("tc qdisc add dev e root pfifo limit few", "few: limit must be 0 to", True),
    ("tc qdisc add dev e root pfifo_fast limit 3", "pfifo_fast has no such option", True),
    ("tc qdisc add dev e root fq_codel target 3y", "3y: target must be 0 to", True),
    ("tc qdisc add dev e root hfsc", "hfsc: is no qdisc that is known here; known are", False),
    ("tc qdisc add dev e parent 1:1 pfifo", "has no classes yet; add mqprio or taprio", False),
    ("tc qdisc add dev e handle 1: pfifo", "says not where; add root", False),
    ("tc qdisc add root pfifo", "names no device; add dev DEVICE", False),
    ("tc qdisc add dev e root", "names no qdisc; add one of mqprio", False),
    ("tc class add dev e root", "class: tc's qdisc is what is read", False),
    ("tc qdisc change dev e root pfifo", "change: must be one of add, replace, del", False),
    ("tc qdisc add dev e root pfifo\ntc qdisc add dev e root pfifo",
     "there is a qdisc already; delete it first: tc qdisc del dev e root", False),
    ("ip link set e up", "ip: is not tc", False),
    ("# nothing", "has no command", False),
    ("tc qdisc add dev 'e root pfifo", "a quote that does not end", False),
    (LISTING_2 + "tc qdisc replace dev eth0 parent 2:1 pfifo", "the root of eth0 has handle 1:",
     False),
    (LISTING_2 + "tc qdisc replace dev eth0 parent 1:5 pfifo", "has 1:1 to 1:4, one for", False),
    (LISTING_2 + "tc qdisc replace dev eth0 parent 1:4 mqprio num_tc 1 map 0 queues 1@0 hw 0",
     "is the root of a device and nothing else", False),
]  # fmt: skip


@pytest.mark.parametrize(("text", "sentence", "_"), REFUSED)
def test_what_is_not_known_is_refused_in_one_sentence(text: str, sentence: str, _: bool) -> None:
    with pytest.raises(ConfigError) as refused:
        reader.parse_one(text, "queues.sh")
    said = str(refused.value)
    assert sentence in said and said.startswith("queues.sh: ") and "\n" not in said
    if "line" in said:
        assert f"line {text.count(chr(10)) + 1}: " in said


@pytest.mark.parametrize("text", [text for text, _, by_tc in REFUSED if by_tc])
def test_tc_itself_does_not_know_these_words(text: str) -> None:
    assert tc_parses(text) == [False]


LIMITS = Limits(horizon_ns=500_000_000, txtime_delay_least_ns=9_000, tx_queues=4)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (assist().replace("40000", "8999"), "line 6: txtime-delay: a frame needs 9000 ns at least"),
        (assist().replace("200000", "500000001"), "500000001: delta is above the 500000000 ns"),
        (
            assist().replace("1@0 1@0 1@0", "1@0 1@0 1@4"),
            "1@4: needs 5 transmit queues; the device",
        ),
    ],
)
def test_what_the_machine_cannot_do_is_refused(text: str, sentence: str) -> None:
    reader.parse_one(assist(), "figure6", LIMITS)
    reader.parse_one(text.replace("1@0 1@0 1@4", "1@0 1@0 1@3"), "figure6")
    with pytest.raises(ConfigError) as refused:
        reader.parse_one(text, "figure6", LIMITS)
    assert sentence in str(refused.value)


# ---- any tree, written by words of the test's own ----

numbers = st.integers(0, 2**31 - 1)
fifos = st.builds(Fifo, st.sampled_from(["pfifo", "bfifo"]), st.integers(0, 10**6))
leaves = st.one_of(
    st.builds(Etf, st.just("CLOCK_TAI"), st.integers(1, 2**31 - 1), st.booleans(), st.booleans(),
              st.booleans()),
    st.builds(Cbs, numbers, st.integers(-(2**31 - 1), 0), numbers, st.integers(-9999, 0),
              st.booleans()),
    st.builds(Guard, st.just(0) | st.integers(64, 65_535), st.integers(0, 10**9),
              st.sampled_from([0, 10**7, 4 * 10**7, 10**9, 25 * 10**8, 10**11]),
              st.integers(1, 65_536), st.integers(0, 10**9), st.sampled_from(["drop", "send"])),
    fifos,
    st.builds(FqCodel, st.integers(1, 10**6), st.integers(1, 65_536), numbers, numbers,
              st.integers(1, 1 << 20), st.booleans()),
)  # fmt: skip


@st.composite
def classes(draw: st.DrawFn, *, overlap: bool) -> Classes:
    count = draw(st.integers(1, 16))
    counts = draw(st.lists(st.integers(1, 3), min_size=count, max_size=count))
    firsts = [0 if overlap else sum(counts[:number]) for number in range(count)]
    levels = draw(st.lists(st.integers(0, count - 1), min_size=16, max_size=16))
    return Classes(count, tuple(levels), tuple(zip(counts, firsts, strict=True)))


@st.composite
def roots(draw: st.DrawFn) -> Mqprio | Taprio:
    if draw(st.booleans()):
        return Mqprio(draw(classes(overlap=False)), draw(st.integers(0, 2)))
    flags = draw(st.integers(0, 2))
    entries = draw(
        st.lists(st.tuples(st.integers(0, 0xFFFF), st.integers(1, 10**7)), min_size=1, max_size=9)
    )
    clock = st.sampled_from(["CLOCK_REALTIME", "CLOCK_TAI", "CLOCK_BOOTTIME", "CLOCK_MONOTONIC"])
    return Taprio(
        draw(classes(overlap=flags == 1)), tuple(entries), draw(st.integers(-(2**62), 2**62)),
        sum(ns for _, ns in entries) + draw(st.integers(0, 10**7)), draw(numbers),
        None if flags == 2 else draw(clock), flags, draw(numbers) if flags == 1 else 0,
    )  # fmt: skip


def class_words(found: Classes) -> str:
    queues = " ".join(f"{count}@{first}" for count, first in found.queues)
    return f"num_tc {found.count} map {' '.join(map(str, found.map))} queues {queues}"


def words_of(qdisc: object) -> str:
    match qdisc:
        case Mqprio(found, hw):
            return f"mqprio {class_words(found)} hw {hw}"
        case Taprio(found, entries, base, cycle, extension, clock, flags, delay):
            listed = " ".join(f"sched-entry S {mask:02x} {ns}" for mask, ns in entries)
            end = f" txtime-delay {delay}" if flags == 1 else ""
            return (
                f"taprio {class_words(found)} base-time {base} \\\n\t{listed} cycle-time {cycle}"
                f" cycle-time-extension {extension} flags {flags:#x}{end}"
                + (f" clockid {clock}" if clock else "")
            )
        case Etf(clock, delta, offload, deadline, skip):
            names = [("offload", offload), ("deadline_mode", deadline), ("skip_sock_check", skip)]
            said = " ".join(name for name, on in names if on)
            return f"etf clockid {clock} delta {delta} {said}"
        case Cbs(idle, send, high, low, offload):
            return (
                f"cbs idleslope {idle} sendslope {send} hicredit {high} locredit {low} offload"
                f" {int(offload)}"
            )
        case Guard(mtu, fudge, rate, limit, tolerance, late):
            return (
                f"guard mtu {mtu} fudge {fudge} rate {rate}bit limit {limit} tolerance {tolerance}"
                f" late {late}"
            )
        case Fifo(kind, limit):
            return f"{kind} limit {limit}"
        case FqCodel(limit, flows, target, interval, quantum, ecn):
            return (
                f"fq_codel limit {limit} flows {flows} target {target}us interval {interval}us"
                f" quantum {quantum} {'ecn' if ecn else 'noecn'}"
            )
    raise AssertionError(qdisc)


@st.composite
def trees(draw: st.DrawFn) -> Tree:
    root = draw(st.one_of(roots(), leaves))
    tree = Tree("eth0", root, draw(st.integers(1, 0xFFFE)))
    if tree.classes is not None:
        most = max(tree.classes.tx_queues, tree.classes.count)
        tree.leaves = draw(st.dictionaries(st.integers(0, most - 1), leaves, max_size=4))
    return tree


def commands_of(tree: Tree) -> list[str]:
    return [f"tc qdisc add dev eth0 root handle {tree.handle:x}: {words_of(tree.root)}"] + [
        f"tc qdisc replace dev eth0 parent {tree.handle:x}:{queue + 1:x} {words_of(leaf)}"
        for queue, leaf in tree.leaves.items()
    ]


@settings(max_examples=25)
@given(trees().filter(lambda tree: "guard" not in "".join(commands_of(tree))))
def test_tc_knows_the_words_of_every_tree(tree: Tree) -> None:
    assert all(tc_parses(*commands_of(tree)))


@given(trees())
def test_every_tree_is_read_back_from_its_words(tree: Tree) -> None:
    lines = commands_of(tree)
    assert reader.parse_one("\n".join(lines), "made") == tree
    assert reader.parse_one("\n".join([*lines, "tc qdisc del dev eth0 root"]), "made").root is None


@given(st.text(alphabet="tcqdis \\\n\"'$#:@;|0123abevroap{}-", max_size=60))
def test_no_text_is_too_odd_to_be_refused(text: str) -> None:
    try:
        reader.parse("tc qdisc add dev e root " + text, "odd")
    except ConfigError as error:
        assert "\n" not in str(error)


# ---- our own scripts ----


def test_commands_of_a_station_are_exported_as_they_are_written() -> None:
    planned = planned_example("three-classes")
    scenario = planned.scenario
    files = export_commands.export(planned).files
    (tree,) = reader.parse(files["talker.sh"], "talker", only_tc=False).values()
    assert tree == replace(reader.parse_one(assist(), "figure6"), device=planned.device)
    queues = queues_of(scenario, scenario.station_named("talker"), "launchtime")
    assert queues.priority == {(0, 6): 3, (1, 5): 2} and queues.of_class == {0: 0, 1: 0}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-stations", "three-stations", "habitat", "robot-cell"])
def test_exported_commands_are_read_back_as_they_were_planned(name: str) -> None:
    planned = planned_example(name)
    scenario = planned.scenario
    files = export_commands.export(planned).files
    seen = 0
    for station in scenario.station:
        driver = scenario.driver_of(station, "keepon")
        trees = reader.parse(files[f"{station.name}.sh"], station.name, only_tc=False)
        queues = queues_of(scenario, station, driver)
        for tree in trees.values():
            seen += 1
            assert tree.classes == Classes(
                queues.count, queues.map, tuple((1, queue) for queue in range(queues.count))
            )
            etf = Etf("CLOCK_TAI", etf_delta_ns(station), driver == "launchtime", False, True)
            has_etf = driver != "keepon" or station.release == "etf"
            of_streams = queues.of_class.values() if has_etf else []
            assert tree.leaves == dict.fromkeys(of_streams, etf)
    ports = gated_ports(planned)
    for port in ports:
        tree = reader.parse(files[f"{port.bridge}.sh"], port.bridge, only_tc=False)[port.name]
        assert isinstance(tree.root, Taprio) and tree.root.full_offload
        base_ns, entries = export_commands.joined(port)
        assert (tree.root.base_ns, list(tree.root.entries)) == (base_ns, entries)
        assert tree.root.cycle_ns == port.cycle_ns
    assert seen + len(ports) > 0


@pytest.mark.parametrize(
    ("rate", "bps"),
    [("0", 0), ("100000000", 10**8), ("1gbit", 10**9), ("125mbps", 10**9), ("12500kbps", 10**8)],
)
def test_rates_are_those_of_tc(rate: str, bps: int) -> None:
    """Without a unit it is bits in a second; `bps` is bytes."""
    tree = reader.parse_one(f"tc qdisc replace dev eth0 root guard rate {rate}", "text")
    assert isinstance(tree.root, Guard) and tree.root.rate_bps == bps


def test_a_handle_is_added_to_no_class_of_taprio() -> None:
    """6.1: "NLM_F_REPLACE needed to override"; 6.12 takes it."""
    taprio = (
        "tc qdisc add dev e root handle 100: taprio num_tc 2 map 0 1 queues 1@0 1@1 base-time 0"
        " sched-entry S 01 500000 sched-entry S 02 500000 clockid CLOCK_TAI\n"
    )
    with pytest.raises(ConfigError, match=r"line 2: add: Linux 6\.1 takes no handle here"):
        reader.parse_one(taprio + "tc qdisc add dev e parent 100:1 handle 300: pfifo", "text")
    for words in ("add dev e parent 100:1", "replace dev e parent 100:1 handle 300:"):
        reader.parse_one(f"{taprio}tc qdisc {words} pfifo", "text")
    mqprio = "tc qdisc add dev e root handle 100: mqprio num_tc 2 map 0 1 queues 1@0 1@1 hw 0\n"
    reader.parse_one(mqprio + "tc qdisc add dev e parent 100:1 handle 300: pfifo", "text")
