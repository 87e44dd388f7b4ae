# SPDX-License-Identifier: GPL-2.0-only
# A controller with a link on it that stays the machine's: its own frames, TCP and a stream of txtimes leave in slots, and go its
# own way again when the link is down. CARD: intel, gem or genet. OURS, THEIRS: PCI addresses, STOCK: the kernel's driver at the
# far end; of the boards that is QEMU's user network, which has no iperf3.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
PEER=10.0.2.2
STATION=10.0.2.15

modprobe "keepon_$CARD" prefetch=4
modprobe keepon
"bind_$CARD" && ok "a card" || fail "a card"
[ -z "$STOCK" ] || far_end
ip addr add "$STATION/24" dev "$lower"
echoes() {
	like "$(ping -q -c 20 -i 0.01 -s "$2" -W 1 "$PEER")" " 20 packets received" "$1"
}
card() { # card packets: sent by it so far, as it counts
	cat "/sys/class/net/$lower/statistics/tx_$1"
}
ping -q -c 3 -W 1 "$PEER" >/dev/null
echoes "before" 56
is "$(phc "$lower")" "" "it has no clock"
run "a link" ip link add link "$lower" name rt0 type keepon slot_bytes 1230 trim_down 16 trim_up 16 txtime tai \
	class 0-1 slots all class 1 late strict class 0 late reschedule
ip link set rt0 up
wait_until 10 is_up rt0 && two_classes
wait_until 5 ping -q -c 1 -W 1 "$PEER"
packets=$(card packets)
bytes=$(card bytes)
echoes "short ones" 56
echoes "of MTU 1500" 1472
sleep 0.1
is "$(($(card packets) - packets)) $(($(card bytes) - bytes))" "40 $((20 * 98 + 20 * 1514))" "the card has counted them"
is "$(phc "$lower")" "$(phc rt0)" "it shows the clock of the link"
keepon-talk "$lower" --period 1ms --offset 64 --advance 5ms --count 100 --priority 8 --size 100 --hw-stamps --json /tmp/talk.json >/tmp/talk.txt 2>&1
like "$(tr -d '\n' </tmp/talk.json)" '"stamped": *100,' "100 txtimes on the card: all stamped" || diag "$(cat /tmp/talk.txt)"
if [ "$STOCK" ]; then
	ip netns exec far iperf3 -s >/dev/null 2>&1 &
	server=$!
	sleep 0.2
	like "$(iperf3 -c "$PEER" -t 1)" "receiver" "TCP"
	diag "$(iperf3 -c "$PEER" -t 1 -R | tail -4)"
	kill $server
fi
like "$(ip -s link show "$lower")" "$lower" "what it says of itself"
diag "$(ip -s link show "$lower")"
diag "$(ethtool -S rt0 | grep -v ': 0$')"
is "$(identity)" 0 "every frame has one verdict"
run "down" ip link set rt0 down
wait_until 5 ping -q -c 1 -W 1 "$PEER"
echoes "its own way" 1472
is "$(phc "$lower")" "" "and no clock again"
done_testing
