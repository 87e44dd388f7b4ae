# SPDX-License-Identifier: BSD-3-Clause
"""`make install` and `make uninstall`: what goes where, and that nothing of it stays. The command's
own environment takes minutes and is part of test_packages.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from keepon import __version__
from keepon_host import kernels
from keepon_host.checkout import checkout_root

ROOT = checkout_root()
TOOLS = ROOT / "out/build/python/tools"
MANUAL = ROOT / "devtools/manual/keepon_manual.py"
QUICK = ("tools", "dissector", "modules", "command", "manual", "completion", "units")
PLACES = (
    "bin/keepon",
    "bin/keepon-talk",
    "bin/keepon-listen",
    f"src/keepon-{__version__}/dkms.conf",
    f"src/keepon-{__version__}/kernel/intel/Kbuild",
    f"src/keepon-{__version__}/core/src/pacer.c",
    "lib/systemd/network/00-keepon.network",
    "lib/NetworkManager/conf.d/keepon.conf",
    "share/man/man8/keepon.8",
    "share/man/man1/keepon-talk.1",
    "share/bash-completion/completions/keepon",
    "share/zsh/vendor-completions/_keepon",
    "share/fish/vendor_completions.d/keepon.fish",
)


def install(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "scripts/install"), *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
    )


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}


@pytest.fixture(scope="module")
def manual(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("manual")
    subprocess.run([sys.executable, MANUAL, folder, TOOLS], check=True)
    return folder


@pytest.mark.slow
def test_what_is_installed_is_taken_away_and_nothing_else(tmp_path: Path, manual: Path) -> None:
    root = tmp_path / "root"
    others = root / "opt/k/share/man/man8/other.8"
    others.parent.mkdir(parents=True)
    others.write_text("of another")
    where = ("--destdir", root, "--prefix", "/opt/k", "--manual", manual)
    for _ in range(2):  # again, over itself
        assert install(*where, *QUICK).stderr == ""
    assert set(PLACES) <= files(root / "opt/k")
    assert len(list(root.glob("usr/lib/*/wireshark/plugins/keepon.lua"))) == 1
    mode = (root / "opt/k/bin/keepon-talk").stat().st_mode & 0o777
    assert mode == 0o755
    settings = (root / f"opt/k/src/keepon-{__version__}/dkms.conf").read_text()
    assert f'PACKAGE_VERSION="{__version__}"' in settings
    assert install(*where, "--uninstall").returncode == 0
    assert files(root) == {"opt/k/share/man/man8/other.8"}
    assert [path for path in root.rglob("*keepon*") if path.is_dir()] == []
    again = install(*where, "--uninstall")
    assert again.returncode == 3
    assert "nothing was installed with this prefix" in again.stderr


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What dkms builds modules of."""
    folder = tmp_path_factory.mktemp("modules")
    assert install("--destdir", folder, "--no-manifest", "modules").returncode == 0
    (made,) = folder.glob("usr/local/src/keepon-*")
    return made


def test_the_tree_for_dkms_has_what_every_module_is_made_of(tree: Path) -> None:
    folders = {path.parent.name for path in (ROOT / "kernel").rglob("Kbuild")} - {"tests"}
    ours = {name for name in folders if not name.endswith("probe")}
    assert {path.parent.name for path in tree.glob("kernel/*/Kbuild")} == ours
    texts = (ROOT / "kernel/dkms/dkms.conf").read_text() + (tree / "Makefile").read_text()
    asked = {name for name in ours if re.search(rf"\b{name}:(keepon|sch_{name})", texts)}
    assert sorted(ours - asked) == []
    assert not (tree / "kernel/tests").exists()
    included = "".join(path.read_text() for path in tree.glob("kernel/*/Kbuild"))
    named = set(re.findall(r"-I\$\(KEEPON_ROOT\)/(\S+)", included)) - {"kernel/keepon"}
    assert "kernel/nics/common" in named
    assert [name for name in sorted(named) if not (tree / name).is_dir()] == []


