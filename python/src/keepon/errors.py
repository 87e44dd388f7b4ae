# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of keepon_host, and those that only designing a network raises."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from keepon_host.errors import (
    EXIT_DEFECT as EXIT_DEFECT,
)
from keepon_host.errors import (
    EXIT_ENVIRONMENT as EXIT_ENVIRONMENT,
)
from keepon_host.errors import (
    EXIT_INPUT as EXIT_INPUT,
)
from keepon_host.errors import (
    EXIT_INTERRUPTED as EXIT_INTERRUPTED,
)
from keepon_host.errors import (
    EXIT_MET as EXIT_MET,
)
from keepon_host.errors import (
    EXIT_MISSED as EXIT_MISSED,
)
from keepon_host.errors import (
    EXIT_NO_FRAMES as EXIT_NO_FRAMES,
)
from keepon_host.errors import (
    EXIT_NOT_TRIED as EXIT_NOT_TRIED,
)
from keepon_host.errors import (
    EXIT_NOTHING_CHECKED as EXIT_NOTHING_CHECKED,
)
from keepon_host.errors import (
    SHOWN_MAX as SHOWN_MAX,
)
from keepon_host.errors import (
    ConfigError as ConfigError,
)
from keepon_host.errors import (
    EnvironmentProblemError as EnvironmentProblemError,
)
from keepon_host.errors import (
    KeeponError as KeeponError,
)
from keepon_host.errors import (
    TraceError as TraceError,
)
from keepon_host.errors import (
    one_line as one_line,
)
from keepon_host.errors import (
    shell_path as shell_path,
)
from keepon_host.errors import (
    shell_word as shell_word,
)


class SeveralConfigError(ConfigError):
    """Several sentences of one input, each as a ConfigError would have it."""

    def __init__(self, messages: list[str]) -> None:
        super().__init__("\n".join(messages))
        self.messages = messages


class InfeasibleError(KeeponError):
    """No plan exists or was found; constraint, streams and nearest change are kept for the plan
    file.
    """

    exit_code = EXIT_MISSED

    def __init__(
        self,
        message: str,
        constraint: str,
        streams: list[str],
        nearest_change: str | Callable[[], str],
    ) -> None:
        super().__init__(message)
        self.constraint = constraint
        self.streams = streams
        self._nearest_change = nearest_change

    @cached_property
    def nearest_change(self) -> str:
        """What would help; if that has to be looked for, only where it is asked for."""
        found = self._nearest_change
        return found if isinstance(found, str) else found()


class PlanRejectedError(KeeponError):
    """The independent checker refused a plan: a defect of the planner, never of the input."""

    exit_code = EXIT_DEFECT


class SimulationError(KeeponError):
    """The simulation contradicts itself (an accounting identity does not hold) or could not be
    built.
    """

    exit_code = EXIT_DEFECT
