# SPDX-License-Identifier: GPL-2.0-only
# PRP or HSR ($PROTO) of this kernel's module hsr: red0 of stations a and b, each over two keepon links, LAN A and LAN B.
# /out/CASE.json is what keepon-listen says of a UDP stream from a to b, /out/lan0 and /out/lan1 are wire records of one.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
modprobe keepon_hwsim && modprobe keepon && modprobe hsr || exit 1
for number in 0 1 2 3; do
	echo "nic sim$number rate_bps=100000000 seed=$((number + 1))" >$control || exit 1
done
echo "link sim0 sim2" >$control && echo "link sim1 sim3" >$control || exit 1
within() {
	_ns=$1
	shift
	ip netns exec "$_ns" "$@"
}
runs() {
	ip -n "$1" link show "$2" | grep -q 'state UP'
}
# station NAMESPACE ADDRESS NUMBER NUMBER: with red0 over links of these numbers
station() {
	ip netns add "$1"
	within "$1" sh -c "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
	for number in "$3" "$4"; do
		ip link set "sim$number" netns "$1"
		ip -n "$1" link set "sim$number" up
		run "rt$number" ip -n "$1" link add link "sim$number" name "rt$number" type keepon receive all
		ip -n "$1" link set "rt$number" up
		wait_until 3 runs "$1" "rt$number"
	done
	# shellcheck disable=SC2086 # words
	run "red0 of $1" ip -n "$1" link add red0 type hsr slave1 "rt$3" slave2 "rt$4" $PROTO
	ip -n "$1" addr add "$2/24" dev red0
	ip -n "$1" link set red0 up
	wait_until 3 runs "$1" red0
}
listen() {
	within b keepon-listen red0 --duration "$2"ms --json "/out/$1.json" >/tmp/listen.text 2>&1 &
	listener=$!
	sleep 0.05
}
talk() {
	within a keepon-talk red0 --udp 10.0.0.2:5000 --linger 20ms "$@"
}
# cut CASE COUNT SECONDS: LAN A is away for SECONDS after as many
cut() {
	listen "$1" $(($2 + 300))
	talk --period 1ms --advance 5ms --count "$2" >/tmp/talk.text 2>&1 &
	talker=$!
	sleep "$3"
	echo "unlink sim0" >$control
	sleep "$3"
	echo "link sim0 sim2" >$control
	wait $talker $listener
}
station a 10.0.0.1 0 1
station b 10.0.0.2 2 3
ip -n a neigh add 10.0.0.2 lladdr "$(within b cat /sys/class/net/red0/address)" dev red0
is "$(within a cat /sys/class/net/red0/mtu)" 1494 "6 bytes are the tag's"
listen start 300
talk --period 1ms --advance 5ms --count 100 >/tmp/talk.text 2>&1
wait $listener

sleep 2 # each has had a supervision frame of the other
for number in 0 1; do
	echo "capture sim$number on" >$control
done
cut cut 2000 0.6 # red0's numbers begin with 64511
for number in 0 1; do
	cat /sys/kernel/debug/keepon_hwsim/sim$number/wire >/out/lan$number
done

echo "unlink sim1" >$control
echo "link sim1 sim3 propagation_ns=5000000" >$control
wait_until 3 runs b rt3
sleep 0.2
cut late 600 0.2

listen mixed 1000
talk --stream slow --period 2ms --advance 20ms --count 200 >/tmp/slow.text 2>&1 &
talk --stream fast --period 2ms --offset 1ms --advance 5ms --count 200 >/tmp/talk.text 2>&1
wait $listener

refuse "stamps of hardware" talk --hw-stamps --period 1ms --advance 5ms --count 10
like "$(talk --sw-stamps --period 1ms --advance 5ms --count 10 2>&1)" "unanswered 10$" "stamps of software"
for number in 0 1; do
	ip -n a link set rt$number mtu 1504
done
refuse "whatever the links have" ip -n a link set red0 mtu 1495
diag "$(ip -n a -o link show)"
done_testing
