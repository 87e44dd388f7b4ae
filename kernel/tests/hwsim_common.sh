# SPDX-License-Identifier: GPL-2.0-only
# Shared by the hwsim_*.sh tests; found as /lib/keepon/hwsim_common.sh in the guest.
. /lib/keepon/test.sh

HWSIM=/sys/kernel/debug/keepon_hwsim
echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

# control: command lines from standard input, in one write
control() {
	_lines=$(cat)
	printf '%s\n' "$_lines" > "$HWSIM/control"
}

# count NODE COUNTER: value in NODE's stats
count() {
	sed -n "s/^$2 //p" "$HWSIM/$1/stats" | head -1
}

# refuse_line TEXT WORDS...: the control file refuses TEXT with a sentence that holds WORDS
refuse_line() {
	_line=$1
	shift
	if (printf '%s\n' "$_line" > "$HWSIM/control") 2>/dev/null; then
		not_ok "refused: $_line"
	else
		like "$(dmesg | grep keepon_hwsim | tail -1)" "keepon_hwsim: .*$*" "refused with a sentence: $_line"
	fi
}

# station NIC ADDRESS: into a namespace of its own name, up
station() {
	ip netns add "$1"
	# Nothing but the test's own frames; a new namespace does not inherit this.
	ip netns exec "$1" sh -c 'for file in all default; do echo 1 > /proc/sys/net/ipv6/conf/$file/disable_ipv6; done'
	ip link set dev "$1" netns "$1"
	ip -n "$1" addr add "$2/24" dev "$1"
	ip -n "$1" link set dev "$1" up
}

carrier() {
	ip -n "$1" link show dev "$1" | grep -q LOWER_UP
}

# ping_count FROM ADDRESS COUNT [ping options]: echoes that came back
ping_count() {
	_from=$1 _to=$2 _count=$3
	shift 3
	ip netns exec "$_from" ping -q -c "$_count" -i 0.01 -W 1 "$@" "$_to" | sed -n 's/.* \([0-9]*\) packets received.*/\1/p'
}
