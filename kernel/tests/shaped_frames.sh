# SPDX-License-Identifier: GPL-2.0-only
# near - sw - far: a bridge whose port swp1 shapes by its script as `keepon export --format commands` has it, without offload.
# Frames to 02:00:00:00:01:N get the priority that the simulator's have. /lib/keepon/frames: FIRST_NS GAP_NS COUNT BYTES ...
. /lib/keepon/test.sh
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6

ip netns add sw
ip netns exec sw sh -c "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6"
ip -n sw link add bridge type bridge
ip -n sw link set bridge up
ip link add near type veth peer name swp0 netns sw
ip -n sw link add swp1 numtxqueues 8 type veth peer name far netns 1
for port in swp0 swp1; do
	ip -n sw link set $port master bridge up
done
ip link set near up
ip link set far up
run "sw runs its script" ip netns exec sw env SHAPING=0 sh /export/sw.sh
tc -n sw qdisc add dev swp0 clsact
for part in "0 5" "1 4"; do
	tc -n sw filter add dev swp0 ingress flower dst_mac "02:00:00:00:01:0${part% *}" action skbedit priority "${part#* }"
done
# shellcheck disable=SC2046 # words
policed_frames near far $(cat /lib/keepon/frames) >/out/arrived
tc -n sw qdisc show dev swp1 >/out/qdiscs
done_testing
