# SPDX-License-Identifier: BSD-3-Clause
"""Parameters of a station with their reasons: slot, partition, polls, lead time, and their
costs.
"""
