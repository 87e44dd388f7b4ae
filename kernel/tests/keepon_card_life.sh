# SPDX-License-Identifier: GPL-2.0-only
# What happens to a link while its card is pinged every 10 ms, TCP sends and a stream has its txtimes: $ROUNDS changes, eight times N, at
# random moments. In /out/pings, the answers; test_card.py judges that none was awaited for long.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 100000000
ip addr add 10.0.0.1/24 dev sim0
ip -n b addr add 10.0.0.2/24 dev sim1
add() {
	ip link add link sim0 name rt0 type keepon slot_bytes 605 partition 20 class 1 slots 0 class 0 slots rest &&
		ip link set rt0 up
}
run "a link" add
wait_until 3 is_running rt0
ping -c 1 -W 1 10.0.0.2 >/dev/null
in_b iperf3 -s >/tmp/server.txt 2>&1 &
run "a server" wait_until 10 in_b grep -qs ":1451 " /proc/net/tcp /proc/net/tcp6 # 5201
in_b ping -i 0.01 10.0.0.1 >/out/pings &
pings=$!
while [ ! -e /run/end ]; do
	iperf3 -c 10.0.0.2 -t 600 -J >/tmp/iperf.json 2>&1
	echo $? >>/tmp/ends
done &
while [ ! -e /run/end ]; do
	# killed in the middle, or at its end
	timeout -s KILL 0.2 keepon-talk sim0 --period 5ms --advance 2ms --count 50 || sleep 0.02
done >/dev/null 2>&1 &
sleep 0.5
problems=
for round in $(seq "$ROUNDS"); do
	# moments that no two runs of another seed share
	sleep "0.0$(awk "BEGIN { srand($SEED * 1000 + $round); printf \"%02d\", rand() * 100 }")"
	case $((round % 8)) in
	1) ip link set rt0 down ;;
	2) ip link set rt0 up ;;
	3) ip link del rt0 ;;
	4) add ;;
	5) ip link set rt0 type keepon batch $((8 + round / 8 % 8)) ;;
	6) ethtool -G sim0 tx $((64 + round)) ;;
	7) rmmod keepon ;;
	*) modprobe keepon && add ;;
	esac || problems="$problems $round"
done
is "$problems" "" "each change"
sleep 0.3
: >/run/end
kill -INT "$(pidof ping)" # of the shell in between it is ignored
wait $pings
is "$(cat /tmp/ends 2>/dev/null)" "" "the connection lives on"
pidof iperf3 >/dev/null && ok "and still sends" || not_ok "and still sends"
run "the link is there" wait_until 3 is_running rt0
is "$(identity rt0)" 0 "every frame is accounted for"
like "$(ping -q -c 5 -i 0.01 10.0.0.2)" " 5 packets received" "and echoes are answered"
done_testing
