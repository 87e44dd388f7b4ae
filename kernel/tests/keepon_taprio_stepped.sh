# SPDX-License-Identifier: GPL-2.0-only
# taprio with `flags 0x2` while the clock is stepped: back by an hour, where the last entry of a
# list is held until the next one begins, and on again to shortly before that. What was asked for,
# what left and the load's clock stand in /out, each with the name of the step; test_taprio.py judges
# them.
# $SEED.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire 100000000
run "a link" upper
wait_until 2 is_running rt0
phc=/dev/ptp$(phc rt0)
cycle=200000000
step_s=3600

# gates WORDS ...: instead of what there is
gates() {
	tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 4 \
		map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 2@1 1@3 3@4 "$@" flags 0x2
}
# stepped NAME SECONDS: the clock is, and what leaves afterwards is recorded. The first list has
# been in force for longer than a cycle, whatever the clock says now.
stepped() {
	run "$1: stepped" phc_ctl rt0 -- adj "$2"
	_now=$(gate_load now "$phc")
	echo "capture sim0 on records=1000000" >$control
	gate_load run "$phc" rt0 900 "$SEED" 4 >"/out/load_$1"
	cat /sys/kernel/debug/keepon_hwsim/sim0/wire >"/out/wire_$1"
	echo "capture sim0 off" >$control
	_before=$((_now - cycle))
	echo "$_before $_before 0 0 190000000 0x1,100000000 0x2,100000000" >"/out/asked_$1"
	echo "$_now $_now $base 0 0 0x4,500000 0x1,500000" >>"/out/asked_$1"
}

run "a list" gates base-time 0 sched-entry S 1 100000000 sched-entry S 2 100000000 \
	cycle-time-extension 190000000
sleep 0.3
now=$(gate_load now "$phc")
base=$((now / cycle * cycle + 2 * cycle + 180000000))
run "another one" gates base-time "$base" sched-entry S 4 500000 sched-entry S 1 500000
sleep "0.$(printf %03d $(((base - 100000000 - $(gate_load now "$phc")) / 1000000)))"
left_ms=$(((base - $(gate_load now "$phc")) / 1000000))
[ "$left_ms" -gt 20 ] && [ "$left_ms" -lt 160 ] && ok "the last entry is held" ||
	not_ok "the last entry is held: $left_ms ms are left"
stepped back -$step_s
left_ns=$((base - $(gate_load now "$phc") - 500000000))
stepped on "$((left_ns / 1000000000)).$(printf %09d $((left_ns % 1000000000)))"
for _ in 1 2 3 4 5 6 7 8; do # it changes from poll to poll
	ethtool -S rt0 | sed -n 's/.*clock_error_ps: //p' >>/out/clock_errors_ps
done
is "$(identity rt0)" 0 "every frame is accounted for"
is "$(counter rt0 underruns)$(counter rt0 slips)$(counter rt0 doubts)" 000 "the wire stayed full"
done_testing
