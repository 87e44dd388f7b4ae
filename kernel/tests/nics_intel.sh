# SPDX-License-Identifier: GPL-2.0-only
# An Intel controller driven by keepon_intel beside another one driven by the kernel's own driver, on one wire: an
# ordinary network interface, whatever it may lend. OURS, THEIRS: PCI addresses; STOCK: the kernel's driver.
. /lib/keepon/test.sh

echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

# bind PCI DRIVER: by name only
bind() {
	echo "$2" > "/sys/bus/pci/devices/$1/driver_override"
	echo "$1" > /sys/bus/pci/drivers_probe
}

unbind() {
	echo "$1" > "/sys/bus/pci/devices/$1/driver/unbind"
}

name_of() {
	ls "/sys/bus/pci/devices/$1/net" 2>/dev/null
}

# station PCI NAMESPACE ADDRESS: into a namespace, up
station() {
	_dev=$(name_of "$1")
	ip netns add "$2"
	ip netns exec "$2" sh -c 'for file in all default; do echo 1 > /proc/sys/net/ipv6/conf/$file/disable_ipv6; done'
	ip link set dev "$_dev" netns "$2" name eth0
	ip -n "$2" addr add "$3/24" dev eth0
	ip -n "$2" link set dev eth0 up
}

carrier() {
	ip -n "$1" link show dev eth0 | grep -q LOWER_UP
}

# echoes COUNT [ping options]: that came back
echoes() {
	_count=$1
	shift
	ip netns exec ours ping -q -c "$_count" -i 0.002 -W 1 "$@" 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}

# as every card comes that was another driver's: its PHY without power
modprobe "$STOCK"
ip link set dev "$(name_of "$OURS")" up
sleep 0.2
ip link set dev "$(name_of "$OURS")" down
unbind "$OURS"
# where it is no module it keeps the other one
rmmod "$STOCK" 2>/dev/null
run "the module loads" modprobe keepon_intel
is "$(name_of "$OURS")" "" "it takes no controller by itself"
# The host bridge is a PCI device like any other, and no network card.
bridge=0000:00:00.0
bind $bridge keepon_intel
is "$(ls -d /sys/bus/pci/devices/$bridge/driver 2>/dev/null)" "" "it leaves alone what it does not know"
like "$(dmesg)" "keepon_intel $bridge: .*does not know the device" "and says so"
echo > /sys/bus/pci/devices/$bridge/driver_override
run "it takes one that it is given" bind "$OURS" keepon_intel
like "$(ls "/sys/bus/pci/devices/$OURS/net")" "eth" "there is an interface"
run "the kernel's driver has the other one" modprobe "$STOCK"
station "$OURS" ours 10.0.0.1
station "$THEIRS" theirs 10.0.0.2
run "carrier" wait_until 5 carrier ours
run "carrier at the other end" wait_until 5 carrier theirs
is "$(($(ip netns exec ours phy_register eth0 0) & 0x0800))" 0 "the PHY has power"
like "$(ip netns exec ours ethtool -i eth0)" "driver: keepon_intel" "driver name"
like "$(ip netns exec ours ethtool eth0)" "Speed: 1000Mb/s" "speed"
like "$(ip netns exec ours ethtool eth0)" "Link detected: yes" "link"

is "$(echoes 100)" 100 "echoes come back"
for bytes in 0 1 17 18 19 100 1471 1472; do
	is "$(echoes 3 -s $bytes)" 3 "echoes of $bytes bytes"
done
is "$(echoes 3 -s 4000)" 3 "echoes in fragments"
is "$(echoes 3000 -s 1000)" 3000 "more echoes than the ring has descriptors"

# megabits FROM TO: by iperf3, TCP
megabits() {
	ip netns exec "$2" iperf3 -s -1 -D
	sleep 0.1
	ip netns exec "$1" iperf3 -c "$3" -t 1 -J | grep -A 8 sum_received | sed -n 's/.*bits_per_second":[^0-9]*\([0-9]*\)[0-9]\{6\}.*/\1/p'
}

