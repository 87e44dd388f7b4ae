# SPDX-License-Identifier: GPL-2.0-only
# clock dual: rt1 counts both rings, its peer rt0 keeps its wire full ($RATE, $OPTIONS; reads of $READ_NS, $LAG_NS late; propagation $WIRE_NS). Stamps of received frames go to
# /out with both wire records, and test_dual.py compares; with WHOLE=1 also what is refused, and what is counted when the peer stops, starts
# and flaps, when frames are lost and when the ring overruns. Needs keepon-talk, keepon-listen, ptp_probe.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/ptp.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
hwsim=/sys/kernel/debug/keepon_hwsim
trace=/sys/kernel/tracing
wire "$RATE" "index_read_ns=$READ_NS rx_lag_ns=${LAG_NS:-0}" "$WIRE_NS"

far() { in_b counter rt1 "rx_ring_$1"; }
knows() { [ "$(far valid)" = "${1:-1}" ]; }
fault() { echo "$2" >"$hwsim/$1/fault"; }
# grown NAME BEFORE TEXT: a counter of the receive ring did
grown() {
	_now=$(far "$1")
	[ "$_now" -gt "$2" ] && ok "$3: $((_now - $2))" || not_ok "$3: $2, then $_now"
}
# listen COUNT FILE: in the background; frames are stamped from then on
listen() {
	ip netns exec b keepon-listen rt1 --count "$1" --duration 2s --json "$2" >/tmp/listen.txt 2>&1 &
	listener=$!
	sleep 0.05
}
# frames DEVICE COUNT: best effort, 1 ms apart
frames() {
	keepon-talk "$1" --period 1ms --advance 500us --no-txtime --linger 20ms --count "$2" >/tmp/talk.txt 2>&1
}

