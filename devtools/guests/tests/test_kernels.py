# SPDX-License-Identifier: BSD-3-Clause
"""Choosing kernels and their modules, and the mirror our modules are built in: everything that
needs no network.
"""

from __future__ import annotations

import lzma
from pathlib import Path

import pytest
from keepon.errors import ConfigError, EnvironmentProblemError

from keepon_guests import __main__ as command
from keepon_guests import images, modules, newc, paths, source
from keepon_guests.images import Kernel, Module
from keepon_guests.paths import checkout_root

OFFERED = [
    f"linux-{kind}-{version}"
    for kind in ("image", "headers")
    for version in (
        "6.1.0-9-cloud-amd64",
        "6.1.0-56-cloud-amd64",
        "6.1.0-56-amd64",
        "6.1.0-56-rt-amd64",
        "6.12.99+deb12-cloud-amd64",
        "6.12.117+deb12-cloud-amd64",
        "6.12.43+deb13-amd64",
        "6.12-cloud-amd64",
        "7.3.4+deb13-cloud-amd64",
        "7.2.13+deb14-cloud-amd64",
    )
] + [
    "linux-image-6.1.0-57-cloud-amd64",
    "linux-image-6.1.0-58-cloud-amd64-unsigned",
    "linux-headers-6.12.200-common",
]


@pytest.mark.parametrize(
    ("family", "flavour", "version"),
    [
        ("6.1", "cloud", "6.1.0-56-cloud-amd64"),  # 57 has no headers
        ("6.1", "amd64", "6.1.0-56-amd64"),
        ("6.1", "rt", "6.1.0-56-rt-amd64"),
        ("6.12", "cloud", "6.12.117+deb12-cloud-amd64"),
        ("6.12", "amd64", "6.12.43+deb13-amd64"),
        ("7.2", "cloud", "7.2.13+deb14-cloud-amd64"),
        ("newest", "cloud", "7.3.4+deb13-cloud-amd64"),
    ],
)
def test_the_newest_version_with_image_and_headers_is_taken(
    family: str, flavour: str, version: str
) -> None:
    assert images.newest_version(OFFERED, family, flavour) == version


def test_no_version_is_no_version() -> None:
    assert images.newest_version(["linux-image-6.1.0-56-cloud-amd64"], "6.1", "cloud") is None


@pytest.mark.parametrize(("family", "flavour"), [("5.10", "cloud"), ("6.1", "tiny")])
def test_unknown_kernels_are_refused(family: str, flavour: str) -> None:
    with pytest.raises(ConfigError, match="unknown: use one of"):
        images.get_kernel(family, flavour)


def elf(depends: str, *aliases: str) -> bytes:
    tags = [*(f"alias={alias}" for alias in aliases), f"depends={depends}", "name=x"]
    return b"\x7fELF\0" + b"".join(tag.encode() + b"\0" for tag in tags)


def image_tree(folder: Path, compress: bool) -> Path:
    base = folder / "lib" / "modules" / "6.1.0-1-cloud-amd64"
    contents = {
        "kernel/net/sched/sch_taprio": elf("sch_mqprio_lib", "net-sch-taprio"),
        "kernel/net/sched/sch_mqprio_lib": elf(""),
        "kernel/drivers/net/veth": elf("", "rtnl-link-veth"),
        "kernel/fs/ext9": elf("veth"),
    }
    for name, data in contents.items():
        path = base / f"{name}.ko{'.xz' if compress else ''}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(data) if compress else data)
    (base / "modules.builtin").write_text("kernel/net/core.ko\n")
    return folder


@pytest.mark.parametrize("compress", [False, True])
def test_selected_modules_come_with_what_they_need_and_an_index(
    tmp_path: Path, compress: bool
) -> None:
    archive, chosen = images.collect_modules(image_tree(tmp_path, compress), "6.1.0-1-cloud-amd64")
    members = {
        entry.path.removeprefix("lib/modules/6.1.0-1-cloud-amd64/"): entry.data
        for entry in newc.read(archive)
    }
    assert [module.name for module in chosen] == ["sch_mqprio_lib", "sch_taprio", "veth"]
    assert members["sch_taprio.ko"] == elf("sch_mqprio_lib", "net-sch-taprio")
    assert (
        members["modules.dep"]
        == b"sch_mqprio_lib.ko:\nsch_taprio.ko: sch_mqprio_lib.ko\nveth.ko:\n"
    )
    assert (
        members["modules.alias"] == b"alias net-sch-taprio sch_taprio\nalias rtnl-link-veth veth\n"
    )


def test_a_chain_of_dependencies_is_loaded_from_its_end() -> None:
    chain = [Module("a", ("b",)), Module("b", ("c",)), Module("c")]
    (dep, _) = images.index_entries("v", chain)
    # modprobe loads from right to left.
    assert dep.data.splitlines()[0] == b"a.ko: b.ko c.ko"


def test_a_module_in_an_unknown_compression_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.ko.zst"
    path.write_bytes(b"")
    with pytest.raises(EnvironmentProblemError, match=r"x\.ko\.zst"):
        images.read_module(path)


def module_folder(folder: Path) -> Path:
    folder.mkdir()
    (folder / "Kbuild").write_text("obj-m := x.o\n")
    (folder / "x.c").write_text("/* nothing */\n")
    (folder / "notes.txt").write_text("not for the compiler\n")
    return folder


