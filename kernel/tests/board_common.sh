# SPDX-License-Identifier: GPL-2.0-only
# For tests of the Ethernet controller of an emulated board as an ordinary network interface.
# $device is the controller. At the far end is QEMU's user network, which answers echoes at 10.0.2.2
# and has a file by TFTP.
PEER=10.0.2.2
folder=/sys/bus/platform/devices/$device

echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

# bind DRIVER: by name only; none: by the drivers' own tables
bind() {
	echo "$1" > "$folder/driver_override"
	echo "$device" > /sys/bus/platform/drivers_probe
}

unbind() {
	echo "$device" > "$folder/driver/unbind"
}

name_of() {
	ls "$folder/net" 2>/dev/null
}

carrier() {
	ip link show dev "$(name_of)" | grep -q LOWER_UP
}

up() {
	ip addr replace 10.0.2.15/24 dev "$(name_of)"
	ip link set dev "$(name_of)" up
	wait_until 5 carrier
}

# echoes COUNT [ping options]: that came back
echoes() {
	_count=$1
	shift
	ping -q -c "$_count" -i 0.002 -W 1 "$@" $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}

counter() {
	ethtool -S eth0 | awk -v name="$1:" '$1 == name { print $2 }'
}
