# SPDX-License-Identifier: GPL-2.0-only
# What keepon_genet refuses, in one sentence each, and that the controller is then as it was: the
# kernel's own driver takes it and echoes come back. At the far end is QEMU's user network.
BUS=platform DRIVER=keepon_genet FOLDER=/sys/bus/platform/devices/fd580000.ethernet
PEER=10.0.2.2
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
. /lib/keepon/refused.sh

# kernel_has_it NAME
kernel_has_it() {
	echo bcmgenet > "$FOLDER/driver_override"
	echo "$DEVICE" > /sys/bus/platform/drivers_probe
	ip addr add 10.0.2.15/24 dev eth0
	ip link set dev eth0 up
	run "$1: the kernel's driver takes it" wait_until 5 is_up eth0
	is "$(ping -q -c 3 -i 0.01 $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" \
		3 "$1: echoes come back"
	echo "$DEVICE" > "$FOLDER/driver/unbind"
}

modprobe keepon_genet
modprobe mdio_bcm_unimac
modprobe genet
# it is asked again when the bus of its PHY is there
run "the kernel's driver has it" wait_until 5 test -d "$FOLDER/net/eth0"
echo "$DEVICE" > "$FOLDER/driver/unbind"

other=$(for place in /sys/bus/platform/devices/*; do
	[ -e "$place/driver" ] || [ ! -e "$place/of_node" ] || [ "$place" = "$FOLDER" ] ||
		basename "$place"
done | head -n 1)
[ -n "$other" ] && ok "a device that nobody drives" || fail "a device that nobody drives"
try "$other"
like "$(said "$other")" "this is no brcm,bcm2711-genet-v5" "another device: sentence"
is "$(said "$other" | wc -l)" 1 "another device: one line"
echo > "/sys/bus/platform/devices/$other/driver_override"

lacking dma "no memory that the device can reach"
kernel_has_it "no dma"
lacking interrupt "IRQ index 0 not found"
kernel_has_it "no interrupt"
lacking phy "its PHY does not answer"
kernel_has_it "no PHY"

# ---- and over a controller that it has
modprobe keepon
bind_genet && ok "a card" || fail "a card"
refused_link "ring_slots.*32" "a ring that is too small" ring 32
refused_link "ring_slots.*512" "a ring that is too large" ring 512
refused_link "slot_bytes" "slots of jumbo frames" slot_bytes 9000
like "$(ip link set dev eth0 mtu 9000 2>&1)" "mtu greater than device maximum" "jumbo frames"
ip link add link eth0 name rt0 type keepon && ok "a link" || fail "a link"
refused_link "eth0 has an upper device already" "claimed twice"
ip link del rt0
run "the driver goes" rmmod keepon_genet
kernel_has_it "after all that"
done_testing
