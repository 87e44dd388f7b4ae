# SPDX-License-Identifier: BSD-3-Clause
"""What follows from lengths of windows by arithmetic: the ceiling of UDP in TC2 (N24), and how long
TC0's window must be where TC1's frame is made of the answer to TC0's (N23).
"""

from __future__ import annotations

from keepon_papers import published
from keepon_papers.document import Cell, Check, Column, Comparison, Part, Table
from keepon_papers.spread import Spread
from keepon_papers.timed.threeclasses import (
    BYTE_NS,
    CYCLE_NS,
    FRAME_BYTES,
    FRAMES_A_WINDOW,
    TC1_NS,
    WINDOW_NS,
    WIRE_OVERHEAD_BYTES,
    Settings,
)

PROPAGATION_NS = 50
RESPONSES_US = (20, 50, 100, 200)
GENERATIONS_US = (10, 50, 100)
DATAGRAMS_BYTES = (1448, 1460, 1470, 1472)
UDP_HEADER_BYTES = 42
"""With Ethernet's and without FCS: what taprio counts."""


def wire_ns(frame_bytes: int) -> int:
    """A frame with preamble and gap at 1 Gb/s."""
    return (frame_bytes + WIRE_OVERHEAD_BYTES) * BYTE_NS


def least_window_ns(
    frame_bytes: int, answer_bytes: int, response_ns: int, generation_ns: int, ahead_ns: int
) -> int:
    """From TC0's txtime to the first txtime of TC1 for which a frame made of the answer can be in
    time: both frames on the wire, both ways, the peer, the application, and how long before its
    txtime a frame must be handed over.

    >>> least_window_ns(128, 128, 50_000, 50_000, 40_000)
    142468
    """
    there_and_back_ns = wire_ns(frame_bytes) + wire_ns(answer_bytes) + 2 * PROPAGATION_NS
    return there_and_back_ns + response_ns + generation_ns + ahead_ns


def frames_a_window(datagram_bytes: int) -> int:
    """Places that taprio gives in TC2 to UDP datagrams of this length."""
    return WINDOW_NS // ((datagram_bytes + UDP_HEADER_BYTES) * BYTE_NS)


def megabits(frames: float, datagram_bytes: int) -> float:
    return frames * datagram_bytes * 8 / (CYCLE_NS / 1000)


def ceiling(settings: Settings, spread: Spread) -> Part:
    """N24."""
    known = published.load("mitsubishi")["discussion"]
    result = Part("ceiling", "The ceiling of UDP in TC2", "Mitsubishi paper section 6.2.1")
    rows: list[list[Cell]] = []
    for size in DATAGRAMS_BYTES:
        places = frames_a_window(size)
        sent = WINDOW_NS // wire_ns(size + UDP_HEADER_BYTES + 4)
        rows.append([size, places, megabits(places, size), sent, megabits(sent, size)])
    result.tables = [
        Table(
            "Datagrams of UDP in 400 us of each ms",
            "calculated",
            [
                Column("datagram, bytes", 0), Column("places taprio gives", 0),
                Column("Mb/s", 1), Column("whole on the wire in the window", 0),
                Column("Mb/s ", 1),
            ],
            rows,
            "taprio counts a frame without FCS, preamble and gap, so the last of its places are"
            " behind the window on the wire. Which length iperf3 used is not published.",
        )
    ]  # fmt: skip
    share = WINDOW_NS / CYCLE_NS * 1000
    best = megabits(FRAMES_A_WINDOW, FRAME_BYTES - 46)
    result.compared = [
        Comparison(
            "share of the window, Mb/s", share, known["udp_ceiling_mbps"],
            "mitsubishi.discussion", "calculated", "400 us of 1 ms",
        ),
        Comparison(
            "payload that places hold, Mb/s", best, known["udp_reached_mbps_about"],
            "mitsubishi.discussion", "calculated",
            "headers and gaps take 3 % and not 12 %; see the finding",
        ),
    ]  # fmt: skip
    result.checks = [
        Check(
            "headers and gaps explain a part of what is missing of 400 Mb/s, and not all of it",
            known["udp_reached_mbps_about"] < best < known["udp_ceiling_mbps"],
            f"{best:.1f} Mb/s",
        )
    ]
    result.findings = [
        "Published are 353 and 366 Mb/s. Of datagrams of 1470 bytes that is"
        f" {353 / megabits(1, 1470):.1f} and {366 / megabits(1, 1470):.1f} a cycle, where taprio"
        f" has places for {frames_a_window(1470)}: two or three a cycle are missing that headers"
        " and gaps do not explain. Nothing published says where."
    ]
    return result


def window(settings: Settings, spread: Spread) -> Part:
    """N23."""
    size, ahead_ns = settings.periodic_bytes, settings.txtime_delay_us * 1000
    result = Part("window", "The least window of TC0 before an answer", "section 6.1, Figure 18")
    rows: list[list[Cell]] = []
    fits = 0
    for response_us in RESPONSES_US:
        cells: list[Cell] = []
        for generation_us in GENERATIONS_US:
            least_ns = least_window_ns(
                size, size, response_us * 1000, generation_us * 1000, ahead_ns
            )
            cells.append(least_ns / 1000)
            fits += least_ns <= TC1_NS
        rows.append([response_us, *cells])
    result.tables = [
        Table(
            "Least distance of TC1's time from TC0's, us",
            "calculated",
            [
                Column("the peer answers after, us", 0),
                *(Column(f"TC1's frame is made in {us} us", 1) for us in GENERATIONS_US),
            ],
            rows,
            f"Frames and answers of {size} bytes; TC1's is handed over {settings.txtime_delay_us}"
            " us before its time, the published txtime-delay. Response and generation times are"
            " examples: none is published.",
        )
    ]
    result.checks = [
        Check(
            "the published 300 us hold some pairs of response and generation time, not all",
            0 < fits < len(RESPONSES_US) * len(GENERATIONS_US),
            f"{fits} of {len(RESPONSES_US) * len(GENERATIONS_US)}",
        )
    ]
    return result
