# SPDX-License-Identifier: BSD-3-Clause
"""`keepon hwcheck`: findings from records of rings that are made here, one for each way a driver
can be wrong.
"""

from __future__ import annotations

import errno
import json
import re
import socket
from dataclasses import replace
from typing import Any
from unittest.mock import Mock

import pytest
from jsonschema import Draft202012Validator
from keepon.errors import ConfigError, TraceError
from keepon.model import document_schemas
from keepon_host.cli import main
from keepon_host.hwcheck import command
from keepon_host.hwcheck.judge import DRIFT_PPM, DRIFT_PPM_MAX, judge
from keepon_host.hwcheck.peer import SO_RCVBUFFORCE, Listener
from keepon_host.hwcheck.records import Records, parse
from keepon_host.hwcheck.wire import Peer, find_wire

SLOT_NS = 10_000
FIRST = 16
BEGUN_NS = 5_000_000
SLOTS = 2_000
RESTART_NS = 1_500
READING_NS = 800
CAPS = {
    "prefetch_slots_max": 4, "index_to_wire_ns_min": -1_000, "index_to_wire_ns_max": 0,
    "restart_ns_min": 0,
    "restart_ns_max": 2_000, "cpu_tick_ns": 1, "index_counts_done": 1,
}  # fmt: skip


def made(
    ppm: float = 0,
    ahead_slots: int = 0,
    depth: int = 4,
    idle_ns: int = 0,
    restart_ns: int = RESTART_NS,
    lags_ns: tuple[int, ...] = (0,),
    **caps: int,
) -> tuple[Records, Peer]:
    """A ring that passes each slot `ahead_slots` before it has left, less one of `lags_ns`; in the
    middle the wire stands for `idle_ns`.
    """
    pitch_ns = SLOT_NS * (1 + ppm * 1e-6)
    begun_ns = BEGUN_NS + restart_ns

    def ended_ns(slots: int) -> float:
        return begun_ns + slots * pitch_ns + (idle_ns if slots > SLOTS // 2 else 0)

    samples = [
        (
            int(ended_ns(slots - ahead_slots)) + lags_ns[slots % len(lags_ns)] + READING_NS,
            2 * READING_NS,
            FIRST + slots,
        )
        for slots in range(ahead_slots + 1, SLOTS)
    ]
    trials, arrived = [], set()
    for number in range(200):
        on_wire = SLOTS + 40 * number
        beyond = number % 40
        index = FIRST + on_wire + ahead_slots - (max(lags_ns) + SLOT_NS // 2) // SLOT_NS
        trials.append(
            (int(ended_ns(on_wire) + pitch_ns / 2), index, FIRST + on_wire + beyond, index)
        )
        if beyond > depth:
            arrived.add(number)
    alone_ns = 0 if ahead_slots else restart_ns + SLOT_NS  # fetched at once
    records = Records(
        slot_bytes=1230, rate_bps=1_000_000_000, ring_slots=256, claims=0xF, sent=SLOTS + 8_000,
        caps=CAPS | caps,
        tick=(110, 0), begun=(BEGUN_NS, FIRST), samples=samples, trials=trials,
        restarts=[(n, n + READING_NS + alone_ns) for n in range(1_000, 5_000, 1_000)],
    )  # fmt: skip
    return records, Peer(
        "eth1", frozenset(arrived), bad=records.sent - len(trials), good=len(arrived)
    )


def findings(document: dict[str, Any]) -> dict[str, bool | None]:
    return {finding["name"]: finding["holds"] for finding in document["findings"]}


def test_a_card_that_does_what_it_says() -> None:
    records, peer = made(ppm=37)
    document = judge("eth0", "native", records, peer)
    assert document["verdict"] == "eth0: safe to use"
    assert document["safe"] is True
    assert set(findings(document).values()) == {True}
    assert document["measured"]["pace_ppm"] == 37
    # readings 1600 ns apart, of 1500 to 2000 slots
    assert 80 <= document["measured"]["pace_within_ppm"] <= 107
    assert document["measured"]["prefetch_slots"] == 4
    schema = json.loads((document_schemas.FOLDER / "hwcheck.schema.json").read_text())
    Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pace", {"ppm": -21_000}),
        ("pace", {"ppm": 30_000}),
        ("index moves", {"ahead_slots": 3, "index_to_wire_ns_max": 40_000}),
        (
            "index to wire",
            {"ahead_slots": 6, "index_counts_done": 0, "index_to_wire_ns_max": 40_000},
        ),
        ("index to wire", {"index_to_wire_ns_min": 20_000, "index_to_wire_ns_max": 30_000}),
        ("prefetch", {"depth": 5}),
        ("tick", {"cpu_tick_ns": 0}),
    ],
)
def test_each_wrong_statement_is_found(name: str, options: dict[str, Any]) -> None:
    records, peer = made(**options)
    if name == "tick":
        records = replace(records, tick=(19, 700))
    document = judge("eth0", "native", records, peer)
    assert findings(document)[name] is False
    assert document["safe"] is False
    assert document["verdict"].startswith(f"eth0: not safe to use: {name}: said ")


