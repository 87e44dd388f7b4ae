# SPDX-License-Identifier: BSD-3-Clause
"""Each mutation of the core must make a scenario of the exact model fail: a check that passes on a
broken core is none.

A mutant is built from a copy of the core and played in a process of its own, because it may trap or
never end.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from core_model import build
from core_model.mutations import MUTATIONS, Mutation
from core_model.scenarios import SCENARIOS

PARALLEL = 2
TIMEOUT_S = 60.0
VECTORS = "vectors of "
TESTS = Path(__file__).parent
SCENARIO_NAMES = {
    name for mutation in MUTATIONS for name in mutation.scenarios if not name.startswith(VECTORS)
}


class Mutants:
    """Builds and plays mutants in the background; the objects of untouched files are shared."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.core = folder / "core"
        shutil.copytree(build.CORE, self.core)
        sources = [*build.core_sources(self.core), *build.rig_sources(self.core), build.SHIM]
        compiled = build.compile_all(sources, folder / "objects", core=self.core)
        self.objects = {path.stem: path for path in compiled}
        self.pool = ThreadPoolExecutor(PARALLEL)
        self.verdicts: dict[str, Future[str | None]] = {
            mutation.name: self.pool.submit(self.play, number, mutation)
            for number, mutation in enumerate(MUTATIONS)
        }

    def play(self, number: int, mutation: Mutation) -> str | None:
        """What the checks say of the mutant; None if they pass."""
        path = Path(mutation.file) if "/" in mutation.file else Path("src") / mutation.file
        text = (self.core / path).read_text()
        mutant, found = mutation.apply(text)
        if found != 1:
            raise ValueError(
                f"mutation '{mutation.name}': its text is {found} times in core/{path}; mend the"
                " table"
            )
        core = self.folder / f"mutant-{number}"
        shutil.copytree(self.core, core)
        (core / path).write_text(mutant)
        # a header is part of every object
        rooms = [
            name.removeprefix(VECTORS) for name in mutation.scenarios if name.startswith(VECTORS)
        ]
        if rooms:
            selftests = sorted((self.core / "selftest").glob("*.c"))
            program = build.build_program(
                [*build.core_sources(core), *selftests], core, "vectors", core=core
            )
            return self.vectors(program, rooms)
        sources = [core / path] if path.suffix == ".c" else build.core_sources(core)
        compiled = [build.compile_object(source, core, core=core) for source in sources]
        objects = self.objects | {source.stem: source for source in compiled}
        library = build.link_library(list(objects.values()), core / "libcore_model.so")
        return self.run(library, mutation.scenarios)

    def vectors(self, program: Path, rooms: list[str]) -> str | None:
        """Vector tests of some rooms of the core; what failed, or None."""
        done = subprocess.run(
            [program, *rooms], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        return None if done.returncode == 0 else done.stdout

    def run(self, library: Path, scenarios: tuple[str, ...]) -> str | None:
        """Play scenarios in a new process; its complaint, or None."""
        command = [sys.executable, "-B", "-m", "core_model.scenarios", str(library), *scenarios]
        try:
            done = subprocess.run(
                command, cwd=TESTS, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return "it never ends"
        if done.returncode < 0:
            return f"it ends by signal {-done.returncode}"
        if done.returncode == 1 and not done.stderr:
            return done.stdout
        if done.returncode:
            raise RuntimeError(f"the check itself failed: {done.stderr}")
        return None


@pytest.fixture(scope="module")
def mutants(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mutants]:
    mutants = Mutants(Path(tmp_path_factory.mktemp("mutants")))
    yield mutants
    mutants.pool.shutdown(cancel_futures=True)


def test_names_are_unique() -> None:
    assert len({mutation.name for mutation in MUTATIONS}) == len(MUTATIONS)


def test_scenarios_exist() -> None:
    assert not SCENARIO_NAMES - set(SCENARIOS)


def test_core_itself_passes(mutants: Mutants) -> None:
    library = build.link_library(
        list(mutants.objects.values()), mutants.folder / "libcore_model.so"
    )
    assert mutants.run(library, tuple(sorted(SCENARIO_NAMES))) is None


@pytest.mark.parametrize("name", [mutation.name for mutation in MUTATIONS])
def test_mutation_is_noticed(mutants: Mutants, name: str) -> None:
    assert mutants.verdicts[name].result() is not None, f"no check fails on a core with '{name}'"
