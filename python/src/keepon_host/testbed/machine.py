# SPDX-License-Identifier: BSD-3-Clause
"""The machine's own commands, in a namespace or at home, and what they say of an interface."""

from __future__ import annotations

import array
import fcntl
import json
import os
import socket
import struct
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from keepon_host import ethtool
from keepon_host.doctor.tree import Tree
from keepon_host.errors import EnvironmentProblemError

NAMESPACES = Path("/run/netns")
SETTINGS = Path("/proc/sys/net")
CLONE_NEWNET = 0x40000000
GET_DRIVER, GET_COALESCING, GET_TS_INFO = 0x03, 0x0E, 0x41
COALESCING = struct.Struct("=7I64x")
"""struct ethtool_coalesce: command; receive us, frames, both in interrupts; transmit us, frames."""
CPU = "sys/devices/system/cpu"
SIOCGHWTSTAMP, SIOCSHWTSTAMP = 0x89B1, 0x89B0
STAMPING = struct.Struct("=3i")
"""struct hwtstamp_config: flags, tx_type, rx_filter."""
TX_HARDWARE, RX_HARDWARE = 1, 4
"""SOF_TIMESTAMPING_ of linux/net_tstamp.h."""
COMMAND_S = 30


class CommandFailedError(EnvironmentProblemError):
    """One of the machine's commands refused."""


def command(words: Sequence[str], data: bytes | None = None) -> bytes:
    """What a command prints.

    Raises:
        CommandFailedError: it is not there, or its own sentence.
    """
    try:
        with tempfile.TemporaryFile() as given:  # ip restore wants to seek in it
            given.write(data or b"")
            given.seek(0)
            done = subprocess.run(
                words, stdin=given, capture_output=True, check=False, timeout=COMMAND_S
            )
    except FileNotFoundError:
        raise CommandFailedError(
            f"the program {words[0]} is not here; install its package (keepon doctor names it)"
        ) from None
    except subprocess.TimeoutExpired:
        raise CommandFailedError(f"{' '.join(words)}: no end after {COMMAND_S} s") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        # The kernel's own sentence stands between "Error: " and the rest.
        sentence = (
            said[0].removeprefix("Error: ").rstrip(".") if said else f"code {done.returncode}"
        )
        raise CommandFailedError(f"{' '.join(words)}: {sentence}")
    return done.stdout


def ip(namespace: str, *words: str, data: bytes | None = None) -> bytes:
    place = ["-n", namespace] if namespace else []
    return command(["ip", *place, *words], data)


def tc(namespace: str, *words: str) -> bytes:
    place = ["-n", namespace] if namespace else []
    return command(["tc", *place, *words])


def within(namespace: str, words: Sequence[str]) -> list[str]:
    """A command line that runs in a namespace."""
    return ["ip", "netns", "exec", namespace, *words] if namespace else list(words)


def ip_json(namespace: str, *words: str) -> list[dict[str, Any]]:
    """`ip -j`; empty entries, which it prints for what it leaves out, are not there."""
    found = json.loads(ip(namespace, "-d", "-j", *words) or b"[]")
    return [entry for entry in found if entry]


@contextmanager
def inside(namespace: str) -> Iterator[None]:
    """This thread's sockets are made in a namespace.

    Raises:
        EnvironmentProblemError: there is none of that name, or we may not enter.
    """
    if not namespace:
        yield
        return
    import ctypes

    setns = ctypes.CDLL(None, use_errno=True).setns
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            there = os.open(NAMESPACES / namespace, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise EnvironmentProblemError(f"namespace {namespace}: {error.strerror}") from error
        entered = setns(there, CLONE_NEWNET)
        os.close(there)
        if entered:
            raise EnvironmentProblemError(
                f"namespace {namespace}: {os.strerror(ctypes.get_errno())}; run as root"
            )
        try:
            yield
        finally:
            setns(home, CLONE_NEWNET)
    finally:
        os.close(home)


def clock_of(namespace: str, device: str) -> tuple[int, bool, bool]:
    """Number of a device's PHC (-1: none), and whether it stamps frames sent, and received."""
    try:
        with inside(namespace):
            answer = ethtool.call(device, struct.pack("=I40x", GET_TS_INFO))
    except OSError:
        return -1, False, False
    _, kinds, phc = struct.unpack("=IIi32x", answer)
    return phc, bool(kinds & TX_HARDWARE), bool(kinds & RX_HARDWARE)


def stamping(namespace: str, device: str, wanted: bytes | None = None) -> bytes | None:
    """Which frames a device stamps, as the kernel has it; sets it first if `wanted` is given. None:
    it stamps none and cannot say.
    """
    room = array.array("B", wanted or bytes(STAMPING.size))
    address, _ = room.buffer_info()
    request = ethtool.REQUEST.pack(os.fsencode(device), address)
    call = SIOCGHWTSTAMP if wanted is None else SIOCSHWTSTAMP
    try:
        with inside(namespace), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
            fcntl.ioctl(channel, call, request)
    except OSError:
        return None
    return room.tobytes()


def settings(device: str) -> dict[Path, bytes]:
    """Sysctls of an interface of this namespace; moving the interface loses their values."""
    found = {}
    for folder in ("ipv4/conf", "ipv6/conf", "ipv4/neigh", "ipv6/neigh"):
        for path in (SETTINGS / folder / device).glob("*"):
            try:
                found[path] = path.read_bytes()
            except OSError:  # one that has no value yet cannot be read
                continue
    return found


def set_again(known: dict[Path, bytes]) -> None:
    """Write what is otherwise now; some are other names of what was just written.

    Raises:
        OSError: the first that could not be; the others are.
    """
    failed: OSError | None = None
    for path, value in known.items():
        try:
            if path.exists() and path.read_bytes() != value:
                path.write_bytes(value)
        except OSError as error:
            failed = failed or error
    if failed is not None:
        raise failed


def cpus() -> dict[str, object]:
    """What is chosen for the machine's CPUs, of what a measurement depends on."""
    tree = Tree(Path("/"))
    governors = {tree.text(f"{CPU}/cpu{n}/cpufreq/scaling_governor") for n in tree.cpus()}
    return {
        "governors": sorted(each for each in governors if each),
        "isolated": tree.text(f"{CPU}/isolated") or "",
        "nohz_full": tree.text(f"{CPU}/nohz_full") or "",
    }


def card(namespace: str, device: str) -> dict[str, object]:
    """A card's driver, and how it gathers interrupts, as far as it says so."""
    found: dict[str, object] = {}
    try:
        with inside(namespace):
            answer = ethtool.call(device, struct.pack("=I192x", GET_DRIVER))
            found["driver"] = answer[4:36].partition(b"\0")[0].decode(errors="replace")
            answer = ethtool.call(device, COALESCING.pack(GET_COALESCING, *[0] * 6))
    except OSError:
        return found
    _, rx_us, rx_frames, _, _, tx_us, tx_frames = COALESCING.unpack(answer)
    found["coalescing"] = {
        "rx_us": rx_us, "rx_frames": rx_frames, "tx_us": tx_us, "tx_frames": tx_frames,
    }  # fmt: skip
    return found


def counters(namespace: str, device: str) -> dict[str, int]:
    """`ethtool -S`; empty where a driver counts nothing."""
    try:
        with inside(namespace):
            return ethtool.counters(device, ethtool.strings(device, ethtool.SS_STATS))
    except OSError:
        return {}
