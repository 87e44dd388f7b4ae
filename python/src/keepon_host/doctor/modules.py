# SPDX-License-Identifier: BSD-3-Clause
"""Are Keepon's modules there for the running kernel, has it what they need, and does it take
them?
"""

from __future__ import annotations

from functools import partial
from typing import Final

from keepon_host import kernels
from keepon_host.checkout import checkout
from keepon_host.doctor import schedulers
from keepon_host.doctor.checks import NOTE, OK, PROBLEM, UNKNOWN, Answer, Named
from keepon_host.doctor.tree import Tree, unpacked
from keepon_host.errors import shell_word

NEEDED = ("keepon", "keepon_native")
CHOSEN = ("keepon_generic", "keepon_intel", "keepon_genet", "keepon_gem")
"""A card needs one of these at most: the check of its driver says which."""

# Of a checkout, where neither dkms nor packages have the sources.
BUILD: Final = (
    "(set -e; cd {checkout}; b=$PWD/out/build/modules; mkdir -p $b; cp -r core nicmodel kernel $b;"
    " cp -r kernel/nics/* $b/kernel; for m in {folders}; do make -C /lib/modules/$(uname -r)/build"
    " M=$b/kernel/$m KEEPON_ROOT=$b"
    ' KBUILD_EXTRA_SYMBOLS="$(echo $(find $b -name Module.symvers))" modules modules_install;'
    " done; depmod)"
)
"""Sources name those of other folders by their place two folders up; hence the copies."""
ALL = "native keepon generic intel hwcheck"
FOLDERS = {"keepon_genet": "native genet", "keepon_gem": "native gem"}
DKMS = "var/lib/dkms/keepon"
SOURCES = "usr/local/src"
"""Where `make install` puts what dkms builds from."""
INSTALL_KERNEL = "apt-get install linux-image-{}$(dpkg --print-architecture)"
NEEDS_MII = ("keepon_intel", "keepon_genet", "keepon_gem")

OPTIONS_NEEDED = ("MODULES", "HIGH_RES_TIMERS", "PTP_1588_CLOCK")
OPTIONS_HELPFUL = {
    "NETFILTER_EGRESS": "txtimes of frames sent on the card, not on its link, and backend generic",
    "NET_SCH_MQPRIO": "classes of their own",
    "NET_SCH_ETF": "qdisc etf",
    "NET_SCH_TAPRIO": "gates",
    "PREEMPT_RT": "short latencies",
    "NO_HZ_FULL": "CPUs without a tick",
    "CPU_ISOLATION": "isolated CPUs",
}
_SCHEDULER = "NET_SCH_"
SCHEDULERS = [
    name.removeprefix(_SCHEDULER).lower() for name in OPTIONS_HELPFUL if name.startswith(_SCHEDULER)
]

EFI = "sys/firmware/efi"
SECURE_BOOT = f"{EFI}/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
SIGNED = b"~Module signature appended~\n"
SIGN = (
    "k=/var/lib/dkms/mok; [ -e $k.key ] || {{ mkdir -p /var/lib/dkms && openssl req -new -x509"
    " -newkey rsa:2048 -nodes -days 36500 -subj /CN=keepon/ -keyout $k.key -outform DER -out"
    " $k.pub; }}; mokutil --import $k.pub; for m in {files}; do case $m in *.xz) xz -d $m;; *.gz)"
    " gzip -d $m;; esac; m=${{m%.[gx]z}}; /lib/modules/$(uname -r)/build/scripts/sign-file sha256"
    " $k.key $k.pub $m; done; depmod $(uname -r)"
)
"""The key is the one that dkms makes and signs with."""


def checks(tree: Tree) -> list[Named]:
    return [
        *((name, partial(module, tree, name)) for name in (*NEEDED, *CHOSEN)),
        ("kernel options", lambda: options_needed(tree)),
        ("kernel extras", lambda: options_helpful(tree)),
        ("Secure Boot", lambda: secure_boot(tree)),
    ]


def installed(tree: Tree, name: str, release: str) -> str | None:
    """File of a module below the root, as modprobe would find it; empty: none; None: no list of
    modules is there.
    """
    folder = f"lib/modules/{release}"
    listed = tree.text(f"{folder}/modules.dep")
    if listed is None:
        return None
    for line in listed.splitlines():
        path = line.partition(":")[0]
        if path.rpartition("/")[2].partition(".ko")[0].replace("-", "_") == name:
            return path.removeprefix("/") if path.startswith("/") else f"{folder}/{path}"
    return ""


def build_command(tree: Tree, name: str) -> str:
    """The command that gives the running kernel this module, by what is here: dkms that has the
    sources, what `make install` has put there, a checkout, and else the packages' own files.
    """
    release = tree.release
    headers = (
        "" if tree.has(f"lib/modules/{release}/build/Makefile") else f"linux-headers-{release}"
    )
    first = f"apt-get install {headers} && " if headers else ""
    if tree.names(DKMS):
        return f"{first}dkms autoinstall -k {release}"
    installed_sources = [each for each in tree.names(SOURCES) if each.startswith("keepon-")]
    if installed_sources:
        newest = shell_word(f"/{SOURCES}/{installed_sources[-1]}")
        return f"{first}dkms install {newest} -k {release}"
    folder = checkout()
    if folder is not None:
        place = shell_word(str(folder))
        return first + BUILD.format(checkout=place, folders=FOLDERS.get(name, ALL))
    return f"apt-get install ./keepon-dkms_*.deb {headers}".rstrip()


def _log(tree: Tree) -> str:
    """What dkms has written of a build that failed; nothing if there is none."""
    for version in tree.names(DKMS):
        file = f"{DKMS}/{version}/build/make.log"
        if tree.has(file):
            return f"; why dkms could not build it is in /{file}"
    return ""