def mixed(fresh: list[int], arrived: set[int]) -> dict[str, Any]:
    """The finding about frames in four fragments, from number 1000 on four apart."""
    records, peer = made(fragments_max=32)
    mixtures = [(1000 + 4 * place, 4, bits) for place, bits in enumerate(fresh)]
    document = judge(
        "eth0", "native", replace(records, mixtures=mixtures),
        replace(peer, numbers=peer.numbers | arrived),
    )  # fmt: skip
    assert document["measured"]["frames_arrived"] == len(peer.numbers)
    return next(found for found in document["findings"] if found["name"] == "fragments")


@pytest.mark.parametrize(
    ("fresh", "arrived", "holds", "measured"),
    [
        ([0b1110, 0b1111], {1004}, True, "of 1 frames 1 arrived, and none of 1 mixtures of old"),
        ([0b1110, 0b1111], set(), False, "of 1 frames 0 arrived, and none of 1 mixtures of old"),
        (
            [0b1110, 0b1111], {1001, 1004}, False,
            "1 good frames of 1 mixtures of old and new descriptors: one began with fragment 1"
            " where of 0 to 3 only 1, 2, 3 were new",
        ),
        ([0b0111, 0b1111], {1000, 1004}, False, "began with fragment 0 where"),
        # the whole frame's own tail
        ([0b1111], {1000, 1003}, False, "began with fragment 3 where"),
        ([], set(), None, "not measured: the ring is too short"),
    ],
)  # fmt: skip
def test_what_leaves_of_fragments(
    fresh: list[int], arrived: set[int], holds: bool | None, measured: str
) -> None:
    """Good is a frame whose descriptors are all new, and nothing else."""
    found = mixed(fresh, arrived)
    assert found["holds"] is holds
    assert measured in found["measured"]


def test_fragments_need_a_peer() -> None:
    records, _ = made(fragments_max=32)
    found = judge("eth0", "native", replace(records, mixtures=[(1000, 4, 15)]), None)["findings"]
    assert [one["measured"] for one in found if one["name"] == "fragments"] == [
        "not measured: say --peer"
    ]


def stamped(records: Records, peer: Peer, late_ns: int) -> Peer:
    """With stamps `late_ns` after the end of a slot on a wire that began RESTART_NS late."""
    begun_ns, first = records.begun
    ends = {
        number: begun_ns + RESTART_NS + (slot - first + 1) * SLOT_NS
        for number, (_, _, slot, _) in enumerate(records.trials)
    }
    return replace(peer, arrived_ns={number: ends[number] + late_ns for number in peer.numbers})


FETCHED = {"index_counts_done": 0, "index_to_wire_ns_min": -2_000, "restart_ns_max": 20_000}
LEFT = {"index_counts_done": 1, "index_to_wire_ns_min": -2_000, "restart_ns_max": 20_000}


