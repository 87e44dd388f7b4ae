# SPDX-License-Identifier: BSD-3-Clause
"""The Debian packages: in minimal systems of Debian 12 and 13 they are installed, used, upgraded,
removed and purged; what dkms built there, and what the cross compiler built, is loaded in guests.

Needs root and the network; minutes for each release. Packages are built again if their sources have
changed.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from keepon import __version__
from keepon.measure.capture import TestFrame, frame, stream_hash
from keepon_guests import Kernel, get_kernel, run_guest
from keepon_guests.images import collect_modules, write_modules
from keepon_guests.tap import parse_tap
from keepon_host.checkout import checkout_root

pytestmark = pytest.mark.packages

ROOT = checkout_root()
HERE = Path(__file__).parent / "packages"
OUT = ROOT / "out/test/packages"
# No version of ours, so that nothing else can be meant.
NEWER = "99.8.7"
SUITES = ("bookworm", "trixie")
MODULES = (
    "keepon_native",
    "keepon_hwsim",
    "keepon",
    "keepon_generic",
    "keepon_hwcheck",
    "sch_guard",
)
FOR_CARDS = ("keepon_intel", "keepon_genet", "keepon_gem")
# Of trixie, the headers that the newest kernel of its own has.
TRIXIE_KERNELS = ("cloud-amd64",)


def run(*command: object, **options: str) -> str:
    done = subprocess.run(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env=dict(os.environ) | options,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def packages(suite: str, *options: object) -> None:
    run(ROOT / "scripts/packages", "--suite", suite, "--if-changed", *options)


def newer_command(package: Path, folder: Path) -> None:
    """The package of the command, repacked as a newer version: pip takes minutes to fill one."""
    tree = folder / "tree"
    run("dpkg-deb", "-R", package, tree)
    control = tree / "DEBIAN/control"
    control.write_text(control.read_text().replace(f"{__version__}-", f"{NEWER}-"))
    run("dpkg-deb", "-Zgzip", "-z1", "-b", tree, folder / package.name.replace(__version__, NEWER))
    shutil.rmtree(tree)


def capture() -> bytes:
    """One test frame, 40 us after its txtime, as pcap with ns."""
    data = frame(1, 2, 5, TestFrame("s1", 7, txtime_ns=1_000_000_000, sent_ns=999_000_000), 100)
    head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    return head + struct.pack("<IIII", 1, 40_000, len(data), len(data)) + data


def kernels(suite: str) -> list[str]:
    """Kernels whose headers dkms gets. The cloud's lack what drivers of cards need; those are built
    for the Raspberry Pi.
    """
    if suite == "bookworm":
        return [get_kernel("6.1", "cloud").version]
    return list(TRIXIE_KERNELS)


@pytest.fixture(scope="module", params=SUITES)
def life(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """Release, and the folder that life.sh has worked in."""
    suite = str(request.param)
    packages(suite)
    newer = ROOT / "out/packages" / f"{suite}-newer"
    packages(suite, "--as-version", NEWER, "--without-command", "--out", newer)
    folder = OUT / suite
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, source in (("old", ROOT / "out/packages" / suite), ("new", newer)):
        shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("*.inputs", "*.whl"))
    (command,) = (folder / "old").glob("keepon_*.deb")
    newer_command(command, folder / "new")
    shutil.copy(HERE / "life.sh", folder)
    shutil.copy(HERE / "doctor.sh", folder)
    shutil.copy(ROOT / "devtools/guests/keepon_guests/guest/test.sh", folder)
    (folder / "capture.pcap").write_bytes(capture())
    words = f"OLD={__version__}\nNEW={NEWER}\nKERNELS='{' '.join(kernels(suite))}'\n"
    words += f"STREAM={stream_hash('s1'):08x}\n"
    (folder / "expected.sh").write_text(words)
    with (folder / "log").open("w") as log:
        command_line = [sys.executable, ROOT / "scripts/chroot.py", suite, folder, "life.sh"]
        subprocess.run(command_line, stdout=log, stderr=log, check=False)
    return suite, folder


def test_packages_live_and_leave_nothing(life: tuple[str, Path]) -> None:
    _, folder = life
    text = (folder / "log").read_text()
    assert parse_tap(text).problems() == [], text[-20_000:]


def unpacked(package: Path, folder: Path) -> Path:
    run("dpkg-deb", "-x", package, folder)
    return folder


def check_guest(
    kernel: Kernel,
    modules: list[Path],
    programs: Path,
    qemu: Path | None = None,
    others: Path | None = None,
) -> None:
    """All modules load and a link comes up, with the programs of a package.

    Args:
        others: folder with that release's own `ip`, our programs and all libraries they need,
            where the guest's are of another release.
    """
    names = [path.name.removesuffix(".ko") for path in modules]
    order = [name for name in (*MODULES, *FOR_CARDS) if name in names]
    assert set(order) == set(names) >= set(MODULES)
    (plugin,) = programs.glob("usr/lib/*/ip/link_keepon.so")
    system = plugin.parent.relative_to(programs)
    files = {f"/{system}/link_keepon.so": plugin}
    environment = {"VERSION": __version__, "MODULES": " ".join(order)}
    if others is not None:
        files = {f"/release/{path.name}": path for path in others.iterdir()}
        files["/release/link_keepon.so"] = plugin
        environment["RELEASE"] = "/release"
    result = run_guest(
        kernel,
        HERE / "modules_loaded.sh",
        files,
        modules=modules,
        tools=[] if others else [programs / "usr/bin/keepon-talk"],
        environment=environment,
        qemu=qemu,
        timeout_s=600,
    )
    result.check()
    assert result.tap.problems() == [], result.stdout


def unpacked_kernel(image: Path, folder: Path) -> Kernel:
    """The kernel of an unpacked image package."""
    (picture,) = image.glob("boot/vmlinuz-*")
    version = picture.name.removeprefix("vmlinuz-")
    folder.mkdir()
    shutil.copy(picture, folder / "vmlinuz")
    write_modules(folder, *collect_modules(image, version))
    return Kernel("6.12", "cloud", version, folder)


def test_modules_that_dkms_built_load_and_a_link_comes_up(
    life: tuple[str, Path], tmp_path: Path
) -> None:
    """On the kernel they were built for; with the release's own `ip`."""
    suite, folder = life
    built = {path.name: sorted(path.glob("*.ko")) for path in (folder / "out/modules").iterdir()}
    (tools,) = (folder / "old").glob("keepon-tools_*.deb")
    programs = unpacked(tools, tmp_path / "tools")
    if suite == "bookworm":
        kernel, others = get_kernel("6.1", "cloud"), None
    else:
        kernel = unpacked_kernel(folder / "out/image", tmp_path / "kernel")
        others = folder / "out/programs"
    assert set(built) == {kernel.version}
    check_guest(kernel, built[kernel.version], programs, others=others)


