# SPDX-License-Identifier: BSD-3-Clause
"""Debian's own kernels, unpacked and not installed: image, the modules tests need, and headers to
build ours.

A kernel family is "6.1" or "6.12", which come from the apt sources of this machine, or "newest",
the latest that Debian has for any release; a flavour "cloud" (small, boots fast: the pair for CI),
"amd64" (has e1000e, igb, igc, hsr) or "rt" (PREEMPT_RT: spinlocks sleep, interrupts are threads).
"debug" and "kcsan" are built here (source.py). "arm64" runs on an emulated Raspberry Pi 4
(machines.py). Versions are found by apt; the newest one with image and headers is taken. Everything
lands in out/cache/vm and is used from there afterwards, without network.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from keepon_host.errors import ConfigError, EnvironmentProblemError

from keepon_guests import buildtools, machines, newc, packages, source
from keepon_guests.paths import cache_folder, find_program, only_one, run_host

LOCAL_FAMILIES = ("6.1", "6.12")
FAMILIES = (*LOCAL_FAMILIES, packages.NEWEST)
# What is prepared for tests, and what those run on that take `offered_families()` as it is.
TESTED_FAMILIES = LOCAL_FAMILIES
SUFFIX = {"cloud": "-cloud-amd64", "amd64": "-amd64", "rt": "-rt-amd64", "arm64": "-arm64"}
FLAVOURS = (*SUFFIX, *source.FLAVOURS)
LAYOUT = 3  # of a kernel's folder in the cache; a new number makes all of them again

# Modules of the image that are put into the guest where the flavour has them, with all they depend
# on.
MODULES = [
    "sch_etf", "sch_taprio", "sch_mqprio", "sch_mqprio_lib", "sch_cbs", "sch_fq", "sch_fq_codel",
    "sch_htb",
    "sch_ingress", "sch_multiq", "sch_netem", "sch_plug", "sch_prio", "sch_red", "sch_tbf",
    "act_gate",
    "act_gact", "act_mirred", "act_police", "act_skbedit", "act_vlan", "cls_basic", "cls_bpf",
    "cls_flower",
    "cls_matchall", "cls_u32", "em_meta", "veth", "dummy", "macvlan", "ifb", "bridge",
    "8021q", "hsr", "pktgen", "nlmon", "af_packet_diag", "inet_diag", "tcp_diag", "tun",
    "vrf", "virtio_net", "virtio_pci", "virtio_console",
    "e1000", "e1000e", "igb", "igc", "ptp", "pps_core", "ptp_kvm", "ptp_mock", "mii",
]  # fmt: skip


@dataclass(frozen=True)
class Module:
    """What depmod would know of one module: names with underscores, aliases as patterns."""

    name: str
    depends: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kernel:
    """One unpacked kernel; `version` is what `uname -r` prints in the guest."""

    family: str
    flavour: str
    version: str
    folder: Path = field(repr=False)

    @property
    def image(self) -> Path:
        return self.folder / "vmlinuz"

    @property
    def config(self) -> Path:
        """The kernel's configuration (CONFIG_... lines)."""
        return self.folder / "config"

    @property
    def machine(self) -> machines.Machine:
        """What it boots on."""
        return machines.of_flavour(self.flavour)

    @property
    def board(self) -> Path:
        """Description of the machine (device tree), where it has one."""
        return self.folder / "board.dtb"

    @property
    def headers(self) -> Path:
        """Folder for `make -C`."""
        return self.folder / "usr" / "src" / f"linux-headers-{self.version}"

    @property
    def modules_archive(self) -> Path:
        """cpio with /lib/modules/VERSION: the modules flat, modules.dep, modules.alias,
        modules.builtin.
        """
        return self.folder / "modules.cpio"

    def modules(self) -> list[Module]:
        """The modules in `modules_archive`."""
        return [
            Module(row["name"], tuple(row["depends"]), tuple(row["aliases"]))
            for row in json.loads((self.folder / "modules.json").read_text())
        ]


# --- modules of an image
# --------------------------------------------------------------------------------------------


def module_name(path: Path) -> str:
    """Name as the kernel writes it: sch_etf for sch-etf.ko.xz."""
    return path.name.split(".ko")[0].replace("-", "_")


