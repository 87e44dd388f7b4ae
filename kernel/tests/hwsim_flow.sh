# SPDX-License-Identifier: GPL-2.0-only
# What may hold an ordinary wire back, and ethtool's word on it: PAUSE frames of the other end and energy-efficient Ethernet.
# The records of both ends, once with PAUSE obeyed and once without, go to /out; test_hwsim.py reads them.
. /lib/keepon/hwsim_common.sh

modprobe keepon_hwsim
refuse_line "nic n0 eee_wake_ns=1000001" "eee_wake_ns=1000001 is out of range; use 0 to 1000000"
control <<X
nic n0 mode=ordinary flow_control=1 eee_wake_ns=1000000
nic n1 mode=ordinary
link n0 n1
X
station n0 10.0.0.1
station n1 10.0.0.2
wait_until 2 carrier n0

at() {
	ip netns exec "$@"
}
# fastest: of twenty echoes, in us
fastest() {
	at n0 ping -q -c 20 -i 0.01 10.0.0.2 | sed -n 's/.*min[^=]*= *\([0-9]*\)\.\([0-9]*\).*/\1\2/p' | sed 's/^0*//'
}
# paused NAME: a PAUSE of the longest from n1 while n0 sends, and the records of both
paused() {
	for nic in n0 n1; do
		echo "capture $nic on records=1000" | control
	done
	at n0 ping -q -c 200 -i 0.002 10.0.0.2 >/tmp/echoes &
	echoes=$!
	sleep 0.05
	at n1 mausezahn n1 -q -c 1 "01:80:c2:00:00:01:02:00:00:00:00:09:88:08:00:01:ff:ff" >/tmp/said 2>&1 || diag "$(cat /tmp/said)"
	wait "$echoes"
	like "$(cat /tmp/echoes)" " 0% packet loss" "echoes come back"
	for nic in n0 n1; do
		cp "$HWSIM/$nic/wire" "/out/$nic-$1"
	done
}

refuse "a NIC without PAUSE says so" at n1 ethtool -a n1
like "$(at n1 ethtool -a n1 2>&1)" "not supported" "by that word"
like "$(at n1 ethtool --show-eee n1 2>&1)" "not supported" "without EEE, too"
like "$(at n0 ethtool -a n0)" "^RX:.*on" "PAUSE is obeyed"
like "$(at n0 ethtool -a n0)" "^TX:.*off" "and none sent"
refuse "nor will be" at n0 ethtool -A n0 tx on
paused on
is "$(count n0 rx_pauses)" 1 "it is counted"
run "PAUSE off" at n0 ethtool -A n0 autoneg off rx off tx off
like "$(at n0 ethtool -a n0)" "^RX:.*off" "it is off"
paused off
is "$(count n0 rx_pauses)" 1 "and no longer obeyed"

like "$(at n0 ethtool --show-eee n0)" "EEE status: enabled" "energy-efficient"
slow_us=$(fastest)
run "EEE off" at n0 ethtool --set-eee n0 eee off
like "$(at n0 ethtool --show-eee n0)" "EEE status: disabled" "it is off"
fast_us=$(fastest)
diag "fastest of 20 echoes, us: $slow_us, then $fast_us"
# one of the two ends slept before its frame; what a CPU takes for an echo is the same to a tenth of that
more_us=$((slow_us - fast_us))
[ $more_us -gt 900 ] && [ $more_us -lt 1100 ] && ok "a sleeping wire wakes up for 1 ms" || not_ok "a sleeping wire wakes up for 1 ms: $more_us us"
run "EEE on" at n0 ethtool --set-eee n0 eee on
[ $(($(fastest) - fast_us)) -gt 900 ] && ok "and does again" || not_ok "and does again"
run "the module unloads" sh -c "ip netns del n0; ip netns del n1; rmmod keepon_hwsim"
done_testing
