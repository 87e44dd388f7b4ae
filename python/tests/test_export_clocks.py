# SPDX-License-Identifier: BSD-3-Clause
"""PTP in commands: settings of linuxptp, and which clock a station follows."""

from __future__ import annotations

import re
import subprocess

import pytest
from helpers import ROOT, planned_example
from keepon.export import commands, shell
from keepon.export.exported import Planned
from keepon.machines import ptpconfig
from keepon.model import loading
from keepon_host.start import steps


def test_clocks_are_set_as_the_plan_has_it(habitat: Planned) -> None:
    files = commands.export(planned_example("robot-cell")).files
    lead, follow = files["sw-cell-ptp4l.cfg"], files["drive1-ptp4l.cfg"]
    assert "priority1 100\n" in lead and "gmCapable 1\n" in lead
    assert re.findall(r"^\[(swp\d)\]$", lead, re.MULTILINE) == [f"swp{n}" for n in range(5)]
    assert "gmCapable 0\n" in follow and "[eth0]\ningressLatency 9000\n" in follow
    assert "logSyncInterval -3\n" in follow and "delay_mechanism P2P\n" in follow
    assert 'ptp4l -H -m -f "$here/drive1-ptp4l.cfg"' in files["drive1.sh"]
    assert "phc2sys -s rt0 -c CLOCK_REALTIME" in files["drive1.sh"]
    ideal = commands.export(habitat)
    assert not any(name.endswith(".cfg") for name in ideal.files)
    assert any('sync.mode = "ideal"' in note for note in ideal.notes)
    assert "phc2sys -s eth0 -c CLOCK_REALTIME" in ideal.files["power-load.sh"]


def test_the_kernel_is_asked_for_a_clock_and_not_the_words_of_ethtool(habitat: Planned) -> None:
    """Its words differ by version and kernel. A card that has a clock is in the guests' tests."""
    script = commands.export(habitat).files["power-load.sh"]
    assert "ethtool -T" not in script
    assert script.index("command -v phc_ctl") < script.index("phc_ctl -qQ eth0 get")
    chosen = "\n".join([*shell.lines(steps.ChooseStamps("lo")), "echo $stamps"])
    done = subprocess.run(["sh", "-euc", chosen], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("-S\n", "")


def test_ptp_through_plain_bridges_is_configured_end_to_end() -> None:
    text = (ROOT / "examples" / "gptp.toml").read_text()
    text = text.replace(
        'mode = "gptp"\ngrandmaster = "br1"', 'mode = "ptp"\ngrandmaster = "talker"'
    )
    scenario = loading.parse(text, "ptp.toml")
    config = ptpconfig.config(
        scenario, "listener", ["rt0"], None, scenario.station_named("listener")
    )
    assert "delay_mechanism E2E\n" in config and "slaveOnly 1\n" in config
    assert "gmCapable" not in config and "transportSpecific" not in config


@pytest.mark.parametrize(("asymmetry_ns", "threshold_ns"), [(0, 250_000), (-20_000, 270_000)])
def test_a_long_cable_does_not_make_its_neighbour_incapable_of_gptp(
    asymmetry_ns: int, threshold_ns: int
) -> None:
    """30 km of fibre are above the 100 us that software's stamps vary by: never synchronised."""
    text = (ROOT / "examples" / "gptp.toml").read_text()
    ends = 'ends = ["talker", "br1"]\n'
    assert ends in text
    long = f"{ends}propagation_ns = 150_000\nasymmetry_ns = {asymmetry_ns}\n"
    scenario = loading.parse(text.replace(ends, long), "long.toml")
    for name, least_ns in (("talker", threshold_ns), ("listener", 100_050)):
        config = ptpconfig.config(scenario, name, ["rt0"], None, scenario.station_named(name))
        assert f"\nneighborPropDelayThresh {least_ns}\n" in config


def test_padded_messages_are_noted() -> None:
    notes = commands.export(planned_example("gptp")).notes
    assert any("linuxptp drops" in note for note in notes)
