# SPDX-License-Identifier: GPL-2.0-only
# A keepon link on the controller of an emulated board; the host judges what is in /out and the
# wire's log. CARD: genet, of a Raspberry Pi 4, or gem, of a Versal board; PREFETCH, INDEX_DONE:
# parameters of the driver; MBPS; FRAMES of a 1 ms stream, ECHOES beside it, one in 20 ms; TALK:
# where what became of each frame is written; SLOT_BYTES, TRIM_BYTES, TALK_BYTES; PPB by which the
# link's clock is set faster. PARTITION, LINK, ECHO_BYTES, ECHO_EVERY, FRAGMENTS: where frames are
# longer than a slot; STALLS: so often polls stop behind such frames, until the wire is idle.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
PEER=10.0.2.2

is_fast() {
	ethtool eth0 | grep -q "Speed: ${MBPS}Mb/s"
}

# echoes COUNT SECONDS: that came back of each length, of so many at such a distance
echoes() {
	for bytes in ${ECHO_BYTES:-18}; do
		ping -q -c "$1" -i "$2" -s "$bytes" $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
	done | uniq
}

run "the driver loads" modprobe "keepon_$CARD" prefetch="$PREFETCH" index_done="$INDEX_DONE" \
	${FRAGMENTS:+fragments="$FRAGMENTS"}
run "keepon loads" modprobe keepon
"bind_$CARD" && ok "a card" || fail "a card"
[ "$MBPS" = 1000 ] || ethtool -s eth0 advertise 0x008
run "speed" wait_until 5 is_fast
run "carrier" wait_until 5 is_up eth0
# shellcheck disable=SC2086 # words or none
run "a link" ip link add link eth0 name rt0 type keepon receive all slot_bytes "$SLOT_BYTES" \
	trim_down "$TRIM_BYTES" trim_up "$TRIM_BYTES" partition "${PARTITION:-10}" $LINK \
	class 1 slots 0 late strict class 0 slots rest late reschedule
ip addr add 10.0.2.15/24 dev rt0
ip link set rt0 up
run "it runs" wait_until 5 is_up rt0
run "two classes" two_classes
[ "$PPB" = 0 ] || run "its clock is another one" phc_ctl rt0 freq "$PPB"
run "the system's clock" follow_clock
echoes "$ECHOES" "${ECHO_EVERY:-0.02}" > /out/echoes.txt &
echoes=$!
run "the talker" keepon-talk rt0 --period 1ms --offset 64 --advance 20ms --count "$FRAMES" \
	--priority 8 --size "$TALK_BYTES" --hw-stamps --json "$TALK"
wait "$echoes"
sleep 0.05 # the last verdict
is "$(cat /out/echoes.txt)" "$ECHOES" "echoes come back in the slots between"
ethtool -S rt0 > /out/counters.txt
if [ -n "$STALLS" ]; then
	# the ring is full of frames: an echo is 41 of them
	ping -q -i 0.002 -s 60000 $PEER > /dev/null &
	for _ in $(seq "$STALLS"); do
		sleep 0.02
		echo 10000000 > /sys/kernel/debug/keepon/rt0/stall_ns
		sleep 0.03
	done
	kill $!
	ethtool -S rt0 > /out/stalled.txt
fi
run "down" ip link set rt0 down
run "gone" ip link del rt0
ethtool -S eth0 > /out/lower.txt
run "the ring is the driver's again" ip addr add 10.0.2.15/24 dev eth0
run "carrier" wait_until 5 is_up eth0
is "$(echoes 20 0.01)" 20 "echoes come back over the ordinary card"
# frames that nobody answers: only its own interrupt goes on with them
modprobe pktgen
say() {
	echo "$2" > "/proc/net/pktgen/$1"
}
say kpktgend_0 "add_device eth0"
for line in "count 1000" "pkt_size 200" "dst 10.0.2.9" "dst_mac 02:00:00:00:00:09"; do
	say eth0 "$line"
done
timeout 2 sh -c 'echo start > /proc/net/pktgen/pgctrl'
like "$(cat /proc/net/pktgen/eth0)" "pkts-sofar: 1000" "a burst leaves whole"
rmmod pktgen
run "unloaded" rmmod "keepon_$CARD"
dmesg > /out/dmesg.txt
done_testing