def read_module(path: Path) -> bytes:
    """A module's ELF file, decompressed: the guest's insmod cannot."""
    data = path.read_bytes()
    if path.suffix == ".xz":
        return lzma.decompress(data)
    if path.suffix != ".ko":
        raise EnvironmentProblemError(f"{path.name}: kernel modules must be .ko or .ko.xz")
    return data


def describe_module(name: str, data: bytes) -> Module:
    """Dependencies and aliases from the strings of section .modinfo."""
    tags: dict[bytes, list[str]] = {b"depends": [], b"alias": []}
    for tag, value in re.findall(rb"(?<=\0)(depends|alias)=([^\0]*)\0", data):
        tags[tag].append(value.decode())
    depends = [
        part.replace("-", "_") for text in tags[b"depends"] for part in text.split(",") if part
    ]
    return Module(name, tuple(depends), tuple(tags[b"alias"]))


def closure(wanted: list[str], modules: dict[str, Module]) -> list[str]:
    """The wanted modules that exist and all they depend on, dependencies first."""
    order: list[str] = []

    def visit(name: str) -> None:
        if name in modules and name not in order:
            for needed in modules[name].depends:
                visit(needed)
            order.append(name)

    for name in wanted:
        visit(name)
    return order


def index_entries(version: str, modules: list[Module]) -> list[newc.Entry]:
    """modules.dep and modules.alias of a flat folder /lib/modules/VERSION, for modprobe and the
    kernel's requests.
    """
    known = {module.name: module for module in modules}
    dep, alias = [], []
    for module in sorted(modules, key=lambda module: module.name):
        # modprobe loads from right to left: what others need goes to the end.
        needed = [name for name in reversed(closure([module.name], known)) if name != module.name]
        dep.append(f"{module.name}.ko: {' '.join(f'{name}.ko' for name in needed)}".strip())
        alias += [f"alias {pattern} {module.name}" for pattern in module.aliases]
    folder = f"lib/modules/{version}"
    return [
        newc.file_entry(
            f"{folder}/modules.dep", "".join(f"{line}\n" for line in dep).encode(), 0o644
        ),
        newc.file_entry(
            f"{folder}/modules.alias", "".join(f"{line}\n" for line in alias).encode(), 0o644
        ),
    ]


def collect_modules(
    tree: Path, version: str, more: Sequence[str] = ()
) -> tuple[bytes, list[Module]]:
    """Archive and list of the selected modules (MODULES and `more`) in an unpacked image
    package.
    """
    roots = [
        path
        for path in (tree / "usr/lib/modules" / version, tree / "lib/modules" / version)
        if path.is_dir()
    ]
    if not roots:
        raise EnvironmentProblemError(f"package of kernel {version} has no lib/modules/{version}")
    paths = {module_name(path): path for path in sorted(roots[0].rglob("*.ko*"))}
    contents: dict[str, bytes] = {}
    modules: dict[str, Module] = {}
    wanted = [*MODULES, *more]
    while wanted:
        name = wanted.pop()
        if name in paths and name not in modules:
            contents[name] = read_module(paths[name])
            modules[name] = describe_module(name, contents[name])
            wanted += modules[name].depends
    folder = f"lib/modules/{version}"
    chosen = [modules[name] for name in sorted(modules)]
    entries = [
        newc.file_entry(f"{folder}/{name}.ko", data, 0o644) for name, data in contents.items()
    ]
    entries.append(
        newc.file_entry(
            f"{folder}/modules.builtin", (roots[0] / "modules.builtin").read_bytes(), 0o644
        )
    )
    return newc.write([*entries, *index_entries(version, chosen)]), chosen


# --- packages
# --------------------------------------------------------------------------------------------------


def version_key(version: str) -> list[int]:
    """Numbers of a kernel version, for ordering: 6.12.117+deb12 after 6.12.99+deb12."""
    return [int(number) for number in re.findall(r"\d+", version)]


def is_later(family: str) -> bool:
    """Whether it is the number of a family later than those of this machine's Debian."""
    return bool(re.fullmatch(r"\d+\.\d+", family)) and version_key(family) > [6, 12]


def newest_version(package_names: list[str], family: str, flavour: str) -> str | None:
    """Newest kernel version of a family and flavour that has both image and headers among
    `package_names`.
    """
    minor = r"[0-9]+\.[0-9]+" if family == packages.NEWEST else re.escape(family)
    number = minor + r"\.[0-9.]+(?:-[0-9]+)?(?:\+[a-z0-9.~]+)?"
    found: dict[str, set[str]] = {"image": set(), "headers": set()}
    for name in package_names:
        match = re.fullmatch(rf"linux-(image|headers)-({number}{re.escape(SUFFIX[flavour])})", name)
        if match:
            found[match[1]].add(match[2])
    return max(found["image"] & found["headers"], key=version_key, default=None)


