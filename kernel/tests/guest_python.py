# SPDX-License-Identifier: GPL-2.0-only
"""A Python for guests: the interpreter of this environment, and of its modules those that a command
imports.
"""

from __future__ import annotations

import json
import py_compile
import subprocess
import sys
from pathlib import Path

import keepon
from keepon.model import examples
from keepon_guests import foreign, initramfs

PYTHON = Path(sys.executable).resolve()
PACKAGE = Path(keepon.__file__).parent

# Said after the command has run: what it has imported.
IMPORTED = """
specs = {name: getattr(module, "__spec__", None) for name, module in sys.modules.items()}
print(json.dumps({name: spec.origin for name, spec in specs.items() if spec}))
"""


def imported_modules(tried: str, packages: bool = False) -> dict[str, Path]:
    """Module name -> source or shared object, of everything the lines `tried` need where there is
    nothing but the standard library, or with `packages` all that Keepon is installed with.
    """
    done = subprocess.run(
        [sys.executable if packages else PYTHON, *([] if packages else ["-S"]), "-c",
         f"import json, runpy, sys\n{tried}{IMPORTED}"],
        env={"PYTHONPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    origins: dict[str, str | None] = json.loads(done.stdout.splitlines()[-1])
    return {
        name: Path(origin)
        for name, origin in origins.items()
        if origin is not None and origin.endswith((".py", ".so"))
    }


def python_files(tried: str, folder: Path, packages: bool = False) -> dict[str, Path | bytes]:
    """Guest path -> these modules, compiled: compiling in the guest would take longer than the
    test. With `packages` also what they have beside them: our data, others' libraries.
    """
    files: dict[str, Path | bytes] = {}
    compiled = folder / "compiled.pyc"
    modules = imported_modules(tried, packages)
    if packages:
        files |= data_files()
        for source in modules.values():
            if source.suffix == ".so":
                files |= libraries(source)
    for name, source in modules.items():
        path = name.replace(".", "/") + ("/__init__" if source.name == "__init__.py" else "")
        if source.suffix == ".so":
            files[f"/lib/keepon/python/{path}.so"] = source
            continue
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile(
            str(source), str(compiled), f"{path}.py", doraise=True, invalidation_mode=unchecked
        )
        files[f"/lib/keepon/python/{path}.pyc"] = compiled.read_bytes()
    return files


def libraries(module: Path) -> dict[str, Path]:
    """Guest path -> libraries of a shared object; those of a package where the loader looks."""
    return {
        f"/usr/lib/{path.name}" if path.is_relative_to(sys.prefix) else f"/{name}": path
        for name, path in initramfs.libraries(module).items()
    }


def data_files() -> dict[str, Path | bytes]:
    """Guest path -> what the package reads beside its modules: schemas, templates, examples."""
    found = {
        f"/lib/keepon/python/keepon/{path.relative_to(PACKAGE)}": path
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".so")
    }
    for path in examples.folder().glob("*.toml"):
        found[f"/lib/keepon/python/keepon/doc/examples/{path.name}"] = path
    return dict(found)


def foreign_python_files(tried: str, architecture: str) -> dict[str, Path | bytes]:
    """The same for another architecture's Python: its own standard library, and our sources.

    Modules that are shared objects there are not brought along.
    """
    library = foreign.find_foreign(architecture, "python3").resolve().name
    folder = foreign.root(architecture) / "usr" / "lib" / library
    files: dict[str, Path | bytes] = {}
    for name, source in imported_modules(tried).items():
        if source.suffix == ".so":
            continue
        path = name.replace(".", "/") + ("/__init__" if source.name == "__init__.py" else "")
        its = folder / f"{path}.py"
        files[f"/lib/keepon/python/{path}.py"] = its if its.is_file() else source
    return files
