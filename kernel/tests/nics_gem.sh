# SPDX-License-Identifier: GPL-2.0-only
# The Cadence GEM of QEMU's Versal board driven by keepon_gem: an ordinary network interface,
# whatever it may lend; before it and after it the kernel's own driver has it. FILE_SUM: the MD5 of
# the far end's file.
device=ff0c0000.ethernet
. /lib/keepon/test.sh
. /lib/keepon/board.sh

# the board's other one: an interface with no far end, which must not be in the way
modprobe macb
run "the kernel's driver has it" up
is "$(echoes 3)" 3 "echoes come back"
unbind
run "the module loads" modprobe keepon_gem
is "$(name_of)" "" "it takes no controller by itself"
run "it takes the one that it is given" bind keepon_gem
is "$(name_of)" eth0 "there is an interface"
[ -n "$(name_of)" ] || exit 1
run "carrier" up
like "$(ethtool -i eth0)" "driver: keepon_gem" "driver name"
like "$(ethtool eth0)" "Speed: 1000Mb/s" "speed"
like "$(ethtool eth0)" "Link detected: yes" "link"
is "$(cat /sys/class/net/eth0/address)" 52:54:00:00:00:01 "the address is that of the device tree"

is "$(echoes 100)" 100 "echoes come back"
for bytes in 0 1 17 18 19 100 1471 1472; do
	is "$(echoes 3 -s $bytes)" 3 "echoes of $bytes bytes"
done
is "$(echoes 3 -s 4000)" 3 "echoes in fragments"
is "$(echoes 1000 -s 1000)" 1000 "more echoes than the ring has descriptors"
run "a file" tftp -g -r file -l /tmp/file $PEER
is "$(md5sum < /tmp/file | cut -d ' ' -f 1)" "$FILE_SUM" "it is the same at this end"

# frames that nobody answers, faster than the wire: the queue stops and goes on
modprobe pktgen
say() {
	echo "$2" > "/proc/net/pktgen/$1"
}
say kpktgend_0 "add_device eth0"
for line in "count 3000" "clone_skb 0" "pkt_size 1000" "delay 0" "dst 10.0.2.9" "dst_mac 02:00:00:00:00:09"; do
	say eth0 "$line"
done
before=$(counter tx_frames_on_wire)
say pgctrl start
sleep 0.1
is $(($(counter tx_frames_on_wire) - before)) 3000 "a burst leaves whole"
rmmod pktgen
is "$(echoes 3)" 3 "echoes come back after it"
is "$(counter tx_underruns)" 0 "no frame was cut"
is "$(counter rx_crc_errors)" 0 "none came with a bad FCS"
is "$(counter rx_no_buffer)" 0 "all found a buffer"

run "promiscuous" ip link set dev eth0 promisc on
is "$(echoes 3)" 3 "echoes come back"
run "and back" ip link set dev eth0 promisc off
run "another address" ip link set dev eth0 address 02:00:00:00:00:77
ip neigh flush dev eth0
is "$(echoes 3)" 3 "echoes come back to it"
# a second station address is heard by its hash
ip link add link eth0 name second type macvlan mode bridge
ip addr flush dev eth0
ip addr add 10.0.2.16/24 dev second
run "a second station" ip link set dev second up
is "$(echoes 3)" 3 "echoes come back to it"
ip link del second
ip addr replace 10.0.2.15/24 dev eth0
refuse "longer frames than it takes" ip link set dev eth0 mtu 9000
refuse "a ring that is too small" ethtool -G eth0 tx 32
run "other rings" ethtool -G eth0 tx 100 rx 512
ethtool -g eth0 | sed -n '/Current/,$p' > /tmp/rings
like "$(cat /tmp/rings)" "^TX:[[:space:]]*128$" "ring sizes, rounded up"
like "$(cat /tmp/rings)" "^RX:[[:space:]]*512$" "and not"
run "carrier" wait_until 5 carrier
is "$(echoes 300 -s 1000)" 300 "echoes come back"

speed() {
	ethtool eth0 | grep -q "Speed: $1Mb/s"
}
run "only 100 Mb/s offered" ethtool -s eth0 advertise 0x008
run "100 Mb/s" wait_until 5 speed 100
run "carrier" wait_until 5 carrier
is "$(echoes 50 -s 1400)" 50 "echoes come back"
run "all speeds" ethtool -s eth0 advertise 0x02f
run "1000 Mb/s" wait_until 5 speed 1000
run "carrier" wait_until 5 carrier
run "negotiation again" ethtool -r eth0
run "carrier after it" wait_until 10 carrier
is "$(echoes 3)" 3 "echoes come back"

for _round in $(seq 1 10); do
	ip link set dev eth0 down && up || break
done
is "$_round" 10 "down and up"
is "$(echoes 3)" 3 "echoes come back"
run "a transmit timeout that crosses a suspend" modprobe resume_probe dev=eth0
rmmod resume_probe
run "carrier" wait_until 5 carrier
is "$(echoes 3)" 3 "echoes come back"
like "$(ip -s link show dev eth0)" "^ +[1-9][0-9]+ +[1-9][0-9]+ +0" "statistics"

# the module goes while frames come and go
ping -q -i 0.002 -w 1 $PEER > /dev/null 2>&1 &
sleep 0.3
run "unloaded under traffic" rmmod keepon_gem
wait
for _round in $(seq 1 10); do
	modprobe keepon_gem && bind keepon_gem && [ -n "$(name_of)" ] && unbind && rmmod keepon_gem || break
done
is "$_round" 10 "loaded, bound, unbound, unloaded"
bind ""
like "$(ethtool -i "$(name_of)")" "driver: macb" "the kernel's driver takes it back"
run "carrier" up
is "$(echoes 3)" 3 "echoes come back"
done_testing