def needed_packages(name: str, pattern: str, lists: str | None) -> list[str]:
    """Those that package `name` depends on and whose names match."""
    depends = run_host([find_program("apt-cache"), *packages.apt_options(lists), "depends", name])
    return re.findall(rf"^ *\|?Depends: ({pattern})$", depends, re.MULTILINE)


def image_packages(version: str, lists: str | None) -> list[str]:
    """The image package, and those that hold its parts since 6.19."""
    name = f"linux-image-{version}"
    parts = rf"linux-(?:base|binary|modules)-{re.escape(version)}"
    return [name, *needed_packages(name, parts, lists)]


def header_packages(version: str, lists: str | None = None) -> list[str]:
    """The header package and those it takes its sources and build programs from."""
    name = f"linux-headers-{version}"
    needed = needed_packages(name, r"linux-kbuild-\S+|linux-headers-\S+-common(?:-rt)?", lists)
    if len(needed) < 2:
        raise EnvironmentProblemError(
            f"package {name} names no linux-kbuild and linux-headers-common: run apt-get update"
        )
    return [name, *needed]


def adapt_headers(folder: Path, version: str) -> None:
    """Make the header package's absolute path of the common sources one of the unpacked tree.

    Its vmlinux, if any, goes: kbuild would make BTF of our modules from it, which needs one more
    program.
    """
    headers = folder / "usr" / "src" / f"linux-headers-{version}"
    (headers / "vmlinux").unlink(missing_ok=True)
    makefile = headers / "Makefile"
    text = makefile.read_text()
    moved = text.replace("/usr/src/", f"{folder}/usr/src/")
    if moved == text:
        raise EnvironmentProblemError(
            f"{makefile}: no include of /usr/src/..., headers of an unknown layout"
        )
    makefile.write_text(moved)


def recipe(flavour: str) -> str:
    """Hash of what decides the contents of a cached kernel beside its version."""
    parts: list[object] = [LAYOUT, MODULES]
    extra = machines.of_flavour(flavour).modules
    if extra:
        parts.append(extra)
    if flavour in source.FLAVOURS:
        parts.append(source.recipe(flavour))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def from_image_package(kernel: Kernel) -> list[str]:
    """Image, configuration, modules and headers of a distributed kernel; names of its packages.

    The build programs beside the headers are this machine's, whatever the kernel runs on.
    """
    version, folder, machine = kernel.version, kernel.folder, kernel.machine
    lists = lists_of(kernel.family, kernel.flavour)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".unpack-") as text:
        tree = Path(text)
        names = [packages.unpack(name, tree, lists) for name in image_packages(version, lists)]
        for part in ("vmlinuz", "config"):
            old, new = f"boot/{part}-{version}", f"usr/lib/modules/{version}/{part}"
            shutil.copy(tree / (old if (tree / old).is_file() else new), folder / part)
        if machine.board:
            shutil.copy(
                tree / "usr" / "lib" / f"linux-image-{version}" / machine.board, kernel.board
            )
        write_modules(folder, *collect_modules(tree, version, machine.modules))
    for name in header_packages(version, lists):
        programs = name.startswith("linux-kbuild")
        names.append(packages.unpack(name, folder, None if programs and machine.foreign else lists))
        if programs and lists in packages.SUITES:
            names += buildtools.bring(folder, kernel.headers, name, lists)
    adapt_headers(folder, version)
    return names


def from_source(kernel: Kernel) -> list[str]:
    """The same, built here; everything the guests need is in the image."""
    names = source.build(
        kernel.family, kernel.flavour, kernel.version, kernel.folder, kernel.headers
    )
    builtin = (kernel.headers / "modules.builtin").read_bytes()
    entry = newc.file_entry(f"lib/modules/{kernel.version}/modules.builtin", builtin, 0o644)
    write_modules(kernel.folder, newc.write([entry, *index_entries(kernel.version, [])]), [])
    return names


