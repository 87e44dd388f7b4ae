# SPDX-License-Identifier: GPL-2.0-only
# What may happen to the GENET of an emulated Raspberry Pi 4 while a keepon link runs over it, under
# traffic: the link goes on by itself, or there is a refusal; every frame has one verdict. At the
# far end is QEMU's user network.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
PEER=10.0.2.2
STATION=10.0.2.15
device=fd580000.ethernet
folder=/sys/bus/platform/devices/$device

# BMCR: it negotiates, with power or without
cable() {
	case $1 in
	in) phy_register "$lower" 0 0x1140 ;;
	out) phy_register "$lower" 0 0x1940 ;;
	esac
}

modprobe keepon_genet prefetch=4
modprobe keepon
bind_genet && ok "a card" || fail "a card"
link_it && ok "a link" || fail "a link"
begin_traffic
continues "at first"

# ---- the wire
for _round in 1 2; do
	run "cable out" cable out
	run "carrier lost" wait_until 5 is_stopped rt0
	cable in
	continues "carrier lost for a moment"
done
cable out
wait_until 5 is_stopped rt0
sleep 1.5
is "$(identity)" 0 "without a carrier: every frame has one verdict"
cable in
continues "carrier lost for longer"
run "negotiation again" ethtool -r "$lower"
sleep 2.5 # phylib looks once a second
continues "negotiation again"
run "100 Mb/s" ethtool -s "$lower" advertise 0x008
sleep 2.5
like "$(ethtool "$lower")" "Speed: 100Mb/s" "it is so fast"
continues "another rate"
run "all rates" ethtool -s "$lower" advertise 0x02f
sleep 2.5
continues "the rate as before"

# ---- the device below
for _round in 1 2 3; do
	ip link set dev "$lower" down
	run "the card down: no carrier" wait_until 2 is_stopped rt0
	ip link set dev "$lower" up
	continues "the card down and up"
done
refuse "rings of other sizes" ethtool -G "$lower" tx 128
refuse "an MTU of 9000" ip link set dev "$lower" mtu 9000
run "an MTU of 1400" ip link set dev "$lower" mtu 1400
continues "another MTU"
run "promiscuous" ip link set dev "$lower" promisc on
run "another address" ip link set dev "$lower" address 02:00:00:00:00:77
is "$(cat /sys/class/net/rt0/address)" 02:00:00:00:00:77 "it is the link's, too"
continues "another address"

# ---- the module
refuse "the driver is in use" rmmod keepon_genet
continues "unloading refused"

# ---- sleep
echo 1 > /sys/module/suspend/parameters/pm_test_delay
echo devices > /sys/power/pm_test
for _round in 1 2; do
	run "the machine sleeps and wakes" sh -c "echo freeze > /sys/power/state"
	continues "asleep"
done

end_traffic
keep_books
ip link del rt0
ordinary() {
	ip addr add $STATION/24 dev "$lower"
	wait_until 5 is_up "$lower"
	is "$(ping -q -c 20 -i 0.01 $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" \
		20 "echoes come back over the ordinary card"
	ip addr flush dev "$lower"
}
ordinary

# ---- out of the driver's hands; the link goes with its device
begin_traffic
link_it && ok "a link" || fail "a link"
run "the stream runs" wait_until 5 has_sent 50
echo "$device" > "$folder/driver/unbind"
is "$(ls /sys/class/net | grep -c rt0)" 0 "unbound: the link is gone"
bind_genet && ok "bound again" || fail "bound again"
link_it && ok "a link" || fail "a link"
run "unbound, bound: the stream runs" wait_until 5 has_sent 50
run "keepon goes" rmmod keepon
is "$(ls /sys/class/net | grep -c rt0)" 0 "keepon unloaded: the link is gone"
end_traffic
ordinary
run "the driver goes" rmmod keepon_genet
dmesg > /out/dmesg.txt
done_testing
