# SPDX-License-Identifier: BSD-3-Clause
"""Studies of time-based transmission as Linux has it: the systems Keepon is compared with."""
