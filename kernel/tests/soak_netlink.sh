# SPDX-License-Identifier: GPL-2.0-only
# ROUNDS requests that nobody should make, from raw netlink, drawn from SEED, to a link that is up. A warning in the log fails
# the run. Afterwards the link does what it did, and is forgotten without a leak.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/soak.sh
wire 100000000
echo "nic spare rate_bps=100000000" >$control || exit 1
ip link add dum0 type dummy
far_upper slot_bytes 1318
warm_up=$((ROUNDS / 5))

fuzz() {
	run "a link" upper slot_bytes 1318
	wait_until 2 is_running rt0
	first=$(options rt0)
	run "$1 requests" netlink_fuzz rt0 "$1" "$2" spare sim0 dum0 lo rt0
	diag "$_output"
	tc qdisc del dev rt0 root 2>/dev/null
	# shellcheck disable=SC2086 # words
	run "options as at first" ip link set rt0 type keepon $first
	ip link set rt0 mtu 1280
	# Short slots that are single ones leave an MTU without IPv4, and its addresses are gone.
	ip addr replace 10.0.0.1/24 dev rt0
	wait_until 2 is_running rt0
	ping -q -c 2 -W 1 10.0.0.2 >/dev/null
	is "$(ping -q -c 20 -i 0.05 -W 1 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 20 "it sends and receives"
	is "$(identity rt0)" 0 "every frame is accounted for"
	run "deleted" ip link del rt0
}
fuzz $warm_up $((SEED + 1000000))
memory /tmp/before
fuzz $((ROUNDS - warm_up)) "$SEED"
memory /tmp/after
no_leak /tmp/before /tmp/after $((ROUNDS - warm_up))
ip -n b link del rt1
run "keepon unloads" rmmod keepon
run "so does hwsim" rmmod keepon_hwsim
done_testing
