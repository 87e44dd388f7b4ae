# SPDX-License-Identifier: BSD-3-Clause
"""From a scenario and its plan to what Linux is told: ip, tc, ethtool, and the keepon
link itself.
"""
