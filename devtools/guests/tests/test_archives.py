# SPDX-License-Identifier: BSD-3-Clause
"""cpio archives for and from the guest: what is written is read back, by us and by cpio's own
reader.
"""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from keepon.errors import ConfigError, TraceError

from keepon_guests import initramfs, newc
from keepon_guests.images import Kernel

NAMES = st.text(alphabet="abcXYZ019._-", min_size=1, max_size=12).filter(
    lambda name: name not in (".", "..")
)


@given(st.dictionaries(NAMES, st.binary(max_size=300), max_size=8))
def test_files_come_back_as_written(files: dict[str, bytes]) -> None:
    archive = newc.write(newc.file_entry(f"top/{name}", data) for name, data in files.items())
    read = {entry.path: entry.data for entry in newc.read(archive) if entry.kind == newc.FILE}
    assert read == {f"top/{name}": data for name, data in files.items()}
    assert len(archive) % newc.BLOCK_BYTES == 0


@given(
    st.permutations(
        [newc.file_entry("b/x", b"1"), newc.file_entry("a", b"2"), newc.link_entry("c", "/a")]
    )
)
def test_equal_contents_give_equal_bytes_in_any_order(entries: list[newc.Entry]) -> None:
    assert newc.write(entries) == newc.write(sorted(entries, key=lambda entry: entry.path))


def test_folders_come_before_what_is_in_them_and_the_last_of_equal_names_wins() -> None:
    archive = newc.write([newc.file_entry("/a/b/c", b"old"), newc.file_entry("a/b/c", b"new")])
    members = list(newc.read(archive))
    assert [entry.path for entry in members] == ["a", "a/b", "a/b/c"]
    assert stat.S_ISDIR(members[0].mode) and members[2].data == b"new"


@pytest.mark.parametrize("keep", [0, 50, 111, 130, -1])
def test_a_cut_off_archive_is_noticed(keep: int) -> None:
    archive = newc.write([newc.file_entry("name", b"x" * 40)])
    end = archive.index(newc.TRAILER.encode())
    with pytest.raises(TraceError, match="cut off"):
        list(newc.read(archive[: keep if keep >= 0 else end - 60]))


@pytest.mark.parametrize("path", ["", "/", ".", "../x", "a/../b", "a\0b"])
def test_paths_out_of_the_archive_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="below the root"):
        newc.clean_path(path)


def kernel_without_modules(folder: Path) -> Kernel:
    (folder / "modules.json").write_text("[]")
    return Kernel("6.1", "cloud", "6.1.0-1-cloud-amd64", folder)


def overlay_members(folder: Path, **changes: object) -> dict[str, newc.Entry]:
    arguments = {
        "script": b"true",
        "environment": {},
        "files": {},
        "modules": (),
        "tools": (),
    } | changes
    archive = initramfs.overlay(kernel_without_modules(folder), **arguments)  # type: ignore[arg-type]
    return {entry.path: entry for entry in newc.read(archive)}


def test_the_overlay_holds_script_variables_files_and_whole_folders(tmp_path: Path) -> None:
    (tmp_path / "data" / "deep").mkdir(parents=True)
    (tmp_path / "data" / "deep" / "x").write_bytes(b"1")
    members = overlay_members(
        tmp_path,
        environment={"A": "it's $HOME"},
        files={"/t": tmp_path / "data", "/var/run/y": b"2"},
    )
    assert members["etc/keepon/environment"].data == b"export A='it'\\''s $HOME'\n"
    assert members["t/deep/x"].data == b"1"
    # /var/run is a link in the base, which a folder of that name would replace.
    assert members["run/y"].data == b"2" and "var/run" not in members


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"files": {"/a": Path("/nonexistent/b")}}, "nonexistent"),
        ({"files": {"../a": b""}}, r"'../a'"),
        ({"environment": {"A B": "c"}}, "'A B'"),
        ({"tools": [Path("/nonexistent/tool")]}, "nonexistent/tool"),
    ],
)
def test_wrong_files_for_the_guest_are_named(
    tmp_path: Path, changes: dict[str, object], text: str
) -> None:
    with pytest.raises(ConfigError, match=text):
        overlay_members(tmp_path, **changes)


def test_what_glibc_loads_for_cancelled_threads_comes_along(tmp_path: Path) -> None:
    """iperf3 3.18 ends by abort() without it."""
    source, call = tmp_path / "main.c", "pthread_cancel(pthread_self());"
    for body, wanted in ((call, True), ("", False)):
        program = tmp_path / f"program-{wanted}"
        source.write_text(f"#include <pthread.h>\nint main(void) {{ {body} return 0; }}\n")
        subprocess.run(["gcc", "-o", program, source], check=True)
        names = {Path(name).name for name in initramfs.libraries(program)}
        assert ("libgcc_s.so.1" in names) == wanted
