# SPDX-License-Identifier: BSD-3-Clause
"""A machine that is a guest: what its host must give it; docs/guests.md."""

from __future__ import annotations

import re

from keepon_host.doctor.asked import Channels
from keepon_host.doctor.checks import NOTE, OK, PROBLEM, Answer, Named, Unseen, unseen
from keepon_host.doctor.tree import Tree
from keepon_host.errors import shell_word

VIRTIO = "virtio_net"
SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"
SLOW_SOURCES = ("acpi_pm", "hpet", "jiffies", "refined-jiffies")
"""Each reading leaves the guest, or they stand still between ticks."""
HOST_CLOCKS = (
    ("Virtio PTP type 1", "TAI"), ("Virtio PTP type 0", "UTC"), ("KVM virtual PTP", "REALTIME"),
)  # fmt: skip
"""Names of PTP clocks that read the host's, best first; vmclock of QEMU has no time."""
CPU_FIELDS, STEAL = 8, 7
"""Times of the first line of /proc/stat without guests' own, and which of them the host took."""


def is_guest(tree: Tree) -> bool:
    cpu = re.search(r"^(?:flags)\s*:.*\bhypervisor\b", tree.text("proc/cpuinfo") or "", re.M)
    return bool(cpu) or tree.text("sys/class/dmi/id/sys_vendor") == "QEMU"


def checks(tree: Tree) -> list[Named]:
    if not is_guest(tree):
        return []
    return [
        ("guest", lambda: cpus(tree)),
        ("clock source", lambda: clock_source(tree)),
        ("host's clock", lambda: host_clock(tree)),
    ]


def cpus(tree: Tree) -> Answer:
    """What of its vCPUs did the host take?"""
    maker = tree.text("sys/class/dmi/id/sys_vendor") or "a hypervisor"
    first = (tree.text("proc/stat") or "").partition("\n")[0].split()[1:]
    times = [int(each) for each in first[:CPU_FIELDS]]
    stolen = times[STEAL] / max(1, sum(times)) if len(times) == CPU_FIELDS else 0
    return Answer(
        NOTE,
        f"it is a guest of {maker}: its host must give each of its {len(tree.cpus())} vCPUs a core"
        f" that nothing else runs on (other work has had {stolen:.1%} of their time)",
    )


def clock_source(tree: Tree) -> Answer:
    """Is reading the time cheap?"""
    source = tree.text(SOURCE) or "none"
    if source in SLOW_SOURCES:
        return Answer(
            PROBLEM,
            f"it is {source}, which is slow to read: the host must give kvm-clock or a TSC that is"
            " invariant",
        )
    return Answer(OK, source)


def host_clock(tree: Tree) -> Answer:
    """Is there a PTP clock that reads the host's?"""
    names = {each: tree.text(f"sys/class/ptp/{each}/clock_name") or "" for each in
             tree.names("sys/class/ptp")}  # fmt: skip
    for known, scale in HOST_CLOCKS:
        for device, name in names.items():
            if name.startswith(known):
                return Answer(
                    OK,
                    f"/dev/{device} is the host's {scale}; chrony follows it by refclock PHC"
                    f" /dev/{device} poll 0{' tai' if scale == 'TAI' else ''}",
                )
    return Answer(
        NOTE,
        "none: ptp_kvm is not loaded, and the host gives no virtio-rtc (Linux 6.16); by PTP with"
        " stamps of software the guest's clock is worse",
        "modprobe ptp_kvm",
    )


def queues(tree: Tree, name: str, channels: Channels | Unseen | None) -> Answer:
    """Has each queue a vCPU? The kernel sets up more without a word."""
    if isinstance(channels, Unseen):
        return unseen(channels)
    if channels is None:
        return Answer(NOTE, "its driver does not say how many queues it has")
    vcpus = len(tree.cpus())
    used, there = channels.used, channels.most
    shown = f"{used} of {there} queue{'s' * (there > 1)}, {vcpus} vCPU{'s' * (vcpus > 1)}"
    mend = f"ethtool -L {shell_word(name)} combined {min(there, vcpus)}"
    if used > vcpus:
        return Answer(PROBLEM, f"{shown}: a queue takes a vCPU of its own", mend)
    if used < min(there, vcpus):
        return Answer(NOTE, f"{shown}: fewer classes than there could be", mend)
    if used < vcpus:
        return Answer(NOTE, f"{shown}: for more classes the host must give it queues='{vcpus}'")
    return Answer(OK, shown)
