# SPDX-License-Identifier: GPL-2.0-only
# What may happen to an Intel controller while a keepon link runs over it, under traffic: the link
# goes on by itself, or there is a refusal; every frame has one verdict. OURS, THEIRS: PCI
# addresses; STOCK: the kernel's driver at the far end. QEMU's monitor listens at ttyS2.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
PEER=10.0.0.2
STATION=10.0.0.1

stty -F /dev/ttyS2 115200 raw -echo

monitor() {
	echo "$1" > /dev/ttyS2
}

modprobe keepon_intel prefetch=4
modprobe keepon
bind_intel && ok "a card" || fail "a card"
far_end
link_it && ok "a link" || fail "a link"
begin_traffic
continues "at first"

# ---- the wire
for _round in 1 2 3; do
	monitor "set_link ours off"
	run "carrier lost" wait_until 5 is_stopped rt0
	monitor "set_link ours on"
	continues "carrier lost for a moment"
done
monitor "set_link ours off"
wait_until 5 is_stopped rt0
sleep 1.5
is "$(identity)" 0 "without a carrier: every frame has one verdict"
monitor "set_link ours on"
continues "carrier lost for longer"
run "negotiation again" ethtool -r "$lower"
continues "negotiation again"

# ---- its rate. The model's PHY takes what it is forced to at once, and tells of a negotiation when
# it is over: the driver finds another speed where it had a carrier.
has_speed() {
	ethtool "$lower" | grep -q "Speed: $1Mb/s"
}

has_started() {
	[ "$(counter starts)" -ge "$1" ]
}

# another_rate MBPS [ethtool options]
another_rate() {
	_name="$*" _mbps=$1 _starts=$(counter starts)
	shift
	run "$_name" ethtool -s "$lower" "$@"
	run "$_name: it is so fast" wait_until 5 has_speed "$_mbps"
	run "$_name: the ring is a new one" wait_until 5 has_started $((_starts + 1))
	continues "$_name"
	_slips=$(counter slips)
	sleep 0.5
	is "$(counter slips)" "$_slips" "$_name: the ring is as fast as its rate"
}

another_rate 100 advertise 0x008
another_rate 1000 speed 1000 duplex full autoneg off
another_rate 100 speed 100 duplex full autoneg off
like "$(ethtool "$lower")" "Duplex: Full" "full duplex"
run "half duplex" ethtool -s "$lower" speed 100 duplex half autoneg off
run "half duplex: no carrier" wait_until 5 is_stopped rt0
like "$(ethtool "$lower")" "Duplex: Half" "half duplex: the card says so"
like "$(dmesg)" "cannot start on $lower .*half duplex" "half duplex: the log says why"
is "$(identity)" 0 "half duplex: every frame has one verdict"
run "all rates" ethtool -s "$lower" autoneg on advertise 0x02f
run "all rates: it is so fast" wait_until 5 has_speed 1000
continues "all rates"

# ---- the device below
for _round in 1 2 3; do
	ip link set dev "$lower" down
	run "the card down: no carrier" wait_until 2 is_stopped rt0
	ip link set dev "$lower" up
	continues "the card down and up"
done
ip link set dev "$lower" down
sleep 0.5
ip link set dev "$lower" up
continues "the card down for longer"
run "rings of 128" ethtool -G "$lower" rx 128 tx 128
continues "rings of other sizes"
refuse "a ring of 8" ethtool -G "$lower" rx 8
refuse "an MTU of 9000" ip link set dev "$lower" mtu 9000
run "an MTU of 1400" ip link set dev "$lower" mtu 1400
continues "another MTU"
run "promiscuous" ip link set dev "$lower" promisc on
run "another address" ip link set dev "$lower" address 02:00:00:00:00:77
is "$(cat /sys/class/net/rt0/address)" 02:00:00:00:00:77 "it is the link's, too"
continues "another address"

# ---- the module
refuse "the driver is in use" rmmod keepon_intel
continues "unloading refused"

# ---- sleep
echo 1 > /sys/module/suspend/parameters/pm_test_delay
for level in devices platform; do
	echo $level > /sys/power/pm_test
	run "the machine sleeps and wakes, $level" sh -c "echo freeze > /sys/power/state"
	continues "asleep, $level"
done

# ---- the bus
run "a fatal error of the bus" modprobe bus_error_probe dev="$lower"
continues "a fatal error of the bus"

end_traffic
keep_books
run "the link goes" ip link del rt0
run "half duplex" ethtool -s "$lower" speed 100 duplex half autoneg off
like "$(ip link add link "$lower" name rt0 type keepon 2>&1)" \
	"half duplex; let both ends negotiate full duplex" "half duplex: no ring to lend"
run "the driver goes" rmmod keepon_intel
dmesg > /out/dmesg.txt
done_testing
