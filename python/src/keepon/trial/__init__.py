# SPDX-License-Identifier: BSD-3-Clause
"""A plan tried in the simulator before it is printed."""
