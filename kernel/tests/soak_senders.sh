# SPDX-License-Identifier: GPL-2.0-only
# Four senders at once for SPAN_S seconds, two CPUs: three by SO_TXTIME, each in a class of its own,
# one of best effort, while in rounds of two thirds of a second and more the PHC is stepped and the
# link flaps. Whatever happens to a frame: submitted = verdicts + pending, at every look.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
# Where every access is checked, on a busy host, a round may take a minute; the sixth has the second
# long flap.
ROUNDS_MIN=6
steps=0
flaps=0
looks=0
unbalanced=0

# A class that is asked for a time 2 ms ahead has ten slots until then; what a step or a flap takes from it gets its verdict.
sender() { # NUMBER PRIORITY ARGUMENTS
	number=$1
	priority=$2
	shift 2
	keepon-talk rt0 --stream "sender$number" --priority "$priority" --linger 200ms --records 1000 \
		--json "/out/talk$number.json" "$@" >"/out/talk$number.txt" 2>&1 &
	talkers="$talkers $!"
}

step() {
	phc_ctl -- rt0 adj "$1" >/dev/null 2>&1 && steps=$((steps + 1))
}

flap() {
	echo "flap $1" >/sys/kernel/debug/keepon_hwsim/sim0/fault && flaps=$((flaps + 1))
}

look() {
	left=$(identity rt0)
	looks=$((looks + 1))
	[ "$left" = 0 ] || {
		unbalanced=$((unbalanced + 1))
		diag "look $looks: $left of $(counter rt0 submitted) frames are in no counter"
	}
}

echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
is "$(nproc)" 2 "two CPUs"
wire 100000000
run "a link" upper slot_bytes 1230 txtime tai partition 10 \
	class 3 slots 0 late strict class 2 slots 3,6 late relaxed class 1 slots 5,8 late strict class 0 slots rest late reschedule
run "mqprio" tc qdisc replace dev rt0 root handle 100: mqprio num_tc 4 map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 1@2 1@3 hw 0
wait_until 5 is_running rt0
phc_ctl rt0 set >/dev/null 2>&1
talkers=
sender 3 3 --period 1ms --advance 5ms
sender 2 2 --period 1500us --advance 20ms
sender 1 1 --period 2ms --advance 2ms
sender 0 0 --period 500us --no-txtime

round=0
end_ns=$(($(now_ns) + SPAN_S * 1000000000))
while [ "$round" -lt "$ROUNDS_MIN" ] || [ "$(now_ns)" -lt "$end_ns" ]; do
	round=$((round + 1))
	# there and back, so that the talkers' txtimes stay within reach
	step 0.0003
	look
	sleep 0.2
	step -0.0003
	look
	flap 20000000
	sleep 0.3
	step 0.002
	step -0.002
	look
	# long enough for the kernel to tell of it: the wire stops and starts again
	[ $((round % 4)) -ne 2 ] || flap 1200000000
	sleep 0.2
done
# shellcheck disable=SC2086 # a list
kill -INT $talkers
for talker in $talkers; do
	wait "$talker"
done
wait_until 5 sh -c "ethtool -S rt0 | grep -q ' pending: 0$'"
look
ethtool -S rt0 >/out/running
ip link set rt0 down
look
ethtool -S rt0 >/out/upper
ethtool -S sim0 >/out/nic
is "$unbalanced" 0 "every frame is accounted for at each of $looks looks"
is "$(counter rt0 pending)" 0 "and none is left when the wire stops"
diag "$round rounds, $steps steps, $flaps flaps, $(counter rt0 submitted) frames, $(counter rt0 starts) starts"
is "$steps" $((round * 4)) "the clock was stepped"
is "$flaps" $((round + (round + 2) / 4)) "the link flapped"
ip link del rt0
run "keepon unloads" rmmod keepon
run "so does hwsim" rmmod keepon_hwsim
done_testing
