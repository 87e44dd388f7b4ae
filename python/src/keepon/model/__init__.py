# SPDX-License-Identifier: BSD-3-Clause
"""What everything else speaks of: scenarios, plans, results, topology, arithmetic of wire and
slots, hosts.
"""
