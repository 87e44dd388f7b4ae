# SPDX-License-Identifier: GPL-2.0-only
# Programs that know nothing of keepon links on two of them, at 100 Mb/s: iperf3, tcpdump, the transmit ring of packet sockets.
# No frame is lost, and stamps are there.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 100000000
upper slot_bytes 1318
far_upper slot_bytes 1318
# a frame a slot
ip link set rt0 mtu 1280
wait_until 2 is_running rt0
wait_until 2 in_b is_running rt1
ping -q -c 2 10.0.0.2 >/dev/null

# how many frames of rt0 have not left
unsent() {
	ethtool -S rt0 | awk '/verdict_/ && !/best_effort|on_time|in_doubt/ { n += $2 } END { print n + 0 }'
}

# ---- iperf3
in_b iperf3 -s >/dev/null 2>&1 &
sleep 0.3
# fq_codel would drop to tell TCP of its queue; here nothing shall be missing
tc qdisc replace dev rt0 root pfifo limit 1000
run "iperf3, TCP" iperf3 -c 10.0.0.2 -t 2 -J
rate=$(printf '%s' "$_output" | jq '.end.sum_received.bits_per_second | floor')
# 1228 bytes of payload in a slot of 1338
[ "$rate" -gt 80000000 ] && ok "$rate bit/s, of 91.8 Mbit/s that there can be" || not_ok "$rate bit/s"
is "$(printf '%s' "$_output" | jq '.end.sum_sent.retransmits')" 0 "no segment was sent twice"
run "iperf3, UDP" iperf3 -c 10.0.0.2 -u -b 40M -l 1200 -t 2 -J
is "$(printf '%s' "$_output" | jq '.end.sum.lost_packets')" 0 "no datagram was lost"
[ "$(printf '%s' "$_output" | jq '.end.sum.packets')" -gt 7000 ] && ok "of more than 7000" || not_ok "too few datagrams"
tc qdisc del dev rt0 root
is "$(unsent)" 0 "the link lost no frame"

# ---- tcpdump hears what a ring sends
in_b tcpdump -Z root -i rt1 -c 500 -j adapter_unsynced --time-stamp-precision=nano -w /tmp/heard ether proto 0x88b5 2>/tmp/tcpdump &
tcpdump=$!
wait_until 5 grep -q "listening on" /tmp/tcpdump || diag "$(cat /tmp/tcpdump)"
# Later kernels give a frame's place back as soon as they have copied it, before it has left.
is "$(packet_ring rt0 500)" "sent 500 stamped $STAMPED queued 500" "AF_PACKET's transmit ring: 500 frames, each with the device's stamp"
wait $tcpdump
# how many, and how many not later than the one before; other lines are what is in them
is "$(tcpdump -Z root -tt --time-stamp-precision=nano -r /tmp/heard 2>/tmp/tcpdump |
	awk '/^[0-9]/ { frames++; early += $1 <= last; last = $1 } END { print frames, early }')" \
	"500 0" "tcpdump: each of them, with stamps of the device that grow"
diag "$(cat /tmp/tcpdump)"
is "$(identity rt0)" 0 "every frame is accounted for"
is "$(counter rt0 underruns)" 0 "the wire stayed full"
done_testing
