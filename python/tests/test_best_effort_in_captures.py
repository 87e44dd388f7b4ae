# SPDX-License-Identifier: BSD-3-Clause
"""Best effort in the capture of target vm, of made-up records of wires."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from helpers import TWO_STATIONS
from keepon.cli import session
from keepon.machines.planned import Guest
from keepon.measure import capture
from keepon.measure.sightings import of_streams, packets
from keepon.model.loading import parse
from keepon.model.topology import Topology
from keepon.targets.vm import observations
from test_captures_in_wireshark import LOADED


@pytest.mark.slow
def test_best_effort_is_in_the_capture_as_the_wire_had_it(tmp_path: Path) -> None:
    """Two stations on one cable: the talker's load at both ends, ARP beside it, and nothing of
    what is outside the window; tshark reads lengths and bytes.
    """
    scenario = parse(TWO_STATIONS.read_text() + LOADED, "two")
    guest = Guest(scenario, session.planned(scenario), "keepon")
    ip = f"{guest.mac('listener')}:{guest.mac('talker')}:08:00:45:00".replace(":", "")
    arp = f"ff:ff:ff:ff:ff:ff:{guest.mac('talker')}:08:06:00:01".replace(":", "")
    sent = [(800, 1518, ip), (1_000, 1518, ip), (2_000, 64, arp), (3_000, 900, ip)]
    lines = [
        f"frame seq=1 raw_ns=5.0 phc_ns={at}.000 bytes={size} queue=7 verdict=good head={head}"
        for at, size, head in sent
    ]
    records = {"talker": observations.read_wire("\n".join(lines))}
    others = observations.sightings(guest, records, {"talker": 250_000})
    flight_ns = Topology(scenario).wires["talker", "listener"].propagation_ns
    seen = of_streams(
        scenario.model_copy(update={"stream": []}), {}, {}, {}, (1_200, 9_000), 100, others
    )
    assert [(one.at_ns, one.node, one.outbound, one.flow) for one in seen.sightings] == sorted(
        (at + 250 + (0 if outbound else flight_ns), node, outbound, flow)
        for at, flow in ((1_000, "bulk"), (2_000, "other"), (3_000, "bulk"))
        for node, outbound in (("talker", True), ("listener", False))
    )
    file = tmp_path / "a.pcapng"
    capture.write(file, ["talker", "listener"], packets(scenario, seen), "test")
    words = ["-T", "fields", "-e", "frame.len", "-e", "frame.cap_len", "-e", "eth.src"]
    printed = subprocess.run(
        ["tshark", "-r", file, *words], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    own = guest.mac("talker")
    assert printed == [f"{size}\t16\t{own}" for size in (1518, 64, 900) for _ in ("sent", "heard")]