echo "# TCP out: $(megabits ours theirs 10.0.0.2) Mb/s, in: $(megabits theirs ours 10.0.0.1) Mb/s"
# rx_undersize: QEMU does not pad short frames before it counts them
is "$(ip netns exec ours ethtool -S eth0 | awk '/crc|missed|oversize/ { sum += $2 } END { print sum }')" 0 "no errors"
run "promiscuous" ip -n ours link set dev eth0 promisc on
is "$(echoes 3)" 3 "echoes come back"
run "and back" ip -n ours link set dev eth0 promisc off
run "another address" ip -n ours link set dev eth0 address 02:00:00:00:00:77
ip -n theirs neigh flush dev eth0
is "$(echoes 3)" 3 "echoes come back to it"
refuse "longer frames than it takes" ip -n ours link set dev eth0 mtu 9000

run "rings of 64 and 128" ip netns exec ours ethtool -G eth0 rx 64 tx 128
# QEMU's 82540 takes no frame within a second of a change of RCTL
sleep 1.1
like "$(ip netns exec ours ethtool -g eth0 | sed -n '/Current/,$p')" "RX:.*64" "they are as said"
run "carrier" wait_until 5 carrier ours
is "$(echoes 500 -s 1400)" 500 "echoes come back"
run "rings of 72 and 200" ip netns exec ours ethtool -G eth0 rx 72 tx 200
sleep 1.1
like "$(ip netns exec ours ethtool -g eth0 | sed -n '/Current/,$p' | tr -s '\n\t ' ' ')" "RX: 128 .*TX: 256" "they are powers of two"
run "carrier" wait_until 5 carrier ours
is "$(echoes 500 -s 1400)" 500 "echoes come back"
ip netns exec ours ping -q -A -s 1400 -w 60 10.0.0.2 > /dev/null &
sending=$!
for slots in 64 4096 256; do
	run "rings of $slots while frames are sent" \
		ip netns exec ours ethtool -G eth0 rx "$slots" tx "$slots"
	sleep 0.2
done
kill $sending
run "carrier" wait_until 5 carrier ours
refuse "a ring of 8" ip netns exec ours ethtool -G eth0 rx 8
run "negotiation again" ip netns exec ours ethtool -r eth0
run "carrier after it" wait_until 10 carrier ours
is "$(echoes 3)" 3 "echoes come back"

for _round in $(seq 1 ${ROUNDS:-10}); do
	ip -n ours link set dev eth0 down && ip -n ours link set dev eth0 up && wait_until 5 carrier ours || break
done
is "$_round" "${ROUNDS:-10}" "down and up"
is "$(echoes 3)" 3 "echoes come back"

ip -n ours link set dev eth0 netns 1 name ours0
ip link set dev ours0 up
run "a fatal error of the bus" modprobe bus_error_probe dev=ours0
rmmod bus_error_probe
run "a transmit timeout that crosses a suspend" modprobe resume_probe dev=ours0
rmmod resume_probe
ip link set dev ours0 netns ours name eth0
ip -n ours addr add 10.0.0.1/24 dev eth0
ip -n ours link set dev eth0 up
run "carrier" wait_until 5 carrier ours
is "$(echoes 3)" 3 "echoes come back"

# the module goes while frames come and go
ip netns exec theirs ping -q -i 0.002 -w 2 10.0.0.1 > /dev/null 2>&1 &
run "unloaded under traffic" rmmod keepon_intel
wait
ip netns del ours
for _round in $(seq 1 ${ROUNDS:-10}); do
	modprobe keepon_intel && bind "$OURS" keepon_intel && [ -n "$(name_of "$OURS")" ] && unbind "$OURS" &&
		rmmod keepon_intel || break
done
is "$_round" "${ROUNDS:-10}" "loaded, bound, unbound, unloaded"
run "the kernel's driver takes it back" bind "$OURS" "$STOCK"
like "$(ls "/sys/bus/pci/devices/$OURS/net")" "eth" "there is its interface"
done_testing
