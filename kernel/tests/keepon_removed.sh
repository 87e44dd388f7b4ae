# SPDX-License-Identifier: GPL-2.0-only
# A link is deleted while its clock is stepped all the time and a gate list is to come: no work is done for it once it has gone.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
trace=/sys/kernel/tracing
wire 100000000
echo 'p:gone keepon_taprio_free' >$trace/kprobe_events
echo 1 >$trace/events/kprobes/gone/enable
echo 1 >$trace/events/workqueue/workqueue_execute_start/enable
steps=$(yes "adj 0.001 adj -0.001" | head -n 5000)
for round in 1 2 3; do
	upper 2>/dev/null
	wait_until 2 is_running rt0
	run "round $round: a list to come" tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 2 \
		map 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 queues 1@0 1@1 base-time "$(($(date +%s) + 1000))000000000" \
		sched-entry S 01 500000 sched-entry S 02 500000 flags 0x2
	clock=/dev/ptp$(phc rt0)
	echo >$trace/trace
	# shellcheck disable=SC2086 # a list
	phc_ctl -- "$clock" $steps >/dev/null 2>&1 &
	wait_until 2 grep -q 'function settle' $trace/trace
	run "round $round: deleted" ip link del rt0
	wait
	set -- $(awk '/ gone: / { gone = 1 } /function settle/ { if (gone) late++; else early++ }
		END { print gone + 0, early + 0, late + 0 }' $trace/trace)
	is "$1 $3" "1 0" "round $round: no work after it has gone"
	[ "$2" -gt 0 ] && ok "round $round: and there was before" || not_ok "round $round: the clock was not stepped"
done
done_testing
