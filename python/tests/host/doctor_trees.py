# SPDX-License-Identifier: BSD-3-Clause
"""Made-up machines for tests of `keepon doctor`: files of /sys, /proc, /lib and /boot below a
folder, and answers of drivers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from keepon_host.doctor.asked import Card, Clock, Eee, Moderation, Pause, Stamping
from keepon_host.doctor.checks import Unseen
from keepon_host.doctor.tree import NET, Tree

RELEASE = "6.1.0-56-amd64"
MODULES = (
    "keepon", "keepon_native", "keepon_generic", "keepon_intel", "keepon_genet", "keepon_gem",
)  # fmt: skip
CONFIG = """CONFIG_MODULES=y
CONFIG_MII=m
CONFIG_HIGH_RES_TIMERS=y
CONFIG_PTP_1588_CLOCK=y
CONFIG_NET_SCH_MQPRIO=m
CONFIG_NET_SCH_ETF=m
CONFIG_NET_SCH_TAPRIO=m
CONFIG_PREEMPT_RT=y
CONFIG_NO_HZ_FULL=y
CONFIG_CPU_ISOLATION=y
CONFIG_NETFILTER_EGRESS=y
"""
SECURE_BOOT = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SIGNED = b"\x7fELF...~Module signature appended~\n"
SYNCHRONISED = Clock(37, unsynchronised=False)
GOOD = Card(
    driver="keepon_intel", stamping=Stamping(0, 0b11, 0b11), pause=Pause(False, False, False),
    eee=Eee(False, False), features={"rx-all": False}, qdiscs=["mq", "pfifo_fast"], phc_ns=12,
    moderation=Moderation(0, 0, False, 0, 0, False),
)  # fmt: skip
UNSEEN = Unseen("the kernel did not say")


@dataclass(frozen=True)
class Machine:
    """A folder that has files as a machine has them."""

    root: Path

    @property
    def tree(self) -> Tree:
        return Tree(self.root)

    def write(self, name: str, content: str | bytes = "") -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else f"{content}\n".encode())

    def remove(self, name: str) -> None:
        (self.root / name).unlink()

    def process(
        self, number: int, name: str, unit: str = "", words: tuple[str, ...] = (), parent: int = 1
    ) -> None:
        self.write(f"proc/{number}/comm", name[:15])
        self.write(f"proc/{number}/stat", f"{number} ({name[:15]}) S {parent} 0 0 0")
        self.write(f"proc/{number}/cgroup", f"0::/system.slice/{unit}" if unit else "0::/")
        line = b"\0".join(word.encode() for word in (name, *words)) + b"\0"
        self.write(f"proc/{number}/cmdline", line)

    def card(self, name: str, chip: str = "8086:1533", driver: str = "igb") -> None:
        folder = f"{NET}/{name}"
        vendor, device = chip.split(":")
        for file, content in {
            "type": "1", "flags": "0x1003", "carrier": "1", "speed": "1000", "duplex": "full",
            "device/vendor": f"0x{vendor}", "device/device": f"0x{device}",
        }.items():  # fmt: skip
            self.write(f"{folder}/{file}", content)
        link = self.root / folder / "device" / "driver"
        link.symlink_to(f"../../../../bus/pci/drivers/{driver}")

    def install(self, names: tuple[str, ...], release: str = RELEASE, suffix: str = "") -> None:
        lines = "\n".join(f"updates/{name}.ko{suffix}: kernel/x.ko" for name in names)
        self.write(f"lib/modules/{release}/modules.dep", lines)
        for name in names:
            self.write(f"lib/modules/{release}/updates/{name}.ko{suffix}", b"\x7fELF...")


def good_machine(root: Path) -> Machine:
    """One with nothing to complain about, and a card eth0."""
    machine = Machine(root)
    machine.write("proc/sys/kernel/osrelease", RELEASE)
    machine.process(1, "systemd")
    machine.write(f"boot/config-{RELEASE}", CONFIG)
    machine.install(MODULES)
    for name in MODULES:
        machine.write(f"sys/module/{name}/refcnt", "1")
    machine.write("sys/devices/system/cpu/online", "0-3")
    machine.write("sys/devices/system/cpu/isolated", "3")
    for number in range(4):
        folder = f"sys/devices/system/cpu/cpu{number}/cpufreq"
        machine.write(f"{folder}/scaling_governor", "performance")
        machine.write(f"{folder}/scaling_driver", "acpi-cpufreq")
    for tool in ("ethtool", "ip", "tc", "ptp4l"):
        machine.write(f"usr/sbin/{tool}")
    machine.card("eth0")
    return machine