def module(tree: Tree, name: str) -> Answer:
    """Is it there for the running kernel?"""
    if tree.has(f"sys/module/{name}"):
        return Answer(OK, "it is loaded")
    here = installed(tree, name, tree.release)
    if here is None:
        return Answer(
            UNKNOWN,
            f"it is not loaded, and /lib/modules/{tree.release} has no list of modules",
            f"depmod {tree.release}" if tree.has(f"lib/modules/{tree.release}") else "",
        )
    if here and name in NEEDED:
        return Answer(OK, "it is installed; the first link loads it")
    if here:
        return Answer(NOTE, "it is installed and not loaded", f"modprobe {name}")
    return _absent(tree, name)


def _absent(tree: Tree, name: str) -> Answer:
    others = [each for each in tree.names("lib/modules") if installed(tree, name, each)]
    found = f"it is not there for the running kernel {tree.release}"
    if others:
        found += f", but for {', '.join(others)}"
    if not kernels.known(tree.release):
        found += (
            f"; this version of Keepon knows kernels {kernels.FIRST} to {kernels.LAST}: install a"
            " newer one, or start another kernel"
        )
        return Answer(PROBLEM if name in NEEDED else NOTE, found)
    config = tree.config() if name in NEEDS_MII else None
    if config is not None and config.get("MII") not in ("y", "m"):
        found += ", which has no MII library: no driver of a card can be built for it"
        return Answer(NOTE, found, INSTALL_KERNEL.format(""))
    build = build_command(tree, name)
    if name not in NEEDED:
        return Answer(NOTE, f"{found}; only some cards need it", build)
    return Answer(PROBLEM, found + _log(tree), build)


def _no_config(tree: Tree) -> Answer:
    found = f"the configuration of kernel {tree.release} is not here"
    shows = installed(tree, "configs", tree.release)  # it makes /proc/config.gz
    return Answer(UNKNOWN, found, "modprobe configs" if shows else "")


def options_needed(tree: Tree) -> Answer:
    """What modules do not build or run without."""
    config = tree.config()
    if config is None:
        return _no_config(tree)
    missing = [name for name in OPTIONS_NEEDED if config.get(name) not in ("y", "m")]
    if missing:
        return Answer(PROBLEM, f"the kernel lacks {', '.join(missing)}", INSTALL_KERNEL.format(""))
    return Answer(OK, f"the kernel has {', '.join(OPTIONS_NEEDED)}")


def options_helpful(tree: Tree) -> Answer:
    """What it works without, less well or with less above it."""
    config = tree.config()
    absent = [kind for kind in SCHEDULERS if schedulers.lacks(tree, kind)]
    if config is None and not absent:
        return _no_config(tree)
    missing = [
        name
        for name in OPTIONS_HELPFUL
        if name.removeprefix(_SCHEDULER).lower() in absent
        or (config is not None and config.get(name) not in ("y", "m"))
    ]
    if not missing:
        return Answer(OK, f"the kernel has {', '.join(OPTIONS_HELPFUL)}")
    lacking = ", ".join(f"{name} ({OPTIONS_HELPFUL[name]})" for name in missing)
    remedy = INSTALL_KERNEL.format("rt-" if "PREEMPT_RT" in missing else "")
    return Answer(NOTE, f"the kernel is without {lacking}", remedy)


def _checked_by(tree: Tree) -> str | None:
    """Who takes signed modules only; empty: nobody; None: cannot be seen."""
    locked = tree.text("sys/kernel/security/lockdown") or ""
    if "[integrity]" in locked or "[confidentiality]" in locked:
        return "the kernel is locked down"
    if tree.text("sys/module/module/parameters/sig_enforce") == "Y":
        return "the kernel enforces signatures"
    variable = tree.raw(SECURE_BOOT)
    if variable:
        return "Secure Boot is on" if variable[-1] == 1 else ""
    # Where the variables are mounted, a machine without this one has no Secure Boot.
    return None if tree.has(EFI) and not tree.names(f"{EFI}/efivars") else ""


def _signed(tree: Tree, file: str) -> bool | None:
    """None: packed in a way that cannot be read here."""
    raw = tree.raw(file) or b""
    if file.endswith((".gz", ".xz")):
        raw = unpacked(file, raw)
    elif not file.endswith(".ko"):
        return None
    return raw.endswith(SIGNED)


def secure_boot(tree: Tree) -> Answer:
    """Would the kernel refuse modules that nobody signed?"""
    who = _checked_by(tree)
    if who is None:
        return Answer(
            UNKNOWN,
            "variables of UEFI are not mounted",
            f"mount -t efivarfs efivarfs /{EFI}/efivars",
        )
    if not who:
        return Answer(OK, "it is off: modules need no signature")
    files = [installed(tree, name, tree.release) for name in (*NEEDED, *CHOSEN)]
    found = {file: _signed(tree, file) for file in files if file}
    unsigned = [shell_word(f"/{file}") for file, signed in found.items() if signed is False]
    if unsigned:
        lacking = [name for name in ("mokutil", "openssl") if not tree.has(f"usr/bin/{name}")]
        first = f"apt-get install {' '.join(lacking)}; " if lacking else ""
        return Answer(
            PROBLEM,
            f"{who}, and {len(unsigned)} of Keepon's modules have no signature; the firmware asks"
            " for the key's password at the next boot",
            first + SIGN.format(files=" ".join(unsigned)),
        )
    if None in found.values():
        return Answer(UNKNOWN, f"{who}, and modules are packed so that no signature is seen")
    if not found:
        return Answer(NOTE, f"{who}: Keepon's modules will need a signature")
    return Answer(OK, f"{who}, and Keepon's modules are signed")
