# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the keepon_*.sh tests share; they run in the guest, beside /lib/keepon/test.sh: `. /lib/keepon/common.sh`.
#
#   wire [RATE_BPS [NIC OPTIONS [PROPAGATION_NS]]]  loads both modules; sim0 and, in namespace b, sim1 are up and joined by a
#                           wire of that rate
#   upper [OPTIONS ...]     rt0 on sim0 with these options, up, 10.0.0.1; the link below must be up. Slots of 10 us at 1 Gb/s,
#                           which the scripts count on, unless they say slot_bytes; what sim0 receives is its
#   far_upper [OPTIONS ...] the same for rt1 on sim1 in namespace b, 10.0.0.2
#   counter DEVICE NAME     a counter of ethtool -S; of a device in namespace b: in_b counter rt1 NAME
#   identity DEVICE         submitted - verdicts - pending: 0 if every frame is accounted for
#   is_running DEVICE       it has a carrier; in_b is_running rt1
#   options DEVICE          what `ip -d link` says of a keepon link, as options of `ip link add`
#   in_b COMMAND ...        in namespace b

control=/sys/kernel/debug/keepon_hwsim/control

in_b() {
	case $1 in
	counter) ip netns exec b ethtool -S "$2" | sed -n "s/^ *$3: //p" ;;
	is_running) ip -n b link show "$2" | grep -q 'state UP' ;;
	*) ip netns exec b "$@" ;;
	esac
}

wire() {
	modprobe keepon_hwsim || exit 1
	modprobe keepon || exit 1
	ip netns add b
	echo "nic sim0 rate_bps=${1:-1000000000} ppb=20000 seed=1 $2" >$control || exit 1
	echo "nic sim1 rate_bps=${1:-1000000000} ppb=-30000 seed=2 $2" >$control || exit 1
	echo "link sim0 sim1 propagation_ns=${3:-50}" >$control || exit 1
	ip link set sim1 netns b
	ip link set sim0 up
	ip -n b link set sim1 up
}

# in_slots COMMAND ...: with slots of 10 us at the end, unless it has others
in_slots() {
	case " $* " in
	*" slot_bytes "*) "$@" ;;
	*) "$@" slot_bytes 1230 ;;
	esac
}

# What programs use: the links, which receive all; with SHARED=yes the cards, which stay the machine's.
near=rt0 far=rt1 receive="receive all"
[ "$SHARED" = yes ] && near=sim0 far=sim1 receive="receive card"

upper() {
	# shellcheck disable=SC2086 # words
	in_slots ip link add link sim0 name rt0 type keepon $receive "$@" || return 1
	ip addr add 10.0.0.1/24 dev $near
	ip link set rt0 up
}

far_upper() {
	# shellcheck disable=SC2086 # words
	in_slots ip -n b link add link sim1 name rt1 type keepon $receive "$@" || return 1
	ip -n b addr add 10.0.0.2/24 dev $far
	ip -n b link set rt1 up
}

counter() {
	ethtool -S "$1" | sed -n "s/^ *$2: //p"
}

identity() {
	ethtool -S "$1" | awk '/ submitted:/ { s = $2 } / verdict_/ { v += $2 } / pending:/ { p = $2 } END { print s - v - p }'
}

options() {
	ip -d link show "$1" | sed -n 's/ *\(addrgenmode\|numtxqueues\).*//; s/^ *keepon \(.*[^ ]\) *$/\1/p'
}

is_running() {
	ip link show "$1" | grep -q 'state UP'
}
