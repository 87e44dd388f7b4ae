# SPDX-License-Identifier: BSD-3-Clause
"""A link by its options, without a plan, as steps; and any setup as the units of systemd have it,
whose programs are units of their own.
"""

from __future__ import annotations

import itertools
import shlex
import struct
from collections.abc import Sequence
from dataclasses import replace

from keepon_host.errors import ConfigError
from keepon_host.journal import FOLDER
from keepon_host.link import options as link_options
from keepon_host.link.commands import expanded
from keepon_host.start import steps
from keepon_host.start.needs import has_clock
from keepon_host.start.steps import Setup, Step

PTP_FILE, PTP_OPTIONS, PHC2SYS_OPTIONS = "{}-ptp4l.cfg", "{}-ptp4l.env", "{}-phc2sys.env"
"""In /run/keepon, by the file's name; systemd/keepon-*@.service read them."""
LEAD_PRIORITY, FOLLOW_PRIORITY = 100, 255
PRIORITIES = 16


def ptp_config(name: str, port: str, role: str) -> str:
    """ptp4l's configuration of a link without a plan; `role` is "follow" or "lead"."""
    lines = [
        f"# {name}",
        "[global]",
        f"priority1 {LEAD_PRIORITY if role == 'lead' else FOLLOW_PRIORITY}",
        f"uds_address /run/ptp4l-{name}",
        "network_transport L2",
        "tx_timestamp_timeout 100",
        *(["slaveOnly 1"] if role == "follow" else []),
        f"[{port}]",
    ]
    return "\n".join(lines) + "\n"


def words_of(text: str) -> tuple[str, ...]:
    """Options of a link as one text.

    Raises:
        ConfigError: its quotes are not closed.
    """
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise ConfigError(f"{str(error).lower()}; write the options without quotes") from error


def _queues(device: str, table: bytes) -> list[Step]:
    """A queue for each class that has slots, which its SO_PRIORITY leads to."""
    used = 0
    for (mask,) in struct.iter_unpack("=H", table):
        used |= mask
    if used <= 1:
        return []
    count = used.bit_length()
    levels = " ".join(str(tc if used >> tc & 1 else 0) for tc in range(PRIORITIES))
    queues = " ".join(f"1@{tc}" for tc in range(count))
    words = f"tc qdisc add dev {device} root handle 100: mqprio num_tc {count} map {levels}"
    return [steps.RootQueues(device, (*words.split(), "queues", *queues.split(), "hw", "0"))]


def direct(
    name: str, nic: str, device: str, rate_mbps: int, words: Sequence[str], ptp: str
) -> Setup:
    """A link without a plan.

    Args:
        name: of what is set up.
        rate_mbps: at which the card must run; 0: at any.
        words: options of the link.
        ptp: "none", "follow" or "lead". Without PTP a txtime is of the system's CLOCK_TAI, unless
            the options say otherwise.

    Raises:
        ConfigError: an option is wrong.
    """
    chosen = tuple(expanded(words))
    attributes = link_options.parse(chosen)
    if ptp == "none" and "txtime" not in chosen:
        chosen += ("txtime", "tai")
    queues = _queues(device, attributes.get(link_options.ALLOWED, b""))
    found: list[Step] = [
        steps.PauseOff(nic), steps.EeeOff(nic), steps.Linked(nic, rate_mbps),
        steps.AddKeepon(nic, device, chosen), steps.SetUp(device), *queues,
    ]  # fmt: skip
    files, programs = {}, ["ip", "ethtool", *(["tc"] if queues else [])]
    if ptp != "none":
        config = PTP_FILE.format(name)
        hears_all = ("receive", "all") in itertools.pairwise(chosen)
        files[config] = ptp_config(name, device if hears_all else nic, ptp)
        found += [steps.Ptp4l(name, config, "-H"), steps.Phc2sys(name, device, "-H")]
        programs += ["ptp4l", "phc2sys"]
    needs: tuple[steps.Need, ...] = (
        *(steps.Program(each) for each in programs),
        steps.Free(device, f"take it away with ip link del {device}"),
        steps.LinkType(),
        *([steps.Scheduler("mqprio")] if queues else []),
    )
    return Setup(f"link {device}", nic, device, needs, tuple(found), files)


def through_generic(setup: Setup) -> Setup:
    """The same through the driver that the card has.

    Raises:
        ConfigError: it has PTP, whose stamps on the card are not of the link's clock then.
    """
    found: list[Step] = [steps.Module("keepon_generic")]
    for step in setup.steps:
        if isinstance(step, steps.Ptp4l) and f"[{setup.nic}]" in setup.files[step.config]:
            raise ConfigError(
                f"PTP on {setup.nic} sets the link's clock only with a driver of Keepon; leave PTP"
                " out, or have the link receive all"
            )
        if isinstance(step, steps.AddKeepon) and "backend" not in step.options:
            step = replace(step, options=(*step.options, "backend", "generic"))
        found.append(step)
    return replace(setup, steps=tuple(found))


def for_units(setup: Setup, name: str) -> Setup:
    """The same with files instead of programs, for the units of that name."""
    found: list[Step] = []
    for step in setup.steps:
        match step:
            case steps.ChooseStamps():
                continue
            case steps.Ptp4l(_, config, stamps):
                with_clock = stamps != "auto" or has_clock(setup.nic)
                options = f"OPTIONS={'-H' if with_clock else '-S'}\n"
                found.append(_file(PTP_FILE.format(name), setup.files[config]))
                found.append(_file(PTP_OPTIONS.format(name), options))
            case steps.Phc2sys(_, _, stamps):
                if stamps != "auto" or has_clock(setup.nic):
                    options = f"OPTIONS={shlex.join(step.words)}\n"
                    found.append(_file(PHC2SYS_OPTIONS.format(name), options))
            case _:
                found.append(step)
    return replace(setup, steps=tuple(found), files={})


def _file(name: str, text: str) -> steps.WriteFile:
    return steps.WriteFile(str(FOLDER / name), text)
