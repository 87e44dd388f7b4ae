# SPDX-License-Identifier: BSD-3-Clause
"""What only a measurement tells of a card: does it pace, does a bad FCS leave; by hwcheck."""

from __future__ import annotations

from typing import Any

from keepon_host.doctor.checks import OK, PROBLEM, UNKNOWN, Answer, Check
from keepon_host.errors import KeeponError, one_line, shell_word
from keepon_host.hwcheck import command as hwcheck

NAMES = ("pace", "bad FCS")
LIMITS = "driver's limits"
WHY_MAX = 200
STATES = {True: OK, False: PROBLEM, None: UNKNOWN}


def remedy(name: str, peer: str | None, native: bool) -> str:
    """What measures it by hand; without a peer all but the bad FCS."""
    module, option = ("", "") if native else ("keepon_generic ", " --backend generic")
    far = f" --peer {shell_word(peer)}" if peer else ""
    return f"modprobe -a {module}keepon_hwcheck && keepon hwcheck {shell_word(name)}{far}{option}"


def unmeasured(name: str, why: str, shown: str) -> list[Check]:
    return [Check(name, each, UNKNOWN, why, shown) for each in (*NAMES, LIMITS)]


def judged(name: str, document: dict[str, Any], shown: str) -> list[Check]:
    """The findings of a document of hwcheck that answer our questions, and all others in one."""
    answers = {}
    for finding in document["findings"]:
        if finding["name"] in NAMES:
            state = STATES[finding["holds"]]
            found = f"said {finding['said']}; measured {finding['measured']}"
            answers[finding["name"]] = Answer(state, found, "" if state == OK else shown)
    holds = [finding["holds"] for finding in document["findings"]]
    state = PROBLEM if False in holds else OK if document["safe"] else UNKNOWN
    answers[LIMITS] = Answer(state, document["verdict"], "" if state == OK else shown)
    missing = Answer(UNKNOWN, "not measured", shown)
    answered = [(each, answers.get(each, missing)) for each in (*NAMES, LIMITS)]
    return [Check(name, each, one.state, one.found, one.remedy) for each, one in answered]


def measure(name: str, peer: str | None, native: bool, shown: str) -> list[Check]:
    """Measure it; if that cannot be done, why."""
    backend = "native" if native else "generic"
    try:
        document = hwcheck.check(name, peer, backend, hwcheck.SLOT_BYTES)
    except (KeeponError, OSError) as error:
        return unmeasured(name, f"not measured: {one_line(error, WHY_MAX)}", shown)
    return judged(name, document, shown)
