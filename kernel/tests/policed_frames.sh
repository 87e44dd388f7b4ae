# SPDX-License-Identifier: GPL-2.0-only
# Frames through this kernel's bridge, in namespace sw, whose port swp0 polices what comes from near: which of them reach far.
# A line of /lib/keepon/cases: NAME DEVICE FIRST_NS GAP_NS COUNT BYTES ...; the tc lines of the case are in /export/NAME.
# /out/NAME.arrived has what policed_frames prints, /out/NAME.classes the classes of swp1.
. /lib/keepon/test.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6

ip netns add sw
ip netns exec sw sh -c "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
ip -n sw link add bridge type bridge
number=0
for station in near far; do
	ip link add $station mtu 9000 type veth peer name swp$number mtu 9000
	ip link set swp$number netns sw
	ip -n sw link set swp$number master bridge up
	ip link set $station up
	number=$((number + 1))
done
ip -n sw link set bridge up
ip link add link near name near.5 type vlan id 5
ip link set near.5 up
for number in 0 1 2 3; do
	export DST_L$number=02:00:00:00:01:0$number
done

while read -r name device frames; do
	tc -n sw qdisc add dev swp1 root handle 1: prio # priority 6: class 1:1, priority 0: class 1:2
	run "$name: tc takes the lines" ip netns exec sw sh -eu "/export/$name"
	# shellcheck disable=SC2086 # words
	policed_frames "$device" far $frames >"/out/$name.arrived"
	tc -n sw -s class show dev swp1 >"/out/$name.classes"
	tc -n sw qdisc del dev swp0 clsact
	tc -n sw qdisc del dev swp1 root
done </lib/keepon/cases

# the example's whole script
ip netns add example
for number in 0 1 2; do
	ip -n example link add swp$number type veth peer name peer$number
done
export DST_set=02:00:00:00:02:00 DST_video=02:00:00:00:02:01
run "tc takes the example's lines" ip netns exec example sh /export/example
for number in 0 1; do
	tc -n example filter show dev swp$number ingress
done >/out/example
done_testing
