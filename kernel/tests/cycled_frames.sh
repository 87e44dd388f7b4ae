# SPDX-License-Identifier: GPL-2.0-only
# near - sw1 - sw2 - far: two bridges as `keepon export --format commands` has them, set up by their scripts as they are.
# A line of /lib/keepon/frames: NAME FROM FIRST_NS GAP_NS COUNT BYTES ...; /out/NAME has what policed_frames prints. Those named alone
# are sent without the programs.
. /lib/keepon/test.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6

# a guest has no compiler: what the script has made is there
cat >/usr/bin/clang <<'END'
#!/bin/sh
for last in "$@"; do :; done
cp "/export/${last##*/}" "$last"
END
chmod +x /usr/bin/clang

for name in sw1 sw2; do
	ip netns add $name
	ip netns exec $name sh -c "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
	ip -n $name link add bridge type bridge
	ip -n $name link set bridge up
done
ip link add near type veth peer name swp0 netns sw1
ip -n sw2 link add swp1 numtxqueues 8 type veth peer name far netns 1
ip -n sw1 link add swp1 numtxqueues 8 type veth peer name swp0 netns sw2 numtxqueues 8
for name in sw1 sw2; do
	ip -n $name link set swp0 master bridge up
	ip -n $name link set swp1 master bridge up
done
ip link set near up
ip link set far up
export DST_s0=02:00:00:00:01:00 DST_s1=02:00:00:00:01:01 GATES="clockid CLOCK_TAI"
for name in sw1 sw2; do
	run "$name runs its script" ip netns exec $name sh "/export/$name.sh"
done
ip link add link near name near.5 type vlan id 5
ip link set near.5 up
while read -r name device frames; do
	if [ "$name" = alone ]; then
		tc -n sw1 filter del dev swp0 ingress pref 1
		tc -n sw2 filter del dev swp0 ingress pref 1
	fi
	# shellcheck disable=SC2086 # words
	policed_frames "$device" far $frames >"/out/$name"
done </lib/keepon/frames
done_testing
