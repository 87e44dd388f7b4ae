# SPDX-License-Identifier: BSD-3-Clause
"""Networks for the planner's tests, written as a user would, and a slow search that only the
checker judges.
"""

from __future__ import annotations

import itertools
from typing import Any

from keepon.errors import ConfigError, InfeasibleError
from keepon.model import loading
from keepon.model.scenario import Scenario
from keepon.planner.network import bounds
from keepon.planner.network.flows import Placement
from keepon.planner.network.grid import on_grid
from keepon.planner.network.ground import Ground
from keepon.planner.network.solve import Outcome, as_document, decide
from keepon.planner.partition.limits import Limits
from keepon.planner.verify import problems


def star(streams: list[dict[str, Any]], extra: str = "", slot_bytes: int | str = 230) -> Scenario:
    """Talkers with slots of 2 us at one bridge, one listener "z" behind it; a stream names its
    talker and keys.
    """
    talkers = list(dict.fromkeys(stream["talker"] for stream in streams))
    text = (
        f'schema = "keepon.scenario/1"\nname = "star"\nduration_s = 0.01\nwarmup_s = 0.0\n{extra}\n'
    )
    text += '[[station]]\nname = "z"\ndriver = "launchtime"\nhost = "tsn-end-station"\n'
    text += '[[bridge]]\nname = "br"\n[[link]]\nends = ["z", "br"]\n'
    for name in talkers:
        text += f'[[station]]\nname = "{name}"\nkeepon = {{ slot_bytes = {slot_bytes} }}\n'
        text += f'[[link]]\nends = ["{name}", "br"]\n'
    for number, stream in enumerate(streams):
        keys = {
            "id": f"F{number}",
            "listeners": ["z"],
            "frame_bytes": 200,
            "advance_ns": 400_000,
            **stream,
        }
        text += "[[stream]]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in keys.items())
    return loading.parse(text, "star.toml")


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(entry) for entry in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def decided(scenario: Scenario) -> tuple[str, dict[str, Any] | None]:
    """The planner's answer without its search for a change that helps, or "refused"; and the plan
    if there is one.
    """
    try:
        ground = Ground(scenario)
        bounds.refuse(ground)
        outcome = decide(ground, Limits())
        return outcome.status, as_document(outcome) if outcome.status == "feasible" else None
    except InfeasibleError:
        return "infeasible", None
    except ConfigError:
        return "refused", None


def ground_of(scenario: Scenario) -> Ground | None:
    """The ground of a scenario, if its stations have slots."""
    try:
        return Ground(scenario)
    except InfeasibleError:
        return None


def closes(ground: Ground, placed: dict[int, list[Placement]]) -> bool:
    """Whether gate lists of these placements set frames right that come early: none is open all the
    time.
    """
    try:
        as_document(Outcome(ground, "feasible", "all", placed))
    except InfeasibleError:
        return False
    return True


def some_releases_hold(scenario: Scenario) -> bool:
    """Whether any combination of releases, without waiting at bridges, gives a plan that the
    checker accepts.
    """
    try:
        ground = Ground(scenario)
    except InfeasibleError:
        return False  # no partition, which test_partition_answers compares with brute force
    choices = []
    for flow in ground.flows:
        releases, at_ps = [], on_grid(flow.station, flow.stream, 0)
        while at_ps < flow.period_ps:
            releases.append(at_ps)
            at_ps = on_grid(flow.station, flow.stream, at_ps + 1)
        choices.append(releases)
    for releases in itertools.product(*choices):
        placed = {}
        for flow, release_ps in zip(ground.flows, releases, strict=True):
            placement = ground.lay(flow, flow.trees[0], release_ps)
            assert not isinstance(placement, int)
            placed[flow.number] = [placement]
        try:
            document = as_document(Outcome(ground, "feasible", "all", placed))
        except InfeasibleError:
            continue
        if not problems(scenario, document):
            return True
    return False


# Frames of 5 us every 20 and 30 us cannot keep apart: they come together every 10 us. The third is
# not to blame.
CLASH = [
    {"talker": "a", "period_ns": 20_000, "frame_bytes": 590},
    {"talker": "b", "period_ns": 30_000, "frame_bytes": 590},
    {"talker": "c", "period_ns": 60_000, "frame_bytes": 590},
]


def clash(**keys: Any) -> Scenario:
    """Streams that cannot keep apart; `keys` of all of them."""
    return star([{**stream, **keys} for stream in CLASH], slot_bytes=605)
