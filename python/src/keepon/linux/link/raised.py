# SPDX-License-Identifier: BSD-3-Clause
"""`keepon link up`: a link comes up, and what its card sends itself goes by it, for the card's own
way is closed from then on; down again if that cuts the connection this is called over.
"""

from __future__ import annotations

import json
import time

from keepon.errors import ConfigError, EnvironmentProblemError
from keepon.linux.interface import ROLLBACK_MAX_S, answers, client_over, has_carrier, ip, until
from keepon.linux.taken import check_alone, take_routes

BACK_S = 30.0
CARRIER_WAIT_S = 15.0


def up(name: str, back_s: float, as_json: bool) -> str:
    """Set a link up, with the routes of the card below.

    Args:
        back_s: within how many seconds the other end of an ssh connection over the card answers.

    Raises:
        ConfigError: it is no keepon link, or `back_s` is out of its range.
        EnvironmentProblemError: something else is on the card, the link has no carrier, a route
            cannot go by it, or nobody answers; it is down again.
    """
    if not 0 < back_s <= ROLLBACK_MAX_S:
        raise ConfigError(
            f"option --rollback = {back_s:g}: must be above 0 and at most {ROLLBACK_MAX_S:g}"
            " seconds"
        )
    found = [
        each for each in json.loads(ip("-d", "-json", "link", "show")) if each["ifname"] == name
    ]
    if not found or found[0].get("linkinfo", {}).get("info_kind") != "keepon":
        raise ConfigError(
            f'argument NAME = "{name}": is no keepon link; keepon link show lists them'
        )
    (link,) = found
    if "UP" in link["flags"]:
        raise ConfigError(f'argument NAME = "{name}": is up already; set it down first')
    card = link["link"]
    check_alone(card, name)
    client = client_over(card)
    if client and not answers(client):
        raise EnvironmentProblemError(
            f"{client}, from where you are logged in over {card}, does not answer ping, so that"
            " nobody could tell whether it comes back; allow it"
        )
    try:
        ip("link", "set", "dev", name, "up")
        if not until(time.monotonic() + CARRIER_WAIT_S, lambda: has_carrier(name)):
            raise EnvironmentProblemError(f"{name} has no link: plug its cable in")
        take_routes(card, name)
        if client and not until(time.monotonic() + back_s, lambda: answers(client)):
            raise EnvironmentProblemError(
                f"{client}, from where you are logged in over {card}, does not answer any more"
            )
    except BaseException as error:
        ip("link", "set", "dev", name, "down")
        if isinstance(error, EnvironmentProblemError):
            raise EnvironmentProblemError(f"{error}; {name} is down again") from error
        raise
    told = {"ifname": name, "card": card, "client": client}
    still = f", and {client} still answers" if client else ""
    return json.dumps(told) if as_json else f"{name} is up; what {card} sends goes by it{still}"
