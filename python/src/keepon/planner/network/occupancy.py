# SPDX-License-Identifier: BSD-3-Clause
"""Who holds wires, queues and slots when: periodic claims on a resource, and by how much a new one
must move.

A claim has two spans, each [start, end) in every period: two claims fit if one of them is wholly
before the other in both spans, and the other wholly before the next turn of the first. For a wire
both spans are the transmission. For a queue whose frames must keep their order they are the arrival
at the queue and the transmission, so that a frame that is sent first has also come first. Two
periodic claims meet somewhere in all time exactly if they meet modulo the greatest common divisor
of their periods; nothing here grows with the least common multiple.
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
ALONE = -1  # group of claims that meet every other
UNSURE = -1


@dataclass(frozen=True)
class Claim:
    """One claim, times in ps: spans [start, end) and [start_2, end_2), repeated every period.

    Claims of one `group` (not ALONE) do not meet. A `modulus` other than 0 makes both repeat at
    least so often. `queue`: of a frame that surely has a wire for all of the claim, behind a gate
    list by hand; else UNSURE.
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
        """By how much it meets its own next turn, if it is longer than its period; else 0. Of an
        order there is none with itself.
        """
        is_order = self.start_ps != self.start_2_ps
        if is_order or self.group != ALONE:
            return 0
        return max(0, self.end_ps - self.start_ps - self.period_ps)

    def moved(self, by_ps: int) -> Claim:
        """The claim later by this."""
        return Claim(
            self.resource, self.start_ps + by_ps, self.end_ps + by_ps, self.start_2_ps + by_ps,
            self.end_2_ps + by_ps,
            self.period_ps, self.group, self.modulus_ps, self.queue,
        )  # fmt: skip


_COLUMNS = 7  # start, end, start_2, end_2, period, group, queue


class _Table:
    """Claims on one resource as columns."""

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
        """Greatest common divisors of the periods here with the claim's."""
        base = math.gcd(claim.period_ps, claim.modulus_ps)
        if base not in self._common:
            self._common[base] = np.gcd(self.rows[4, : len(self.owners)], base)
        return self._common[base]

    def needs(self, claim: Claim) -> tuple[Any, Any, Any]:
        """For each claim here: the divisor, how much later the new one must be to follow, or sooner
        to precede.
        """
        start, end, start_2, end_2 = self.rows[:4, : len(self.owners)]
        after = np.maximum(end - claim.start_ps, end_2 - claim.start_2_ps)
        before = np.maximum(claim.end_ps - start, claim.end_2_ps - start_2)
        return self.common(claim), after, before

    def strangers(self, claim: Claim) -> Any:
        """Which claims here can meet the new one at all."""
        if claim.group == ALONE:
            return True
        return self.rows[5, : len(self.owners)] != claim.group


class Obstacles:
    """Everything that claims which move together may meet, side by side: one look for all of it.

    By how much a claim comes after the end of another, modulo the divisor of their periods, must
    leave it room before the other's next turn.
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
        """Whether they always meet something."""

    def met(self, by_ps: int) -> tuple[int, int] | None:
        """The first claim that meets something if all move so far, and how much further it must."""
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
        """How much further than `by_ps` a claim must move at least; 0 if it meets nothing there."""
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
        """By how much the claim must at least move later to meet none; 0 if it meets none, NEVER if
        it always will. By `over_ps` if it meets its own next turn: its frame then has to come so
        much later to a gate that it waits for, and where it waits for none no release will do.
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
        """When a frame has left the wire that surely has it at an instant of every period, and goes
        before one of `queue` that is there; None: there is none. What begins just then goes before
        lower queues; of its own queue, isolation sees to the order.
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
        """What claims that move together must not meet."""
        return Obstacles(claims, [self._tables.get(claim.resource) for claim in claims])

    def met_by(self, claim: Claim) -> list[int]:
        """Owners of the claims that this one meets."""
        table = self._tables.get(claim.resource)
        if table is None or not table.owners:
            return []
        common, after, before = table.needs(claim)
        meets = (before - (-after // common) * common > common) & table.strangers(claim)
        return [table.owners[index] for index in np.flatnonzero(meets)]