def test_the_mirror_links_the_module_and_the_core_and_forgets_what_is_gone(tmp_path: Path) -> None:
    folder = module_folder(tmp_path / "x")
    root = checkout_root()
    mirror = tmp_path / "mirror"
    modules.refresh_mirror(mirror, modules.plan_links(root, folder))
    assert (mirror / "kernel" / "x" / "x.c").readlink() == folder / "x.c"
    assert (mirror / "core" / "src" / "clock.c").resolve() == root / "core" / "src" / "clock.c"
    assert not (mirror / "kernel" / "x" / "notes.txt").exists()
    (folder / "x.c").rename(folder / "y.c")
    (mirror / "kernel" / "x" / "x.o").write_text("an object stays")
    modules.refresh_mirror(mirror, modules.plan_links(root, folder))
    assert sorted(path.name for path in (mirror / "kernel" / "x").iterdir()) == [
        "Kbuild",
        "x.o",
        "y.c",
    ]


def test_any_change_of_an_input_changes_the_hash(tmp_path: Path) -> None:
    folder = module_folder(tmp_path / "x")
    kernel = Kernel("6.1", "cloud", "6.1.0-1-cloud-amd64", tmp_path)
    other = Kernel("6.1", "cloud", "6.1.0-2-cloud-amd64", tmp_path)
    links = {"kernel/x/x.c": folder / "x.c"}
    first = modules.input_hash(kernel, links, [])
    assert first == modules.input_hash(kernel, links, [])
    assert first != modules.input_hash(other, links, [])
    assert first != modules.input_hash(kernel, links, [folder / "notes.txt"])
    (folder / "x.c").write_text("/* something */\n")
    assert first != modules.input_hash(kernel, links, [])


def test_warnings_of_kbuild_are_found_among_its_chatter() -> None:
    output = """make: Entering directory
warning: the compiler differs from the one used to build the kernel
  CC [M]  x.o
x.c:3:5: warning: unused variable 'a' [-Wunused-variable]
WARNING: modpost: missing MODULE_DESCRIPTION() in x.o
Skipping BTF generation for x.ko due to unavailability of vmlinux
"""
    assert [line.split()[0] for line in modules.complaints(output)] == ["x.c:3:5:", "WARNING:"]


def test_a_folder_without_kbuild_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has no Kbuild"):
        modules.build_modules(Kernel("6.1", "cloud", "6.1.0-1-cloud-amd64", tmp_path), [tmp_path])


@pytest.mark.parametrize("pair", ["/guest", "=host", "/guest="])
def test_file_options_that_are_no_pair_are_refused(pair: str) -> None:
    with pytest.raises(ConfigError, match="--file"):
        command.split_pairs([pair], "--file")


def test_options_that_did_not_come_true_are_named() -> None:
    wanted = (
        "# why\nCONFIG_A=y\nCONFIG_B=y\nCONFIG_C=4\nCONFIG_D=n\nCONFIG_E=n\nCONFIG_C=8\n"
        'CONFIG_F="x"\n'
    )
    config = 'CONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=8\nCONFIG_D=y\nCONFIG_F="x"\n'
    assert source.unset_options(wanted, config) == ["CONFIG_B=y", "CONFIG_D=n"]


@pytest.mark.parametrize("flavour", source.FLAVOURS)
def test_a_fragment_names_each_option_once(flavour: str) -> None:
    names = [
        line.partition("=")[0]
        for path in source.fragments(flavour)
        for line in path.read_text().splitlines()
        if line.startswith("CONFIG_")
    ]
    assert sorted(names) == sorted(set(names))


def test_a_changed_configuration_makes_another_kernel(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = images.recipe("debug")
    assert before != images.recipe("kcsan") != images.recipe("cloud") == images.recipe("rt")
    fragment = tmp_path / "debug.config"
    fragment.write_text("CONFIG_KASAN=n\n")
    monkeypatch.setattr(source, "fragments", lambda flavour: [fragment])
    assert images.recipe("debug") != before


def test_of_a_build_stays_what_modules_need(tmp_path: Path) -> None:
    kept = [
        "Module.symvers",
        "include/generated/autoconf.h",
        "scripts/mod/modpost.o",
        "tools/objtool/a.o",
        "vmlinux.symvers",
    ]
    for name in [
        *kept,
        "vmlinux",
        "vmlinux.o",
        "vmlinux.a",
        "net/core/dev.o",
        "net/built-in.a",
        ".tmp_vmlinux.kallsyms1",
    ]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    source.drop_objects(tmp_path)
    assert sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    ) == sorted(kept)


def test_checkouts_that_share_a_cache_name_one_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each would make the kernels of the other again, while guests boot them."""
    (tmp_path / "shared" / "vm").mkdir(parents=True)
    places = set()
    for name in ("one", "other"):
        (tmp_path / name / "out").mkdir(parents=True)
        (tmp_path / name / "out" / "cache").symlink_to(tmp_path / "shared")
        monkeypatch.setattr(paths, "checkout_root", lambda name=name: tmp_path / name)
        places.add(paths.cache_folder())
    assert places == {tmp_path / "shared" / "vm"}
