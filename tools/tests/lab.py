# SPDX-License-Identifier: BSD-3-Clause
"""Building the tools and running them between two namespaces; needs root or user namespaces, and
nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import jsonschema
from keepon.model import documents

ROOT = Path(__file__).resolve().parents[2]
CMAKE = Path(sys.executable).parent / "cmake"
NINJA = Path(sys.executable).parent / "ninja"
PATIENCE_S = 600


def build_tools(folder: Path, options: list[str], targets: list[str]) -> Path:
    """Configure and build keepon-talk, keepon-listen and `targets`; the folder they are in."""
    generator = [
        "-G",
        "Ninja",
        f"-DCMAKE_MAKE_PROGRAM={NINJA}",
        "-DKEEPON_SIM=OFF",
        "-DKEEPON_TOOLS=ON",
    ]
    build = [
        "--build",
        str(folder),
        "--parallel",
        "2",
        "--target",
        "keepon-talk",
        "keepon-listen",
        "keepon-relay",
        *targets,
    ]
    commands: list[list[str | Path]] = [
        [CMAKE, "-S", ROOT, "-B", folder, *generator, *options],
        [CMAKE, *build],
    ]
    for command in commands:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "tools"


class Namespace:
    """A network namespace, held by a waiting process; inside `parent`'s user namespace if there is
    one.
    """

    def __init__(self, parent: Namespace | None = None) -> None:
        unshare = ["unshare", "--net"]
        if os.geteuid() != 0 and parent is None:
            unshare += ["--user", "--map-root-user"]
        # It says which process to enter, and ends when its input does, so also when the tests are
        # killed.
        holder = ["sh", "-c", "echo $$; exec cat"]
        pipe = subprocess.PIPE
        command = [*(parent.enter() if parent else []), *unshare, *holder]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        assert self.process.stdout is not None
        self.pid = self.process.stdout.readline().strip()
        assert self.pid, f"no network namespace (root or user namespaces needed): {self.close()}"

    def enter(self) -> list[str]:
        """Command prefix that runs the rest in this namespace."""
        user = [] if os.geteuid() == 0 else ["--user", "--preserve-credentials"]
        return ["nsenter", "--target", self.pid, *user, "--net", "--"]

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        """Run to the end, whatever its exit code."""
        whole = [*self.enter(), *map(str, command)]
        return subprocess.run(
            whole, capture_output=True, text=True, check=False, timeout=PATIENCE_S
        )

    def must(self, *command: str | Path) -> None:
        done = self.run(*command)
        assert done.returncode == 0, f"{command}: {done.stderr}"

    def start(self, *command: str | Path) -> subprocess.Popen[str]:
        whole = [*self.enter(), *map(str, command)]
        return subprocess.Popen(whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def close(self) -> str:
        """End the holder; what it said on stderr."""
        return self.process.communicate(timeout=PATIENCE_S)[1]


class Lab:
    """Talker's and listener's namespace, `va` -- `vb`."""

    def __init__(self, tools: Path) -> None:
        self.talk = tools / "keepon-talk"
        self.listen = tools / "keepon-listen"
        self.a = Namespace()
        self.b = Namespace(self.a)

    def __enter__(self) -> Lab:
        self.a.must(
            "ip", "link", "add", "va", "type", "veth", "peer", "name", "vb", "netns", self.b.pid
        )
        for namespace, name, number in ((self.a, "va", 1), (self.b, "vb", 2)):
            namespace.must("ip", "address", "add", f"192.0.2.{number}/24", "dev", name)
            namespace.must("ip", "address", "add", f"2001:db8::{number}/64", "dev", name, "nodad")
            namespace.must("ip", "link", "set", name, "up")
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.b.close()
        self.a.close()

    def start_listening(self, *options: str | Path) -> subprocess.Popen[str]:
        """keepon-listen on vb, ready to receive."""
        process = self.b.start(self.listen, "vb", *options)
        assert process.stderr is not None
        line = process.stderr.readline()
        assert "listening on vb" in line, line
        return process

    def sent(self) -> int:
        """Packets that va has sent so far."""
        (link,) = json.loads(self.a.run("ip", "-j", "-s", "link", "show", "va").stdout)
        packets: int = link["stats64"]["tx"]["packets"]
        return packets

    def wait_until_sent(self, packets: int) -> None:
        """Until va has sent so many more, a talker's."""
        goal, end_s = self.sent() + packets, time.monotonic() + PATIENCE_S
        while self.sent() < goal:
            assert time.monotonic() < end_s, f"va has not sent {packets} packets"
            time.sleep(0.02)

    def send(self, *options: str | Path) -> subprocess.CompletedProcess[str]:
        """keepon-talk on va, to the end."""
        return self.a.run(self.talk, "va", *options)


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code and output of a process that ends by itself."""
    out, err = process.communicate(timeout=PATIENCE_S)
    return process.returncode, out, err


def load(path: Path) -> dict[str, Any]:
    """A result of either tool, which fits its schema."""
    found: dict[str, Any] = json.loads(path.read_text())
    kind = found["schema"].removeprefix("keepon.").removesuffix("/1")
    jsonschema.Draft202012Validator(documents.json_schema(kind)).validate(found)
    return found


def check_identity(result: dict[str, Any]) -> dict[str, int]:
    """No frame is lost silently; the counters of a keepon.talk/1 result."""
    counters: dict[str, int] = result["counters"]
    fates = ("stamped", "missed", "invalid", "refused", "unanswered")
    assert counters["submitted"] == sum(counters[fate] for fate in fates)
    return counters
