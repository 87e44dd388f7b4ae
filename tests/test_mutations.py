# SPDX-License-Identifier: BSD-3-Clause
"""Each mutation of the core must make a scenario of the exact model fail: a check that passes on a
broken core is none.

A mutant is built from a copy of the core and played in a process of its own, because it may trap or
never end. Only what includes the changed file, by the compiler's list, is compiled again.
"""

from __future__ import annotations

import shutil
import signal
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
# Time of the CPU, so that what a busy machine holds up is not taken for what never ends.
CPU_LIMIT_S = 20
LIMITED = ("prlimit", f"--cpu={CPU_LIMIT_S}:{CPU_LIMIT_S + 5}")
VECTORS = "vectors of "
# Nobody debugs a mutant; what an object includes is written beside it.
FLAGS = ("-g0", "-MMD")
TESTS = Path(__file__).parent
SCENARIO_NAMES = {
    name for mutation in MUTATIONS for name in mutation.scenarios if not name.startswith(VECTORS)
}


def place(mutation: Mutation) -> Path:
    """Its file in the core's folder."""
    return Path(mutation.file) if "/" in mutation.file else Path("src") / mutation.file


def included(compiled: Path) -> set[Path]:
    """All files an object is made of, as the compiler has listed them in its .d file."""
    names = compiled.with_suffix(".d").read_text().replace("\\\n", " ").split()
    return {Path(name).resolve() for name in names[1:]}


def limited(command: list[str | Path]) -> subprocess.CompletedProcess[str]:
    """Run something that may never end."""
    return subprocess.run(
        [*LIMITED, *command], cwd=TESTS, capture_output=True, text=True, check=False
    )


def ended(done: subprocess.CompletedProcess[str]) -> str:
    """What ended a process that did not end by itself; empty if it did."""
    if -done.returncode == signal.SIGXCPU:
        return f"it does not end within {CPU_LIMIT_S} s"
    return f"it ends by signal {-done.returncode}" if done.returncode < 0 else ""


class Mutants:
    """Builds and plays mutants in the background; objects that do not see the change are shared."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.core = self.folder / "core"
        shutil.copytree(build.CORE, self.core)
        core = build.core_sources(self.core)
        selftest = sorted((self.core / "selftest").glob("*.c"))
        sources = [*core, *selftest, *build.SHIM]
        compiled = build.compile_all(sources, folder / "objects", FLAGS, core=self.core)
        self.objects = dict(zip(sources, compiled, strict=True))
        self.included = {source: included(path) for source, path in self.objects.items()}
        self.in_library = [*core, *build.rig_sources(self.core), *build.SHIM]
        self.in_vectors = [*core, *selftest]
        self.pool = ThreadPoolExecutor(PARALLEL)
        self.verdicts: dict[str, Future[str | None]] = {
            mutation.name: self.pool.submit(self.play, number, mutation)
            for number, mutation in enumerate(MUTATIONS)
        }

    def play(self, number: int, mutation: Mutation) -> str | None:
        """What the checks say of the mutant; None if they pass."""
        path = place(mutation)
        mutant, _ = mutation.apply((self.core / path).read_text())
        core = self.folder / f"mutant-{number}"
        shutil.copytree(self.core, core)
        (core / path).write_text(mutant)
        rooms = [
            name.removeprefix(VECTORS) for name in mutation.scenarios if name.startswith(VECTORS)
        ]
        parts = self.in_vectors if rooms else self.in_library
        objects = [
            self.compile_again(source, core)
            if self.core / path in self.included[source]
            else self.objects[source]
            for source in parts
        ]
        if rooms:
            program = core / "vectors"
            build.run([build.compiler(), *objects, "-o", program])
            return self.vectors(program, rooms)
        library = build.link_library(objects, core / "libcore_model.so")
        return self.run(library, mutation.scenarios)

    def compile_again(self, source: Path, core: Path) -> Path:
        """The object of a source, or of the mutant's copy of it, with the mutant's headers."""
        if source.is_relative_to(self.core):
            source = core / source.relative_to(self.core)
        return build.compile_object(source, core, FLAGS, core=core)

    def vectors(self, program: Path, rooms: list[str]) -> str | None:
        """Vector tests of some rooms of the core; what failed, or None."""
        done = limited([program, *rooms])
        return None if done.returncode == 0 else (ended(done) or done.stdout)

    def run(self, library: Path, scenarios: tuple[str, ...]) -> str | None:
        """Play scenarios in a new process; its complaint, or None."""
        command = [sys.executable, "-B", "-m", "core_model.scenarios", str(library), *scenarios]
        done = limited(command)
        if done.returncode < 0:
            return ended(done)
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


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[mutation.name for mutation in MUTATIONS])
def test_the_text_of_a_mutation_is_in_the_core_once(mutation: Mutation) -> None:
    assert mutation.apply((build.CORE / place(mutation)).read_text())[1] == 1, "mend the table"


@pytest.mark.full
def test_core_itself_passes(mutants: Mutants) -> None:
    objects = [mutants.objects[source] for source in mutants.in_library]
    library = build.link_library(objects, mutants.folder / "libcore_model.so")
    assert mutants.run(library, tuple(sorted(SCENARIO_NAMES))) is None


@pytest.mark.full
@pytest.mark.parametrize("name", [mutation.name for mutation in MUTATIONS])
def test_mutation_is_noticed(mutants: Mutants, name: str) -> None:
    assert mutants.verdicts[name].result() is not None, f"no check fails on a core with '{name}'"
