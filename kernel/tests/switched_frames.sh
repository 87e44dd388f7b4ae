# SPDX-License-Identifier: GPL-2.0-only
# near - swp0 swp1 - far: frames that namespace sw forwards by Linux's bridge, by XDP and by AF_XDP, idle and beside load.
# A line of /lib/keepon/frames: WAY STATE FIRST_NS GAP_NS COUNT BYTES; /out/WAY-STATE has what policed_frames prints.
. /lib/keepon/test.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
echo 4000000 >/proc/sys/net/core/rmem_default # policed_frames reads when all have been sent

ip netns add sw
ip netns exec sw sh -c "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
ip link add near type veth peer name swp0 netns sw
ip -n sw link add swp1 type veth peer name far netns 1
ip -n sw link add bridge type bridge
for port in swp0 swp1 bridge; do
	ip -n sw link set $port up
done
ip link set near up
ip link set far up
software_switch pass far &

while read -r way state frames; do
	set --
	if [ "$way" = bridge ]; then
		ip -n sw link set swp0 master bridge
		ip -n sw link set swp1 master bridge
	else
		ip netns exec sw software_switch "$way" swp0 swp1 &
		set -- $!
	fi
	if [ "$state" = load ]; then
		software_switch load &
		set -- "$@" $!
	fi
	# shellcheck disable=SC2086 # words
	policed_frames near far $frames >"/out/$way-$state"
	for process in "$@"; do
		run "$way, $state: $process ran until the end" kill "$process"
	done
	ip -n sw link set swp0 nomaster
	ip -n sw link set swp1 nomaster
done </lib/keepon/frames
done_testing
