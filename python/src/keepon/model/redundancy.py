# SPDX-License-Identifier: BSD-3-Clause
"""Frame replication and elimination for reliability (FRER, IEEE Std 802.1CB-2017): what a stream
with two ways may choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from keepon.model.fields import Whole
from keepon.model.tables import SECOND_NS, Table

if TYPE_CHECKING:
    from keepon.model.scenario import Scenario, Stream

DUPLICATE = " duplicate"
"""How the name of a place ends where copies of frames end that came before."""
RTAG_BYTES = 6


class Frer(Table):
    """What tells copies of a stream's frames apart, with `redundancy = 2`."""

    algorithm: Literal["vector", "match"] = "vector"
    """Sequence recovery: "vector" knows the last `history_length` numbers (clause 7.4.3.4), "match"
    the last one alone (clause 7.4.3.5), so that no copy may come after the next frame."""
    history_length: Annotated[int, Whole(2, 32_767)] = 64
    """Numbers from the last one that passed within which a frame may pass; others are rogue
    (frerSeqRcvyHistoryLength, 2 by the standard's default). More than how many frames a copy may be
    behind, and one more; and than how many in a row are lost on both ways, or with `individual` on
    one."""
    reset_ns: Annotated[int, Whole(1, 1_000 * SECOND_NS)] = SECOND_NS
    """Time in ns without a frame that passes after which any number does (frerSeqRcvyResetMSec)."""
    individual: bool = False
    """Whether frames of each way are recovered by themselves first, which stops a sender that
    repeats one (frerSeqRcvyIndividualRecovery)."""
    tagged_by: Literal["bridge", "talker"] = "bridge"
    """Who puts in R-tags: the first bridge, for talkers that know nothing of them, or the talker,
    whose `frame_bytes` then have the 6 bytes of the tag in them."""
    latent_period_ns: Annotated[int, Whole(0, 1_000 * SECOND_NS)] = 2 * SECOND_NS
    """Time in ns between tests for latent errors (clause 7.4.4): whether each frame that passed had
    a copy that did not. 0: none."""
    latent_reset_ns: Annotated[int, Whole(1, 1_000 * SECOND_NS)] = 30 * SECOND_NS
    """Time in ns after which these tests begin to count again."""
    latent_difference: Annotated[int, Whole(0, 1_000_000)] = 16
    """Copies that may be missing, as those on their way, before a test finds an error. Chosen."""


def wrong_key(scenario: Scenario, stream: Stream) -> tuple[str, Any, str] | None:
    """Key of a stream, value and rule of what is wrong with its redundancy; None if nothing is."""
    if stream.redundancy == 1:
        if stream.frer == Frer():
            return None
        return "redundancy", 1, "must be 2 with a table `frer`; state it, or leave the table out"
    if len(stream.listeners) > 1:
        return "listeners", stream.listeners, "must be one with redundancy = 2; give each a stream"
    if scenario.station_named(stream.talker).driver == "foreign":
        return (
            "redundancy",
            2,
            'must be 1 where the talker is of driver "foreign", of no known time',
        )
    return None
