# SPDX-License-Identifier: GPL-2.0-only
# `keepon apply` of a station on the interface that the machine is reached by: kept, given up, and put back after everything
# that may happen to it. $STEPS: of which station; $MODE of the card; $DEVICE that programs use.
. /lib/keepon/test.sh
. /lib/keepon/apply.sh
forking

echoes() {
	ip netns exec far ping -q -c 3 -i 0.01 -W 1 10.0.0.1 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}

card
addresses
is "$(echoes)" 3 "echoes before"
state > /tmp/before
cp /tmp/before /out

# ---- shown, kept, put back ----
started apply "/steps/$STEPS" --dry-run > /out/shown 2>&1
is $? 0 "dry run"
like "$(cat /out/shown)" "ethtool -A eth0 autoneg off" "every command is shown"
same "dry run"
applying
until_said "within 60 s"
if [ "$DEVICE" = rt0 ]; then
	run "the device is there" test -d /sys/class/net/rt0
	is "$(echoes)" 3 "echoes over the keepon link"
	is "$(ping -q -c 2 -i 0.01 -W 1 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 2 "and from here"
fi
like "$(tc qdisc show dev "$DEVICE")" mqprio "queues"
like "$(keepon confirm eth0)" "eth0 is kept, as station" "confirmed by another command"
ended 0 "keepon unapply eth0 puts back" "kept"
like "$(keepon confirm eth0)" "kept already" "confirmed again"
applying
ended 3 "eth0 is set up already, as station .*; put that back first with keepon unapply eth0" "applied twice"
cp /tmp/said /out/twice
keepon unapply > /out/unapply 2>&1
is $? 0 "unapply" || diag "$(cat /out/unapply)"
same "unapply"
is "$(echoes)" 3 "echoes after it"
like "$(keepon unapply 2>&1)" "has set up no interface here" "nothing more to put back"
like "$(keepon unapply eth0 2>&1)" "has set up nothing there" "nor there"

# ---- not confirmed ----
applying --rollback 3
ended 3 "it was not confirmed within 3 s; eth0 is as it was" "not confirmed"
same "not confirmed"
started apply "/steps/$STEPS" --yes > /tmp/yes 2>&1
is $? 0 "kept without asking" || diag "$(tail -1 /tmp/yes)"
started unapply > /dev/null
same "kept without asking"

# ---- ended by somebody ----
for signal in INT TERM HUP; do
	applying
	until_said "within 60 s"
	kill -$signal $job
	ended 130 "interrupted" "SIG$signal"
	same "SIG$signal"
done
applying
until_said "within 60 s"
like "$(keepon unapply eth0)" "eth0 is as it was; keepon apply on it has ended" "unapply while it waits"
ended 3 "keepon unapply has asked for it; eth0 is as it was" "unapply while it waits"
same "unapply while it waits"
done_testing
