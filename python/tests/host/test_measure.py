# SPDX-License-Identifier: BSD-3-Clause
"""`keepon measure host`: what two result files say becomes a host table that a scenario takes."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from helpers import RUN, python_apart, small_text
from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.model import hosts
from keepon.model.hosts import host_of
from keepon.model.loading import parse
from keepon.model.scenario import Scenario
from keepon_host import measure
from keepon_host.measure import Asked, Latencies

ASKED = Asked("eth0", "eth1", 10.0, 1_000, 80)


def loaded(text: str) -> Scenario:
    """The small scenario, its first station with these keys."""
    first = '[[station]]\nname = "a"\n'
    return parse(small_text(**{first: first + text + "\n"}), "small.toml")


def drawn(count: int) -> list[int]:
    """A constant, a log-normal and, once in a thousand, a tail."""
    chance = random.Random(1)
    return [
        2_000 + round(chance.lognormvariate(math.log(5_000), 0.5)) + 90_000 * (each % 1_000 == 999)
        for each in range(count)
    ]


def test_a_stage_has_the_shape_that_was_drawn() -> None:
    values = drawn(100_000)
    found = measure.stage(values)
    assert found["base_ns"] + found["median_ns"] == pytest.approx(7_000, rel=0.02)
    assert found["sigma"] == pytest.approx(0.5, rel=0.15)  # its base is the least that was drawn
    assert found["tail_probability"] == pytest.approx(0.001, rel=0.05)
    assert found["tail_mean_ns"] == pytest.approx(90_000, rel=0.02)
    assert found["cap_ns"] == max(values) and found["limit_ns"] < 90_000
    assert measure.stage([7] * 1_000)["sigma"] == 0  # no logarithm of nothing


def test_a_scenario_takes_what_is_printed() -> None:
    values = drawn(2_000)
    fewer = [each // 2 for each in values]
    text = measure.text(ASKED, Latencies(values, fewer, fewer, "hardware's", 3))
    (station, *_) = loaded(text).station
    stages, _ = host_of(station.host, "standard", 1.0)
    assert (stages["wakeup"].worst_ns, stages["stack"].worst_ns) == (max(values), max(fewer))
    assert hosts.rx_stage(station, 1.0)[0].cap_ns == max(fewer)
    assert station.ingress_latency_ns == round(sum(fewer) / len(fewer))
    assert "3 frames missing" in text and f"{max(values):>10}   timer" in text


@pytest.mark.parametrize(
    ("asked", "rx", "keys"),
    [
        (Asked("eth0", None, 10.0, 1_000, 0), 0, False),
        (Asked(None, None, 10.0, 1_000, 0), 2_000, False),  # a veth pair has no interrupt
        (ASKED, 2_000, True),
    ],
)
def test_stamps_of_reception_are_those_of_a_card(asked: Asked, rx: int, keys: bool) -> None:
    text = measure.text(asked, Latencies(drawn(2_000), drawn(2_000), drawn(rx), "x", 0))
    assert ("\nhost.rx = " in text, "\ningress_latency_ns = " in text) == (keys, keys)
    assert loaded(text)


@pytest.mark.parametrize(("stack", "rx"), [(999, 2_000), (2_000, 999), (2_000, 0)])
def test_too_few_stamps_are_no_measurement(stack: int, rx: int) -> None:
    with pytest.raises(EnvironmentProblemError, match="fewer than 1000; look at cable and driver"):
        measure.text(ASKED, Latencies(drawn(2_000), drawn(stack), drawn(rx), "x", 0))


def frames(source: str, stamps: list[tuple[int | None, int | None]]) -> dict[str, Any]:
    """A result file: frames 1 ms apart, their hardware and software stamps; None: no such frame."""
    found = [
        {
            "seq": seq, "txtime_ns": seq * 10**6, "submitted_ns": seq * 10**6 + 40,
            "rx_stamp_ns": hardware, "sw_stamp_ns": software,
        }
        for seq, (hardware, software) in enumerate(stamps)
        if (hardware, software) != (None, None)
    ]  # fmt: skip
    return {"stamp_source": source, "frames": found}


TALK = frames("software", [(None, 100), (None, 10**6 + 110), (None, 2 * 10**6 + 120)])


@pytest.mark.parametrize(
    ("listen", "offsets_ns", "rx", "missing"),
    [
        (None, [0, 0], [], 0),
        (frames("software", [(None, 700), (None, None), (None, 2 * 10**6 + 800)]), [0, 0],
         [600, 680], 1),
        # the card's clock is ahead, and more so from frame to frame
        (frames("hardware", [(1_000, 500), (10**6 + 2_000, 10**6 + 550), (None, 9)]),
         [800, 2_800], [300, 350], 0),
    ],
)  # fmt: skip
def test_stamps_become_latencies(
    listen: dict[str, Any] | None, offsets_ns: list[int], rx: list[int], missing: int
) -> None:
    found = measure.latencies(TALK, listen, offsets_ns)
    assert (found.wakeup, found.stack) == ([40, 40, 40], [60, 70, 80])
    assert (found.rx, found.missing) == (rx, missing)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (Asked(None, "eth1", 10.0, 1_000, 80), "option --peer: is for a CARD; name that, or leave"),
        (Asked("eth0", "eth0", 10.0, 1_000, 80), "option --peer = eth0: must differ from CARD;"),
        (Asked("a b", None, 10.0, 1_000, 80), 'argument CARD = "a b": must be a device name'),
        (Asked(None, None, 10.0, 0, 80), "option --period-us = 0: must be 1 to 1000000"),
        (Asked(None, None, 10.0, 1_000, 100), "option --fifo = 100: must be 0 to 99"),
        (Asked(None, None, 0.5, 1_000, 80),
         "option --seconds = 0.5: must be 1 to 1000 with --period-us 1000, which is 1000 to"),
        (Asked(None, None, math.nan, 1_000, 80), "option --seconds = nan: must be 1 to 1000"),
    ],
)  # fmt: skip
def test_options_out_of_range_are_refused(asked: Asked, sentence: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        asked.check()
    assert str(refusal.value).startswith(sentence)


@pytest.mark.slow
def test_a_machine_measures_itself_and_leaves_nothing() -> None:
    program = (
        "from keepon_host.cli import main; import os;"
        "assert main(['measure', 'host', '--seconds', '1', '--fifo', '0']) == 0;"
        "assert not os.listdir('/run/netns')"
    )
    done = python_apart("mount -t tmpfs none /run\n" + RUN, program)
    (station, *_) = loaded(done.stdout).station
    assert host_of(station.host, "keepon", 1.0)[0]["wakeup"].cap_ns > 0
    assert "1000 frames over a veth pair" in done.stdout
