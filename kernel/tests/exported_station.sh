# SPDX-License-Identifier: GPL-2.0-only
# A station as `keepon export commands` has it: /export/$STATION.sh runs as it is in a namespace of
# its own, on a NIC eth0 that obeys PAUSE and has EEE, with a cable to another one, which sends PAUSE.
# Then /lib/keepon/senders: the plan's streams and best effort. What left stands in /out/wire;
# test_exported_plans.py judges. $MODE of the NIC, $RATE_BPS; $DEVICE that programs use. $AGAIN: words
# of ethtool behind the script, if not all it switches off is to stay so.
#
# With gPTP the other end is $BRIDGE's $PORT, which has network time, by the exported configuration
# less its other ports. It is a keepon link, which takes the padding of a station's messages off; stamps of /out/bridge.talk and the record /out/bridge.wire give its time. $SETTLE_S from when
# the station's clock is steered until the streams begin.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
modprobe keepon_hwsim
modprobe keepon
ip netns add station
ip netns add bridge
echo "nic sim0 mode=$MODE rate_bps=$RATE_BPS ppb=20000 seed=1 queues=8 flow_control=1 eee_wake_ns=16500" >$control
echo "nic sim1 rate_bps=$RATE_BPS ppb=-30000 seed=2" >$control
echo "link sim0 sim1 propagation_ns=100" >$control
ip link set sim0 netns station name eth0
ip link set sim1 netns bridge
ip -n bridge link set sim1 up

setup() {
	ip netns exec station sh "/export/$STATION.sh" >/out/setup 2>&1
}
run "the script runs as it is" setup
sed 's/^/# /' /out/setup
like "$(ip netns exec station ethtool -a eth0)" "^RX:[[:space:]]*off" "PAUSE is switched off"
like "$(ip netns exec station ethtool --show-eee eth0)" "EEE status: disabled" "EEE is switched off"
# What has no priority goes to the class of all else, whatever class 0 carries.
like "$(ip -n station -d link show dev "$DEVICE")" "[[:space:]]mtu 1500[[:space:]]" "frames of MTU 1500 have slots"
ip -n station addr add 10.75.81.1/24 dev eth0
ip -n bridge addr add 10.75.81.2/24 dev sim1
like "$(ip netns exec station ping -q -c 5 -i 0.01 -s 1472 10.75.81.2)" " 5 packets received" "the longest frames are answered"
ip -n station addr flush dev eth0
ip -n bridge addr flush dev sim1
far=sim1
# shellcheck disable=SC2086 # words
[ ! "$AGAIN" ] || run "and on again" ip netns exec station ethtool $AGAIN
if [ "$BRIDGE" ]; then
	ip -n bridge link add link sim1 name "$PORT" type keepon receive all
	ip -n bridge link set "$PORT" up
	sed '/^\[swp/d' "/export/$BRIDGE-ptp4l.cfg" >/run/bridge.cfg
	ip netns exec bridge ptp4l -H -m -f /run/bridge.cfg -i "$PORT" >/out/bridge.log 2>&1 &
	is_steered() {
		grep -q "to SLAVE on" "/run/ptp4l-$STATION.log"
	}
	if wait_until 20 is_steered; then
		ok "the clock is steered"
	else
		not_ok "the clock is not steered"
		sed 's/^/# /' /out/bridge.log "/run/ptp4l-$STATION.log"
		exit 1
	fi
	sleep "$SETTLE_S"
	far=$PORT
fi
echo "capture sim0 on records=100000" >$control
echo "capture sim1 on records=20000" >$control
talkers=
base=$((($(date +%s) + 2) * 1000000000))
echo $base >/out/base
# PAUSE for 1024 times 512 bits, every 5 ms, as long as streams leave
ip netns exec bridge mausezahn "$far" -q -c 0 -d 5msec \
	01:80:c2:00:00:01:02:00:00:00:00:09:88:08:00:01:04:00 >/out/pauses 2>&1 &
pauser=$!
. /lib/keepon/senders
[ ! "$BRIDGE" ] || ip netns exec bridge keepon-talk "$PORT" --stream network --count 50 --base-time $base \
	--period 8ms --no-txtime --size 80 --hw-stamps --json /out/bridge.talk
for process in $talkers; do
	wait "$process" || diag "a talker's exit code: $?"
done
# The record is of the streams: where their senders end at once, ptp4l's stamps may come ms late, and
# a clock that follows them has another record for each slot.
cat /sys/kernel/debug/keepon_hwsim/sim0/wire >/out/wire
cat /sys/kernel/debug/keepon_hwsim/sim1/wire >/out/bridge.wire
echo "capture sim0 off" >$control
echo "capture sim1 off" >$control
kill "$pauser"
sleep 0.1
# ptp4l tells the worst offset of each second
[ ! "$BRIDGE" ] || sleep 1
cp /sys/kernel/debug/keepon_hwsim/sim0/stats /out/nic
cp /run/*.log /out
for what in "link show" "addr show"; do
	# shellcheck disable=SC2086 # two words
	ip -n station -d $what
done >/out/links
tc -n station qdisc show >/out/qdiscs
ip netns exec station ethtool -S "$DEVICE" >/out/counters
done_testing
