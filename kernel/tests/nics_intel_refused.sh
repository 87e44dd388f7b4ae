# SPDX-License-Identifier: GPL-2.0-only
# What keepon_intel refuses, in one sentence each, and that the card is then as it was: the kernel's
# own driver takes it and echoes come back. OURS, THEIRS: PCI addresses; STOCK: the kernel's driver.
# OURS has an expansion ROM as large as its registers, all zero.
BUS=pci DRIVER=keepon_intel FOLDER=/sys/bus/pci/devices/$OURS
PEER=10.0.0.2
STATION=10.0.0.1
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
. /lib/keepon/refused.sh

config=$FOLDER/config
registers=$(sed 's/ .*//; q' "$FOLDER/resource")
store() { # OFFSET VALUE, 32 bits
	printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $(($2 & 255)) $(($2 >> 8 & 255)) \
		$(($2 >> 16 & 255)) $(($2 >> 24 & 255)))" |
		dd of="$config" bs=4 seek=$(($1 / 4)) conv=notrunc 2> /dev/null
}

# kernel_has_it NAME
kernel_has_it() {
	echo "$STOCK" > "$FOLDER/driver_override"
	echo "$OURS" > /sys/bus/pci/drivers_probe
	lower=$(ls "$FOLDER/net")
	ip addr add $STATION/24 dev "$lower"
	ip link set dev "$lower" up
	run "$1: the kernel's driver takes it" wait_until 10 is_up "$lower"
	is "$(ping -q -c 3 -i 0.01 -W 1 $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" \
		3 "$1: echoes come back"
	echo "$OURS" > "$FOLDER/driver/unbind"
}

modprobe keepon_intel
far_end
# the kernel's driver has taken both
echo "$OURS" > "$FOLDER/driver/unbind"

try 0000:00:00.0
like "$(said 0000:00:00.0)" "does not know the device 8086:29c0" "another device: sentence"
is "$(said 0000:00:00.0 | wc -l)" 1 "another device: one line"
echo > /sys/bus/pci/devices/0000:00:00.0/driver_override

lacking dma "no memory that the device can reach"
kernel_has_it "no dma"
lacking interrupt "no interrupt"
kernel_has_it "no interrupt"

# In place of its registers there is the ROM, which takes no command, and has no answer of a PHY.
store 48 $((registers | 1))
store 16 0x40000000
try "$OURS"
refused "no PHY" "its PHY does not answer"
store 48 0
store 16 $((registers))
kernel_has_it "no PHY"

# ---- and over a card that it has
modprobe keepon
bind_intel && ok "a card" || fail "a card"
# the smallest ring holds what may be fetched ahead and the batch
refused_link "ring_slots.*32" "a ring that is too small" ring 32
refused_link "ring_slots.*8192" "a ring that is too large" ring 8192
refused_link "slot_bytes" "slots of jumbo frames" slot_bytes 9000
like "$(ip link set dev "$lower" mtu 9000 2>&1)" "mtu greater than device maximum" "jumbo frames"
ip link add link "$lower" name rt0 type keepon && ok "a link" || fail "a link"
refused_link "$lower has an upper device already" "claimed twice"
ip link del rt0
run "the driver goes" rmmod keepon_intel
kernel_has_it "after all that"
done_testing
