# SPDX-License-Identifier: GPL-2.0-only
# A keepon link on an Intel controller whose model paces the wire; the host judges what is in /out
# and the wire's log. OURS, THEIRS: PCI addresses; STOCK: the kernel's driver at the far end;
# PREFETCH, INDEX_DONE: parameters of the driver; MBPS; FRAMES of a 1 ms stream, ECHOES beside it,
# one in 20 ms; TALK: where what became of each frame is written; SLOT_BYTES, TRIM_BYTES, TALK_BYTES.
# PARTITION, LINK, ECHO_BYTES, ECHO_EVERY, FRAGMENTS: slots, options, lengths of echoes where frames
# are longer than a slot.
# JUDGE, if not empty: the far end hears everything and counts it.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
PEER=10.0.0.2

is_fast() {
	ethtool "$lower" | grep -q "Speed: ${MBPS}Mb/s"
}

# echoes COUNT SECONDS: that came back of each length, of so many at such a distance
echoes() {
	for bytes in ${ECHO_BYTES:-18}; do
		ping -q -c "$1" -i "$2" -s "$bytes" $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
	done | uniq
}

run "the driver loads" modprobe keepon_intel prefetch="$PREFETCH" index_done="$INDEX_DONE" \
	fragments="${FRAGMENTS:-1}"
run "keepon loads" modprobe keepon
bind_intel && ok "a card" || fail "a card"
far_end
[ "$MBPS" = 1000 ] || ethtool -s "$lower" advertise 0x008
run "speed" wait_until 5 is_fast
run "carrier" wait_until 5 is_up "$lower"
[ -z "$JUDGE" ] || ip -n far link set dev eth9 promisc on
# shellcheck disable=SC2086 # words or none
run "a link" ip link add link "$lower" name rt0 type keepon receive all slot_bytes "$SLOT_BYTES" \
	trim_down "$TRIM_BYTES" trim_up "$TRIM_BYTES" partition "${PARTITION:-10}" $LINK \
	class 1 slots 0 late strict class 0 slots rest late reschedule
ip addr add 10.0.0.1/24 dev rt0
ip link set rt0 up
run "it runs" wait_until 5 is_up rt0
run "two classes" two_classes
run "the system's clock" follow_clock
echoes "$ECHOES" "${ECHO_EVERY:-0.02}" > /out/echoes.txt &
echoes=$!
if [ -n "$JUDGE" ]; then
	ip netns exec far keepon-listen eth9 --count "$FRAMES" --json /out/listen.json \
		--duration 5s > /tmp/listen.txt 2>&1 &
	listener=$!
fi
run "the talker" keepon-talk rt0 --period 1ms --offset 64 --advance 20ms --count "$FRAMES" \
	--priority 8 --size "$TALK_BYTES" --hw-stamps --json "$TALK"
wait "$echoes"
sleep 0.05 # the last verdict
is "$(cat /out/echoes.txt)" "$ECHOES" "echoes come back in the slots between"
ethtool -S rt0 > /out/counters.txt
run "down" ip link set rt0 down
run "gone" ip link del rt0
run "the ring is the driver's again" ip addr add 10.0.0.1/24 dev "$lower"
run "carrier" wait_until 5 is_up "$lower"
is "$(echoes 20 0.01)" 20 "echoes come back over the ordinary card"
if [ -n "$JUDGE" ]; then
	wait "$listener"
	is $? 0 "the far end has heard the stream"
	sleep 3 # the kernel's drivers read their counters every 2 s
	ip netns exec far ethtool -S eth9 > /out/far.txt
fi
run "unloaded" rmmod keepon_intel
dmesg > /out/dmesg.txt
done_testing
