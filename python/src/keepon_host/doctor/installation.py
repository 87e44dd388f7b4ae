# SPDX-License-Identifier: BSD-3-Clause
"""What this installation of Keepon has and lacks: interpreter, what package keepon needs, tools."""

from __future__ import annotations

import importlib
import importlib.util
import platform
import shutil
import sys
from collections.abc import Iterator

from keepon_host.checkout import checkout
from keepon_host.doctor.checks import NOTE, OK, PROBLEM, Answer, Check
from keepon_host.errors import shell_word

ABOUT = "installation"
MODULES = ("jinja2", "matplotlib", "numpy", "pydantic", "rich", "typer")
BUILD_TOOLS = {
    "gcc": ("builds core and simulator", "apt-get install gcc g++"),
    "cmake": ("builds core and simulator", "apt-get install cmake"),
    "ninja": ("builds core and simulator", "apt-get install ninja-build"),
    "git": ("names the commit in results", "apt-get install git"),
    "clang": ("fuzzing and the lint tier", "apt-get install clang"),
    "qemu": ("target vm and kernel tests", "scripts/setup kernel"),
}
"""What a checkout uses."""
LIVE_TOOLS = {
    "keepon-talk": ("sends test frames", "apt-get install ./keepon-tools_*.deb"),
    "keepon-listen": ("receives test frames", "apt-get install ./keepon-tools_*.deb"),
}
"""What an installed command uses: everything else came with it."""


def _again() -> str:
    """The command that makes this installation again."""
    folder = checkout()
    if folder is None:
        return f"{shell_word(sys.executable)} -m pip install --force-reinstall ./keepon-*.whl"
    return f"make -C {shell_word(str(folder))} run"


def _python() -> Answer:
    version = platform.python_version()
    if sys.version_info < (3, 11):
        return Answer(PROBLEM, f"{version}: use Python 3.11 or newer", "apt-get install python3")
    return Answer(OK, version)


def _modules() -> Answer:
    missing = [name for name in MODULES if importlib.util.find_spec(name) is None]
    if missing:
        return Answer(PROBLEM, f"without {', '.join(missing)}", _again())
    return Answer(OK, ", ".join(MODULES))


def _simulator() -> Answer:
    try:
        module = importlib.import_module("keepon._sim")
    except ImportError as error:
        return Answer(PROBLEM, f"the simulator module cannot be loaded ({error})", _again())
    return Answer(OK, str(module.__file__))


def _design() -> Iterator[tuple[str, Answer]]:
    """What package keepon needs, where it is installed."""
    if importlib.util.find_spec("keepon"):
        yield "Python modules", _modules()
        yield "simulator", _simulator()


def _tools() -> Iterator[tuple[str, Answer]]:
    for name, (purpose, remedy) in (BUILD_TOOLS if checkout() else LIVE_TOOLS).items():
        path = shutil.which("qemu-system-x86_64" if name == "qemu" else name)
        absent = Answer(NOTE, f"absent ({purpose})", remedy)
        yield name, absent if path is None else Answer(OK, path)


def examine() -> list[Check]:
    """Every check, in the order to read them."""
    answers = [
        ("Python", _python()),
        *_design(),
        *_tools(),
    ]
    return [
        Check(ABOUT, name, answer.state, answer.found, answer.remedy) for name, answer in answers
    ]
