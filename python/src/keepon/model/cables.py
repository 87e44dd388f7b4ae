# SPDX-License-Identifier: BSD-3-Clause
"""What nodes call each other: by name, and behind the first link of the same two bridges by name
and number of the link, `rear#2`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

CABLES_MAX = 8
"""Links that two bridges may have. Chosen."""
Hop = tuple[str, str]
"""A node and what it calls the next one: a port, and one direction of a link."""


def node_of(called: str) -> str:
    """The node of that name.

    >>> node_of("rear#2"), node_of("rear")
    ('rear', 'rear')
    """
    return called.partition("#")[0]


def hops(way: Iterable[str]) -> list[Hop]:
    """The ports that a way leads by.

    >>> hops(["a", "front", "rear#2", "b"])
    [('a', 'front'), ('front', 'rear#2'), ('rear', 'b')]
    """
    return [(node_of(here), there) for here, there in itertools.pairwise(way)]


def back(hop: Hop) -> Hop:
    """The other direction of the same link.

    >>> back(("front", "rear#2"))
    ('rear', 'front#2')
    """
    node, *number = hop[1].split("#")
    return node, "#".join([hop[0], *number])


def directions(links: Iterable[Sequence[str]]) -> Iterator[tuple[Hop, Hop]]:
    """Both directions of each link, by its ends, the one from its first end first.

    >>> list(directions([("a", "b"), ("b", "a")]))[1]
    (('b', 'a#2'), ('a', 'b#2'))
    """
    seen = Counter[frozenset[str]]()
    for first, second in links:
        pair = frozenset((first, second))
        seen[pair] += 1
        mark = f"#{seen[pair]}" if seen[pair] > 1 else ""
        yield (first, second + mark), (second, first + mark)
