# SPDX-License-Identifier: BSD-3-Clause
"""Credit-based shapers of bridges: their table, and what must fit together.

IEEE Std 802.1Q-2022 clause 8.6.8.2, of which IEEE Std 802.1Qav-2009 was the amendment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from keepon.errors import ConfigError
from keepon.model.cables import directions, node_of
from keepon.model.fields import NameList, Whole
from keepon.model.policing import RATE_BPS_MAX
from keepon.model.tables import Table

if TYPE_CHECKING:
    from keepon.model.scenario import Bridge, Scenario


class Shaper(Table):
    """A credit-based shaper of a traffic class (IEEE Std 802.1Q-2022 clause 8.6.8.2)."""

    priority: Annotated[int, Whole(0, 7)]
    """Priority (PCP) whose traffic class it shapes."""
    idle_slope_bps: Annotated[int, Whole(1, RATE_BPS_MAX)]
    """Bits a second that the class has of a link, frames with preamble and gap (adminIdleSlope).
    Where its gate shuts, credit grows by so much more while it is open that this rate remains."""
    ports: Annotated[list[str], NameList(0, 4_096)] = Field(default_factory=list)
    """Neighbours towards which it shapes, by all links to them. Left out: all."""

    def shapes(self, peer: str) -> bool:
        return not self.ports or node_of(peer) in self.ports


def slopes(bridge: Bridge, peer: str) -> dict[int, int]:
    """Idle slope of each shaped class of a bridge's port, in bit/s."""
    return {
        bridge.class_of(shaper.priority): shaper.idle_slope_bps
        for shaper in bridge.shaper
        if shaper.shapes(peer)
    }


def check(scenario: Scenario, source: str) -> None:
    """Refuse slopes that a port cannot have.

    Raises:
        ConfigError: one sentence on the first.
    """
    for index, bridge in enumerate(scenario.bridge):
        ways = directions(link.ends for link in scenario.link)
        rates = {
            there: link.rate_bps or scenario.defaults.rate_bps
            for link, both in zip(scenario.link, ways, strict=True)
            for here, there in both
            if here == bridge.name
        }
        left, shaped = dict(rates), set[tuple[str, int]]()
        for place, shaper in enumerate(bridge.shaper):
            where = f"{source}: key `bridge[{index}].shaper[{place}]"
            owner = f'(bridge "{bridge.name}") ='
            own = bridge.class_of(shaper.priority)
            if scenario.sync.by_ptp and own == bridge.class_of(scenario.sync.priority):
                raise ConfigError(
                    f"{where}.priority` {owner} {shaper.priority}: must have another traffic class"
                    f" than PTP's messages, whose priority is {scenario.sync.priority}; change"
                    " sync.priority"
                )
            for number, peer in enumerate(shaper.ports):
                if peer not in rates:
                    raise ConfigError(
                        f'{where}.ports[{number}]` {owner} "{peer}": no such neighbour; it has'
                        f" {', '.join(rates)}"
                    )
            for peer in filter(shaper.shapes, rates):
                if (peer, own) in shaped:
                    raise ConfigError(
                        f"{where}.priority` {owner} {shaper.priority}: its traffic class {own} has"
                        f' a shaper towards "{peer}" already; leave one out'
                    )
                shaped.add((peer, own))
                if shaper.idle_slope_bps > left[peer]:
                    raise ConfigError(
                        f"{where}.idle_slope_bps` {owner} {shaper.idle_slope_bps}: must be at most"
                        f' {left[peer]}, what the link to "{peer}" ({rates[peer]} bit/s) has left'
                        " by other shapers; lower one of them"
                    )
                left[peer] -= shaper.idle_slope_bps
