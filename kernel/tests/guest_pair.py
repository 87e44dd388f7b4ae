# SPDX-License-Identifier: GPL-2.0-only
"""Two guests with virtio-net of four queues on a switch of this machine, in a network namespace of
its own that goes with the last of its processes: the kernel's bridge with taps, or Open vSwitch
with DPDK, which reads the guests' memory and needs no huge pages.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from keepon_guests import GuestResult, get_kernel, packages, run_guest
from keepon_guests.paths import cache_folder, find_program, only_one

HERE = Path(__file__).parent
QUEUES = 4
MEMORY_MB = 256
ROLES = ("publisher", "subscriber")
DPDK = "--no-huge --legacy-mem -m 512 --no-pci -d librte_mempool_ring.so.{abi} --file-prefix=pair"
"""Open vSwitch says --in-memory unless it finds --legacy-mem, which --no-huge stands for."""
OURS = re.compile("openvswitch|librte|libxdp|libbpf")


@contextmanager
def namespace() -> Iterator[list[str]]:
    """Words before a command that run it in a network namespace with taps."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    with subprocess.Popen(["unshare", *user, "--net", "cat"], stdin=subprocess.PIPE) as holder:
        at = f"/proc/{holder.pid}/ns"
        own = Path("/proc/self/ns/net").stat().st_ino
        while Path(f"{at}/net").stat().st_ino == own:
            time.sleep(0.01)
        yield ["nsenter", *([f"--user={at}/user", "--preserve-credentials"] if user else []),
               f"--net={at}/net"]  # fmt: skip


@contextmanager
def bridge(within: list[str], _: Path) -> Iterator[list[list[str]]]:
    """The kernel's; QEMU's words for each guest."""
    commands = ["link add br0 type bridge", "link set br0 up"]
    for name in ROLES:
        commands += [f"tuntap add {name} mode tap multi_queue", f"link set {name} master br0 up"]
    for command in commands:
        subprocess.run([*within, find_program("ip"), *command.split()], check=True)
    yield [["-netdev", f"tap,id=net,ifname={name},script=no,downscript=no,queues={QUEUES}"]
           for name in ROLES]  # fmt: skip


def open_vswitch() -> tuple[Path, str]:
    """Debian's packages unpacked, and the number of DPDK's binary interface."""
    (ring,) = packages.offered_names("^librte-mempool-ring[0-9]+$")
    tree = cache_folder() / "open-vswitch"
    with only_one(tree):
        if not (tree / "done").is_file():
            for name in packages.dependencies(["openvswitch-switch-dpdk", ring], None):
                if OURS.match(name):
                    packages.unpack(name, tree)
            (tree / "done").touch()
    return tree, ring.removeprefix("librte-mempool-ring")


@contextmanager
def userspace(within: list[str], folder: Path) -> Iterator[list[list[str]]]:
    """Open vSwitch's, which polls on a CPU of its own."""
    tree, abi = open_vswitch()
    places = ("OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR", "RUNTIME_DIRECTORY", "XDG_RUNTIME_DIR")
    libraries = {"LD_LIBRARY_PATH": str(tree / "usr/lib/x86_64-linux-gnu")}
    its = os.environ | libraries | dict.fromkeys(places, str(folder))
    database = f"unix:{folder}/db.sock"

    def vsctl(*words: str) -> None:
        command = [tree / "usr/bin/ovs-vsctl", f"--db={database}", "--timeout=30", *words]
        subprocess.run(command, env=its, check=True)

    @contextmanager
    def daemon(program: str, *words: str) -> Iterator[None]:
        with (folder / f"{Path(program).name}.log").open("w") as log:
            process = subprocess.Popen(
                [*within, tree / program, *words], env=its, stdout=log, stderr=log
            )
            try:
                yield
            finally:
                process.terminate()
                process.wait()

    schema = tree / "usr/share/openvswitch/vswitch.ovsschema"
    subprocess.run(
        [tree / "usr/bin/ovsdb-tool", "create", folder / "conf.db", schema], env=its, check=True
    )
    switch = "usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
    with daemon("usr/sbin/ovsdb-server", f"--remote=p{database}", f"{folder}/conf.db"):
        while not (folder / "db.sock").exists():
            time.sleep(0.01)
        vsctl("--no-wait", "init")
        vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
              "other_config:per-port-memory=true",
              f"other_config:dpdk-extra={DPDK.format(abi=abi)}")  # fmt: skip
        with daemon(switch, database, f"--pidfile={folder}/pid"):
            vsctl("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev")
            for name in ROLES:
                path = f"options:vhost-server-path={folder}/{name}"
                port = ["Interface", name, "type=dpdkvhostuserclient", path]
                vsctl("add-port", "br0", name, "--", "set", *port)
            yield [
                ["-object", f"memory-backend-memfd,id=mem,size={MEMORY_MB}M,share=on",
                 "-machine", "memory-backend=mem",
                 "-chardev", f"socket,id=user,path={folder}/{name},server=on",
                 "-netdev", f"vhost-user,id=net,chardev=user,queues={QUEUES}"]
                for name in ROLES
            ]  # fmt: skip


def emulator(within: list[str], folder: Path) -> Path:
    """QEMU in that namespace."""
    program = folder / "qemu"
    program.write_text(f'#!/bin/sh\nexec {" ".join(within)} qemu-system-x86_64 "$@"\n')
    program.chmod(0o755)
    return program


SWITCHES = {"bridge": bridge, "userspace": userspace}


def run_pair(switch: str, family: str, folder: Path, publisher: Path) -> dict[str, GuestResult]:
    """Role -> what that guest left behind."""
    kernel = get_kernel(family)
    with contextlib.ExitStack() as stack:
        within = stack.enter_context(namespace())
        nets = stack.enter_context(SWITCHES[switch](within, folder))
        qemu = emulator(within, folder)
        threads = stack.enter_context(ThreadPoolExecutor(len(ROLES)))
        # QEMU 7.2 needs 0 for vhost-user without KVM.
        vectors = 2 * QUEUES + 2 if switch == "bridge" else 0
        cpus = ["-smp", str(QUEUES)]
        device = f"virtio-net-pci,netdev=net,mq=on,vectors={vectors},romfile="
        guests = {
            role: threads.submit(
                run_guest, kernel, HERE / "guest_station.sh", {"/usr/bin/publisher": publisher},
                environment={"ROLE": role}, mode="smp", memory_mb=MEMORY_MB, timeout_s=200,
                qemu_args=[*cpus, *net, "-device", f"{device},mac=02:00:00:00:00:0{n}"], qemu=qemu,
            )
            for n, (role, net) in enumerate(zip(ROLES, nets, strict=True), 1)
        }  # fmt: skip
        return {role: guest.result().check() for role, guest in guests.items()}
