# SPDX-License-Identifier: BSD-3-Clause
"""A link that systemd sets up at boot: a station's setup without its programs, which are units of
their own, and with the files that these read.
"""

from __future__ import annotations

import shlex
from dataclasses import replace

from keepon.errors import ConfigError
from keepon.linux.apply import steps
from keepon.linux.apply.journal import FOLDER
from keepon.linux.apply.needs import has_clock
from keepon.linux.apply.steps import Setup, Step
from keepon.linux.link import options as link_options

PTP_FILE, PTP_OPTIONS, PHC2SYS_OPTIONS = "{}-ptp4l.cfg", "{}-ptp4l.env", "{}-phc2sys.env"
"""In /run/keepon, by the file's name; systemd/keepon-*@.service read them."""
LEAD_PRIORITY, FOLLOW_PRIORITY = 100, 255


def ptp_config(name: str, device: str, role: str) -> str:
    """ptp4l's configuration of a link without a plan; `role` is "follow" or "lead"."""
    lines = [
        f"# {name}",
        "[global]",
        f"priority1 {LEAD_PRIORITY if role == 'lead' else FOLLOW_PRIORITY}",
        f"uds_address /run/ptp4l-{name}",
        "network_transport L2",
        "tx_timestamp_timeout 100",
        *(["slaveOnly 1"] if role == "follow" else []),
        f"[{device}]",
    ]
    return "\n".join(lines) + "\n"


def direct(name: str, nic: str, device: str, rate_mbps: int, words: str, ptp: str) -> Setup:
    """A link without a plan.

    Args:
        name: of its file.
        words: options of the link.
        ptp: "none", "follow" or "lead".

    Raises:
        ConfigError: an option is wrong.
    """
    try:
        chosen = tuple(shlex.split(words))
    except ValueError as error:
        raise ConfigError(f"{str(error).lower()}; write the options without quotes") from error
    link_options.parse(chosen)
    found: list[Step] = [
        steps.PauseOff(nic), steps.EeeOff(nic), steps.Linked(nic, rate_mbps),
        steps.AddKeepon(nic, device, chosen), steps.SetUp(device),
    ]  # fmt: skip
    files, programs = {}, ["ip", "ethtool"]
    if ptp != "none":
        config = PTP_FILE.format(name)
        files[config] = ptp_config(name, device, ptp)
        found += [steps.Ptp4l(name, config, "-H"), steps.Phc2sys(name, device, "-H")]
        programs += ["ptp4l", "phc2sys"]
    needs: tuple[steps.Need, ...] = (
        *(steps.Program(each) for each in programs),
        steps.Free(device, f"take it away with ip link del {device}"),
        steps.LinkType(),
    )
    return Setup(f"link {name}", nic, device, needs, tuple(found), files)


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
