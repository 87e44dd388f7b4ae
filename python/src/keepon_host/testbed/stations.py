# SPDX-License-Identifier: BSD-3-Clause
"""A station is set up on an interface, and the interface given back as it was."""

from __future__ import annotations

import io
import json
import os
import struct
import sys
import time
from contextlib import redirect_stderr
from dataclasses import dataclass
from typing import Any

from keepon_host import hold, journal
from keepon_host.errors import EnvironmentProblemError, shell_word
from keepon_host.link import commands
from keepon_host.start.needs import check_scheduler
from keepon_host.start.steps import kind_of
from keepon_host.testbed import machine
from keepon_host.testbed.job import StationJob
from keepon_host.testbed.machine import CommandFailedError, ip, ip_json, tc
from keepon_host.testbed.undo import Undo

CARRIER_S = 10.0
LOOK_S = 0.05
MAGIC_BYTES = 4
"""What `ip route save` writes first."""
ROUTE_FLAGS_AT = 16 + 8
"""Of rtm_flags, from the start of a message."""
ROUTE_FLAGS = struct.Struct("=24xI")
PAIRS = ("veth", "netkit")
"""Kinds of interfaces whose `link` is a peer, and not what they are built on."""
DEAD, LINKDOWN = 1, 16
"""RTNH_F_ of linux/rtnetlink.h."""


def place(namespace: str) -> str:
    return f" in namespace {namespace}" if namespace else ""


