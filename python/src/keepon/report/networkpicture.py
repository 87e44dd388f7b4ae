# SPDX-License-Identifier: BSD-3-Clause
"""The network of the report as an SVG file that stands alone, with or without a plan."""

from __future__ import annotations

import re

from keepon.model.plan import Plan
from keepon.model.scenario import Scenario
from keepon.report import screen, topology
from keepon.report.grids import WIDTHS
from keepon.report.html import environment

_FONT = 'svg { font-family: "DejaVu Sans", sans-serif; background: #ffffff }'


def svg(scenario: Scenario, plan: Plan | None) -> str:
    """Without a plan nodes, cables, rates and what stations send; with it routes and use of links,
    too. On light paper: few programs but browsers know the variables of style.css.
    """
    used = () if plan is None else screen.uses(scenario, plan)
    picture = topology.drawn(scenario.effective(), plan, used)
    template = environment().get_template("macros.html.j2")
    drawing = str(template.make_module().drawing(picture)).strip()  # type: ignore[attr-defined]
    style = environment().get_template("style.css.j2").render(widths=WIDTHS)
    colours = dict(re.findall(r"(--\w+): (#\w+)", style.partition("@media")[0]))
    rules = "\n".join(re.findall(r"(?m)^\.(?:network|s0) .*$", style))
    flat = re.sub(r"var\((--\w+)\)", lambda found: colours[found[1]], rules)
    tag, _, rest = drawing.partition(">")
    size = f'xmlns="http://www.w3.org/2000/svg" width="{picture.width + 4:.0f}"'
    return f"{tag} {size}>\n<style>{_FONT}\n{flat}</style>{rest}\n"
