# SPDX-License-Identifier: BSD-3-Clause
"""Who does independent pieces of work: threads or processes of this machine, or a cluster of
dask.distributed.

Each piece has its own seed and shares nothing with the others, so that who does which changes
nothing but the time.
"""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeVar

from keepon_host import interrupts

from keepon import __version__, parallel
from keepon.errors import ConfigError, EnvironmentProblemError

Result = TypeVar("Result")
Place = tuple[int, Result]
"""Which piece, and its result."""
By = Literal["threads", "processes", "processes if long"]
"""What serves a kind of work: threads where it leaves the interpreter's lock to others, as a
simulation does.
"""

WORKERS_MAX: Final = 64
"""Threads or processes."""
LONG_S = 2.0
"""After that long work is worth processes, which take half a second to start."""


class Spread:
    """Does pieces of work. What it starts, processes or a connection, serves until the end of its
    `with` block.

    Args:
        workers: threads or processes of this machine; default the processors.
        cluster: address of a dask scheduler whose workers do it instead; empty for none.
    """

    def __init__(self, workers: int | None = None, cluster: str = "") -> None:
        self._cluster = cluster
        self._workers = workers or min(WORKERS_MAX, parallel.processors())
        self._begun_s = time.monotonic()
        self._open = ExitStack()
        self._connection: Connection | None = None
        self._pool: _Processes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._open.__exit__(kind, error, at)

    def connect(self) -> None:
        """Reach the cluster, if there is one, before any work.

        Raises:
            ConfigError: its address is none.
            EnvironmentProblemError: it is not there, or not of this version.
        """
        if self._cluster and self._connection is None:
            self._connection = self._open.enter_context(connected(self._cluster))

    def as_done(
        self, work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]], by: By = "threads"
    ) -> Generator[Place[Result], None, None]:
        """`work(*arguments)` for all arguments, as it is done, each result with the place of its
        arguments. Closing it early ends what is under way.

        Args:
            work: a function of a module, which others can import; independent of its other calls.
            arguments: of each call; can be pickled, as the results.
            by: what serves this work on this machine.

        Raises:
            EnvironmentProblemError: there is no such cluster, or it or a process has died.
            KeyboardInterrupt: Ctrl-C; what was under way has been ended.
        """
        self.connect()
        if self._connection is not None:
            yield from self._connection.as_done(work, arguments)
        elif self._workers == 1 or len(arguments) == 1:
            yield from _here(work, arguments)
        elif by == "threads":
            with closing(
                parallel.in_order(partial(call, work), arguments, self._workers)
            ) as results:
                yield from enumerate(results)
        else:
            begin = 0
            while by == "processes if long" and begin < len(arguments) and not self._is_long():
                yield begin, work(*arguments[begin])
                begin += 1
            if begin < len(arguments):
                with closing(self._processes().as_done(work, arguments[begin:])) as rest:
                    yield from ((begin + place, result) for place, result in rest)

    def _is_long(self) -> bool:
        return self._pool is not None or time.monotonic() >= self._begun_s + LONG_S

    def _processes(self) -> _Processes:
        if self._pool is None:
            self._pool = self._open.enter_context(_Processes(self._workers))
        return self._pool


def _here(
    work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]
) -> Generator[Place[Result], None, None]:
    for place, entry in enumerate(arguments):
        yield place, work(*entry)


@contextmanager
def _interrupts_not_inherited() -> Iterator[None]:
    """Processes started here do not see Ctrl-C, from their first moment on; it reaches this one a
    little later.
    """
    # As it begins it unblocks them for this thread.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class _Processes:
    """Processes of this machine, started with the first work and ended with the `with` block."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._others = set(multiprocessing.active_children())
        self._pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> _Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self._end(at_once=False)

    def as_done(
        self, work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]
    ) -> Generator[Place[Result], None, None]:
        """Results as they come. Closing the iterator early ends the processes at once, whatever
        they do.

        Raises:
            EnvironmentProblemError: a process has died.
        """
        complete = False
        try:
            # An interrupt in the midst of these would leave the pool unable to end.
            with _interrupts_not_inherited(), interrupts.deferred():
                places = self._submitted(work, arguments)
            for future in parallel.as_done(places):
                yield places[future], future.result()
            complete = True
        except BrokenProcessPool as error:
            raise EnvironmentProblemError(
                "a process has died, killed from outside or for want of memory; use"
                " fewer with --workers"
            ) from error
        finally:
            if not complete:
                self._end(at_once=True)

    def _submitted(
        self, work: Callable[..., Result], arguments: Sequence[tuple[Any, ...]]
    ) -> dict[Future[Result], int]:
        if self._pool is None:
            # Not forked: a fork would copy threads of progress bars and solvers in whatever state
            # they are.
            workers = min(self._workers, len(arguments))
            self._pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"))
        return {self._pool.submit(work, *entry): place for place, entry in enumerate(arguments)}

    def _end(self, at_once: bool) -> None:
        if self._pool is None:
            return
        with interrupts.deferred():
            if at_once:
                for child in set(multiprocessing.active_children()) - self._others:
                    child.terminate()
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


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
    """A client; an error while it is closed is not reported.

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
