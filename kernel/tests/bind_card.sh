# SPDX-License-Identifier: GPL-2.0-only
# `keepon bind` and `keepon unbind` (python3 -m keepon.linux.bind) of a card that the machine is reached by: OURS, with the
# kernel's own driver, beside THEIRS in a namespace of its own, on one wire.
. /lib/keepon/test.sh
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python

echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6

keepon() {
	"$PYTHON" -S -m keepon.linux.bind "$@"
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

# what an administrator has set on the card, and what is set elsewhere and names it
set_up() {
	ip link set dev "$card" address 52:54:00:aa:bb:cc txqueuelen 333 alias "uplink of the lab"
	ip link set dev "$card" mtu 1400 promisc on
	ip link property add dev "$card" altname lab0
	echo 0 > "/proc/sys/net/ipv6/conf/$card/disable_ipv6"
	echo 0 > "/proc/sys/net/ipv6/conf/$card/accept_ra"
	echo 1 > "/proc/sys/net/ipv4/conf/$card/forwarding"
	echo 2 > "/proc/sys/net/ipv4/conf/$card/rp_filter"
	echo 777 > "/proc/sys/net/ipv4/neigh/$card/retrans_time_ms"
	ethtool -K "$card" gro off
	ip link set dev "$card" up
	wait_until 10 carrier
	ip addr add 10.0.0.1/24 brd + metric 50 dev "$card"
	ip addr add 10.1.0.1/32 scope link label "$card:one" dev "$card"
	ip addr add 192.168.9.1 peer 192.168.9.2/32 dev "$card"
	ip addr add fd00::1/64 dev "$card"
	# as NetworkManager does it: the network's route is its own
	ip addr add 10.4.0.1/24 brd 10.4.0.255 noprefixroute valid_lft 80000 preferred_lft 80000 dev "$card"
	ip route add 10.4.0.0/24 dev "$card" proto kernel scope link src 10.4.0.1 metric 100
	ip route add default via 10.4.0.2 dev "$card" proto dhcp src 10.4.0.1 metric 100
	ip route add default via 10.0.0.2 dev "$card" metric 7
	# and as somebody may who wants another MTU there
	ip addr add 10.6.0.1/24 dev "$card"
	ip route del 10.6.0.0/24 dev "$card"
	ip route add 10.6.0.0/24 dev "$card" mtu 1300
	ip route add 10.77.0.0/16 via 10.0.0.3 dev "$card" table 100
	ip route add 10.78.0.0/16 nexthop via 10.0.0.2 dev "$card" nexthop via 10.0.0.3 dev "$card" weight 3
	ip route add 10.79.0.0/16 via 10.0.0.3 dev "$card" mtu lock 1300 advmss 1200 src 10.1.0.1
	ip route add local 10.5.0.0/16 dev "$card"
	ip nexthop add id 7 via 10.0.0.2 dev "$card"
	ip nexthop add id 8 via 10.0.0.3 dev "$card"
	ip nexthop add id 9 group 7,2/8
	ip route add 10.80.0.0/16 nhid 7
	ip route add 10.81.0.0/16 nhid 9
	ip rule add iif "$card" table 100
	ip neigh add 10.0.0.9 lladdr 02:00:00:00:00:09 nud permanent dev "$card"
	ip neigh add proxy 10.0.0.50 dev "$card"
	ip maddr add 01:00:5e:11:22:33 dev "$card"
	wait_until 5 ip -6 route add fd01::/64 nexthop via fd00::2 dev "$card" nexthop via fd00::3 dev "$card"
	# its source has first to be seen to be nobody else's
	wait_until 5 ip -6 route add fd02::/64 via fd00::2 dev "$card" src fd00::1
}

carrier() {
	[ "$(cat "/sys/class/net/$card/carrier")" = 1 ]
}

snapshot() {
	ip -o link show dev "$card" | sed 's/^[0-9]*: //'
	ip -o addr show dev "$card" | sed 's/^[0-9]*: //; s/_lft [0-9]*sec/_lft some/g; s/ tentative//'
	for family in -4 -6; do
		ip $family -o route show table all | grep -v "table local proto kernel"
	done
	ip nexthop show
	ip rule show
	ip neigh show dev "$card" nud permanent
	ip neigh show proxy dev "$card"
	ip maddr show dev "$card" | grep static
	for folder in ipv4/conf ipv6/conf ipv4/neigh ipv6/neigh; do
		(cd "/proc/sys/net/$folder/$card" && grep -s . ./*) | grep -v base_reachable_time:
	done
	ethtool -k "$card" | grep generic-receive
}

# what has to come along
same() {
	snapshot > /run/now
	[ -e /run/first ] || cp /run/now /run/first
	is "$(diff /run/first /run/now)" "" "$1: all that was set"
	is "$(cat "/sys/class/net/$card/mtu")" 1400 "$1: MTU"
	like "$(ip addr show dev "$card")" "inet 10.0.0.1/24 metric 50" "$1: address"
	like "$(ip addr show dev "$card")" "inet 10.1.0.1/32" "$1: another one"
	like "$(ip route show)" "default via 10.0.0.2 dev $card metric 7" "$1: route"
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
refused 2 "must be above 0" "no time at all" bind "$card" --back-s 0
refused 2 "no driver of Keepon; nothing" "nothing to give back" unbind "$card"
ip link add link "$card" name vlan5 type vlan id 5
refused 2 "vlan5 is built on it" "a card with something on it" bind "$card"
ip link set dev vlan5 netns theirs
refused 2 "vlan5 \(in network namespace theirs\) is built on it" "a card with something of a container on it" bind "$card"
ip -n theirs link set dev vlan5 netns 1
ip link del vlan5
tc qdisc add dev "$card" root handle 5: pfifo
refused 3 "has a queueing discipline of its own \(pfifo\), which would be lost; .* tc qdisc del dev $card root" "a qdisc of somebody's" bind "$card"
tc qdisc del dev "$card" root
if tc qdisc add dev "$card" clsact 2>/dev/null; then
	refused 3 "discipline of its own \(clsact\), .* tc qdisc del dev $card clsact$" "filters of somebody's" bind "$card"
	tc qdisc del dev "$card" clsact
fi
is "$(driver)" e1000e "nothing was touched"

# A card that is lent to a network namespace would come back outside of it.
peer=$(readlink "/sys/bus/pci/devices/$THEIRS/driver")
_said=$(ip netns exec theirs "$PYTHON" -S -m keepon.linux.bind bind eth9 2>&1)
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

# A unit that cannot be written: it is said, nothing of it is left, and the card is bound until the machine starts again.
mkdir -p /etc/systemd/system
mount -t tmpfs -o size=4k,nr_inodes=3 tmpfs /etc/systemd/system
refused 3 "keepon_intel; back with keepon unbind $card, or by a reboot; but option --persistent: /etc/.*: No space" \
	"no room for the unit" bind "$card" --persistent
is "$(driver)" keepon_intel "no room for the unit: bound"
is "$(find /etc/systemd/system ! -type d)" "" "no room for the unit: nothing is left of it"
umount /etc/systemd/system
rmdir /etc/systemd/system
keepon unbind "$card" >/dev/null

# At every boot: what the unit of systemd starts does the same.
refused 3 "starts without systemd; have keepon bind called where" "persistent without systemd" bind "$card" --persistent
is "$(driver)" e1000e "nothing was touched"
mkdir -p /etc/systemd/system
unit=/etc/systemd/system/keepon-bind-$card.service
like "$(keepon bind "$card" --persistent)" "keepon unbind $card; and at every boot, by $unit" "persistent"
is "$(readlink "/etc/systemd/system/multi-user.target.wants/${unit##*/}")" "$unit" "systemd will start it"
is "$(sed -n 's/^After=//p' /etc/systemd/system/keepon@.service.d/*)" "${unit##*/}" "links at boot wait for it"
like "$(keepon bind "$card" --persistent)" "already; and at every boot, by $unit" "persistent again"
start="$(sed -n 's/^Environment=//p' "$unit") $(sed -n 's/^ExecStart=//p' "$unit")"
cp "$unit" /out
like "$(keepon unbind "$card")" "-> e1000e; and at no boot any more" "given back for good"
is "$(find /etc/systemd/system ! -type d)" "" "no unit is left"
like "$(eval "env $start")" "$card: e1000e -> keepon_intel" "what the unit starts"
keepon unbind "$card" >/dev/null
same "after what the unit started"

export SSH_CONNECTION='10.0.0.9 50000 10.0.0.1 22'
refused 3 "10.0.0.9.* does not answer ping" "a client that nobody could tell of" bind "$card"
is "$(driver)" e1000e "nothing was touched"

# The other end falls silent as soon as the card has changed hands.
export SSH_CONNECTION='10.0.0.2 50000 10.0.0.1 22'
(
	until_moved
	ip -n theirs link set dev eth9 down
) &
refused 3 "10.0.0.2, from where you are logged in, did not answer in time; $card is with e1000e again" \
	"a connection that does not come back" bind "$card" --back-s 4
wait
ip -n theirs link set dev eth9 up
is "$(driver)" e1000e "the kernel's driver has it again"
wait_until 10 ping -q -c 1 -W 1 10.0.0.2 >/dev/null
same "after that"

# One thing cannot be set again, with either driver: it is named, and all else is there.
(until ip link property add dev lo altname lab0 2>/dev/null; do :; done) &
refused 3 "altname lab0: .*; and not all is as it was: ip link property add dev $card altname lab0: [^;]*$" \
	"a name that somebody else took" bind "$card" --back-s 2
wait
ip link property del dev lo altname lab0
ip link property add dev "$card" altname lab0
is "$(driver)" e1000e "a name that somebody else took: the kernel's driver has it"
wait_until 10 ping -q -c 1 -W 1 10.0.0.2 >/dev/null
same "a name that somebody else took"

# Ended in the middle of it: the command, or the process that does it, by whatever can be caught and by what cannot.
# ending NAME COMMAND: does COMMAND once the card has changed hands and the other end is silent; $bind is the command's number
ending() {
	"$PYTHON" -S -m keepon.linux.bind bind "$card" --back-s 60 >/run/said 2>&1 &
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
	ps -o pid,args | sed -n 's/^ *\([0-9]*\) .*[k]eepon.linux.bind .*/\1/p' | grep -vx "$bind"
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
from keepon.linux.bind import bind, unbind
for number in range(5):
    bind(sys.argv[1])
    unbind(sys.argv[1])
    print("round", number)' "$card" >/run/said 2>&1
is "$(grep -c round /run/said)" 5 "to and fro" || diag "$(tail -1 /run/said)"
same "to and fro"
done_testing
