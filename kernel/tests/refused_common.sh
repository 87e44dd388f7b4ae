# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What our drivers of cards refuse, whichever card: `. /lib/keepon/refused.sh`. The caller sets
# DRIVER, ours, FOLDER, the card's place in sysfs, and BUS.
#
#   try DEVICE               DRIVER is asked to take it, by its name on the bus
#   refused NAME PATTERN     the card was not taken: one sentence of DRIVER in the log matches, and
#                            nothing of it is held
#   lacking WHAT PATTERN     refused while it lacks WHAT, see lack_probe
#   refused_link PATTERN NAME LINK-OPTIONS ...   a keepon link on $lower is refused in one sentence

DEVICE=$(basename "$FOLDER")

try() {
	log_lines=$(dmesg | wc -l)
	echo "$DRIVER" > "/sys/bus/$BUS/devices/$1/driver_override"
	echo "$1" > "/sys/bus/$BUS/drivers_probe"
}

# said DEVICE: what the driver, or the bus for it, has said of that device since try()
said() {
	dmesg | tail -n +$((log_lines + 1)) | grep -F "$DRIVER $1: "
}

refused() {
	like "$(said "$DEVICE")" "$2" "$1: sentence"
	is "$(said "$DEVICE" | wc -l)" 1 "$1: one line"
	is "$(ls "$FOLDER/net" 2> /dev/null)" "" "$1: no interface"
	[ ! -e "$FOLDER/driver" ] && ok "$1: no driver" || not_ok "$1: no driver"
	is "$(grep -c "$DRIVER" /proc/iomem)" 0 "$1: no registers are taken"
}

lacking() {
	run "$1 taken away" modprobe lack_probe device="$DEVICE" lacks="$1"
	try "$DEVICE"
	refused "no $1" "$2"
	rmmod lack_probe
}

refused_link() {
	_pattern=$1 _name=$2
	shift 2
	_said=$(ip link add link "$lower" name rt1 type keepon "$@" 2>&1) &&
		not_ok "$_name: refused" || ok "$_name: refused"
	like "$_said" "$_pattern" "$_name: sentence"
	is "$(echo "$_said" | wc -l)" 1 "$_name: one line"
	[ ! -d /sys/class/net/rt1 ] && ok "$_name: no link" || not_ok "$_name: no link"
}
