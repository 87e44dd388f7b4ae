# SPDX-License-Identifier: GPL-2.0-only
# A keepon link added, used and deleted ROUNDS times while frames come and go; its peer stays. A warning in the log fails the run.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/soak.sh
wire 100000000
far_upper
failures=0
submitted=0

# Frames from the far end, while rounds go on; processes would count as memory.
far_end() {
	if [ "$1" = stop ]; then
		rm /tmp/sending
		wait "$_far"
		return
	fi
	echo >/tmp/sending
	in_b sh -c 'while [ -e /tmp/sending ]; do ping -q -A -w 1 10.0.0.1; sleep 0.01; done' >/dev/null 2>&1 &
	_far=$!
}

attach() {
	if ! _said=$(ip -batch - 2>&1 <<-Y
		link add link sim0 name rt0 type keepon receive all batch $((4 + $1 % 8)) poll $([ $(($1 % 5)) -eq 0 ] && echo thread || echo hrtimer)
		link set rt0 up
		addr add 10.0.0.1/24 dev rt0
	Y
	); then
		failures=$((failures + 1))
		diag "round $1: $_said"
		return
	fi
	ping -q -c 30 -s $((56 + $1 % 1000)) -i 0.001 -w 1 10.0.0.2 >/dev/null 2>&1 &
	_ping=$!
	sleep "0.0$(($1 % 4))"
	ethtool -S rt0 >/tmp/counters
	# The frames so far, and what the identity leaves over: a line "COUNT REST"
	set -- "$1" $(awk '/ submitted:/ { s = $2 } / verdict_/ { v += $2 } / pending:/ { p = $2 } END { print s, s - v - p }' /tmp/counters)
	submitted=$((submitted + $2))
	if [ "$3" != 0 ] || ! ip link del rt0; then
		failures=$((failures + 1))
		diag "round $1: not accounted for: $3 of $2"
	fi
	wait $_ping
}

warm_up=$((ROUNDS / 5))
far_end start
for number in $(seq $warm_up); do
	attach "$number"
done
far_end stop
memory /tmp/before
far_end start
for number in $(seq $((ROUNDS - warm_up))); do
	attach "$number"
done
far_end stop
memory /tmp/after
is $failures 0 "$ROUNDS times attached and detached, each frame accounted for"
diag "$submitted frames were submitted before the detachments"
[ "$submitted" -ge "$ROUNDS" ] && ok "there was traffic" || not_ok "there was traffic: $submitted frames"
ip -n b link del rt1
# The wire was never down: what left whole and good came in, everything else was thrown away for its FCS.
sum() {
	awk -v names="$2" 'BEGIN { split(names, list); for (i in list) wanted[list[i]] } $1 in wanted { n += $2 } END { print n + 0 }' \
		"/sys/kernel/debug/keepon_hwsim/$1/stats"
}
sleep 0.1
is "$(sum sim1 rx_frames)" "$(sum sim0 tx_frames)" "what left came in"
is "$(sum sim1 rx_fcs_errors)" "$(sum sim0 "tx_placeholders tx_bad_fcs")" "and nothing else"
no_leak /tmp/before /tmp/after $((ROUNDS - warm_up))
done_testing
