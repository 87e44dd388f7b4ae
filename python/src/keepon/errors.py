# SPDX-License-Identifier: BSD-3-Clause
"""The exceptions of keepon_host, and those that only designing a network raises."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from keepon_host.errors import (
    EXIT_DEFECT,
    EXIT_ENVIRONMENT,
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_MET,
    EXIT_MISSED,
    EXIT_NO_FRAMES,
    EXIT_NOT_TRIED,
    EXIT_NOTHING_CHECKED,
    SHOWN_MAX,
    ConfigError,
    EnvironmentProblemError,
    KeeponError,
    TraceError,
    one_line,
    shell_path,
    shell_word,
)

__all__ = [
    "EXIT_DEFECT", "EXIT_ENVIRONMENT", "EXIT_INPUT", "EXIT_INTERRUPTED", "EXIT_MET", "EXIT_MISSED",
    "EXIT_NOTHING_CHECKED", "EXIT_NOT_TRIED", "EXIT_NO_FRAMES", "SHOWN_MAX", "ConfigError",
    "EnvironmentProblemError", "InfeasibleError", "KeeponError", "PlanRejectedError",
    "SeveralConfigError", "SimulationError", "TraceError", "one_line", "shell_path", "shell_word",
]  # fmt: skip


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