@pytest.mark.parametrize("restart_ns", [0, 1_500, 15_000])
@pytest.mark.parametrize("depth", [0, 3, 16])
def test_the_kind_of_an_index_is_what_it_is(depth: int, restart_ns: int) -> None:
    """However late the wire begins, which the driver says it may by two slots."""
    for truth, ahead_slots in (("left", 0), ("fetched", depth + 1)):
        for said, caps in (("left", LEFT), ("fetched", FETCHED)):
            ahead_ns = (depth * SLOT_NS + 20_000) if said == "fetched" else 0
            records, peer = made(
                ahead_slots=ahead_slots, depth=depth, restart_ns=restart_ns,
                prefetch_slots_max=depth + 2, index_to_wire_ns_max=ahead_ns, **caps,
            )  # fmt: skip
            document = judge("eth0", "native", records, peer)
            assert document["safe"] is (said == truth), document["findings"]
            assert findings(document)["index moves"] is (said == truth)
            moves = next(one for one in document["findings"] if one["name"] == "index moves")
            assert (
                f"when a frame {'has left' if truth == 'left' else 'is fetched'}"
                in (moves["measured"])
            )


def test_a_kind_that_frames_do_not_tell_is_not_known() -> None:
    """Frames at the index may all have been late: it moved while they were written."""
    records, peer = made(
        ahead_slots=1, depth=0, restart_ns=15_000, prefetch_slots_max=0,
        index_to_wire_ns_max=20_000, **FETCHED,
    )  # fmt: skip
    trials = [(at, index, slot, after + 1) for at, index, slot, after in records.trials]
    lost = frozenset(number for number in peer.numbers if trials[number][1] != trials[number][2])
    document = judge("eth0", "native", replace(records, trials=trials), replace(peer, numbers=lost))
    assert findings(document)["index moves"] is None
    assert document["safe"] is False
    # the same that is said to tell of what has left, and of a wire that cannot be so late
    for restart_ns_max, holds in ((20_000, None), (4_000, True)):
        late, _ = made(depth=0, restart_ns_max=restart_ns_max)
        untold = [(at, index, slot, after + 1) for at, index, slot, after in late.trials]
        document = judge("eth0", "native", replace(late, trials=untold), peer)
        assert findings(document)["index moves"] is holds
    # of a range that has both events either is right
    wide = replace(records, trials=trials, caps=records.caps | {"index_to_wire_ns_min": -11_000})
    document = judge("eth0", "native", wide, replace(peer, numbers=lost))
    assert findings(document)["index moves"] is True


def test_an_index_slightly_early_is_found() -> None:
    records, peer = made(restart_ns=0, lags_ns=(-2_000,))
    assert findings(judge("eth0", "native", records, peer))["index to wire"] is False


def test_an_index_that_wavers_more_than_said_is_found() -> None:
    """Whenever the wire began."""
    records, peer = made(lags_ns=(0, 5_000), restart_ns_max=20_000)
    assert findings(judge("eth0", "native", records, peer))["index to wire"] is False
    records, peer = made(lags_ns=(0, 900), restart_ns_max=20_000)
    assert findings(judge("eth0", "native", records, peer))["index to wire"] is True


