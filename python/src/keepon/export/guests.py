# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines of a scenario for libvirt or QEMU: what concerns their network and their time.

Form: libvirt's domain XML (its schema domain.rng), qemu(1), chrony.conf(5), tc-flower(8). A script
for the host gives frames of a guest the priority of their PCP at its tap, as a bridge makes none of
it; one for the guest makes the PCP of SO_PRIORITY.
"""

from __future__ import annotations

from keepon.errors import ConfigError
from keepon.export.exported import Exported, Planned
from keepon.machines.station import Machine, vlan_name
from keepon.model.scenario import Station
from keepon.model.stationtables import Guest
from keepon.model.topology import Topology

_REFCLOCKS = {
    "virtio-rtc": "# The one of /sys/class/ptp whose clock_name is Virtio PTP type 1 (TAI).\n"
    "refclock PHC /dev/ptp0 poll 0 tai\nleapsectz right/UTC\n",
    "ptp-kvm": "# Needs module ptp_kvm: a line ptp_kvm in /etc/modules-load.d/keepon.conf.\n"
    "refclock PHC /dev/ptp_kvm poll 0\n",
}
_DOMAIN = """\
<domain type='kvm'>
  <!-- Network and time; memory, disk and console are yours to set. -->
  <name>{name}</name>
  <memory unit='MiB'>1024</memory>{shared}
  <vcpu placement='static'>{vcpus}</vcpu>
  <!-- A core of the host that nothing else runs on for each vCPU:
  <cputune><vcpupin vcpu='0' cpuset='2'/></cputune> -->
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <features><acpi/><apic/></features>
  <cpu mode='host-passthrough'/>
  <devices>
{network}
  </devices>
</domain>
"""
_SHARED = "\n  <memoryBacking><source type='memfd'/><access mode='shared'/></memoryBacking>"
_NETWORKS = {
    "kernel": """\
    <interface type='bridge'>
      <mac address='{mac}'/>
      <source bridge='br0'/>
      <target dev='{tap}'/>
      <model type='virtio'/>
      <driver name='vhost' queues='{queues}'/>
    </interface>""",
    "userspace": """\
    <interface type='vhostuser'>
      <mac address='{mac}'/>
      <source type='unix' path='{socket}' mode='server'/>
      <model type='virtio'/>
      <driver queues='{queues}'/>
    </interface>""",
    "passthrough": """\
    <!-- The card: its address on the host, as lspci -D shows it. -->
    <hostdev mode='subsystem' type='pci' managed='yes'>
      <source><address domain='0x0000' bus='0x01' slot='0x00' function='0x0'/></source>
    </hostdev>""",
}
_START = """\
exec qemu-system-x86_64 -name {name} -smp {vcpus} -m ${{MEMORY_MB:-1024}} -cpu max \\
    -machine q35,accel=${{ACCEL:-kvm}} \\
"""
_QEMU = {
    "kernel": """\
    -netdev tap,id=net,ifname={tap},script=no,downscript=no,vhost=${{VHOST:-on}}{net} \\
    -device virtio-net-pci,netdev=net,mac={mac}{device} "$@\"""",
    "userspace": """\
    -object memory-backend-memfd,id=mem,share=on,size=${{MEMORY_MB:-1024}}M \\
    -machine memory-backend=mem -chardev socket,id=switch,path={socket},server=on \\
    -netdev vhost-user,id=net,chardev=switch{net} \\
    -device virtio-net-pci,netdev=net,mac={mac}{device} "$@\"""",
    "passthrough": """    -device "vfio-pci,host=${{CARD:?is its address, by lspci -D}}" "$@\"""",
}


def _script(title: str, lines: list[str]) -> str:
    return "\n".join(["#!/bin/sh", f"# {title}; run as root.", "set -eu", *lines]) + "\n"


def _levels(planned: Planned, station: Station) -> list[tuple[int, int]]:
    """PCP, and its priority on the host: by the mqprio of the link that the station has, or behind
    a virtual switch the PCP, as gates of ports have it.
    """
    levels = Machine(planned.scenario, planned.plan, "keepon").queues(station.name).priority
    if station.driver != "keepon":
        return sorted({(pcp, pcp) for _, pcp in levels})
    if len({pcp for _, pcp in levels}) < len(levels):
        raise ConfigError(
            f'station "{station.name}": its streams of one priority have several traffic classes,'
            " and its tap tells frames apart by PCP alone; give each class a priority of its own"
        )
    return sorted((pcp, level) for (_, pcp), level in levels.items())


