# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines for libvirt and QEMU: what is in the files, and that QEMU takes its options."""

from __future__ import annotations

import os
import re
import subprocess
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers import HABITAT, planned_example, with_plan
from keepon.errors import ConfigError
from keepon.export import guests
from keepon.export.exported import Planned
from test_guests import scenario

SECOND = """priority = 5
[[stream]]
id = "S2"
tc = 7
priority = 6
talker = "talker"
listeners = ["listener"]
frame_bytes = 100
period_ns = 2_000_000
advance_ns = 1_500_000
"""


@cache
def planned(
    datapath: str = "kernel", more: str = "", stream: str = SECOND, driver: str = "keepon"
) -> Planned:
    guest = f'guest = {{ host = "box", vcpus = 4, queue_pairs = 4, datapath = "{datapath}"{more} }}'
    return with_plan(scenario(talker=f'driver = "{driver}"\n{guest}', stream=stream))


def test_what_cannot_be_written_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"no station of \"habitat\" has \[station.guest\]"):
        guests.export("libvirt", planned_example(HABITAT.stem))
    with pytest.raises(ConfigError, match="give each class a priority of its own"):
        guests.export("qemu", planned(stream=SECOND.replace("= 6", "= 5")))


@pytest.mark.parametrize(
    ("datapath", "kind", "driver"),
    [
        ("kernel", "interface[@type='bridge']/driver", {"name": "vhost", "queues": "4"}),
        ("userspace", "interface[@type='vhostuser']/driver", {"queues": "4"}),
        ("passthrough", "hostdev[@type='pci']", {"mode": "subsystem", "managed": "yes"}),
    ],
)
def test_the_domain_has_the_datapath(datapath: str, kind: str, driver: dict[str, str]) -> None:
    exported = guests.export("libvirt", planned(datapath))
    domain = ElementTree.fromstring(exported.files["talker.xml"])
    assert (domain.findtext("name"), domain.findtext("vcpu")) == ("talker", "4")
    (found,) = domain.findall(f"devices/{kind}")
    assert driver.items() <= found.attrib.items()
    assert (domain.find("memoryBacking/access") is not None) == (datapath == "userspace")
    assert (len(exported.files) == 1) == (datapath == "passthrough")


@pytest.mark.parametrize(
    ("clock", "file", "says"),
    [
        ("virtio-rtc", "talker-chrony.conf", "poll 0 tai\n"),
        ("ptp-kvm", "talker-chrony.conf", "/dev/ptp_kvm poll 0\n"),
        ("software", "talker-guest.sh", "ptp4l -S"),
    ],
)
def test_each_clock_has_its_lines(clock: str, file: str, says: str) -> None:
    assert says in guests.export("qemu", planned(more=f', clock = "{clock}"')).files[file]


def test_priorities_at_the_tap_are_those_of_the_link_and_pcp_behind_a_switch() -> None:
    """mqprio of the link takes priorities from 15 down; gates of a bridge go by PCP."""
    for driver, levels in (("keepon", ["15", "14"]), ("standard", ["5", "6"])):
        files = guests.export("qemu", planned(driver=driver)).files
        found = re.findall(r"vlan_prio (\d) action skbedit priority (\d+)", files["talker-host.sh"])
        assert found == list(zip(["5", "6"], levels, strict=True)), driver
        assert "egress-qos-map 5:5 6:6\n" in files["talker-guest.sh"]


@pytest.mark.vm
@pytest.mark.slow
def test_qemu_takes_the_options(tmp_path: Path) -> None:
    """On a tap in a network namespace, its CPU emulated and stopped, without vhost-net."""
    script = tmp_path / "qemu.sh"
    script.write_text(guests.export("qemu", planned()).files["talker-qemu.sh"])
    command = f"ip tuntap add tap1 mode tap multi_queue && exec sh {script} -S -display none"
    done = subprocess.run(
        ["unshare", "--map-root-user", "--net", "sh", "-c", f"{command} -nodefaults -qmp stdio"],
        env=os.environ | {"ACCEL": "tcg", "VHOST": "off", "MEMORY_MB": "64"},
        input='{"execute": "qmp_capabilities"} {"execute": "query-rx-filter"} {"execute": "quit"}',
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert "52:54:00:00:00:01" in done.stdout
