# SPDX-License-Identifier: BSD-3-Clause
"""Which Ethernet drivers of a kernel tree can send at a given instant, and what else of them
matters to Keepon.

Read from the sources alone, module by module as the Makefiles put them together: what a driver
calls and handles, not what one of its cards can do. Source of the question: KeepON paper, sections
1 and A.2, Table 2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from keepon.errors import ConfigError, one_line

ETHERNET = Path("drivers") / "net" / "ethernet"

# Each is what only a driver with the feature needs. That the name of a qdisc occurs is not enough:
# igb answers questions about taprio and does not have it.
FEATURES = {
    "ethernet": re.compile(r"\b(?:devm_)?alloc_(?:etherdev|(?:\w+_)?netdev)(?!_dummy)\w*\s*\("),
    "phc": re.compile(r"\bptp_clock_(?:register|index)\s*\(|\bphc_index\s*=(?!\s*-1)"),
    "so_txtime": re.compile(r"\bstruct tc_etf_qopt_offload\b"),
    "taprio": re.compile(r"\bstruct tc_taprio_qopt_offload\b"),
    "own_fcs": re.compile(r"\bIFF_SUPP_NOFCS\b"),
    "bad_frames": re.compile(r"\bNETIF_F_RXALL\b"),
}

BACKENDS = {
    "e1000": "keepon_intel, not paced",
    "e1000e": "keepon_intel (82574)",
    "genet": "keepon_genet (BCM2711)",
    "igb": "keepon_intel (82576, I350, I21x)",
    "macb": "keepon_gem (Cadence GEM)",
}
"""Kernel's driver -> ours for the same cards; docs/nics.md says which of them were seen."""

_LINE = re.compile(r"^\s*([\w.$()-]+?)\s*[:+]?=\s*(.*)$")
_CONTINUED = re.compile(r"\\\n")


@dataclass(frozen=True)
class Driver:
    """One module that makes Ethernet interfaces.

    Attributes:
        name: of the module.
        folder: of its Makefile below drivers/net/ethernet.
        phc: has a PTP hardware clock.
        so_txtime: offloads qdisc ETF, which holds frames until their SO_TXTIME.
        taprio: offloads qdisc taprio (IEEE 802.1Qbv).
        own_fcs: sends frames whose FCS the sender made (socket option SO_NOFCS).
        bad_frames: can be set to receive frames with a bad FCS.
        backend: Keepon's driver for the same cards, if there is one.
    """

    name: str
    folder: str
    phc: bool
    so_txtime: bool
    taprio: bool
    own_fcs: bool
    bad_frames: bool
    backend: str

    @property
    def scheduled(self) -> bool:
        """Can it send at a given instant, one way or the other?"""
        return self.so_txtime or self.taprio


@dataclass(frozen=True)
class Survey:
    """What a tree has.

    Attributes:
        drivers: by name.
        modules: in drivers/net/ethernet altogether, with libraries, glue for boards and MDIO.
    """

    drivers: list[Driver]
    modules: int

    def counts(self) -> dict[str, int]:
        """How many drivers there are, and how many of them have what."""
        flags = ("phc", "scheduled", "so_txtime", "taprio", "own_fcs", "bad_frames")
        had = {flag: sum(getattr(driver, flag) for driver in self.drivers) for flag in flags}
        both = sum(driver.so_txtime and driver.taprio for driver in self.drivers)
        return {"modules": self.modules, "drivers": len(self.drivers), **had, "both": both}


def survey(tree: Path) -> Survey:
    """The Ethernet drivers of a kernel tree.

    Args:
        tree: top folder of the sources; only drivers/net/ethernet needs to be there.

    Raises:
        ConfigError: it is no kernel tree, a file of it cannot be read, or its Makefiles name no
            driver.
    """
    top = tree / ETHERNET
    if not (top / "Makefile").is_file():
        raise ConfigError(
            f"argument TREE = {tree}: has no {ETHERNET}/Makefile; name the top folder of a kernel's"
            " sources"
        )
    texts: dict[Path, str] = {}
    found, modules = [], 0
    for makefile in sorted([*top.rglob("Makefile"), *top.rglob("Kbuild")]):
        if not makefile.is_file():  # a folder of that name, a pipe nobody writes to
            continue
        for name, sources in _modules(makefile):
            modules += 1
            has = {feature for source in sources for feature in _features(source, texts)}
            if "ethernet" in has:
                flags = {key: key in has for key in FEATURES if key != "ethernet"}
                folder = str(makefile.parent.relative_to(top))
                found.append(
                    Driver(name=name, folder=folder, backend=BACKENDS.get(name, ""), **flags)
                )
    if not found:
        raise ConfigError(
            f"argument TREE = {tree}: no driver was found in {ETHERNET}; name a complete tree"
        )
    return Survey(sorted(found, key=lambda driver: (driver.name, driver.folder)), modules)


def _text(path: Path) -> str:
    """Of a source or Makefile; a file that may not be read would be a driver missed in silence."""
    try:
        # to open a pipe would wait for a writer; devices have no end
        return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    except OSError as error:
        raise ConfigError(
            f"argument TREE: {one_line(path, 500)}: cannot be read ({error.strerror})"
        ) from error


def _assignments(makefile: Path) -> Iterator[tuple[str, list[str]]]:
    text = _CONTINUED.sub(" ", _text(makefile))
    for line in text.splitlines():
        match = _LINE.match(line.partition("#")[0])
        if match:
            yield match[1], match[2].split()


def _modules(makefile: Path) -> Iterator[tuple[str, set[Path]]]:
    """Modules of one Makefile with the sources they are made of, whatever the configuration."""
    modules: list[str] = []
    parts: dict[str, list[str]] = {}
    for target, words in _assignments(makefile):
        objects = [word.removesuffix(".o") for word in words if word.endswith(".o")]
        if target.startswith("obj-"):
            modules.extend(objects)
        else:
            # name-y, name-objs, name-$(CONFIG_X)
            parts.setdefault(re.sub(r"-(y|m|objs|\$\(\w+\))$", "", target), []).extend(objects)
    for name in dict.fromkeys(modules):
        members = parts.get(name) or [name]
        yield Path(name).name, {makefile.parent / f"{member}.c" for member in members}


def _features(source: Path, texts: dict[Path, str]) -> list[str]:
    if source not in texts:
        texts[source] = _text(source)  # none: it is made while the kernel is built
    return [name for name, pattern in FEATURES.items() if pattern.search(texts[source])]
