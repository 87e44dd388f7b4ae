# SPDX-License-Identifier: GPL-2.0-only
# clock dual on the GENET of an emulated Raspberry Pi 4 whose own wire comes back to it (loopback):
# both rings count the same slots. FRAMES are sent and heard again, the driver loaded with
# INDEX_DONE; the host judges their stamps in /out.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh

knows() {
	[ "$(counter rx_ring_valid)" = 1 ]
}

run "the driver loads" modprobe keepon_genet prefetch=4 index_done="$INDEX_DONE"
run "keepon loads" modprobe keepon
bind_genet && ok "a card" || fail "a card"
run "the wire comes back" ethtool -K eth0 loopback on
run "a link that counts both rings" ip link add link eth0 name rt0 \
	type keepon receive all partition 10 clock dual \
	class 1 slots 0 late strict class 0 slots rest late reschedule
run "up" ip link set rt0 up
run "it runs" wait_until 5 is_up rt0
run "two classes" two_classes
phc2sys -s rt0 -O 0 -m > /out/phc2sys.txt 2>&1 &
run "the wire that comes in is known" wait_until 3 knows
sleep 2
keepon-listen rt0 --count "$FRAMES" --duration 2s --json /out/listen.json > /tmp/listen.txt 2>&1 &
listener=$!
sleep 0.05
run "the talker" keepon-talk rt0 --period 1ms --offset 64 --advance 20ms --count "$FRAMES" \
	--priority 8 --size 100 \
	--hw-stamps --json /out/talk.json
wait $listener
is "$(counter rx_ring_missed) $(counter rx_ring_stops)" "0 0" \
	"none missed, and the wire never stopped"
ethtool -S rt0 > /out/counters.txt
ethtool -S eth0 > /out/lower.txt
run "down" ip link set rt0 down
run "gone" ip link del rt0
before=$(cat /sys/class/net/eth0/statistics/rx_packets)
ip link set eth0 promisc on
ethtool -K eth0 loopback off
ethtool -K eth0 loopback on
run "the card hears its own again" timeout 2 keepon-talk eth0 --period 1ms --no-txtime --count 5
sleep 0.1
is "$(($(cat /sys/class/net/eth0/statistics/rx_packets) - before))" 5 "good frames, and no others"
ethtool -K eth0 loopback off
run "unloaded" rmmod keepon_genet
dmesg > /out/dmesg.txt
done_testing
