# SPDX-License-Identifier: BSD-3-Clause
"""Plans in the formats of other tools: commands, Graphviz, YANG, tsnkit and tsntool files. For
users: docs/export.md.

One file per format makes text from a scenario and its checked plan; `command` chooses, `output`
writes.
"""
