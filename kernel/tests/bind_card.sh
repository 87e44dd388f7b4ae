# SPDX-License-Identifier: GPL-2.0-only
# `keepon bind` and `keepon unbind` (python3 -m keepon_host) of a card that the machine is reached by: OURS, with the
# kernel's own driver, beside THEIRS in a namespace of its own, on one wire.
. /lib/keepon/test.sh
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python

echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

keepon() {
	"$PYTHON" -S -m keepon_host "$@"
}

name_of() {
	ls "/sys/bus/pci/devices/$1/net" 2>/dev/null
}

driver() {
	ethtool -i "$card" 2>&1 | sed -n 's/^driver: //p'
}

until_moved() {
	until readlink "/sys/bus/pci/devices/$OURS/driver" | grep -q keepon_intel; do sleep 0.05; done
}

# what is set on the card, as no network manager is here
set_up() {
	ip link set dev "$card" address 52:54:00:aa:bb:cc
	ip link set dev "$card" mtu 1400
	echo 0 > "/proc/sys/net/ipv6/conf/$card/disable_ipv6"
	echo 0 > /proc/sys/net/ipv6/conf/default/disable_ipv6
	echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6
	echo 0 > /proc/sys/net/ipv6/conf/default/accept_ra
	ip link set dev "$card" up
	wait_until 10 carrier
	ip addr add 10.0.0.1/24 brd + metric 50 dev "$card"
	ip addr add 10.1.0.1/32 scope link label "$card:one" dev "$card"
	ip addr add 192.168.9.1 peer 192.168.9.2/32 dev "$card"
	ip addr add fd00::1/64 dev "$card"
	ip addr add 10.4.0.1/24 brd 10.4.0.255 noprefixroute valid_lft 80000 preferred_lft 80000 dev "$card"
	ip route add 10.4.0.0/24 dev "$card" proto static scope link src 10.4.0.1 metric 100
	ip route add default via 10.4.0.2 dev "$card" proto dhcp src 10.4.0.1 metric 100
	ip route add default via 10.0.0.2 dev "$card" metric 7
	ip route add 10.77.0.0/16 via 10.0.0.3 dev "$card" table 100
	ip route add 10.79.0.0/16 via 10.0.0.3 dev "$card" mtu lock 1300 advmss 1200 src 10.1.0.1
	ip rule add iif "$card" table 100
	# its source has first to be seen to be nobody else's
	wait_until 5 ip -6 route add fd02::/64 via fd00::2 dev "$card" src fd00::1
}

carrier() {
	[ "$(cat "/sys/class/net/$card/carrier")" = 1 ]
}

snapshot() {
	ip -o addr show dev "$card" | grep -v 'inet6 fe80' | sed 's/^[0-9]*: //; s/_lft [0-9]*sec/_lft some/g; s/ tentative//'
	for family in -4 -6; do
		ip $family -o route show table all | grep -v "table local\|proto kernel" | sort
	done
	ip rule show
}

# what has to come along
same() {
	snapshot > /run/now
	[ -e /run/first ] || cp /run/now /run/first
	is "$(diff /run/first /run/now)" "" "$1: all that was set"
	is "$(cat "/sys/class/net/$card/mtu")" 1400 "$1: MTU"
	is "$(cat "/sys/class/net/$card/address")" 52:54:00:aa:bb:cc "$1: MAC address"
	is "$(ping -q -c 3 -i 0.01 -W 1 10.0.0.2 | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" 3 "$1: echoes"
}

# refused CODE PATTERN NAME COMMAND ...: fails with that exit code and one sentence that matches
refused() {
	_code=$1 _pattern=$2 _name=$3
	shift 3
	_said=$(keepon "$@" 2>&1)
	is $? "$_code" "$_name: exit code"
	like "$_said" "$_pattern" "$_name: sentence"
	is "$(echo "$_said" | wc -l)" 1 "$_name: one line"
}

modprobe e1000e
card=$(name_of "$OURS")
ip netns add theirs
ip link set dev "$(name_of "$THEIRS")" netns theirs name eth9
ip -n theirs addr add 10.0.0.2/24 dev eth9
ip -n theirs link set dev eth9 up
ip -n theirs addr add 10.0.0.3/24 dev eth9
set_up
wait_until 10 ping -q -c 1 -W 1 10.0.0.2 >/dev/null
same "before"
cp /run/first /out

refused 2 "is no interface here" "a name that is not there" bind eth77
refused 2 "is no network card" "what is no card" bind lo
refused 2 "must be above 0" "no time at all" bind "$card" --rollback 0
refused 2 "no driver of Keepon; nothing" "nothing to give back" unbind "$card"
ip link add link "$card" name vlan5 type vlan id 5
refused 2 "vlan5 is built on it" "a card with something on it" bind "$card"
ip link del vlan5
tc qdisc add dev "$card" root handle 5: pfifo
refused 3 "has a queueing discipline of its own \(pfifo\), which would be lost; .* tc qdisc del dev $card root" "a qdisc of the user's" bind "$card"
tc qdisc del dev "$card" root
if tc qdisc add dev "$card" clsact 2>/dev/null; then
	refused 3 "discipline of its own \(clsact\), .* tc qdisc del dev $card clsact$" "filters of the user's" bind "$card"
	tc qdisc del dev "$card" clsact
fi
is "$(driver)" e1000e "nothing was touched"

