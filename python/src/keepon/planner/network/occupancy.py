# SPDX-License-Identifier: BSD-3-Clause
"""Periodic reservations (claims) of wires, queues and slots, and by how much a new claim must move
to fit.

A claim has two spans, each [start, end) in every period. Two claims fit if one precedes the other
in both spans, and the other precedes the next instance of the first. For a wire both spans are the
transmission. For a queue that must keep the order of its frames the spans are the arrival at the
queue and the transmission, so that the frame sent first also arrived first. Two periodic claims
overlap at some time exactly if they overlap modulo the greatest common divisor of their periods;
nothing here grows with the least common multiple.
"""

from __future__ import annotations

import bisect
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Resource = tuple[str, ...]
NEVER = -1
ALONE = -1  # group of claims that conflict with all others
UNSURE = -1
HOST = "host"
"""First part of a resource: what hands over the frames of a station."""


@dataclass(frozen=True)
class Claim:
    """One claim, times in ps: spans [start, end) and [start_2, end_2), repeated every period.

    Claims of the same `group` (not ALONE) do not conflict. A nonzero `modulus_ps` is another period
    of the resource: both spans repeat at least that often. `queue`: the queue of a frame that
    occupies its wire for exactly the claim, behind an explicit gate list; else UNSURE.
    """

    resource: Resource
    start_ps: int
    end_ps: int
    start_2_ps: int
    end_2_ps: int
    period_ps: int
    group: int = ALONE
    modulus_ps: int = 0
    queue: int = UNSURE

    @property
    def over_ps(self) -> int:
        """By how much a claim longer than its period overlaps its own next instance; else 0. Claims
        that keep an order do not conflict with themselves.
        """
        is_order = self.start_ps != self.start_2_ps
        if is_order or self.group != ALONE:
            return 0
        return max(0, self.end_ps - self.start_ps - self.period_ps)

    def moved(self, by_ps: int) -> Claim:
        """The claim, `by_ps` later."""
        return Claim(
            self.resource, self.start_ps + by_ps, self.end_ps + by_ps, self.start_2_ps + by_ps,
            self.end_2_ps + by_ps,
            self.period_ps, self.group, self.modulus_ps, self.queue,
        )  # fmt: skip


_COLUMNS = 7  # start, end, start_2, end_2, period, group, queue


class _Table:
    """Claims on one resource, as columns."""

    def __init__(self) -> None:
        self.rows: NDArray[np.int64] = np.zeros((_COLUMNS, 8), dtype=np.int64)
        self.owners: list[int] = []
        self._common: dict[int, NDArray[np.int64]] = {}

    def add(self, owner: int, claim: Claim) -> None:
        count = len(self.owners)
        if count == self.rows.shape[1]:
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)], axis=1)
        self.rows[:, count] = (
            claim.start_ps, claim.end_ps, claim.start_2_ps, claim.end_2_ps, claim.period_ps,
            claim.group, claim.queue,
        )  # fmt: skip
        self.owners.append(owner)
        self._common.clear()

    def remove(self, owner: int) -> None:
        kept = [index for index, other in enumerate(self.owners) if other != owner]
        self.rows[:, : len(kept)] = self.rows[:, kept]
        self.owners = [self.owners[index] for index in kept]
        self._common.clear()

    def common(self, claim: Claim) -> NDArray[np.int64]:
        """Greatest common divisors of the claim's period and the periods here."""
        base = math.gcd(claim.period_ps, claim.modulus_ps)
        if base not in self._common:
            self._common[base] = np.gcd(self.rows[4, : len(self.owners)], base)
        return self._common[base]

    def needs(self, claim: Claim) -> tuple[Any, Any, Any]:
        """For each claim here: the common divisor, by how much the new claim must move later to
        follow it, and by how much sooner to precede it.
        """
        start, end, start_2, end_2 = self.rows[:4, : len(self.owners)]
        after = np.maximum(end - claim.start_ps, end_2 - claim.start_2_ps)
        before = np.maximum(claim.end_ps - start, claim.end_2_ps - start_2)
        return self.common(claim), after, before

    def strangers(self, claim: Claim) -> Any:
        """Which claims here can conflict with the new one."""
        if claim.group == ALONE:
            return True
        return self.rows[5, : len(self.owners)] != claim.group


