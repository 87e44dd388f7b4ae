# SPDX-License-Identifier: BSD-3-Clause
"""Shapers of bridges: their table, and what must fit together.

IEEE Std 802.1Q-2022 clauses 8.6.8.2 and 8.6.8.5, of which IEEE Std 802.1Qav-2009 and 802.1Qcr-2020
were the amendments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from keepon.errors import ConfigError
from keepon.model.cables import directions, node_of
from keepon.model.fields import NameList, Whole
from keepon.model.policing import RATE_BPS_MAX
from keepon.model.tables import Table

if TYPE_CHECKING:
    from keepon.model.scenario import Bridge, Scenario


class Shaper(Table):
    """A shaper of a traffic class (IEEE Std 802.1Q-2022 clauses 8.6.8.2 and 8.6.8.5)."""

    priority: Annotated[int, Whole(0, 7)]
    """Priority (PCP) whose traffic class it shapes."""
    kind: Literal["credit-based", "asynchronous"] = "credit-based"
    """"asynchronous": frames are sent in the order of the instants that the ATS schedulers of their
    streams give them; the plan has the committed rate and burst of each."""
    idle_slope_bps: Annotated[int | None, Whole(1, RATE_BPS_MAX)] = None
    """Bits a second that a credit-based class has of a link, frames with preamble and gap
    (adminIdleSlope). Where its gate shuts, credit grows by so much more while it is open that this
    rate remains. Left out: for kind "asynchronous" alone."""
    ports: Annotated[list[str], NameList(0, 4_096)] = Field(default_factory=list)
    """Neighbours towards which it shapes, by all links to them. Left out: all."""

    def shapes(self, peer: str) -> bool:
        return not self.ports or node_of(peer) in self.ports


def _classes(bridge: Bridge, peer: str) -> dict[int, int | None]:
    return {
        bridge.class_of(shaper.priority): shaper.idle_slope_bps
        for shaper in bridge.shaper
        if shaper.shapes(peer)
    }


def slopes(bridge: Bridge, peer: str) -> dict[int, int]:
    """Idle slope of each class of a bridge's port with credit, in bit/s."""
    return {own: slope for own, slope in _classes(bridge, peer).items() if slope is not None}


def asynchronous(bridge: Bridge, peer: str) -> set[int]:
    """Classes of a bridge's port that send by eligibility time."""
    return {own for own, slope in _classes(bridge, peer).items() if slope is None}


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
            if (shaper.idle_slope_bps is None) != (shaper.kind == "asynchronous"):
                raise ConfigError(
                    f'{where}.kind` {owner} "{shaper.kind}": goes without idle_slope_bps if it is'
                    ' "asynchronous", and needs it if not; change one of the two'
                )
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
                slope_bps = shaper.idle_slope_bps or 0
                if slope_bps > left[peer]:
                    raise ConfigError(
                        f"{where}.idle_slope_bps` {owner} {slope_bps}: must be at most"
                        f' {left[peer]}, what the link to "{peer}" ({rates[peer]} bit/s) has left'
                        " by other shapers; lower one of them"
                    )
                left[peer] -= slope_bps