def _host(planned: Planned, station: Station, guest: Guest, tap: str, makes_tap: bool) -> str:
    """Its tap, or its port of the switch, and filters."""
    lines = [f"tap={tap}", "# libvirt makes it when the guest starts: run this after that."]
    if guest.datapath == "userspace":
        lines = [
            f'ovs-vsctl --may-exist add-port "${{BRIDGE:-br0}}" {tap} -- set Interface {tap}'
            f" type=dpdkvhostuserclient options:vhost-server-path=/run/keepon-{tap}.sock",
            "# The switch gives frames no priority: they come to the card's bridge by a veth pair.",
            "tap=${UPLINK:?is the end of a veth pair by which frames of the switch come}",
        ]
    elif makes_tap:
        queues = " multi_queue" if guest.queue_pairs > 1 else ""
        lines[1:] = [
            f'[ -e "/sys/class/net/$tap" ] || ip tuntap add "$tap" mode tap{queues}',
            'ip link set "$tap" master "${BRIDGE:-br0}" up',
        ]
    if station.driver == "keepon":
        lines += [
            f"# What {station.name}.sh of --format commands makes, here on the host.",
            f"ip link set {planned.keepon_device} type keepon priorities on",
        ]
    lines.append('tc qdisc replace dev "$tap" clsact')
    for pcp, level in _levels(planned, station):
        lines.append(
            f'tc filter replace dev "$tap" ingress pref {100 + pcp} handle 1 protocol 802.1Q flower'
            f" vlan_prio {pcp} action skbedit priority {level}"
        )
    return _script(f'Host "{guest.host}" of guest "{station.name}"', lines)


def _inside(planned: Planned, station: Station, guest: Guest) -> str:
    """Queues, rate and PCP."""
    nic, vlan = planned.device, vlan_name(planned.device)
    (port,) = Topology(planned.scenario).ports_of(station.name)
    streams = [each for each in planned.scenario.stream if each.talker == station.name]
    pairs = " ".join(f"{pcp}:{pcp}" for pcp in sorted({each.priority for each in streams}))
    lines = [
        f"ethtool -L {nic} combined {guest.queue_pairs}",
        "# virtio knows no rate, and taprio would take 10 Mb/s.",
        f"ethtool -s {nic} speed {port.wire.rate_bps // 1_000_000} duplex full",
    ]
    if streams:
        lines += [
            *(f"# {each.id}: by {vlan}, SO_PRIORITY {each.priority}" for each in streams),
            f"[ -e /sys/class/net/{vlan} ] || ip link add link {nic} name {vlan} type vlan id 0"
            f" egress-qos-map {pairs}",
            f"ip link set {vlan} up",
        ]
    if guest.clock == "software":
        lines.append(f"# Its clock, by PTP with stamps of software: ptp4l -S -s -i {nic}")
    return _script(f'Guest "{station.name}"', lines)


def export(name: str, planned: Planned) -> Exported:
    """Of each guest NAME.xml for `virsh define`, or NAME-qemu.sh; NAME-host.sh, NAME-guest.sh and
    NAME-chrony.conf, if the card is not its own.

    Raises:
        ConfigError: there is no guest, or one whose frames its tap cannot tell apart.
    """
    files, notes = dict[str, str](), list[str]()
    for number, station in enumerate(planned.scenario.station):
        if (guest := station.guest) is None:
            continue
        own, count, tap = station.name, guest.queue_pairs, f"tap{number}"
        names = {
            "tap": tap, "mac": f"52:54:00:00:{number >> 8:02x}:{number & 255:02x}",
            "socket": f"/run/keepon-{tap}.sock", "queues": str(count),
            # an interrupt for each queue, for control and for configuration
            "net": f",queues={count}" if count > 1 else "",
            "device": f",mq=on,vectors={2 * count + 2}" if count > 1 else "",
        }  # fmt: skip
        if name == "libvirt":
            files[f"{own}.xml"] = _DOMAIN.format(
                name=own, vcpus=guest.vcpus, shared=_SHARED * (guest.datapath == "userspace"),
                network=_NETWORKS[guest.datapath].format(**names),
            )  # fmt: skip
        else:
            words = (_START + _QEMU[guest.datapath]).format(name=own, vcpus=guest.vcpus, **names)
            title = f'Guest "{own}": network and time; what this is given, as a disk, goes to QEMU'
            files[f"{own}-qemu.sh"] = _script(title, [words])
        if guest.datapath == "passthrough":
            notes.append(f"{own}: the card is its own: {own}.sh of --format commands runs in it")
            continue
        files[f"{own}-host.sh"] = _host(planned, station, guest, tap, name == "qemu")
        files[f"{own}-guest.sh"] = _inside(planned, station, guest)
        if guest.clock in _REFCLOCKS:
            files[f"{own}-chrony.conf"] = _REFCLOCKS[guest.clock]
        if guest.clock == "virtio-rtc":
            notes.append(f"{own}: neither libvirt nor QEMU has a virtio-rtc of its own: add a"
                         ' vhost-user backend of it, or use clock = "ptp-kvm"')  # fmt: skip
    if not files:
        raise ConfigError(
            f'option --format = "{name}": is of virtual machines, and no station of'
            f' "{planned.scenario.name}" has [station.guest]; add it, or export commands'
        )
    return Exported(files, notes)
