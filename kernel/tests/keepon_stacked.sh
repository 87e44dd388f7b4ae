# SPDX-License-Identifier: GPL-2.0-only
# Keepon links below what the stack puts upon devices: port of a bridge, VLAN, macvlan; and moved from namespace to namespace.
# No frame is lost, and what one end has sent the other has received. Needs keepon-talk and keepon-listen.
#
#	a: rt0 on sim0 ---- sim1 below rt1 :bridge: rt2 on sim2 ---- sim3 below rt3 :c
. /lib/keepon/test.sh
. /lib/keepon/common.sh
modprobe keepon_hwsim && modprobe keepon || exit 1
for number in 0 1 2 3; do
	echo "nic sim$number rate_bps=100000000 ppb=${number}0000 seed=$((number + 1))" >$control || exit 1
done
echo "link sim0 sim1" >$control && echo "link sim2 sim3" >$control || exit 1
for space in a c d m; do
	ip netns add $space
done
ip link set sim0 netns a
ip link set sim3 netns c

# link NAMESPACE NUMBER: rt* on sim*, which sends nothing of its own; the longest frames take two slots
link() {
	ip netns exec "$1" sh -c "echo 1 >/proc/sys/net/ipv6/conf/sim$2/disable_ipv6"
	ip -n "$1" link set "sim$2" up
	run "link rt$2" ip -n "$1" link add link "sim$2" name "rt$2" type keepon receive all
	ip -n "$1" link set "rt$2" up
}
ip netns attach init $$
link a 0
link init 1
link init 2
link c 3
ip link add br0 type bridge
run "a port" ip link set rt1 master br0
run "another" ip link set rt2 master br0
ip link set br0 up
ip -n a addr add 10.0.0.1/24 dev rt0
ip -n a addr add fd::1/64 dev rt0 nodad
ip -n c addr add 10.0.0.2/24 dev rt3
ip -n c addr add fd::2/64 dev rt3 nodad

runs() {
	ip -n "$1" link show "$2" | grep -q 'state UP'
}
for number in 0/a 1/init 2/init 3/c; do
	wait_until 3 runs "${number#*/}" "rt${number%/*}"
done
packets() {
	ip netns exec "$1" cat "/sys/class/net/$2/statistics/$3_packets"
}
doubtful() {
	ip netns exec "$1" ethtool -S "$2" | sed -n 's/^ *verdict_in_doubt: //p'
}
# the four ways over the two wires: sent for certain, perhaps besides (docs/model.md), received
crossings() {
	for _way in "a rt0 init rt1" "init rt1 a rt0" "init rt2 c rt3" "c rt3 init rt2"; do
		# shellcheck disable=SC2086 # words
		set -- $_way
		echo "$2-$4 $(packets "$1" "$2" tx) $(doubtful "$1" "$2") $(packets "$3" "$4" rx)"
	done
}
# settled FILE: crossings, once nothing is under way; what is sent is counted a batch later
settled() {
	until crossings >"$1" && sleep 0.1 && crossings | cmp -s - "$1"; do
		:
	done
}
# echoes NAMESPACE ADDRESS COUNT BYTES TEXT: each comes back
echoes() {
	_text=$5
	is "$(ip netns exec "$1" ping -q -c "$3" -i 0.02 -W 1 -s "$4" "$2" | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" \
		"$3" "$_text"
}
# the first one may wait for an address, and is lost if that takes long
ip netns exec a ping -q -c 2 -W 1 10.0.0.2 >/dev/null
ip netns exec a ping -q -c 2 -W 1 fd::2 >/dev/null

settled /tmp/before
echoes a 10.0.0.2 50 56 "bridge ports: short packets"
echoes a 10.0.0.2 50 1472 "the longest of MTU 1500"
echoes a fd::2 50 1452 "and of IPv6"
echoes c 10.0.0.1 20 700 "the other way"

for end in a/rt0/1 c/rt3/2; do
	space=${end%%/*} number=${end##*/} device=${end#*/} && device=${device%/*}
	run "VLAN on $device" ip -n "$space" link add link "$device" name tagged type vlan id 5
	ip -n "$space" addr add "10.5.0.$number/24" dev tagged
	ip -n "$space" link set tagged up
done
ip netns exec a ping -q -c 2 -W 1 10.5.0.2 >/dev/null
echoes a 10.5.0.2 30 1472 "tagged, as long as untagged ones"

run "macvlan on rt0" ip -n a link add link rt0 name own netns m type macvlan mode bridge
ip -n m addr add 10.0.0.3/24 dev own
ip -n m link set own up
ip netns exec m ping -q -c 2 -W 1 10.0.0.2 >/dev/null
echoes m 10.0.0.2 30 56 "macvlan: from a namespace of its own"
echoes c 10.0.0.3 30 1472 "and to it"
echoes a 10.0.0.2 10 56 "beside the device below"
settled /tmp/after
is "$(awk 'NR == FNR { sent[$1] = $2; doubt[$1] = $3; received[$1] = $4; next }
	{ least = $2 - sent[$1]; most = least + $3 - doubt[$1]; got = $4 - received[$1] }
	got < least || got > most || least < 200 || most - least > 20' /tmp/before /tmp/after)" "" \
	"each has received what the other sent"
diag "$(cat /tmp/before /tmp/after)"
ip -n m link del own

# An EtherType that says no length comes padded, which no port takes for too long.
ip netns exec c keepon-listen rt3 --count 50 --duration 2s --json /tmp/listen.json >/tmp/listen.text 2>&1 &
listener=$!
sleep 0.1
ip netns exec a keepon-talk rt0 --period 2ms --count 50 --no-txtime --json /tmp/talk.json >/tmp/talk.text 2>&1
wait $listener
is "$(sed -n 's/.*"counters": {"received": *\([0-9]*\).*/\1/p' /tmp/listen.json)" 50 "test frames: each passes"

run "rt3 to another namespace than sim3" ip -n c link set rt3 netns d
ip -n d addr add 10.0.0.2/24 dev rt3
ip -n d link set rt3 up
wait_until 3 runs d rt3
ip netns exec a ping -q -c 2 -W 1 10.0.0.2 >/dev/null
echoes a 10.0.0.2 20 56 "it is reached there"
ip netns exec d keepon-talk rt3 --period 2ms --advance 5ms --count 20 --hw-stamps --json /tmp/talk.json >/tmp/talk.text 2>&1
is "$(sed -n 's/.*"stamped": *\([0-9]*\).*/\1/p' /tmp/talk.json)" 20 "and stamps what it sends"
run "and back" ip -n d link set rt3 netns c
ip -n c addr add 10.0.0.2/24 dev rt3
ip -n c link set rt3 up
wait_until 3 runs c rt3
ip netns exec a ping -q -c 2 -W 1 10.0.0.2 >/dev/null
echoes a 10.0.0.2 20 56 "as before"

for number in 0/a 1/init 2/init 3/c; do
	device=rt${number%/*}
	is "$(ip netns exec "${number#*/}" ethtool -S "$device" | awk '/ submitted:/ { s = $2 } / verdict_/ { v += $2 }
		/ pending:/ { p = $2 } END { print s - v - p }')" 0 "$device: every frame is accounted for"
	is "$(ip netns exec "${number#*/}" ethtool -S "$device" | sed -n 's/^ *underruns: //p')" 0 "$device: the wire stayed full"
done
ip -n c link set rt3 netns d
ip netns del d
wait_until 3 sh -c '! ip -n c link show rt3 2>/dev/null'
is "$(ip -n c -o link show type keepon)" "" "a namespace takes its link along"
done_testing