@pytest.mark.parametrize(
    ("kernel", "known"),
    [
        ("", True), ("6.0.19-amd64", False), ("6.1.0-56-cloud-amd64", True),
        ("6.12.117+deb13-rt-amd64", True), ("7.3.4+deb13-amd64", True), ("7.10.0-amd64", False),
        ("7.4.0-rc1", False), ("10.0.0-amd64", False),
    ],
)  # fmt: skip
def test_dkms_leaves_kernels_alone_that_are_not_known(tree: Path, kernel: str, known: bool) -> None:
    """Read as dkms reads it, and, without a kernel, as the script of a package does; dkms 3.0 asks
    for AUTOINSTALL in a function whose own kernelver is empty.
    """
    shown = f'. {tree}/dkms.conf; echo "$AUTOINSTALL $BUILD_EXCLUSIVE_KERNEL"'
    hidden = f"source_it() {{ {shown}; }}; read_it() {{ local kernelver=; source_it; }}; read_it"
    for reading in (shown, hidden):
        done = subprocess.run(
            ["bash", "-c", reading], env={"PATH": os.environ["PATH"], "kernelver": kernel,
            "kernel_source_dir": ""}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == ("yes" if known else "^$")
        sentence = f"keepon: no modules for kernel {kernel}, as this version knows 6.1 to 7.3; "
        assert done.stderr.startswith(sentence) if not known else done.stderr == ""
    assert kernels.known(kernel or kernels.LAST) == known


def test_the_known_kernels_stand_where_people_look() -> None:
    said = f"{kernels.FIRST} to {kernels.LAST}"
    for name in ("docs/install.md", "kernel/include/keepon_compat.h"):
        assert said in (ROOT / name).read_text(), name


def test_units_start_the_command_that_was_installed(tmp_path: Path) -> None:
    words = ["--prefix", "/opt/k", "--destdir", tmp_path, "--no-manifest", "units"]
    assert install(*words).returncode == 0
    folder = tmp_path / "opt/k/lib/systemd/system"
    assert len(list(folder.iterdir())) == 3
    text = (folder / "keepon@.service").read_text()
    assert "/opt/k/bin/keepon start" in text and "/usr/bin/keepon" not in text


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["tool"], 2, "keepon: component 'tool' must be one of tools, plugin, dissector,"),
        (["--prefix", "opt"], 2, "keepon: --prefix opt must be an absolute path of letters"),
        (
            ["--prefix", "/opt/a b"],
            2,
            "keepon: --prefix /opt/a b must be an absolute path of letters",
        ),
        (["--prefix", "/opt/../x"], 2, "of letters, digits, ./_+~- without .."),
        (
            ["--tools", "/nowhere", "--destdir", "{tmp}", "tools"],
            3,
            "keepon: install: /nowhere/keepon-talk is not there; run scripts/setup\n",
        ),
        (["--uninstall", "--destdir", "{tmp}"], 3, "nothing was installed with this prefix\n"),
    ],
)
def test_what_cannot_be_done_is_refused(
    tmp_path: Path, words: list[str], code: int, sentence: str
) -> None:
    done = install(*(word.format(tmp=tmp_path) for word in words))
    assert (done.returncode, len(done.stderr.splitlines())) == (code, 1)
    assert sentence in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_was_installed_before_a_failure_can_be_taken_away(tmp_path: Path) -> None:
    where = ("--destdir", tmp_path, "--manual", "/nowhere")
    assert install(*where, "tools", "manual").returncode == 3
    assert (tmp_path / "usr/local/bin/keepon-talk").is_file()
    assert install("--destdir", tmp_path, "--uninstall").returncode == 0
    assert files(tmp_path) == set()


def test_a_folder_that_no_installation_has_made_is_left(tmp_path: Path) -> None:
    mine = tmp_path / f"usr/local/src/keepon-{__version__}/my.patch"
    mine.parent.mkdir(parents=True)
    mine.write_text("work of days")
    done = install("--destdir", tmp_path, "modules")
    assert done.returncode == 3 and "no installation with this prefix has written it" in done.stderr
    assert mine.read_text() == "work of days"


@pytest.mark.parametrize("is_link", [True, False])
def test_a_file_that_no_installation_has_made_is_left(tmp_path: Path, is_link: bool) -> None:
    """Nor is what a link leads to overwritten."""
    mine = tmp_path / "mine"
    mine.write_text("of another")
    place = tmp_path / "root/usr/local/lib/systemd/system/keepon@.service"
    place.parent.mkdir(parents=True)
    if is_link:
        place.symlink_to(mine)
    else:
        mine.rename(place)
    done = install("--destdir", tmp_path / "root", "units")
    assert done.returncode == 3 and "no installation with this prefix has written it" in done.stderr
    assert place.read_text() == "of another" and place.is_symlink() == is_link


@pytest.mark.slow
def test_an_installation_that_is_killed_can_be_taken_away_and_made_again(tmp_path: Path) -> None:
    """At any instant: what is made is written down before."""
    root = tmp_path / "root"
    words = [str(ROOT / "scripts/install"), "--destdir", str(root), "modules", "units"]
    for ms in range(0, 240, 30):
        with subprocess.Popen(words) as started:
            time.sleep(0.05 + ms / 1000)
            started.kill()
        if (root / "usr/local/share/keepon/installed").exists():
            assert install("--destdir", root, "--uninstall").returncode == 0
        assert files(root) == set()
    assert subprocess.run(words, check=True, capture_output=True).returncode == 0


