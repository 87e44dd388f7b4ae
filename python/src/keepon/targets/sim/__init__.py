# SPDX-License-Identifier: BSD-3-Clause
"""The simulator as a target: what it is told of scenario and plan, and results from its counts."""