# A card that is lent to a network namespace would come back outside of it.
peer=$(readlink "/sys/bus/pci/devices/$THEIRS/driver")
_said=$(ip netns exec theirs "$PYTHON" -S -m keepon_host bind eth9 2>&1)
is $? 2 "a card in a namespace: exit code"
like "$_said" '^keepon: argument NAME = "eth9": is in a network namespace, .* ip link set netns, and call keepon there$' \
	"a card in a namespace: sentence"
is "$(readlink "/sys/bus/pci/devices/$THEIRS/driver")" "$peer" "a card in a namespace: nothing was touched"

like "$(keepon bind "$card")" "$card: e1000e -> keepon_intel" "bound"
is "$(driver)" keepon_intel "its driver is ours"
same "bound"
like "$(keepon bind "$card")" "with keepon_intel already" "bound again"
like "$(SSH_CONNECTION='10.0.0.2 50000 10.0.0.1 22' keepon unbind "$card")" "$card: keepon_intel -> e1000e" "given back"
is "$(driver)" e1000e "its driver is the kernel's"
same "given back"
# What follows takes ten times as long.
if [ -n "$ONCE" ]; then
	done_testing
	exit
fi

export SSH_CONNECTION='10.0.0.9 50000 10.0.0.1 22'
refused 3 "10.0.0.9, .* did not answer in time; $card is with e1000e again" "a client that is not there" \
	bind "$card" --rollback 4
# As Windows does it: its MAC address is heard all the same.
ip netns exec theirs sh -c 'echo 1 > /proc/sys/net/ipv4/icmp_echo_ignore_all'
export SSH_CONNECTION='10.0.0.3 50000 10.0.0.1 22'
like "$(keepon bind "$card")" "$card: e1000e -> keepon_intel" "a client that answers no echo"
ip netns exec theirs sh -c 'echo 0 > /proc/sys/net/ipv4/icmp_echo_ignore_all'
keepon unbind "$card" > /dev/null

# The other end falls silent as soon as the card has changed hands.
export SSH_CONNECTION='10.0.0.2 50000 10.0.0.1 22'
(
	until_moved
	ip -n theirs link set dev eth9 down
) &
refused 3 "10.0.0.2, from where you are logged in, did not answer in time; $card is with e1000e again" \
	"a connection that does not come back" bind "$card" --rollback 4
wait
ip -n theirs link set dev eth9 up
is "$(driver)" e1000e "the kernel's driver has it again"
wait_until 10 ping -q -c 1 -W 1 10.0.0.2 >/dev/null
same "after that"

# Who manages the card as it comes sets it up; what it leaves is set again.
mkdir -p /run/network /tmp/bin
: > "/run/network/ifstate.$card"
for name in ifup ifdown; do
	printf '#!/bin/sh\necho "%s $*" >> /run/asked\n' $name > /tmp/bin/$name
	chmod +x /tmp/bin/$name
done
PATH=/tmp/bin:$PATH keepon bind "$card" > /dev/null
is "$(cat /run/asked)" "ifdown --force $card
ifup $card" "ifupdown is asked"
rm "/run/network/ifstate.$card"
same "with ifupdown"
keepon unbind "$card" > /dev/null

# Ended in the middle of it: the command, or the process that does it, by whatever can be caught and by what cannot.
# ending NAME COMMAND: does COMMAND once the card has changed hands and the other end is silent; $bind is the command's number
ending() {
	"$PYTHON" -S -m keepon_host bind "$card" --rollback 60 >/run/said 2>&1 &
	bind=$!
	until_moved
	ip -n theirs link set dev eth9 down
	sleep 2
	$2
	wait $bind
	code=$?
	ip -n theirs link set dev eth9 up
	run "$1: the kernel's driver has it" wait_until 30 given_back
	wait_until 10 ping -q -c 1 -W 1 10.0.0.2 >/dev/null
	same "$1"
}
given_back() {
	[ "$(driver)" = e1000e ] && [ "$(cat "/sys/class/net/$card/carrier")" = 1 ] && [ -z "$(worker)" ]
}
worker() {
	ps -o pid,args | sed -n 's/^ *\([0-9]*\) .*[k]eepon_host .*/\1/p' | grep -vx "$bind"
}
twice() {
	kill -TERM $bind
	kill -INT $bind
}
killed() {
	kill -9 $bind
}
worker_killed() {
	kill -9 "$(worker)"
}
second() {
	refused 3 "^keepon: another keepon command is at work with $card; wait for its end$" "a second one" bind "$card"
	refused 3 "^keepon: another keepon command is at work with $card; wait for its end$" "a second one, back" unbind "$card"
	kill -TERM $bind
}
ending "terminated" twice
is $code 130 "terminated: exit code"
like "$(cat /run/said)" "^keepon: interrupted; the card is as it was$" "terminated: sentence"
ending "killed" killed
is $code 137 "killed: exit code"
ending "its worker killed" worker_killed
is $code 3 "its worker killed: exit code"
like "$(cat /run/said)" "^keepon: the process that does it was killed; $card is with e1000e again, as it was$" "its worker killed: sentence"
ending "two at once" second

unset SSH_CONNECTION
# All in one process: starting Python ten times would be most of this test.
"$PYTHON" -S -c 'import sys
from keepon_host.bind import bind, unbind
for number in range(5):
    bind(sys.argv[1])
    unbind(sys.argv[1])
    print("round", number)' "$card" >/run/said 2>&1
is "$(grep -c round /run/said)" 5 "to and fro" || diag "$(tail -1 /run/said)"
same "to and fro"
done_testing
