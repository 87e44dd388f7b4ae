# SPDX-License-Identifier: GPL-2.0-only
# What is stacked on a machine's card goes on while a link on the card comes and goes: a VLAN, a macvlan, a bridge with a guest
# behind it, a bond; and the kernel's messages leave by netconsole.
. /lib/keepon/test.sh
. /lib/keepon/managed.sh

bare() {
	ip addr flush dev eth0
	ip link set eth0 up
}

vlan() {
	far ip link add link sim1 name sim1.5 type vlan id 5
	far ip addr add 192.0.5.1/24 dev sim1.5
	far ip link set sim1.5 up
	ip link add link eth0 name eth0.5 type vlan id 5
	ip addr add 192.0.5.2/24 dev eth0.5
	ip link set eth0.5 up
	target=192.0.5.2 gone=eth0.5
}

macvlan() {
	ip netns add inside
	ip link add link eth0 name mac0 netns inside type macvlan mode bridge
	ip -n inside addr add 192.0.2.102/24 dev mac0
	ip -n inside link set mac0 up
	target=192.0.2.102
}

bridge() {
	bare
	ip netns add inside
	ip link add br0 type bridge
	ip link add port0 master br0 type veth peer name inner netns inside
	ip -n inside addr add 192.0.2.103/24 dev inner
	ip -n inside link set inner up
	ip link set port0 up
	ip link set eth0 master br0
	ip addr add 192.0.2.100/24 dev br0
	ip link set br0 up
	target=192.0.2.103 gone=br0
}

bond() {
	bare
	ip link add bond0 type bond mode active-backup miimon 100
	ip link set eth0 down
	ip link set eth0 master bond0
	ip addr add 192.0.2.104/24 dev bond0
	ip link set bond0 up
	target=192.0.2.104 gone=bond0
}

reaches() {
	far ping -c 1 -W 1 "$target"
}

stacked() {
	gone=
	"$1"
	run "$1: it is reached" awaited 10 reaches
	sleep 15 # until it has heard a router
	remember
	far chrt -f 1 ping -D -i 0.01 "$target" >"/run/$1" 2>&1 &
	pinger=$!
	failed=0
	for round in $(seq "$ROUNDS"); do
		for what in add up down up delete add up remove; do
			change $what || failed=$((failed + 1))
			pause
			[ "$round $what" != "1 up" ] || same "$1, up"
		done
	done
	is "$failed" 0 "$1: $ROUNDS rounds"
	same "$1"
	within "$1" $GAP_MS_MAX "$1: no loss for longer than 50 ms"
	kill $pinger
	change add
	change up
	wait_until 5 sh -c 'ip link show rt0 | grep -q "state UP"'
	run "$1: taken away under a link" sh -c "${gone:+ip link del $gone;} ip netns del inside 2>/dev/null; ip link show rt0"
	change delete
}

messages() {
	grep -c "$1" /run/netconsole
}

netconsole() {
	far python3 -c 'import socket
got = socket.socket(type=socket.SOCK_DGRAM)
got.bind(("", 6666))
while True: print(got.recv(2000).decode(), end="", flush=True)' >/run/netconsole &
	sleep 1
	run "netconsole" modprobe netconsole netconsole=6665@192.0.2.100/eth0,6666@192.0.2.1/02:00:00:00:00:02
	sleep 1
	for state in before up after; do
		[ $state != up ] || {
			change add
			change up
			wait_until 5 sh -c 'ip link show rt0 | grep -q "state UP"'
		}
		[ $state != after ] || change remove
		for number in $(seq 50); do
			echo "<3>by netconsole, $state, $number" >/dev/kmsg
			sleep 0.01
		done
		sleep 0.5
		is "$(messages "by netconsole, $state")" 50 "netconsole, $state: all messages arrive"
	done
	modprobe -r netconsole
}

ip addr add 192.0.2.100/24 dev eth0
ip link set eth0 up
run "the card has a carrier" wait_until 5 sh -c 'ip link show eth0 | grep -q "state UP"'
netconsole
stacked vlan
stacked macvlan
stacked bridge
bare
stacked bond
mkdir -p /out
cp /run/vlan /run/macvlan /run/bridge /run/bond /run/netconsole /out/
done_testing
