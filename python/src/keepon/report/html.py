# SPDX-License-Identifier: BSD-3-Clause
"""What all pages have in common: their templates and how those show numbers."""

from __future__ import annotations

from functools import cache

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from keepon.report.sections import drivers_of, us


@cache
def environment(*packages: str) -> Environment:
    """Templates of ours, and of other packages, that escape what they are given and stop at what
    they are not.
    """
    made = Environment(
        loader=ChoiceLoader(
            [PackageLoader(name, "templates") for name in ("keepon.report", *packages)]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["us"] = us
    made.filters["drivers"] = drivers_of
    return made
