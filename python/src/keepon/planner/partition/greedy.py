# SPDX-License-Identifier: BSD-3-Clause
"""Schedules with jitter by greedy placement on bit masks over the cycle L, with seeded restarts.

Streams are placed one by one: a stream takes the phase that needs the fewest new ring slots, then
each of its windows takes a slot of its class. A stream that finds no place moves to the front of
the next attempt, so that streams that are hard to place come first ("squeaky wheel"). A failure
proves nothing. A mask is one Python integer with a bit per slot of L.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from keepon.planner.partition.problem import UNOWNED, Problem, Stream, Witness

CYCLE_SLOTS_MAX = 200_000
PHASES_TRIED_MIN = 16
PHASES_TRIED_MAX = 256
"""Most phases of one stream tried in one attempt; more are sampled. WORK_MAX may reduce the
number.
"""
WORK_MAX = 20_000_000
"""Most streams x phases x ring slots / 8 x 512-bit words of a mask in one attempt: some seconds."""
LOOK_BITS = 1 << 24
"""Bits of masks between two looks at the clock: some milliseconds."""


def tiled(pattern_step: int, length: int) -> int:
    """Mask with the bits 0, step, 2 step ... below length set; step divides length."""
    mask, width = 1, pattern_step
    while width < length:
        mask |= mask << width
        width *= 2
    return mask & ((1 << length) - 1)


class Masks:
    """Rotations of masks of L bits."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.all = (1 << length) - 1

    def earlier(self, mask: int, slots: int) -> int:
        """Bit t of the result is bit t + slots of the mask, around the cycle."""
        slots %= self.length
        return (mask >> slots) | (mask << (self.length - slots) & self.all)

    def reach(self, mask: int, span: int) -> int:
        """Bit t is set if any of the bits t ... t + span of the mask is."""
        done = 0
        while done < span:
            step = min(done + 1, span - done)
            mask |= self.earlier(mask, step)
            done += step
        return mask

    def runs(self, mask: int, length: int) -> int:
        """Bit t is set if all of the bits t ... t + length - 1 of the mask are."""
        done = 1
        while done < length:
            step = min(done, length - done)
            mask &= self.earlier(mask, step)
            done += step
        return mask


class _StoppedError(Exception):
    """stop() ends the search."""


