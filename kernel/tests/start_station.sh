# SPDX-License-Identifier: GPL-2.0-only
# `keepon start` of a station of a plan, and of a link by its options, on the card that the machine is reached by; `status`
# and `stop`. $STEPS: of which station; $MODE of the card; $DEVICE the link's, or eth0.
. /lib/keepon/test.sh
. /lib/keepon/start.sh

card
addresses
is "$(echoes)" 3 "echoes before"
state > /tmp/before
own > /tmp/own
cp /tmp/before /out

# ---- a station of a plan ----
keepon start --steps "/steps/$STEPS" --dry-run > /out/shown 2>&1
is $? 0 "dry run"
like "$(cat /out/shown)" "ethtool -A eth0 autoneg off" "every command is shown"
same "dry run"
starting
ended 0 "keepon stop eth0 takes it away" "started"
cp /tmp/said /out/started
like "$(tc qdisc show dev "$DEVICE")" mqprio "queues"
own > /tmp/now
is "$(diff /tmp/own /tmp/now)" "" "the card has what it had"
is "$(echoes)" 3 "echoes over the card"
is "$(ping -q -c 2 -i 0.01 -W 1 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 2 "and from here"
if [ "$DEVICE" = rt0 ]; then
	like "$(ip link show rt0)" NOARP "the link hears nothing"
	keepon status > /out/status 2>&1
	like "$(cat /out/status)" "rt0 on eth0 .keepon_hwsim.: " "status"
	like "$(cat /out/status)" "set up  station " "status: by whom"
fi
starting
ended 3 "eth0 is set up already, as station .*; put that back first with keepon stop eth0" "started twice"
keepon stop > /out/stop 2>&1
is $? 0 "stop" || diag "$(cat /out/stop)"
same "stop"
is "$(echoes)" 3 "echoes after it"
like "$(keepon stop eth0 2>&1)" "has set up nothing there" "nothing more to put back"

# ---- a link by its options ----
if [ "$DEVICE" = rt0 ]; then
	keepon start eth0 > /tmp/said 2>&1
	is $? 0 "without options" || diag "$(tail -1 /tmp/said)"
	like "$(cat /tmp/said)" "link +keepon link add eth0 rt0 txtime tai" "each step is printed"
	is "$(echoes)" 3 "without options: echoes"
	like "$(keepon status --json)" '"card": "eth0"' "status as JSON"
	keepon stop eth0 > /dev/null
	same "without options"
	keepon start eth0 slot_bytes 1230 partition 10 class 7 slots 0 --ptp lead > /tmp/said 2>&1
	is $? 0 "with classes and PTP" || diag "$(tail -1 /tmp/said)"
	like "$(tc qdisc show dev rt0)" "mqprio.* tc 8 map 0 0 0 0 0 0 0 7 0" "a queue for the class"
	like "$(ps -o args)" "ptp4l -H -m -f /run/keepon/eth0-ptp4l.cfg" "ptp4l"
	run "it leads" awaited 30 sh -c 'PYTHONPATH=/lib/keepon/python "$PYTHON" -S -m keepon_host status | grep "it is the grandmaster"'
	keepon stop > /dev/null
	same "with classes and PTP"
fi

# ---- ended from outside ----
for signal in INT TERM; do
	AT=2 BEFORE='sleep 3' AFTER=
	wrapped
	hooked
	wait_until 60 test -s /tmp/calls
	kill -$signal $job
	ended 130 "interrupted" "SIG$signal"
	same "SIG$signal"
done
done_testing
