# SPDX-License-Identifier: BSD-3-Clause
"""The network planner: routes, releases and gate lists of all streams together."""