@dataclass
class _State:
    """Slots taken during one attempt."""

    owners: list[int]
    left: int
    owned: list[int]
    used: list[int]
    phases: dict[int, int] = field(default_factory=dict)
    starts: dict[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class _Option:
    phase: int
    claims: tuple[int, ...]


class Greedy:
    """Attempts for one problem; masks that depend on ring and periods only are made once."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.random = random.Random(seed)
        self.masks = Masks(problem.cycle_slots)
        self.ring_mask = tiled(problem.ring_slots, problem.cycle_slots)
        self.combs = {
            s.period_slots: tiled(s.period_slots, problem.cycle_slots) for s in problem.streams
        }
        self.placed_most = 0
        self._stop: Callable[[], bool] = bool
        self._bits = 0
        work = (
            len(problem.streams) * (1 + problem.cycle_slots // 512) * (1 + problem.ring_slots // 8)
        )
        self.phases_tried = min(max(WORK_MAX // work, PHASES_TRIED_MIN), PHASES_TRIED_MAX)

    def _slot_mask(self, slot: int) -> int:
        return self.ring_mask << slot

    def _worked(self, masks: int) -> None:
        """Count the bits of processed masks, and call stop() after every LOOK_BITS of them.

        Raises:
            _StoppedError: stop() returned true.
        """
        self._bits += masks * self.masks.length
        if self._bits >= LOOK_BITS:
            self._bits = 0
            if self._stop():
                raise _StoppedError

    def solve(self, attempts: int, stop: Callable[[], bool]) -> Witness | None:
        """Make up to `attempts` attempts; None if none placed every stream, or stop() returned
        true.
        """
        self._stop = stop
        try:
            return self._attempts(attempts)
        except _StoppedError:
            return None

    def _attempts(self, attempts: int) -> Witness | None:
        order = sorted(
            self.problem.streams,
            key=lambda s: (s.jitter_slots // self.problem.ring_gcd(s), s.period_slots, s.index),
        )
        for attempt in range(attempts):
            state = _State(
                owners=[UNOWNED] * self.problem.ring_slots,
                left=self.problem.ownable_slots,
                owned=[0] * self.problem.owner_count,
                used=[0] * self.problem.owner_count,
            )
            stuck = None
            for stream in order:
                if self._stop():
                    return None
                if not self._place(state, stream, randomised=attempt > 0):
                    stuck = stream
                    break
            self.placed_most = max(self.placed_most, len(state.phases))
            if stuck is None:
                streams = self.problem.streams
                phases = tuple(state.phases[s.index] for s in streams)
                return Witness(
                    tuple(state.owners), phases, tuple(state.starts[s.index] for s in streams)
                )
            order.remove(stuck)
            order.insert(
                self.random.randrange(max(1, len(state.phases) // 2)) if attempt % 3 == 2 else 0,
                stuck,
            )
            if attempt % 8 == 7:
                self.random.shuffle(order)
        return None

    def _place(self, state: _State, stream: Stream, randomised: bool) -> bool:
        available = state.owned[stream.owner] & ~state.used[stream.owner]
        startable = self.masks.runs(available, stream.length_slots)
        covered = self.masks.reach(startable, stream.jitter_slots)
        comb = self.combs[stream.period_slots]
        found: list[_Option] = []
        fewest = state.left + 1
        candidates = self._claims(state, stream, available)
        for phase in self._phases(stream):
            missing = self._rotated(comb, phase) & ~covered
            claims = self._cover(missing, candidates, min(fewest, state.left), randomised)
            if claims is None:
                continue
            if len(claims) < fewest:
                fewest, found = len(claims), []
            found.append(_Option(phase, claims))
            if fewest == 0 and not randomised:
                break
        while found:
            option = found.pop(self.random.randrange(len(found)) if randomised else 0)
            if self._take(state, stream, option, latest=randomised and self.random.random() < 0.5):
                return True
        return False

    def _phases(self, stream: Stream) -> list[int]:
        phases = stream.phases
        if len(phases) <= self.phases_tried:
            return list(phases)
        return sorted(self.random.sample(phases, self.phases_tried))

    def _rotated(self, mask: int, phase: int) -> int:
        return self.masks.earlier(mask, self.masks.length - phase % self.masks.length)

    def _claims(
        self, state: _State, stream: Stream, available: int
    ) -> list[tuple[int, tuple[int, ...]]]:
        """For each choice of new ring slots for a start at one ring slot: (mask of covered windows,
        slots to take).
        """
        ring = self.problem.ring_slots
        found = []
        for slot in range(ring):
            self._worked(1)
            places = [(slot + ahead) % ring for ahead in range(stream.length_slots)]
            if any(
                p in self.problem.unowned or state.owners[p] not in (UNOWNED, stream.owner)
                for p in places
            ):
                continue
            new = tuple(p for p in places if state.owners[p] == UNOWNED)
            if not 1 <= len(new) <= state.left:
                continue
            widened = available
            for place in new:
                widened |= self._slot_mask(place)
            starts = self._slot_mask(slot) & self.masks.runs(widened, stream.length_slots)
            found.append((self.masks.reach(starts, stream.jitter_slots), new))
        return found

    def _cover(
        self,
        missing: int,
        candidates: list[tuple[int, tuple[int, ...]]],
        most: int,
        randomised: bool,
    ) -> tuple[int, ...] | None:
        """Ring slots that cover all missing windows, the most windows per new slot first; None if
        they are more than `most`.
        """
        claims: list[int] = []
        while missing:
            self._worked(len(candidates))
            best, rate = -1, 0.0
            for index, (covers, new) in enumerate(candidates):
                count = (covers & missing).bit_count() / len(new)
                if count > rate or (
                    randomised and count == rate > 0 and self.random.random() < 0.3
                ):
                    best, rate = index, count
            if best < 0:
                return None
            covers, new = candidates[best]
            missing &= ~covers
            claims += [slot for slot in new if slot not in claims]
            if len(claims) > most:
                return None
        return tuple(claims)

    def _take(self, state: _State, stream: Stream, option: _Option, latest: bool) -> bool:
        """Fix the starts of a stream and take its slots; False, with nothing taken, if its own
        windows collide.
        """
        cycle = self.problem.cycle_slots
        owned = state.owned[stream.owner]
        for slot in option.claims:
            owned |= self._slot_mask(slot)
        used = state.used[stream.owner]
        starts = []
        waits = range(stream.jitter_slots, -1, -1) if latest else range(stream.jitter_slots + 1)
        for number in range(cycle // stream.period_slots):
            begin = option.phase + number * stream.period_slots
            for wait in waits:
                places = [(begin + wait + ahead) % cycle for ahead in range(stream.length_slots)]
                if all(owned >> place & 1 and not used >> place & 1 for place in places):
                    break
            else:
                return False
            for place in places:
                used |= 1 << place
            starts.append(places[0])
        state.owned[stream.owner], state.used[stream.owner] = owned, used
        for slot in option.claims:
            state.owners[slot] = stream.owner
        state.left -= len(option.claims)
        state.phases[stream.index] = option.phase
        state.starts[stream.index] = tuple(starts)
        return True
