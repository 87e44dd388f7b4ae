# SPDX-License-Identifier: BSD-3-Clause
"""`keepon status`: what every link is on, what became of its frames, and whether PTP sets it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from keepon_host.doctor.asked import driver_of, phc_ahead_ns
from keepon_host.doctor.checks import Unseen
from keepon_host.errors import ConfigError, EnvironmentProblemError, one_line
from keepon_host.interface import run
from keepon_host.journal import STARTED, Journal, journals
from keepon_host.link import commands, watch

SCHEMA = "keepon.status/1"


def _offset(config: str) -> dict[str, Any]:
    """What ptp4l says of its clock: how far it is from the grandmaster's, and which that is."""
    try:
        said = run("pmc", "-u", "-b", "0", "-f", config, "GET TIME_STATUS_NP")
    except EnvironmentProblemError as error:
        return {"problem": one_line(error)}
    found = dict(re.findall(r"^\s+(\w+)\s+(\S+)$", said, re.MULTILINE))
    if "master_offset" not in found:
        return {"problem": "ptp4l does not answer"}
    leads = found.get("gmPresent") == "false"
    return {
        "leads": leads,
        "grandmaster": found.get("gmIdentity", ""),
        "offset_ns": None if leads else int(found["master_offset"]),
    }


def _link(name: str, card: str, journal: Journal | None) -> dict[str, Any]:
    moment = watch.Moment(name, watch.read(name, watch.names_of(name)), None)
    verdicts = moment.verdicts()
    sent = sum(verdicts.get(each, 0) for each in watch.SENT)
    ahead = phc_ahead_ns(name)
    return {
        "link": name,
        "card": card or None,
        "driver": driver_of(card) if card else None,
        "state": moment.state(),
        "clock_error_ns": float(moment.error_ns()),
        "sent": sent,
        "dropped": sum(verdicts.values()) - sent,
        "phc_from_tai_ns": None if isinstance(ahead, Unseen) else ahead,
        "ptp": _offset(journal.ptp) if journal is not None and journal.ptp else None,
        "started": journal.title if journal is not None else None,
    }


def document(nic: str | None) -> dict[str, Any]:
    """All links of this network namespace, or that of one card, and what is half set up.

    Raises:
        ConfigError: no link is on that card.
        EnvironmentProblemError: the kernel does not answer.
    """
    found = json.loads(commands.show(None, as_json=True))
    kept = {each.name: each for each in journals()}
    links = []
    for each in found:
        card = each.get("link", "")
        if nic in (None, card, each["ifname"]):
            journal = kept.pop(card, None)
            with suppress(ConfigError):  # it has just gone
                links.append(_link(each["ifname"], card, journal))
    if nic is not None and not links and nic not in kept:
        raise ConfigError(f'argument NIC = "{one_line(nic)}": has no keepon link')
    others = [each for name, each in kept.items() if nic in (None, name)]
    return {
        "schema": SCHEMA,
        "links": links,
        "without_link": [
            {"card": each.name or each.nic, "started": each.title, "whole": each.state == STARTED}
            for each in others
        ],
    }


def _lines(found: dict[str, Any]) -> Iterator[str]:
    for each in found["links"]:
        card = f"{each['card']} ({each['driver']})" if each["card"] else "a card elsewhere"
        yield f"{each['link']} on {card}: {each['state']}"
        yield f"  clock   within {each['clock_error_ns']:g} ns{_apart(each['phc_from_tai_ns'])}"
        yield f"  frames  {each['sent']} sent, {each['dropped']} dropped"
        if (ptp := each["ptp"]) is not None:
            yield f"  PTP     {_ptp_text(ptp)}"
        yield f"  set up  {each['started'] or 'by hand'}"
    for each in found["without_link"]:
        how = "" if each["whole"] else "half "
        yield f"{each['card']}: {how}set up as {each['started']}; keepon stop puts it back"


def _apart(ahead_ns: int | None) -> str:
    return "" if ahead_ns is None else f", {ahead_ns:+} ns from the system's CLOCK_TAI"


def _ptp_text(ptp: dict[str, Any]) -> str:
    if "problem" in ptp:
        return str(ptp["problem"])
    if ptp["leads"]:
        return "it is the grandmaster"
    return f"{ptp['offset_ns']:+} ns from grandmaster {ptp['grandmaster']}"


def text(nic: str | None) -> str:
    """As `document`, to be read."""
    return "\n".join(_lines(document(nic))) or "no keepon link is here; keepon start makes one"
