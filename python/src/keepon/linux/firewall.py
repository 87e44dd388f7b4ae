# SPDX-License-Identifier: BSD-3-Clause
"""Rules of a firewall that name a card: what goes by another device passes them by.

Source: nft(8) `list ruleset`, iptables-save(8); meta iifname and oifname, `-i` and `-o`, `+` and
`*` behind the beginning of a name.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from fnmatch import fnmatchcase

from keepon.errors import EnvironmentProblemError, shell_word

LISTED = (
    ("nft", "list", "ruleset"),
    ("iptables-legacy-save",),
    ("ip6tables-legacy-save",),
    ("ebtables-legacy-save",),
)
"""What lists all that counts; `iptables-nft` is among the first."""
TIMEOUT_S = 30
NAMED = re.compile(r'"([^"]+)"|(?:-i|-o|--physdev-in|--physdev-out) (\S+)')


def check_twins(nic: str, device: str) -> None:
    """Whether a firewall that names a card names the device on it as often: what is closed to the
    card shall not be open by it.

    Raises:
        EnvironmentProblemError: it does not; the message has the first rule. Or it does not say.
    """
    for words in LISTED:
        if shutil.which(words[0]) is None:
            continue
        rules = _listed(words)
        of_card, of_device = (_naming(rules, name) for name in (nic, device))
        if len(of_card) > len(of_device):
            raise EnvironmentProblemError(
                f"{len(of_card)} rules of the firewall name {nic} ({' '.join(words)}), the first"
                f" `{of_card[0]}`, and {len(of_device)} name {device}, by which its traffic would"
                f" pass them by: have the same rules for {shell_word(device)} first"
            )


def _listed(words: tuple[str, ...]) -> str:
    """What a program lists; nothing where the kernel has no such firewall."""
    try:
        return subprocess.run(
            words, capture_output=True, text=True, check=False, timeout=TIMEOUT_S, errors="replace"
        ).stdout
    except subprocess.TimeoutExpired as error:
        raise EnvironmentProblemError(
            f"{' '.join(words)} does not answer within {TIMEOUT_S} s, so that nobody could tell"
            " which rules the card has; see what keeps it"
        ) from error


def _naming(rules: str, name: str) -> list[str]:
    """Lines in which something matches the name; comments of rules apart."""
    found = []
    for line in rules.splitlines():
        plain = re.sub(r'(comment|log prefix) "[^"]*"', "", line)
        patterns = (quoted or bare for quoted, bare in NAMED.findall(plain))
        if any(fnmatchcase(name, each.strip('"').replace("+", "*")) for each in patterns):
            found.append(" ".join(line.split()))
    return found
