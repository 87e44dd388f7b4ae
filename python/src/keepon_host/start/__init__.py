# SPDX-License-Identifier: BSD-3-Clause
"""Sets a card up with a keepon link, as options or a plan's station say, and puts back what was.

Nothing but the standard library is imported here, so that it runs wherever there is Python. Who
turns a plan into steps is keepon.machines.station.
"""