@dataclass
class Station:
    """A station that is being set up; each step has one in `undo` that puts things back.

    Attributes:
        job: what it is to be.
        mac: address of its device, once there.
        phc: number of its device's PTP hardware clock, -1 without.
        stamps_sent: its device stamps what it sends, in hardware or by keepon.
    """

    job: StationJob
    mac: str = ""
    phc: int = -1
    stamps_sent: bool = False

    @property
    def called(self) -> str:
        return f"station {self.job.name}: {self.job.interface}"

    def survey(self) -> dict[str, Any]:
        """What the interface is now; refuses what a run would harm.

        Raises:
            EnvironmentProblemError: it is not there, or something else uses it.
        """
        home, name = self.job.home, self.job.interface
        for kind in dict.fromkeys(map(kind_of, self.job.queues)):
            check_scheduler(kind)
        try:
            (found,) = ip_json(home, "link", "show", "dev", name)
        except CommandFailedError as error:
            held = (machine.NAMESPACES / self.job.namespace).exists() and self.job.own_namespace
            namespace = shell_word(self.job.namespace)
            remedy = (
                f"if a run was killed, give it back with ip netns del {namespace}"
                if held
                else "ip link lists them"
            )
            raise EnvironmentProblemError(
                f"{self.called}: no such interface{place(home)} ({error}); {remedy}"
            ) from error
        if "LOOPBACK" in found["flags"]:
            raise EnvironmentProblemError(f"{self.called} is the loopback; name a network card's")
        if found.get("master"):
            raise EnvironmentProblemError(
                f"{self.called} is part of {found['master']}; take it out with ip link set"
                f" {shell_word(name)} nomaster"
            )
        if found.get("linkinfo", {}).get("info_kind") == commands.KIND:
            raise EnvironmentProblemError(
                f"{self.called} is a keepon link itself; name the interface below it"
            )
        above = [
            each["ifname"]
            for each in ip_json(home, "link", "show")
            if each.get("link") == name and each.get("linkinfo", {}).get("info_kind") not in PAIRS
        ]
        if above:
            raise EnvironmentProblemError(
                f"{self.called} has {', '.join(above)} built on it, which the run would cut; take"
                " it away first, or name another interface"
            )
        defaults = [
            route
            for kind in ("-4", "-6")
            for route in ip_json(home, kind, "route", "show", "default")
        ]
        if any(route.get("dev") == name for route in defaults):
            raise EnvironmentProblemError(
                f"{self.called} carries this machine's default route, and the run would cut it;"
                " name another interface"
            )
        for qdisc in qdiscs_of(home, name):
            if qdisc["handle"] != "0:":
                raise EnvironmentProblemError(
                    f"{self.called} has a queueing discipline of its own ({qdisc['kind']}), which"
                    f" the run would replace; take it away with tc qdisc del dev"
                    f" {shell_word(name)} root"
                )
        return found

    def hold(self, undo: Undo) -> None:
        """Lock the interface, and the namespace made for it, against other runs until `undo` or the
        end of this process.

        Raises:
            EnvironmentProblemError: another run has one of them.
        """
        job = self.job
        try:
            if job.own_namespace:
                path = journal.FOLDER / f"run-{job.namespace}.lock"
                self._held(hold.lock(path, job.interface), undo)
            with machine.inside(job.home):
                # One that is not there is for `survey` to tell of.
                self._held(hold.hold(job.interface), undo)
        except EnvironmentProblemError as error:
            raise EnvironmentProblemError(f"station {job.name}: {error}") from error

    def _held(self, lock: int | None, undo: Undo) -> None:
        if lock is not None:
            undo.add(f"{self.job.interface} is still held", lambda: os.close(lock))

    def clock_error_ns(self) -> int:
        """How far a time read of its device's clock may be from those that the device stamps."""
        if self.job.link is None:
            return 0
        counted = machine.counters(self.job.namespace, self.job.device)
        return -(-counted.get("clock_error_ps", 0) // 1000)

    def claim(self, undo: Undo) -> None:
        """The interface, up in its namespace. Its link may need that of the peer.

        Raises:
            KeeponError: it is not possible, in a sentence; what was done is in `undo`.
        """
        self._take(self.survey(), undo)
        ip(self.job.namespace, "link", "set", "dev", self.job.interface, "up")

    def set_up(self, undo: Undo) -> None:
        """Keepon link and queues on a claimed interface. Raises as `claim`."""
        job = self.job
        self._await_carrier(job.interface)
        if job.link is not None:
            # The planner has reported what the kernel warns of.
            with redirect_stderr(io.StringIO()), machine.inside(job.namespace):
                commands.add(job.interface, job.device, job.link, as_json=False)
            undo.add(f"{job.device} is still there", self._delete_link)
            ip(job.namespace, "link", "set", "dev", job.device, "up")
            self._await_carrier(job.device)
        if job.address:
            ip(job.namespace, "address", "add", job.address, "dev", job.device)
            if job.device == job.interface:
                undo.add(
                    f"{job.device} still has the address {job.address}",
                    lambda: self._gone_is_fine("address", "del", job.address, "dev", job.device),
                )
        self._queues(undo)
        (shown,) = ip_json(job.namespace, "link", "show", "dev", job.device)
        self.mac = shown["address"]
        self.phc, self.stamps_sent, _ = machine.clock_of(job.namespace, job.device)

    def _take(self, before: dict[str, Any], undo: Undo) -> None:
        """Into a namespace of its own, if it has one; otherwise it stays where it is."""
        job, name = self.job, self.job.interface
        was_up = "UP" in before["flags"]
        stamps = machine.stamping(job.home, name)
        if job.own_namespace:
            try:
                ip("", "netns", "add", job.namespace)
            except CommandFailedError as error:
                raise EnvironmentProblemError(
                    f"namespace {job.namespace} cannot be made ({error}); if a run was killed, give"
                    f" its interface back with ip netns del {shell_word(job.namespace)}"
                ) from error
            undo.add(
                f"namespace {job.namespace} is still there",
                lambda: _ignore(ip("", "netns", "del", job.namespace)),
            )
            addresses = ip(job.home, "address", "save", "dev", name)
            routes = restorable(ip(job.home, "route", "save", "table", "main", "dev", name))
            undo.add(f"{name} lacks routes", lambda: self._restore("route", routes))
            undo.add(f"{name} lacks addresses", lambda: self._restore("address", addresses))
            settings = machine.settings(name)
            if was_up:
                undo.add(f"{name} is down", self._up_at_home)
            undo.add(f"{name} lacks settings", lambda: machine.set_again(settings))
            ip(job.home, "link", "set", "dev", name, "netns", job.namespace)
            undo.add(f"{name} is still in namespace {job.namespace}", self._back)
        elif not was_up:
            undo.add(f"{name} is still up", lambda: self._gone_is_fine("link", "set", name, "down"))
        if stamps is not None:
            undo.add(
                f"{name} still stamps frames",
                lambda: _ignore(machine.stamping(job.namespace, name, stamps)),
            )

    def _back(self) -> None:
        """Home. One that has gone meanwhile has nothing to be put back."""
        job, name = self.job, self.job.interface
        if not self._is_there(job.namespace):
            return
        home = job.home or str(os.getpid())
        ip(job.namespace, "link", "set", "dev", name, "netns", home)

    def _up_at_home(self) -> None:
        if self._is_there(self.job.home):
            ip(self.job.home, "link", "set", "dev", self.job.interface, "up")

    def _restore(self, what: str, data: bytes) -> None:
        if data and self._is_there(self.job.home):
            ip(self.job.home, what, "restore", data=data)

    def _delete_link(self) -> None:
        self._gone_is_fine("link", "del", "dev", self.job.device)

    def _gone_is_fine(self, *words: str) -> None:
        """A command that may fail if the interface, and what was on it, is no more."""
        try:
            ip(self.job.namespace, *words)
        except CommandFailedError:
            if self._is_there(self.job.namespace):
                raise

    def _is_there(self, namespace: str) -> bool:
        try:
            return bool(ip_json(namespace, "link", "show", "dev", self.job.interface))
        except CommandFailedError:
            return False

    def _queues(self, undo: Undo) -> None:
        job = self.job
        for number, words in enumerate(job.queues):
            tc(job.namespace, *words)
            if not number and job.device == job.interface:
                undo.add(f"{job.device} still has a queueing discipline", self._delete_queues)

    def _delete_queues(self) -> None:
        try:
            tc(self.job.namespace, "qdisc", "del", "dev", self.job.device, "root")
        except CommandFailedError:
            if self._is_there(self.job.namespace):
                raise

    def _await_carrier(self, name: str) -> None:
        limit_s = time.monotonic() + CARRIER_S
        while True:
            (found,) = ip_json(self.job.namespace, "link", "show", "dev", name)
            if "LOWER_UP" in found["flags"]:
                return
            if time.monotonic() >= limit_s:
                raise EnvironmentProblemError(
                    f"station {self.job.name}: {name} has no link after {CARRIER_S:g} s; look at"
                    " cable and peer"
                )
            time.sleep(LOOK_S)


def restorable(routes: bytes) -> bytes:
    """What `ip route save` writes, as the kernel takes it again: it refuses routes that it said
    itself are dead or without a link. Layouts are those of linux/netlink.h and linux/rtnetlink.h.
    """
    data = bytearray(routes)
    at = MAGIC_BYTES
    while at + ROUTE_FLAGS.size <= len(data):
        length = int.from_bytes(data[at : at + 4], sys.byteorder)
        (flags,) = struct.unpack_from("=I", data, at + ROUTE_FLAGS_AT)
        struct.pack_into("=I", data, at + ROUTE_FLAGS_AT, flags & ~(DEAD | LINKDOWN))
        at += -(-max(length, 1) // 4) * 4
    return bytes(data)


def qdiscs_of(namespace: str, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(
        tc(namespace, "-j", "qdisc", "show", "dev", name) or b"[]"
    )
    return found


def _ignore(value: object) -> None:
    """A step that puts something back has no value."""
