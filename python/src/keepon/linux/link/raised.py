# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link up`: a link comes up, and what its card sends itself goes by it, for the card's own
way is closed from then on; down again if that cuts the connection this is called over. And
`keepon link down`.
"""

from __future__ import annotations

import json
import socket
import time
from contextlib import suppress

from keepon.errors import ConfigError, EnvironmentProblemError, shell_word
from keepon.linux.guarded import guarded
from keepon.linux.hold import holding
from keepon.linux.interface import ROLLBACK_MAX_S, answers, client_over, has_carrier, ip, until
from keepon.linux.link.commands import masks
from keepon.linux.taken import (
    check_alone,
    cut_off,
    give_back,
    groups,
    leases_s,
    masquerading_ends,
    take_routes,
    take_settings,
)

BACK_S = 30.0
CARRIER_WAIT_S = 15.0


def up(name: str, back_s: float, as_json: bool) -> str:
    """Set a link up, with the routes of the card below.

    Args:
        back_s: within how many seconds the other end of an ssh connection over the card answers.

    Raises:
        ConfigError: it is no keepon link, or `back_s` is out of its range.
        EnvironmentProblemError: another command is at work with the card, something else is on it,
            the link has no carrier, a route cannot go by it, or nobody answers; it is down again.
        KeyboardInterrupt: it was ended, and is down again.
    """
    if not 0 < back_s <= ROLLBACK_MAX_S:
        raise ConfigError(
            f"option --rollback = {back_s:g}: must be above 0 and at most {ROLLBACK_MAX_S:g}"
            " seconds"
        )
    card = card_of(name)
    (link,) = json.loads(ip("-json", "link", "show", "dev", name))
    if "UP" in link["flags"]:
        raise ConfigError(
            f'argument NAME = "{name}": is up already; set it down first, by keepon link down'
            f" {shell_word(name)}"
        )
    with holding(card):
        return _up(name, card, back_s, as_json)


def card_of(name: str) -> str:
    """The card of a keepon link.

    Raises:
        ConfigError: it is none, or its card is in another network namespace.
    """
    found = [
        each for each in json.loads(ip("-d", "-json", "link", "show")) if each["ifname"] == name
    ]
    if not found or found[0].get("linkinfo", {}).get("info_kind") != "keepon":
        raise ConfigError(
            f'argument NAME = "{name}": is no keepon link; keepon link show lists them'
        )
    if "link" not in found[0]:
        raise ConfigError(
            f'argument NAME = "{name}": its card is in another network namespace, whose routes do'
            f" not lead by the link; set it up or down by ip link set {shell_word(name)}"
        )
    return str(found[0]["link"])


def down(name: str, as_json: bool) -> str:
    """Set a link down: what its card sends goes by the card again.

    Raises:
        ConfigError: it is no keepon link.
        EnvironmentProblemError: another command is at work with the card.
    """
    card = card_of(name)

    def back() -> None:
        ip("link", "set", "dev", name, "down")
        give_back(name)

    def work() -> str:
        back()
        return ""

    with holding(card):
        # Whoever is killed half way: the other process brings it to its end.
        guarded(work, back, f"{name} is down")
    if as_json:
        return json.dumps({"ifname": name, "card": card})
    return f"{name} is down; what {card} sends goes by {card} itself"


def _up(name: str, card: str, back_s: float, as_json: bool) -> str:
    masquerades = check_alone(card, name)
    client = client_over(card)
    if client and not answers(client):
        raise EnvironmentProblemError(
            f"{client}, from where you are logged in over {card}, does not answer ping, so that"
            " nobody could tell whether it comes back; allow it"
        )

    number = socket.if_nametoindex(name)
    joined = groups(card)

    def work() -> str:
        take_settings(card, name)
        ip("link", "set", "dev", name, "up")
        if not until(time.monotonic() + CARRIER_WAIT_S, lambda: has_carrier(name)):
            raise EnvironmentProblemError(f"{name} has no link: plug its cable in")
        go_on = take_routes(card, name)
        if client and not until(time.monotonic() + back_s, lambda: answers(client)):
            raise EnvironmentProblemError(
                f"{client}, from where you are logged in over {card}, does not answer any more"
            )
        still = f", and {client} still answers" if client else ""
        of_slots = masks(name)
        without_slots = bool(of_slots) and not any(classes & 1 for classes in of_slots)
        return json.dumps([still, leases_s(card), cut_off(card, name), without_slots, go_on])

    def back() -> None:
        with suppress(OSError):  # it is gone
            now = socket.if_indextoname(number)  # it may be called otherwise by now
            ip("link", "set", "dev", now, "down")
            give_back(now)

    done = json.loads(guarded(work, back, f"{name} is down again"))
    still, leases, lost, without_slots, go_on = done
    if as_json:
        told = {"ifname": name, "card": card, "client": client, "leases_s": leases}
        told |= {"groups": joined, "masquerades": masquerades, "advertised_end": not go_on}
        return json.dumps({**told, "cut_off": lost, "class_0_without_slots": without_slots})
    if without_slots:
        still += (
            "; but class 0, which all has that nobody gave a priority, has no slots, so that it is"
            f" lost meanwhile: keepon link set {shell_word(name)} class 0 slots rest"
        )
    if lost:
        still += f"; but {lost} of {card} is cut off meanwhile, which needs an MTU of" + (
            " 1280 or more" if lost == "IPv6" else " 68 or more"
        )
    if joined:
        still += (
            f"; but groups joined on {card} are not heard there meanwhile, {', '.join(joined)}:"
            f" have them joined on {name}"
        )
    if masquerades:
        still += f"; but {masquerading_ends(card, name)}"
    if not go_on:
        still += (
            f"; but addresses of IPv6 that {card} has of routers end with their lifetime while"
            f" {name} is up: ip token set ::NUMBER dev {shell_word(card)} first"
        )
    lent = "".join(
        f"; {address} is lent to {card} for {left_s} s more, and what would renew that by {card}"
        f" cannot while {name} is up: give {card} a fixed address"
        for address, left_s in leases.items()
    )
    return f"{name} is up; what {card} sends goes by it{still}{lent}"
