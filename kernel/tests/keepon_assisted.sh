# SPDX-License-Identifier: GPL-2.0-only
# taprio above a keepon link as above any driver: `flags 0x1`, which gives every frame a txtime that an
# offloaded etf hands on, and in software. What left stands in /out/wire-WAY; test_assisted.py judges it.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000
run "a link" upper
wait_until 2 is_running rt0
phc=/dev/ptp$(phc rt0)
classes="num_tc 2 map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1"
gates="base-time 0 sched-entry S 01 1000000 sched-entry S 00 400000 sched-entry S 02 2000000 sched-entry S 00 600000"

# way NAME SEED
way() {
	echo "capture sim0 on records=100000" >$control
	gate_load pace "$phc" rt0 600 "$2" 2 >"/out/load-$1"
	is $? 0 "$1: frames without txtimes"
	sleep 0.1
	cat /sys/kernel/debug/keepon_hwsim/sim0/wire >"/out/wire-$1"
	echo "capture sim0 off" >$control
}
on_time() {
	counter rt0 verdict_on_time
}

# shellcheck disable=SC2086 # words
run "assisted by txtimes" tc qdisc replace dev rt0 parent root handle 100: taprio $classes $gates \
	flags 0x1 txtime-delay 1000000 clockid CLOCK_TAI
for queue in 1 2; do
	run "etf $queue" tc qdisc replace dev rt0 parent 100:$queue etf \
		clockid CLOCK_TAI delta 900000 offload skip_sock_check
done
way assisted 5
on_time >/out/on-time
is "$(counter rt0 verdict_best_effort)" 0 "all of them have a txtime"
run "ended" tc qdisc del dev rt0 root
# shellcheck disable=SC2086 # words
run "in software" tc qdisc replace dev rt0 parent root handle 100: taprio $classes $gates \
	clockid CLOCK_TAI
way software 6
is "$(on_time)" "$(cat /out/on-time)" "none of them has one: the queue is etf's no more"
counter rt0 lead_slots >/out/lead-slots
is "$(identity rt0)" 0 "every frame is accounted for"
run "ended" tc qdisc del dev rt0 root
run "keepon unloads" rmmod keepon
done_testing