refusals() {
	echo "nic bare rx_ring=0" >$control
	_said=$(ip link add link bare name rt9 type keepon clock dual 2>&1) && not_ok "a NIC without a receive ring" ||
		like "$_said" "bare cannot deliver frames with a bad FCS; choose interpolated or counter" "a NIC without a receive ring"
	run "which serves otherwise" ip link add link bare name rt9 type keepon
	refuse "but not later either" ip link set rt9 type keepon clock dual
	like "$(options rt9)" "clock interpolated merge strip tau_ns 0" "it stays as it was"
	ip link del rt9
	for wrong in "clock dual tau_ns 1000000001/tau_ns 1000000001 is not within 0 to 1000000000" \
		"mode paper clock dual merge strip/merge strip: paper mode reads its clocks as counters" \
		"clock dual rx_poll_cpu 9/rx_poll_cpu 9 is not within" \
		"clock dual padding 3/choose deferred or on-demand or auto" \
		"clock dual merge other/choose strip or published"; do
		# shellcheck disable=SC2086
		_said=$(ip link add link sim0 name rt9 type keepon ${wrong%%/*} 2>&1) && not_ok "${wrong%%/*}" ||
			like "$_said" "${wrong##*/}" "${wrong%%/*}"
	done
}

# shellcheck disable=SC2086
begin() {
	far_upper clock dual $OPTIONS
	wait_until 3 in_b is_running rt1
	echo "capture sim0 on records=100000" >$control
	upper $OPTIONS
	wait_until 3 is_running rt0
	run "the far wire is known" wait_until 3 knows
}

stamps() {
	sleep "$SETTLE"
	echo "capture sim1 on records=65536" >$control
	echo 1 >$trace/events/keepon/keepon_arrival/enable
	listen 60 /out/listen.json
	ip netns exec b keepon-talk rt1 --period 2ms --advance 2ms --count 50 --hw-stamps --linger 20ms --json /out/talk.json >/tmp/far.txt 2>&1 &
	far_talk=$!
	keepon-talk rt0 --period 2ms --advance 2ms --count 60 --linger 20ms >/tmp/near.txt 2>&1
	wait $far_talk $listener
	echo 0 >$trace/events/keepon/keepon_arrival/enable
	cat $trace/trace >/out/arrivals
	cat $hwsim/sim0/wire >/out/near.wire
	cat $hwsim/sim1/wire >/out/far.wire
	is "$(sed -n 's/.*"stamped": \([0-9]*\).*/\1/p' /out/talk.json)" 50 "frames sent are stamped, too"
	is "$(far unstamped) $(far missed) $(far stops)" "0 0 0" "every frame stamped, none missed, the far wire never stopped"
}

counts() {
	stops=$(far stops)
	fault sim0 "fcs 2"
	frames rt0 2
	is "$(far stops)" "$stops" "real frames with a wrong FCS have their place"
	fault sim0 "loss 1"
	frames rt0 1
	grown stops "$stops" "a lost frame is missing, and noticed"
	run "known again" wait_until 1 knows

	stops=$(far stops)
	ip link set rt0 down
	run "the peer stops, and nobody knows where its wire is" wait_until 1 knows 0
	grown stops "$stops" "counted"
	cat $hwsim/sim0/wire >/out/near.whole
	far frames >/out/near.heard
	underruns=$(in_b counter rt1 underruns)
	result=$(ptp_probe extended "$(far_phc rt1)" 4)
	is "$(printf '%s\n' "$result" | grep -c ' 0$')" 3 "time goes on, and never back"
	spread=$(printf '%s\n' "$result" | sed -n 's/^spread_ns //p')
	[ "$spread" -lt 5000 ] && ok "by the transmit ring: $spread ns" || not_ok "by the transmit ring: $spread ns"
	heard=$(far frames)
	listen 5 /tmp/idle.json
	stamped=$(far stamped)
	unstamped=$(far unstamped)
	frames sim0 5
	wait $listener
	is "$(far stamped) $(far unstamped)" "$stamped $((unstamped + 5))" "frames of a peer that does not keep its wire full have no stamp"
	is "$(far frames)" $((heard + 5)) "and are counted"
	ip link set rt0 up
	wait_until 3 is_running rt0
	run "the peer starts, and is known" wait_until 2 knows
	sleep 0.02
	listen 5 /tmp/again.json
	frames rt0 5
	wait $listener
	is "$(far stamped)" $((stamped + 5)) "and its frames have stamps again"

	stops=$(far stops)
	echo 200000000 >/sys/kernel/debug/keepon/rt1/rx_stall_ns
	sleep 0.4
	is "$(far stops)" "$stops" "frames that are known to be missing contradict nothing"
	[ "$(far missed)" -gt 0 ] && ok "a ring nobody empties overruns: $(far missed)" || not_ok "no overrun"
	is "$(far missed)" "$(in_b ethtool -S sim1 | sed -n 's/^ *rx_missed: //p')" "as the NIC says"
	run "known again" wait_until 1 knows
	stops=$(far stops)
	starts=$(in_b counter rt1 starts)
	fault sim0 "flap 5000000"
	wait_until 3 in_b is_running rt1
	run "after a flap, known again" wait_until 3 knows
	# The kernel tells of a lost link up to a second later, and nothing of one that is back by then.
	noticed=$(($(in_b counter rt1 starts) - starts + $(far stops) - stops))
	[ $noticed -ge 1 ] && ok "by a new start, or counted as a stop" || not_ok "the flap was not noticed"
	is "$(in_b counter rt1 underruns)" "$underruns" "the own wire never ran dry"
}

others() {
	for how in "merge published tau_ns 200000" "merge strip poll thread rx_poll_cpu 0"; do
		# shellcheck disable=SC2086
		run "$how" ip -n b link set rt1 type keepon $how
		wait_until 3 in_b is_running rt1 && wait_until 3 knows
		sleep 0.05
		stamped=$(far stamped)
		listen 3 /tmp/other.json
		frames rt0 3
		wait $listener
		is "$(far stamped)" $((stamped + 3)) "$how: stamps"
		set_back=$(($(far tx_set) + $(far rx_set)))
		in_b phc_ctl rt1 adj 3 freq 20000 >/dev/null 2>&1
		sleep 0.05
		is $(($(far tx_set) + $(far rx_set))) "$set_back" "$how: steps move both clocks"
	done
	like "$(in_b ip -d link show rt1)" "padding on-demand .* clock dual merge strip tau_ns 200000 poll thread poll_cpu 0 rx_poll_cpu 0" "shown as given"
	like "$(ps)" "keepon-rx/rt1" "two threads"
	run "clock interpolated" ip -n b link set rt1 type keepon clock interpolated
	is "$(ps | grep -c '[k]eepon-rx/rt1')" 0 "and one again"
	like "$(in_b ip -d link show rt1)" "padding deferred" "which polls may pad for"
	ip -n b link set rt1 type keepon padding on-demand
	like "$(in_b ip -d link show rt1)" "padding on-demand" "unless the option says otherwise"
	ip -n b link set rt1 type keepon padding auto
	like "$(in_b ip -d link show rt1)" "padding deferred" "auto: as before"
	run "dual while up" ip -n b link set rt1 type keepon clock dual poll hrtimer
	run "the far wire is known" wait_until 3 knows
	run "keepon goes with both rings claimed" rmmod keepon
	run "then the driver" rmmod keepon_hwsim
	ip netns del b
}

# An index so late that the stack has the frame before it: then that is what says that it came.
late_index() {
	wire "$RATE" rx_lag_ns=0-200000
	begin
	sleep 0.1
	listen 10 /tmp/late.json
	stamped=$(far stamped)
	frames rt0 10
	wait $listener
	is "$(far stamped) $(far unstamped)" "$((stamped + 10)) 0" "frames faster than the index have stamps"
}

[ "$WHOLE" = 1 ] && refusals
begin
stamps
if [ "$WHOLE" = 1 ]; then
	counts
	others
	late_index
fi
done_testing
