# SPDX-License-Identifier: BSD-3-Clause
"""What all pages have in common: their templates and how those show numbers."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from keepon.report.sections import drivers_of, us


@cache
def environment() -> Environment:
    """Templates that escape what they are given and stop at what they are not."""
    made = Environment(
        loader=PackageLoader("keepon.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["us"] = us
    made.filters["drivers"] = drivers_of
    return made