def test_cross_built_modules_and_tools_run_on_a_raspberry_pi(tmp_path: Path) -> None:
    """Debian's arm64 kernel on a model of the board: modules from the sources of keepon-dkms, tools
    and plugin of the cross-built package.
    """
    emulator = Path(os.environ.get("KEEPON_PACED_QEMU_PI", ""))
    assert emulator.is_file(), (
        "KEEPON_PACED_QEMU_PI names no QEMU with a Raspberry Pi 4: run these tests by"
        " `make test-packages`"
    )
    kernel = get_kernel("6.1", "arm64")
    packages("bookworm")
    packages("bookworm", "--arch", "arm64")
    (sources,) = (ROOT / "out/packages/bookworm").glob("keepon-dkms_*.deb")
    (tools,) = (ROOT / "out/packages/bookworm-arm64").glob("keepon-tools_*_arm64.deb")
    (tree,) = unpacked(sources, tmp_path / "dkms").glob("usr/src/keepon-*")
    run("make", "-C", tree, f"KERNEL={kernel.headers}", *kernel.machine.make_variables)
    modules = sorted(tree.glob("kernel/*/*.ko"))
    assert {path.name.removesuffix(".ko") for path in modules} == {*MODULES, *FOR_CARDS}
    programs = unpacked(tools, tmp_path / "tools")
    assert "ARM aarch64" in run("file", programs / "usr/bin/keepon-talk")
    check_guest(kernel, modules, programs, emulator)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["--suite", "sid"],
            "keepon: --suite 'sid' is not one of bookworm, trixie; name one of these\n",
        ),
        (
            ["--arch", "mips"],
            "keepon: --arch 'mips' is not one of amd64, arm64; name one of these\n",
        ),
    ],
)
def test_what_is_unknown_is_refused(words: list[str], sentence: str) -> None:
    done = subprocess.run(
        [ROOT / "scripts/packages", *words], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (2, sentence)


def test_a_tree_without_headers_says_so(tmp_path: Path) -> None:
    run(ROOT / "scripts/install", "--no-manifest", "--destdir", tmp_path, "modules")
    (tree,) = tmp_path.glob("usr/local/src/keepon-*")
    done = subprocess.run(
        ["make", "-C", tree, "KERNEL=/nowhere"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "keepon: /nowhere holds no kernel headers; install linux-headers" in done.stderr
    assert re.search(r"\.o$", done.stdout) is None