def write_modules(folder: Path, archive: bytes, modules: list[Module]) -> None:
    (folder / "modules.cpio").write_bytes(archive)
    (folder / "modules.json").write_text(
        json.dumps([asdict(module) for module in modules], indent=1)
    )


def prepare(kernel: Kernel) -> None:
    """Fill the kernel's folder (made again) from its packages."""
    folder = kernel.folder
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    built = kernel.flavour in source.FLAVOURS
    names = from_source(kernel) if built else from_image_package(kernel)
    stamp = {
        "family": kernel.family,
        "flavour": kernel.flavour,
        "version": kernel.version,
        "packages": names,
    }
    # Last, so that an interrupted preparation leaves no stamp; the folder's place is in the
    # headers' Makefile.
    place = {"recipe": recipe(kernel.flavour), "folder": str(folder)}
    (folder / "kernel.json").write_text(json.dumps(stamp | place, indent=1))


def read_stamp(folder: Path) -> dict[str, object]:
    try:
        stamp: dict[str, object] = json.loads((folder / "kernel.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
    return stamp


def cached_version(family: str, flavour: str) -> str | None:
    """Newest complete version in the cache."""
    versions = []
    for path in cache_folder().glob("*/kernel.json"):
        stamp = read_stamp(path.parent)
        if (stamp.get("family"), stamp.get("flavour")) == (family, flavour):
            versions.append(path.parent.name)
    return max(versions, key=version_key, default=None)


def offered_version(family: str, flavour: str) -> str | None:
    """Newest version apt offers."""
    if flavour in source.FLAVOURS:
        return source.offered_version(family, flavour)
    names = packages.offered_names("^linux-(image|headers)-", lists_of(family, flavour))
    return newest_version(names, family, flavour)


def lists_of(family: str, flavour: str) -> str | None:
    """The lists of apt that have a kernel: None if they are this machine's."""
    if family not in LOCAL_FAMILIES:
        return packages.NEWEST
    return machines.of_flavour(flavour).foreign or source.lists_of(family)


def later_families(flavour: str = "cloud") -> list[str]:
    """Families later than 6.12 of which Debian has image and headers, by number; get_kernel() takes
    them, too.
    """
    numbers = {
        match[1]
        for name in packages.offered_names("^linux-headers-", packages.NEWEST)
        if (match := re.match(r"linux-headers-(\d+\.\d+)\.", name)) and is_later(match[1])
    }
    return [
        family for family in sorted(numbers, key=version_key) if offered_version(family, flavour)
    ]


def offered_families(
    flavour: str = "cloud", families: Sequence[str] = TESTED_FAMILIES
) -> list[str]:
    """Those of `families` this machine can have, cached or offered by apt: not every Debian has
    all. Of the newest kernel, which any has, the archive is not asked.
    """
    return [
        family
        for family in families
        if family == packages.NEWEST
        or cached_version(family, flavour)
        or offered_version(family, flavour)
    ]


def available_version(family: str, flavour: str) -> str:
    version = offered_version(family, flavour)
    if version is None:
        raise EnvironmentProblemError(
            f"apt offers no kernel {family} ({flavour}) with headers or sources for this Debian:"
            " run apt-get update, or add the suite that has it to the apt sources"
        )
    return version


def get_kernel(family: str = "6.1", flavour: str = "cloud", *, update: bool = False) -> Kernel:
    """The kernel of a family ("6.1", "6.12", "newest", and "7.2" if later_families() has it) and
    flavour ("cloud", "amd64", "rt", ...), unpacked or built on first use.

    `update` looks for a newer version than the one in the cache. Raises ConfigError for unknown
    names and EnvironmentProblemError when apt cannot deliver.
    """
    if family not in FAMILIES and not is_later(family):
        raise ConfigError(f"kernel family {family!r} is unknown: use one of {', '.join(FAMILIES)}")
    if flavour not in FLAVOURS:
        raise ConfigError(
            f"kernel flavour {flavour!r} is unknown: use one of {', '.join(FLAVOURS)}"
        )
    cache = cache_folder()
    with only_one(cache / f"{family}-{flavour}"):
        version = None if update else cached_version(family, flavour)
        version = version or available_version(family, flavour)
        folder = cache / version
        kernel = Kernel(family, flavour, version, folder)
        stamp = read_stamp(folder)
        if (stamp.get("recipe"), stamp.get("folder")) != (recipe(flavour), str(folder)):
            prepare(kernel)
    return kernel
