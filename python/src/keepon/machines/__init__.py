# SPDX-License-Identifier: BSD-3-Clause
"""From a scenario and its plan to commands of Linux for stations and guests: ip, tc, ethtool."""
