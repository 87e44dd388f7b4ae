# SPDX-License-Identifier: BSD-3-Clause
"""Work done by a cluster of dask.distributed (extra `cluster`), imported only when an address is
given.
"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from keepon import __version__
from keepon.errors import ConfigError, EnvironmentProblemError

Result = TypeVar("Result")

ANSWER_S = 10
"""How long a scheduler may take to answer."""
CONNECTS_MAX = 3
"""Attempts to connect: the library asserts that the scheduler's first message comes alone, which it
need not.
"""


def version() -> str:
    """What a worker runs."""
    return __version__


def call(work: Callable[..., Result], arguments: tuple[Any, ...]) -> Result:
    """One piece of work."""
    return work(*arguments)


def _library() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise EnvironmentProblemError(
            f"option --cluster: dask.distributed cannot be imported ({error}); "
            "install it beside keepon: pip install distributed"
        ) from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's log on stderr: the exceptions raised here report each error once."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.CRITICAL)
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


@contextmanager
def _client_at(library: Any, address: str) -> Iterator[Any]:
    """A client; whatever goes wrong when it is closed concerns nobody any more.

    A stream that the scheduler closes first makes the library connect again while it closes, and
    fail for want of the state "closed".
    """
    client = _client(library, address)
    try:
        yield client
    finally:
        with suppress(AssertionError, OSError):
            client.close()


def _client(library: Any, address: str) -> Any:
    place = f'option --cluster = "{address}"'
    try:
        for _ in range(CONNECTS_MAX - 1):
            with suppress(AssertionError):
                return library.Client(address, timeout=ANSWER_S, set_as_default=False)
        return library.Client(address, timeout=ANSWER_S, set_as_default=False)
    except (OSError, AssertionError) as error:
        raise EnvironmentProblemError(
            f"{place}: no scheduler answers there within {ANSWER_S} s; start one with `dask"
            " scheduler`, or correct it"
        ) from error
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"{place}: is not an address ({error}); write it as tcp://host:8786"
        ) from error


def _check_workers(client: Any, address: str) -> None:
    """All workers must run this version: another would find otherwise, or not at all."""
    place = f'option --cluster = "{address}"'
    try:
        versions: dict[str, str] = client.run(version)
    except ImportError as error:
        raise EnvironmentProblemError(
            f"{place}: a worker cannot import keepon ({error}); install keepon {__version__}"
            " wherever workers run"
        ) from error
    if not versions:
        raise EnvironmentProblemError(
            f"{place}: the scheduler has no workers; start some with `dask worker {address}`"
        )
    for worker, found in sorted(versions.items()):
        if found != __version__:
            raise EnvironmentProblemError(
                f"{place}: worker {worker} runs keepon {found}, this is {__version__}; install the"
                " same everywhere"
            )


class Connection:
    """A scheduler with workers that run this version."""

    def __init__(self, library: Any, client: Any, address: str) -> None:
        self._library = library
        self._client = client
        self._address = address

    def as_done(
        self, work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]
    ) -> Generator[tuple[int, Result], None, None]:
        """Results of `work(*arguments)` as they come; closing the iterator early takes back what no
        worker has begun.

        Others take over from a worker that is lost. With several threads a worker finds the same,
        but each piece may take longer.

        Raises:
            EnvironmentProblemError: scheduler or workers are lost.
        """
        futures = self._client.map(partial(call, work), list(arguments), pure=False)
        places = {future.key: place for place, future in enumerate(futures)}
        try:
            for future in self._library.as_completed(futures, loop=self._client.loop):
                yield places[future.key], future.result()
        except (OSError, self._library.KilledWorker, CancelledError) as error:
            raise EnvironmentProblemError(
                f'option --cluster = "{self._address}": scheduler or workers were lost'
                f" ({type(error).__name__}); start them again and repeat"
            ) from error
        finally:
            self._client.cancel(futures)


@contextmanager
def connected(address: str) -> Iterator[Connection]:
    """A connection to the scheduler at an address.

    Raises:
        ConfigError: the address is none.
        EnvironmentProblemError: the library or scheduler or workers are missing, or of another
            version.
    """
    library = _library()
    with _quiet(), _client_at(library, address) as client:
        _check_workers(client, address)
        yield Connection(library, client, address)
