# SPDX-License-Identifier: BSD-3-Clause
"""Why a station's parameters are what they are: slot, partition, polls, lead time, and what each of
them costs.
"""