def test_stamps_of_the_peer_tell_a_late_index_from_a_late_wire() -> None:
    records, peer = made(lags_ns=(12_000,), restart_ns_max=20_000)
    assert findings(judge("eth0", "native", records, peer))["index to wire"] is True
    for late_ns, holds in ((300, False), (20_000, True)):
        document = judge("eth0", "native", records, stamped(records, peer, late_ns))
        assert findings(document)["index to wire"] is holds
    # of a clock that is another one nothing is made
    document = judge("eth0", "native", records, stamped(records, peer, -900_000_000))
    assert findings(document)["index to wire"] is True
    # and a card that does what it says goes on doing so
    records, peer = made(restart_ns_max=20_000)
    document = judge("eth0", "native", records, stamped(records, peer, 0))
    assert document["safe"] is True


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (errno.ENODEV, "the index was none of those posted, or the card is gone"),
        (errno.ETIMEDOUT, "the wire stood still"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_a_run_that_ended_early_shows_no_card_to_be_safe(error: int, why: str) -> None:
    """All that was measured until then holds."""
    records, peer = made()
    trials = records.trials[:60]
    short = replace(records, error=error, trials=trials)
    came = frozenset(number for number in peer.numbers if number < len(trials))
    seen = replace(peer, numbers=came, bad=short.sent - len(trials), good=len(came))
    document = judge("eth0", "native", short, seen)
    assert findings(document).pop("run") is False
    assert document["safe"] is False
    assert document["verdict"] == (
        f"eth0: not safe to use: run: said the ring goes on, measured it ended early: {why}"
    )


@pytest.mark.parametrize(
    ("ppm", "holds", "sentence"),
    [
        (90, True, r"\+90 ppm, within \d+$"),
        (-90, True, r"-90 ppm, within \d+$"),
        (150, None, r"within \d+: whether a link bears it \(200 ppm\) that leaves open; run it"),
        (290, None, "whether a link bears it"),
        (320, False, r"within \d+: a link bears 200, with drift_ppb 4[0-3]\d000 this too$"),
        (-600, False, r"a link bears 200, with drift_ppb 70\d000 this too$"),
        (1_000, False, "a link bears 200, and 1000 whatever its drift_ppb is$"),
        (19_900, False, "a link bears 200, and 1000 whatever its drift_ppb is$"),
    ],
)
def test_a_pace_holds_if_a_link_bears_it(ppm: int, holds: bool | None, sentence: str) -> None:
    """Whatever it is within the uncertainty of the measurement."""
    document = judge("eth0", "native", *made(ppm=ppm))
    pace = document["findings"][0]
    assert pace["name"] == "pace"
    assert pace["holds"] is holds
    assert re.search(sentence, pace["measured"]), pace["measured"]
    assert document["safe"] is (holds is True)


def test_what_a_link_bears_is_what_the_core_says() -> None:
    assert (DRIFT_PPM, DRIFT_PPM_MAX) == (200, 1000)


def test_a_reading_long_after_the_one_before_tells_nothing_of_the_pace() -> None:
    """Though it is early for its slots, the index may have moved whenever since."""
    records, peer = made(ppm=40)
    at_ns, _, index = records.samples[50]
    records.samples[50] = (at_ns - 500, 80_000, index)
    document = judge("eth0", "native", records, peer)
    assert document["measured"]["pace_within_ppm"] <= 107
    assert document["safe"] is True


def test_a_restart_that_takes_longer_than_said() -> None:
    records, peer = made()
    slow = replace(records, restarts=[(bell, moved + 20_000) for bell, moved in records.restarts])
    assert findings(judge("eth0", "native", slow, peer))["restart"] is False


def test_a_wire_that_stood_still_tells_nothing_of_its_driver() -> None:
    records, peer = made(idle_ns=100_000)
    wire = find_wire(records)
    assert wire is not None
    assert not wire.steady
    document = judge("eth0", "native", records, peer)
    assert findings(document)["pace"] is None
    assert document["safe"] is False


def test_what_the_peer_saw_of_placeholders() -> None:
    records, peer = made()
    placeholders = records.sent - len(records.trials)
    for seen, holds, leaves in (
        (peer, True, True),
        (replace(peer, bad=0, good=placeholders), False, False),
        (replace(peer, bad=0), None, None),
    ):
        document = judge("eth0", "native", records, seen)
        assert findings(document)["bad FCS"] is holds
        assert document["measured"]["bad_fcs_leaves"] is leaves
    # a driver that does not say so is not wrong if they do not leave
    modest = replace(records, claims=0x7)
    assert (
        findings(judge("eth0", "native", modest, replace(peer, bad=0, good=placeholders)))[
            "bad FCS"
        ]
        is True
    )


def test_without_a_peer_it_is_not_shown_to_be_safe() -> None:
    records, _ = made()
    document = judge("eth0", "native", records, None)
    assert document["verdict"] == "eth0: not shown to be safe: not measured: prefetch, bad FCS"
    assert document["safe"] is False


def test_an_index_that_stands_still() -> None:
    records, peer = made()
    document = judge("eth0", "native", replace(records, samples=records.samples[:3]), peer)
    assert document["verdict"].startswith(
        "eth0: not safe to use: pace: said 1000 Mb/s, measured the index did not go"
    )


def test_records_are_read_as_the_module_writes_them() -> None:
    text = (
        "error 0\nslot_bytes 1230\nrate_bps 1000000000\ncap restart_ns_max 2003\ntick 110 3\nbegun"
        " 77 16\n"
    )
    records = parse(text + "restart 1 2\nsample 3 4 5\ntrial 6 7 8 9\nsent 9\n")
    assert (records.caps, records.tick, records.begun) == (
        {"restart_ns_max": 2003},
        (110, 3),
        (77, 16),
    )
    assert (records.restarts, records.samples, records.trials) == (
        [(1, 2)],
        [(3, 4, 5)],
        [(6, 7, 8, 9)],
    )
    for line in ("colour 3", "sample 3 4", "trial 6 7 8", "cap x", "sent many"):
        with pytest.raises(
            TraceError, match="of keepon_hwcheck is unknown; use the module of this version"
        ):
            parse(line)


def test_a_peer_that_cannot_be_listened_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have gone since it was seen."""
    monkeypatch.setattr(socket, "socket", Mock(side_effect=OSError(19, "No such device")))
    with pytest.raises(ConfigError, match=r'--peer = "eth1": cannot be listened on .No such dev'):
        Listener("eth1")


def test_a_peer_has_room_for_all_frames_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame for which it has none would pass for one that had been fetched."""
    made_socket = Mock()
    monkeypatch.setattr(socket, "socket", Mock(return_value=made_socket))
    Listener("lo")
    options = {call.args[1]: call.args[2] for call in made_socket.setsockopt.call_args_list}
    frames, bytes_each = 512, 4096
    assert options[SO_RCVBUFFORCE] >= frames * bytes_each
    assert socket.SO_RCVBUF not in options


def test_options_are_checked_first(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError, match='--backend = "none": must be native or generic'):
        command.check("eth0", None, "none", 1230)
    with pytest.raises(ConfigError, match="--slot-bytes = 20: must be 64 to 1522 bytes"):
        command.check("eth0", None, "native", 20)
    for name, peer, what in (("none0", None, "argument NAME"), ("lo", "none0", "option --peer")):
        with pytest.raises(ConfigError, match=f'{what} = "none0": is no interface here.*\\blo\\b'):
            command.check(name, peer, "native", 1230)
    assert main(["hwcheck", "eth0", "--slot-bytes", "9000"]) == 2
    assert "must be 64 to 1522" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("depth", "said", "holds"), [(5, 4, None), (7, 4, False), (5, 7, True), (5, 5, True)]
)
def test_a_wire_that_began_late_hides_no_depth(depth: int, said: int, holds: bool | None) -> None:
    """By two slots, which the driver says it may: a depth of 5 is seen as 3 to 5."""
    records, peer = made(
        restart_ns=18_000, depth=depth, restart_ns_max=20_000, prefetch_slots_max=said
    )
    document = judge("eth0", "native", records, peer)
    assert findings(document)["prefetch"] is holds
    assert document["safe"] is (holds is True)
    if holds is None:
        assert document["verdict"].startswith("eth0: not shown to be safe: prefetch: 3 to 5 slots")
        assert document["verdict"].endswith("begun 20000 ns after its doorbell: say 5")
