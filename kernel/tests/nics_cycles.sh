# SPDX-License-Identifier: GPL-2.0-only
# A driver of a card bound and unbound BINDS times, in every fourth round while a keepon link runs
# over the lent ring, and set up and down UPS times; what is allocated does not grow. BUS, DEVICE,
# DRIVER: the card and the driver of it; MODULES it is in. The kernel's own lends nothing.
# LEAK, if not empty: what it leaves is left to the host to judge, by /out/bound.txt, objects of each
# cache that one round leaves.
. /lib/keepon/test.sh
. /lib/keepon/soak.sh
NOISE_KB=2048
# a slab of the smallest objects that a few processes may leave partly filled
NOISE_OBJECTS=140

for group in all default; do
	echo 1 > /proc/sys/net/ipv6/conf/$group/disable_ipv6
done
failures=0
frames=0
folder=/sys/bus/$BUS/devices/$DEVICE

# must COMMAND ...: counts what fails; a line per round would be noise
must() {
	_said=$("$@" 2>&1) && return
	failures=$((failures + 1))
	diag "round $round: $*: $_said"
}

is_up() {
	ip link show "$1" 2> /dev/null | grep -q 'state UP'
}

bind() {
	echo "$DEVICE" > "/sys/bus/$BUS/drivers_probe"
	lower=$(ls "$folder/net")
	must [ -n "$lower" ]
}

unbind() {
	echo "$DEVICE" > "$folder/driver/unbind"
}

# Frames under way when the driver lets go: some in slots, some waiting for a txtime, some for a
# slot.
lend() {
	must ip link add link "$lower" name rt0 type keepon
	ip addr add 10.0.0.1/24 dev rt0
	ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 dev rt0 nud permanent
	ip link set rt0 up
	must wait_until 10 is_up rt0
	ping -q -c 40 -i 0.001 -w 1 -s 900 10.0.0.9 > /dev/null 2>&1 &
	sleep "0.0$((round % 4 + 1))"
	frames=$((frames + $(ethtool -S rt0 | sed -n 's/^ *submitted: //p')))
}

# settled FILE: memory(), when mappings that were given up are really gone, which loading a module
# makes them
settled() {
	rmmod keepon
	modprobe keepon
	memory "$1"
}

# each_round BEFORE AFTER N: a line of cache, objects that a round leaves, bytes of each, for what
# grows at all
each_round() {
	awk -v rounds="$3" 'NR == FNR { before[$1] = $2; next }
		$1 !~ /^=/ && $2 - before[$1] > rounds / 4 {
			printf "%s %.2f %d\n", $1, ($2 - before[$1]) / rounds, $3 }' "$1" "$2"
}

bind_rounds() {
	for round in $(seq "$1"); do
		bind
		case $((round % 4)) in
		0)
			ip link set dev "$lower" up
			must wait_until 10 is_up "$lower"
			[ "$LENDS" = no ] || lend
			;;
		1) ip link set dev "$lower" up ;;
		2)
			ip link set dev "$lower" up
			must wait_until 10 is_up "$lower"
			;;
		esac
		unbind
		must [ ! -d /sys/class/net/rt0 ]
		wait
	done
}

up_rounds() {
	for round in $(seq "$1"); do
		must ip link set dev "$lower" up
		ip link set dev "$lower" down
	done
}

for module in $MODULES keepon; do
	modprobe "$module"
done
case $DRIVER in
keepon_*) LENDS=yes ;;
*) LENDS=no ;;
esac
[ ! -d "$folder/driver" ] || unbind
echo "$DRIVER" > "$folder/driver_override"
warm_up=$((BINDS / 5))
bind_rounds $warm_up
settled /tmp/before
begin_ns=$(now_ns)
bind_rounds $((BINDS - warm_up))
diag "$((BINDS - warm_up)) rounds took $((($(now_ns) - begin_ns) / 1000000)) ms of the guest's time"
settled /tmp/after
is $failures 0 "bound and unbound $BINDS times"
each_round /tmp/before /tmp/after $((BINDS - warm_up)) > /out/bound.txt
[ -n "$LEAK" ] || no_leak /tmp/before /tmp/after $((BINDS - warm_up))
diag "$frames frames were handed to links before they were cut off"
if [ $LENDS = yes ]; then
	[ $frames -ge $((BINDS / 4)) ] && ok "there was traffic" ||
		not_ok "there was traffic: $frames frames"
fi
failures=0
bind
warm_up=$((UPS / 5))
up_rounds $warm_up
settled /tmp/before
up_rounds $((UPS - warm_up))
settled /tmp/after
is $failures 0 "up and down $UPS times"
no_leak /tmp/before /tmp/after $((UPS - warm_up))
run "the driver goes" rmmod ${MODULES##* }
run "keepon goes" rmmod keepon
done_testing
