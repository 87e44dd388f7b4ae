# SPDX-License-Identifier: BSD-3-Clause
"""`python3 -m keepon_host.testbed JOB FOLDER`: a run as `keepon run --target host` makes it, with
nothing but the standard library. What the job is, and what came of it, is worked out elsewhere.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from keepon_host import alone
from keepon_host.errors import (
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    EXIT_MET,
    ConfigError,
    KeeponError,
    one_line,
)
from keepon_host.testbed import session
from keepon_host.testbed.job import Job


def read(path: Path) -> Job:
    """Raises ConfigError: the file cannot be read, or has no job."""
    try:
        return Job.from_json(path.read_text())
    except OSError as error:
        raise ConfigError(
            f"{path}: cannot be read ({error.strerror}); check the name and the permissions"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            f"{path}: is no job of keepon run --target host ({one_line(error)})"
        ) from error


def main(arguments: Sequence[str]) -> int:
    """Exit code 0: it ran; 2: wrong arguments; 3: the machine; 130: interrupted."""
    if len(arguments) != 2:
        alone.say("usage: python3 -m keepon_host.testbed JOB FOLDER")
        return EXIT_INPUT
    try:
        session.run(read(Path(arguments[0])), Path(arguments[1]))
    except KeeponError as error:
        alone.say(f"keepon: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        alone.say("keepon: interrupted; nothing was written")
        return EXIT_INTERRUPTED
    return EXIT_MET


if __name__ == "__main__":
    sys.exit(alone.run(main))
