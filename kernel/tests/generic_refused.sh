# SPDX-License-Identifier: GPL-2.0-only
# Devices that are no wire, refused with what was measured: a card whose model sends at once, behind
# its own driver, a veth pair, a dummy. STOCK: the card's driver; OURS: its PCI address.
. /lib/keepon/test.sh

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done

is_up() {
	ip link show "$1" | grep -q 'state UP'
}

# rejected TEXT PATTERN COMMAND ...: fails with a sentence that matches
rejected() {
	_name=$1
	_pattern=$2
	shift 2
	_said=$("$@" 2>&1) && {
		not_ok "$_name: was accepted"
		return
	}
	like "$_said" "$_pattern" "$_name"
}

modprobe keepon
modprobe "$STOCK"
card=$(ls "/sys/bus/pci/devices/$OURS/net")
rejected "without the module" "nothing serves $card \($STOCK\); load keepon_generic" \
	ip link add link "$card" name rt0 type keepon backend generic
run "keepon_generic loads" modprobe keepon_generic
rejected "generic is never chosen by itself" \
	"has no descriptor ring to lend; .* or say backend generic" \
	ip link add link "$card" name rt0 type keepon
rejected "loopback" "no Ethernet device" ip link add link lo name rt0 type keepon backend generic
run "without a link it is not known yet" ip link add link "$card" name rt0 type keepon \
	backend generic
ip link set "$card" up
wait_until 8 is_up "$card"
refuse "with one it is measured, and not started" ip link set rt0 up
like "$(dmesg | tail -1)" "cannot start .*$card does not pace" "the log says why"
ip link del rt0
rejected "a card that sends at once" \
	"$card does not pace: [0-9]+ frames of 1230 bytes took [0-9]+ us .*, a wire of 1000 Mb/s takes 17500 us; .* say force on" \
	ip link add link "$card" name rt0 type keepon backend generic
rejected "two answers" "force \"maybe\" is not known; choose off or on" \
	ip link add link "$card" name rt0 type keepon backend generic force maybe

ip link add veth0 type veth peer name veth1
ip link set veth0 up
ip link set veth1 up
rejected "a veth pair" \
	"veth0 does not pace: [0-9]+ frames .* took [0-9]+ us .*, a wire of 10000 Mb/s takes" \
	ip link add link veth0 name rt0 type keepon backend generic
ip link add dum0 type dummy
ip link set dum0 up
rejected "a device without a rate" "cannot use dum0 .*nobody knows the rate of its link" \
	ip link add link dum0 name rt0 type keepon backend generic
is "$(ip link show type keepon)" "" "nothing of all that is left"

run "force" ip link add link "$card" name rt0 type keepon backend generic force on
like "$(ip -d link show rt0)" "backend generic force on" "it says so"
ip link set rt0 up
run "it runs" wait_until 5 is_up rt0
sleep 0.3
is "$(phc rt0)" "" "no clock is claimed"
refuse "and never a stamp" sh -c "ethtool -T rt0 | grep -q hardware-transmit"
trouble=$(ethtool -S rt0 | awk '/ (underruns|slips|doubts|suspected_underruns|index_errors|losses):/ { n += $2 } END { print n }')
is "$trouble" 0 "slots take their time in the driver: clock and index agree"
ip link set rt0 down
run "gone" ip link del rt0
run "the card goes on" is_up "$card"
ip link set "$card" down
run "unloads" rmmod keepon_generic
done_testing
