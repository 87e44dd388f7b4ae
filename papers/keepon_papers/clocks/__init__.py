# SPDX-License-Identifier: BSD-3-Clause
"""Published figures of clocks that are set by PTP, made again with the simulator: one module per
figure.

Every number is calculated by runs of scenarios (`clockruns`); the one calibrated input is the delay
of software's stamps of reception (fejes.fig1). Published figures stand beside and nothing is fitted
to them.
"""
