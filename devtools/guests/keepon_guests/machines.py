# SPDX-License-Identifier: BSD-3-Clause
"""The machines that guests run on: a PC of this machine's architecture, a Raspberry Pi 4, and
QEMU's Versal board, for its Cadence GEM.

In QEMU the Pi has no bus for a virtio device, and of its serial ports one that works: what a script
prints and leaves in /out comes back over the console, after a line that says so. A guest that does
not end loses it. The emulator is ours (scripts/paced_qemu.py), for QEMU's own Pi has no Ethernet.
The Versal board boots the same kernel in the same emulator and is used in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass

# On the console of a guest without virtio: the archive begins after it.
FILES_LINE = b"\nkeepon-vm: files\n"

# Warnings and worse reach the console at once; no self-tests of ciphers (1.5 virtual seconds);
# trouble ends the guest. The emulator translates programs once if they always lie at one place.
COMMAND_LINE = (
    "quiet loglevel=5 printk.devkmsg=on log_buf_len=1M panic=-1 oops=panic nokaslr "
    "mitigations=off norandmaps cryptomgr.notests audit=0 random.trust_cpu=on"
)


@dataclass(frozen=True)
class Machine:
    """One kind of machine.

    `foreign`: Debian's name of its architecture if it is not this machine's. `compiler`: prefix of
    the cross compiler, `kbuild`: ARCH of the kernel. `board`: its device tree in the image package.
    `modules`: more of them in the guest. `options`: more kernel parameters. `settings`: of a board
    in QEMU. `virtio`: results come back over a virtio port.
    """

    name: str
    console: str
    options: str
    foreign: str | None = None
    compiler: str = ""
    kbuild: str = ""
    board: str = ""
    modules: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    virtio: bool = True

    def command_line(self, cpus: int) -> str:
        """Of the kernel. On a board it is to leave the CPUs alone that would not answer."""
        return f"console={self.console},115200 {COMMAND_LINE} {self.options}".format(cpus=cpus)

    @property
    def make_variables(self) -> tuple[str, ...]:
        """Variables of kbuild."""
        return (f"ARCH={self.kbuild}", f"CROSS_COMPILE={self.compiler}") if self.foreign else ()

    def qemu(self, memory_mb: int, cpus: int) -> list[str]:
        """QEMU's arguments for the machine with that many CPUs, and for what is not the same on all
        of them. A machine with virtio wants a chardev `result` beside them.
        """
        if not self.virtio:
            # The board has its memory.
            return ["-M", self.name, *(text.format(cpus=cpus) for text in self.settings)]
        return [
            *("-M", self.name, "-cpu", "max", "-m", str(memory_mb), "-smp", str(cpus)),
            # Without ioeventfd the device works in the vCPU's own step, not in a host thread of its
            # own.
            *("-device", "virtio-serial-pci,ioeventfd=off"),
            *("-device", "virtserialport,chardev=result,name=result"),
        ]


PC = Machine("q35", "ttyS0", "tsc=reliable no_timer_check")
RASPBERRY_PI_4 = Machine(
    "raspi4b", "ttyAMA0", "maxcpus={cpus}", foreign="arm64", compiler="aarch64-linux-gnu-",
    kbuild="arm64",
    board="broadcom/bcm2711-rpi-4-b.dtb", virtio=False,
    settings=("-global", "bcm2838.enabled-cpus={cpus}"),
    modules=("genet", "mdio_bcm_unimac", "mdio_devres", "broadcom", "bcm2835_wdt", "macb"),
)  # fmt: skip
# QEMU makes its device tree. The second CPU, where it is not asked for, is off.
VERSAL = Machine(
    "xlnx-versal-virt", "ttyAMA0", "maxcpus={cpus}", foreign="arm64",
    compiler="aarch64-linux-gnu-", kbuild="arm64", settings=("-m", "1G"), virtio=False,
)  # fmt: skip
BY_FLAVOUR = {"arm64": RASPBERRY_PI_4}


def of_flavour(flavour: str) -> Machine:
    return BY_FLAVOUR.get(flavour, PC)


def split_console(console: bytes) -> tuple[bytes, bytes]:
    """The kernel's log and the archive after it, on the console of a guest without virtio."""
    log, _, archive = console.partition(FILES_LINE)
    return log, archive
