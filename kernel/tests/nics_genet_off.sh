# SPDX-License-Identifier: GPL-2.0-only
# The registers of a GENET that was set down: nothing of it is on any more, for the memory its
# engines knew is another's now. At the far end is QEMU's user network.
. /lib/keepon/test.sh
base=0xfd580000
device=fd580000.ethernet

at() {
	printf '%d' "$(devmem $((base + $1)) 32)"
}

is_up() {
	ip link show "$1" | grep -q 'state UP'
}

off() {
	is $(($(at 0x3044) & 1)) 0 "$1: nothing is stored"
	is $(($(at 0x5044) & 1)) 0 "$1: nothing is fetched"
	is $(($(at 0x808) & 3)) 0 "$1: the MAC neither sends nor receives"
	is $(($(at 0x20c) & 0x12000)) $((0x12000)) "$1: no interrupt"
}

modprobe keepon_genet
echo keepon_genet > "/sys/bus/platform/devices/$device/driver_override"
echo "$device" > /sys/bus/platform/drivers_probe
off "never up"
ip addr add 10.0.2.15/24 dev eth0
for round in 1 2; do
	ip link set dev eth0 up
	run "carrier" wait_until 5 is_up eth0
	is "$(ping -q -c 3 -i 0.01 10.0.2.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" \
		3 "echoes come back"
	is $(($(at 0x3044) & 1)) 1 "up: frames are stored"
	is $(($(at 0x5044) & 1)) 1 "up: frames are fetched"
	ip link set dev eth0 down
	off "down"
done
run "unloaded" rmmod keepon_genet
done_testing
