# SPDX-License-Identifier: BSD-3-Clause
"""Queueing disciplines as commands of tc have them: `reader` makes `tree`'s types of a text."""
