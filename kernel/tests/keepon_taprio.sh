# SPDX-License-Identifier: GPL-2.0-only
# taprio with `flags 0x2` under load from every class, one schedule of /lib/keepon/schedules after the
# other. What was asked for when stands in /out/asked, what left in /out/wire; test_taprio.py judges
# it. $RATE_BPS, $SEED.
#
# A line of schedules: WAIT_MS past|ahead|whole NS CYCLE EXTENSION ENTRY ..., ENTRY being MASK,NS; base
# time NS, or that much ahead of the PHC, or the next but ten whole NS, given as NS+MORE, and MORE.
# CYCLE 0: the sum. Or WAIT_MS link BYTES: slots that the link refuses for the schedules there are.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
wire "$RATE_BPS"
run "a link" upper
# a frame a slot: lists may leave class 0 a single one
run "its MTU" ip link set rt0 mtu 1192
wait_until 2 is_running rt0
phc=/dev/ptp$(phc rt0)
priorities="map 0 1 2 3 0 0 0 0 0 0 0 0 0 0 0 0"

# gates BASE CYCLE EXTENSION ENTRY ...
gates() {
	_words="base-time $1"
	[ "$2" = 0 ] || _words="$_words cycle-time $2"
	[ "$3" = 0 ] || _words="$_words cycle-time-extension $3"
	shift 3
	for _entry in "$@"; do
		_words="$_words sched-entry S ${_entry%,*} ${_entry#*,}"
	done
	# shellcheck disable=SC2086 # words
	tc qdisc replace dev rt0 parent root handle 100: taprio num_tc 4 $priorities \
		queues 1@0 2@1 1@3 3@4 $_words flags 0x2
}

echo "capture sim0 on records=1000000" >$control
accepted=0
asked=0
while read -r wait_ms when ns cycle extension entries; do
	sleep "$(printf '%d.%03d' $((wait_ms / 1000)) $((wait_ms % 1000)))"
	case $when in
	past) base=$ns ;;
	ahead) base=$((ns + $(gate_load now "$phc"))) ;;
	whole) base=$((($(gate_load now "$phc") / ${ns%+*} + 10) * ${ns%+*} + ${ns#*+})) ;;
	link)
		refuse "slots of $ns bytes" ip link set rt0 type keepon slot_bytes "$ns"
		continue
		;;
	esac
	before=$(gate_load now "$phc")
	# shellcheck disable=SC2086 # words
	if gates "$base" "$cycle" "$extension" $entries >/tmp/said 2>&1; then
		accepted=$((accepted + 1))
	else
		diag "$(cat /tmp/said)"
	fi
	echo "$before $(gate_load now "$phc") $base $cycle $extension $entries" >>/out/asked
	asked=$((asked + 1))
	# frames taken before there were classes would still be on their way as class 0
	[ "$asked" -gt 1 ] || {
		gate_load run "$phc" rt0 3600000 "$SEED" 4 >/out/load &
		load=$!
	}
done </lib/keepon/schedules
is "$accepted" "$asked" "every schedule is taken"
# as long as the lists, however long tc takes
sleep 0.1
kill "$load"
wait "$load"
tc -s qdisc show dev rt0 >/out/qdisc
cat /sys/kernel/debug/keepon_hwsim/sim0/wire >/out/wire
echo "capture sim0 off" >$control
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do # it changes from poll to poll
	ethtool -S rt0 | sed -n 's/.*clock_error_ps: //p' >>/out/clock_errors_ps
done
is "$(identity rt0)" 0 "every frame is accounted for"
is "$(counter rt0 underruns)$(counter rt0 slips)$(counter rt0 doubts)" 000 "the wire stayed full"
run "deleted" tc qdisc del dev rt0 root
done_testing
