# SPDX-License-Identifier: BSD-3-Clause
"""The simulator as a target: its input from scenario and plan, and results from its counts."""

from keepon.errors import EnvironmentProblemError

try:
    import keepon._sim  # noqa: F401
except ImportError as error:
    raise EnvironmentProblemError(
        f"the simulator module cannot be loaded ({error}); build it with `make run`"
    ) from error
