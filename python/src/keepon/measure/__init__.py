# SPDX-License-Identifier: BSD-3-Clause
"""From observations to numbers: which frames were due, what became of them, statistics,
captures.
"""