def test_a_prefix_is_the_same_however_many_slashes_it_is_written_with(tmp_path: Path) -> None:
    assert install("--destdir", tmp_path, "--prefix", "//opt//k/", "units").returncode == 0
    assert (tmp_path / "opt/k/share/keepon/installed").is_file()
    assert install("--destdir", tmp_path, "--prefix", "/opt/k", "--uninstall").returncode == 0
    assert files(tmp_path) == set()


@pytest.mark.slow
def test_a_list_that_a_full_disk_tore_is_mended(tmp_path: Path) -> None:
    assert install("--destdir", tmp_path, "units").returncode == 0
    listed = tmp_path / "usr/local/share/keepon/installed"
    with listed.open("a") as file:
        file.write("/usr/local/src/kee")
    for _ in range(2):
        assert install("--destdir", tmp_path, "modules", "units").returncode == 0
        assert "/usr/local/src/kee\n" not in listed.read_text()
    assert install("--destdir", tmp_path, "--uninstall").returncode == 0
    assert files(tmp_path) == set()


@pytest.mark.slow
def test_two_installations_at_once_wait_for_each_other(tmp_path: Path) -> None:
    words = [str(ROOT / "scripts/install"), "--destdir", str(tmp_path), "modules", "units"]
    with subprocess.Popen(words) as one, subprocess.Popen(words) as other:
        assert (one.wait(), other.wait()) == (0, 0)
    assert install("--destdir", tmp_path, "--uninstall").returncode == 0
    assert files(tmp_path) == set()


@pytest.mark.slow
def test_a_folder_that_was_put_elsewhere_is_left_there(tmp_path: Path) -> None:
    where = ("--destdir", tmp_path)
    assert install(*where, "modules", "units").returncode == 0
    folder, kept = tmp_path / f"usr/local/src/keepon-{__version__}", tmp_path / "kept"
    folder.rename(kept)
    folder.symlink_to(kept)
    assert install(*where, "modules").returncode == 0
    assert (kept / "Makefile").is_file() and not folder.is_symlink()
    assert install(*where, "--uninstall").returncode == 0
    assert (kept / "Makefile").is_file() and not folder.exists()


@pytest.mark.slow
def test_what_cannot_be_taken_away_is_named_and_can_be_later(tmp_path: Path) -> None:
    where = ("--destdir", tmp_path)
    assert install(*where, "modules", "units").returncode == 0
    unit = tmp_path / "usr/local/lib/systemd/system/keepon@.service"
    unit.unlink()
    (unit / "in the way").mkdir(parents=True)
    done = install(*where, "--uninstall")
    assert done.returncode == 3 and "keepon: install: " in done.stderr
    (unit / "in the way").rmdir()
    unit.rmdir()
    assert install(*where, "--uninstall").returncode == 0
    assert files(tmp_path) == set()


@pytest.mark.parametrize("link", ["/lib/systemd/system", "../../../../lib/systemd/system"])
def test_a_unit_is_known_by_whatever_way_its_link_goes(tmp_path: Path, link: str) -> None:
    where = ("--destdir", tmp_path, "--prefix", "/usr")
    assert install(*where, "units").returncode == 0
    (tmp_path / "lib").symlink_to("usr/lib")
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants/keepon@cell.service"
    wanted.parent.mkdir(parents=True)
    wanted.symlink_to(f"{link}/keepon@.service")
    assert install(*where, "--uninstall").returncode == 3


def test_units_of_another_prefix_do_not_count(tmp_path: Path) -> None:
    assert install("--destdir", tmp_path, "--prefix", "/opt/try", "units").returncode == 0
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants/keepon@cell.service"
    wanted.parent.mkdir(parents=True)
    wanted.symlink_to("/usr/lib/systemd/system/keepon@.service")
    assert install("--destdir", tmp_path, "--prefix", "/opt/try", "--uninstall").returncode == 0


@pytest.mark.slow
def test_a_command_that_a_unit_needs_stays(tmp_path: Path) -> None:
    assert install("--destdir", tmp_path, "units").returncode == 0
    wanted = tmp_path / "etc/systemd/system/multi-user.target.wants/keepon@cell.service"
    wanted.parent.mkdir(parents=True)
    wanted.symlink_to("/usr/local/lib/systemd/system/keepon@.service")
    done = install("--destdir", tmp_path, "--uninstall")
    assert done.returncode == 3
    assert "first systemctl disable --now keepon@cell.service" in done.stderr
    wanted.unlink()
    assert install("--destdir", tmp_path, "--uninstall").returncode == 0
