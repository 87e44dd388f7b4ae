# SPDX-License-Identifier: BSD-3-Clause
"""Sets a machine up as a plan's station, and puts back what was there before.

Nothing but the standard library is imported here, so that it runs wherever there is Python. Who
turns a plan into steps is keepon.linux.station.
"""
