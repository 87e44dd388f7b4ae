# SPDX-License-Identifier: GPL-2.0-only
"""A link comes and goes on the card of a machine as people have them: Debian with systemd, whose
network NetworkManager, systemd-networkd, ifupdown or dhcpcd manages.

Needs root and the network, for the system (scripts/chroot.py).
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import guest_programs
import pytest
from keepon_guests import (
    GuestResult,
    Kernel,
    build_modules,
    get_kernel,
    images,
    packages,
    run_guest,
)

pytestmark = [pytest.mark.vm, pytest.mark.soak]

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
OUT = ROOT / "out/test/managed"
PACKAGE = ("00-keepon.network", "keepon-networkmanager.conf")
MODULES = ("native", "hwsim", "keepon")
# This machine's own release: the plugin is built for its iproute2.
SUITE = platform.freedesktop_os_release()["VERSION_CODENAME"]
DEBIANS = (
    "systemd-sysv udev dbus kmod cpio iproute2 iputils-ping ethtool procps network-manager ifupdown"
    " isc-dhcp-client dhcpcd dnsmasq-base openssh-server openssh-client nftables ufw iptables"
)
# Folders of the kernel's modules that a machine's network may need.
FOLDERS = (
    "net/netfilter", "net/ipv4", "net/ipv6", "net/bridge", "net/8021q", "net/802", "net/llc",
    "drivers/net/bonding", "fs/autofs",
)  # fmt: skip
OTHERS = ("macvlan", "netconsole", "af_packet", "dummy", "nfnetlink")


def digest(recipe: str) -> str:
    return hashlib.sha256(recipe.encode()).hexdigest()[:12]


def system() -> Path:
    """Archive of the system, made once for each of its recipes."""
    script = HERE / "card_managed_system.sh"
    archive = OUT / f"{SUITE}-{digest(script.read_text() + DEBIANS)}.cpio"
    if not archive.is_file():
        folder = OUT / "system"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "packages").write_text(DEBIANS)
        shutil.copy(script, folder)
        inside = map(str, (ROOT / "scripts/chroot.py", SUITE, folder, script.name))
        with (folder / "log").open("w") as log:
            done = subprocess.run([sys.executable, *inside], stdout=log, stderr=log, check=False)
        assert done.returncode == 0, (folder / "log").read_text()[-5000:]
        (folder / "out/system.cpio").replace(archive)
    return archive


def with_more_modules(kernel: Kernel) -> Kernel:
    """The kernel with those of its own modules that a machine's firewall and its stacks need."""
    folder = OUT / f"{kernel.version}-{digest(' '.join(FOLDERS + OTHERS))}"
    more = dataclasses.replace(kernel, folder=folder)
    if not more.modules_archive.is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        lists = images.lists_of(kernel.family, kernel.flavour)
        with tempfile.TemporaryDirectory(dir=OUT) as name:
            tree = Path(name)
            for package in images.image_packages(kernel.version, lists):
                packages.unpack(package, tree, lists)
            (modules,) = {p.resolve() for p in tree.glob(f"**/lib/modules/{kernel.version}/kernel")}
            below = [path for part in FOLDERS for path in (modules / part).rglob("*.ko*")]
            wanted = [*map(images.module_name, below), *OTHERS]
            found = images.collect_modules(tree, kernel.version, wanted)
        shutil.copy(kernel.image, more.image)
        images.write_modules(folder, *found)
    return more


def boot(script: str, manager: str, family: str, folder: Path, **environment: str) -> GuestResult:
    """A machine of that manager runs the script; what it left is in the folder."""
    kernel = get_kernel(family)
    files: dict[str, Path | bytes] = {
        "/system.cpio": system(),
        "/lib/keepon/first.sh": HERE / "card_managed_first.sh",
        "/lib/keepon/managed.sh": HERE / "card_managed_common.sh",
        "/lib/keepon/echo.py": HERE / "card_managed_echo.py",
        guest_programs.PLUGIN: guest_programs.plugin(folder),
        **{f"/lib/keepon/{name}": ROOT / "systemd" / name for name in PACKAGE},
    }
    rounds = os.environ.get("KEEPON_ROUNDS", "20")
    result = run_guest(
        with_more_modules(kernel), HERE / script, files,
        modules=build_modules(kernel, [HERE.parent / name for name in MODULES]),
        environment={"MANAGER": manager, "PACKAGE": "yes", "ROUNDS": rounds, "SEED": "1"}
        | environment,
        append="rdinit=/lib/keepon/first.sh net.ifnames=0 systemd.show_status=no",
        memory_mb=2048, timeout_s=7200, virtual_limit_s=3600,
    )  # fmt: skip
    for name, data in result.files.items():
        (folder / Path(name).name).write_bytes(data)
    (folder / "console").write_text(result.console)
    print(folder, result.stdout, f"{result.virtual_seconds} s in {result.wall_seconds:.0f} s")
    return result


@pytest.mark.parametrize("family", ["6.1", "6.12", "newest"])
@pytest.mark.parametrize("manager", ["NetworkManager", "networkd", "ifupdown", "dhcpcd"])
def test_a_link_leaves_the_card_to_its_manager(manager: str, family: str, tmp_path: Path) -> None:
    result = boot("card_managed.sh", manager, family, tmp_path)
    assert result.check().tap.problems() == []


@pytest.mark.parametrize("firewall", ["nftables", "ufw"])
def test_a_firewall_that_names_the_card_holds(firewall: str, tmp_path: Path) -> None:
    result = boot("card_managed_firewall.sh", "ifupdown", "6.1", tmp_path, FIREWALL=firewall)
    assert result.check().tap.problems() == []


def test_what_is_stacked_on_the_card_goes_on(tmp_path: Path) -> None:
    result = boot("card_managed_stacked.sh", "none", "6.1", tmp_path)
    assert result.check().tap.problems() == []