class Obstacles:
    """All conflicts of claims that move together, as columns, so that one pass tests a release.

    The new claim fits if its distance behind the end of another one, modulo the common divisor,
    leaves room for it before the other's next instance.
    """

    def __init__(self, claims: list[Claim], tables: list[_Table | None]) -> None:
        divisors, ends, rooms = [], [], []
        self._firsts = [0]
        for claim, table in zip(claims, tables, strict=True):
            count = 0
            if table is not None and table.owners:
                common, after, before = table.needs(claim)
                room = common - (after + before)
                if claim.group != ALONE:
                    others = table.strangers(claim)
                    common, after, room = common[others], after[others], room[others]
                divisors.append(common)
                ends.append(after)
                rooms.append(room)
                count = len(common)
            self._firsts.append(self._firsts[-1] + count)
        self._none = not divisors
        if not self._none:
            self._divisor, self._end, self._room = map(np.concatenate, (divisors, ends, rooms))
        self.never = not self._none and bool((self._room < 0).any())
        """Whether the claims conflict at every release."""

    def met(self, by_ps: int) -> tuple[int, int] | None:
        """The first claim that conflicts if all move by `by_ps`, and how much further it
        must move.
        """
        if self._none:
            return None
        behind = (by_ps - self._end) % self._divisor
        meets = behind > self._room
        first = int(meets.argmax())
        if not meets[first]:
            return None
        number = bisect.bisect_right(self._firsts, first) - 1
        part = slice(first, self._firsts[number + 1])
        return number, int((self._divisor[part] - behind[part])[meets[part]].max())

    def shift_ps(self, number: int, by_ps: int) -> int:
        """How much further than `by_ps` a claim must move at least; 0 if it has no
        conflict there.
        """
        part = slice(self._firsts[number], self._firsts[number + 1])
        if part.start == part.stop:
            return 0
        behind = (by_ps - self._end[part]) % self._divisor[part]
        meets = behind > self._room[part]
        if not meets.any():
            return 0
        return int((self._divisor[part] - behind)[meets].max())


class Occupancy:
    """All claims of all placed flows, by resource."""

    def __init__(self) -> None:
        self._tables: dict[Resource, _Table] = {}
        self._held: dict[int, list[Resource]] = {}

    def add(self, owner: int, claims: list[Claim]) -> None:
        """Record the claims of a flow."""
        for claim in claims:
            self._tables.setdefault(claim.resource, _Table()).add(owner, claim)
        self._held.setdefault(owner, []).extend(claim.resource for claim in claims)

    def remove(self, owner: int) -> None:
        """Forget the claims of a flow."""
        for resource in dict.fromkeys(self._held.pop(owner, [])):
            self._tables[resource].remove(owner)

    def shift_ps(self, claim: Claim) -> int:
        """By how much the claim must move later at least to have no conflict; 0 if it has none,
        NEVER if it always has one. `over_ps` if it overlaps its own next instance: its frame must
        then reach a gate that much later, and if no gate delays the frame, no release fits.
        """
        if over_ps := claim.over_ps:
            return over_ps
        table = self._tables.get(claim.resource)
        if table is None or not table.owners:
            return 0
        common, after, before = table.needs(claim)
        behind = -after % common
        room = common - (after + before)
        meets = (behind > room) & table.strangers(claim)
        if not meets.any():
            return 0
        if ((room < 0) & meets).any():
            return NEVER
        return int((common - behind)[meets].max())

    def busy_until_ps(self, wire: Resource, at_ps: int, period_ps: int, queue: int) -> int | None:
        """When the wire becomes free of a frame that is known to occupy it at `at_ps` of every
        period and to precede a frame of `queue`; None: there is no such frame. A frame that starts
        at `at_ps` precedes lower queues; isolation orders frames of the same queue.
        """
        table = self._tables.get(wire)
        if table is None or not table.owners:
            return None
        rows = table.rows[:, : len(table.owners)]
        since_ps = (at_ps - rows[0]) % rows[4]
        left_ps = rows[1] - rows[0] - since_ps
        before = (left_ps > 0) & (rows[6] != UNSURE) & (period_ps % rows[4] == 0)
        before &= (since_ps > 0) | (rows[6] >= queue)
        return at_ps + int(left_ps[before].max()) if before.any() else None

    def obstacles(self, claims: list[Claim]) -> Obstacles:
        """The conflicts of claims that move together."""
        return Obstacles(claims, [self._tables.get(claim.resource) for claim in claims])

    def met_by(self, claim: Claim) -> list[int]:
        """Owners of the claims that conflict with this one."""
        table = self._tables.get(claim.resource)
        if table is None or not table.owners:
            return []
        common, after, before = table.needs(claim)
        meets = (before - (-after // common) * common > common) & table.strangers(claim)
        return [table.owners[index] for index in np.flatnonzero(meets)]
