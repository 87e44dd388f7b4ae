# SPDX-License-Identifier: BSD-3-Clause
"""Which driver a card gets for its link: one of Keepon's, or the one it has."""

from __future__ import annotations

from keepon_host import bind
from keepon_host.doctor import cards
from keepon_host.doctor.asked import driver_of
from keepon_host.doctor.tree import Tree
from keepon_host.errors import ConfigError, EnvironmentProblemError, shell_word

CHOICES = ("auto", "keepon", "kernel")
"""auto: Keepon's where it has one for the card, otherwise the kernel's."""
BIND, NATIVE, GENERIC = "bind", "native", "generic"


def way(nic: str, wanted: str) -> str:
    """BIND: the card has to be given to Keepon's driver; NATIVE: its driver lends its ring;
    GENERIC: the link goes through its driver.

    Raises:
        ConfigError: `wanted` is none of CHOICES, or cannot be for this card.
        EnvironmentProblemError: nothing of Keepon sends through such a card.
    """
    if wanted not in CHOICES:
        raise ConfigError(f'option --driver = "{wanted}": must be one of {", ".join(CHOICES)}')
    tree, driver = Tree(), driver_of(nic)
    found = cards.known(tree.chip(nic), driver, tree.is_card(nic))
    if driver in cards.LENDING:
        if wanted == "kernel" and driver in bind.DRIVERS.values():
            raise ConfigError(
                f"option --driver = kernel: {nic} is with {driver}; give it back first with keepon"
                f" unbind {shell_word(nic)}"
            )
        return NATIVE
    if found.backend == cards.NO:
        raise EnvironmentProblemError(f"{nic} ({driver or 'no driver'}): {found.why}")
    if wanted == "keepon" or (wanted == "auto" and found.backend == cards.YES):
        return BIND
    return GENERIC
