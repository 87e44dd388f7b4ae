# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What happens to a card while its ring is lent, whichever card: `. /lib/keepon/lent.sh`. The caller
# sets lower, the card's interface, PEER, which answers echoes, and STATION, our address.
#
#   bind_card DRIVER FOLDER   the device of that folder in sysfs is DRIVER's; lower is up
#   bind_intel         the same for keepon_intel and the PCI address OURS
#   bind_genet         the same for keepon_genet and the controller of a Raspberry Pi 4, eth0
#   bind_gem           the same for keepon_gem and the first controller of QEMU's Versal board
#   far_end            the card THEIRS, of the kernel's driver STOCK, answers echoes at PEER
#   link_it            rt0 on the card, up and running, with a class of its own for the stream
#   two_classes        of rt0: priorities 8 to 15 are class 1
#   follow_clock       the system's clock follows that of rt0, and does when this returns
#   begin_traffic      a 1 ms stream by txtime and echoes without one, until end_traffic
#   is_up DEVICE       it has a carrier and is up
#   is_stopped DEVICE  it has none
#   counter NAME       of rt0, by ethtool -S
#   identity           submitted - verdicts - pending of rt0: 0 if every frame has one verdict
#   continues EVENT    rt0 runs again by itself, the stream goes on, every frame has one verdict
#   fail TEXT          a result without which nothing that follows says anything: the end
#   keep_books         rt0 is set down for good: what it has sent, for the host to compare

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done

bind_card() {
	echo "$1" > "$2/driver_override"
	[ ! -e "$2/driver" ] || basename "$2" > "$2/driver/unbind"
	basename "$2" > "/sys/bus/$(basename "$(readlink -f "$2/subsystem")")/drivers_probe"
	lower=$(ls "$2/net") && ip link set dev "$lower" up && wait_until 10 is_up "$lower"
}

bind_intel() {
	bind_card keepon_intel "/sys/bus/pci/devices/$OURS"
}

bind_genet() {
	bind_card keepon_genet /sys/bus/platform/devices/fd580000.ethernet
}

bind_gem() {
	bind_card keepon_gem /sys/bus/platform/devices/ff0c0000.ethernet
}

far_end() {
	modprobe "$STOCK"
	far=$(ls "/sys/bus/pci/devices/$THEIRS/net")
	ip netns add far
	ip link set dev "$far" netns far name eth9
	ip -n far addr add $PEER/24 dev eth9
	ip -n far link set dev eth9 up
}

is_up() {
	ip link show "$1" 2>/dev/null | grep -q 'state UP'
}

is_stopped() {
	ip link show "$1" | grep -q NO-CARRIER
}

counter() {
	ethtool -S rt0 | sed -n "s/^ *$1: //p"
}

identity() {
	ethtool -S rt0 | awk '/ submitted:/ { s = $2 } / verdict_/ { v += $2 } / pending:/ { p = $2 }
		END { print s - v - p }'
}

link_it() {
	ip link add link "$lower" name rt0 type keepon receive all slot_bytes 1230 trim_down 16 trim_up 16 \
		txtime tai \
		class 0-1 slots all class 1 late strict class 0 late reschedule || return 1
	ip addr add "$STATION/24" dev rt0
	ip link set rt0 up
	wait_until 10 is_up rt0 && two_classes
}

two_classes() {
	tc qdisc replace dev rt0 root handle 100: mqprio num_tc 2 \
		map 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 queues 1@0 1@1 hw 0
}

# Often, not every second: a gigabit's slot is a frame in the emulator, and most would be waited away.
follow_clock() {
	phc2sys -s rt0 -O 0 -R 16 -m > /out/phc2sys.txt 2>&1 &
	wait_until 5 grep -q " s2 " /out/phc2sys.txt
}

begin_traffic() {
	: > /run/traffic
	while [ -e /run/traffic ]; do
		keepon-talk rt0 --period 1ms --offset 64 --advance 5ms --count 200 --priority 8 \
			--size 100 \
			--linger 1ms || sleep 0.02
	done > /out/talk.txt 2>&1 &
	stream=$!
	while [ -e /run/traffic ]; do
		timeout 2 ping -q -c 200 -i 0.002 -W 1 -s 400 "$PEER" || sleep 0.02
	done > /dev/null 2>&1 &
	echoes=$!
}

end_traffic() {
	rm /run/traffic
	wait "$stream" "$echoes"
}

# sent: frames of the stream that have left
sent() {
	ethtool -S rt0 | awk '/verdict_(on_time|moved):/ { n += $2 } END { print n + 0 }'
}

has_sent() {
	[ "$(sent)" -ge "$1" ]
}

continues() {
	wait_until 15 is_up rt0 && ok "$1: it runs again" || fail "$1: it runs again"
	run "$1: the stream goes on" wait_until 5 has_sent $(($(sent) + 50)) ||
		ethtool -S rt0 | grep -v ": 0"
	is "$(identity)" 0 "$1: every frame has one verdict"
}

fail() {
	not_ok "$1"
	rm -f /run/traffic
	exit 1
}

keep_books() {
	ip link set rt0 down
	is "$(identity)" 0 "every frame has one verdict in the end"
	is "$(counter pending)" 0 "none is pending"
	ethtool -S rt0 > /out/counters.txt
}
