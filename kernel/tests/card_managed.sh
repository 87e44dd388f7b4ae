# SPDX-License-Identifier: GPL-2.0-only
# The machine's network is set up and kept by $MANAGER: a link on its card, eth0, comes and goes, $ROUNDS times, and neither
# the manager nor a connection notices.
. /lib/keepon/test.sh
. /lib/keepon/managed.sh

renewals() {
	grep -c "DHCPACK(sim1) $address " /run/dnsmasq.log
}

advertised() {
	grep -c 'RTR-ADVERT(sim1)' /run/dnsmasq.log
}

more() { # more COUNTER NUMBER
	[ "$("$1")" -gt "$2" ]
}

# lifetime: seconds that the address by router advertisement has
lifetime() {
	ip -6 addr show dev eth0 to "$address6" | sed -n 's/.*valid_lft \([0-9]*\)sec.*/\1/p'
}

renewed() {
	run "$1: the lease is renewed" awaited 60 more renewals "$(renewals)"
	run "$1: a router is heard" awaited 60 more advertised "$(advertised)"
	sleep 0.5
	run "$1: which keeps the address for ten minutes" test "$(lifetime)" -ge 595 || diag "$(lifetime) s"
}

is_up() {
	ip link show rt0 | grep -q '[<,]UP[,>]'
}

# clients: of DHCP, that have to do with the link
clients() {
	pgrep -fa 'dhclient|dhcpcd|udhcpc' | grep rt0
}

left_alone() {
	is "$(ip -o addr show dev rt0)$(clients)" "" "$1: the link has no address, nor who asks for one"
	is "$(cat /sys/class/net/rt0/statistics/tx_packets)" 0 "$1: nothing was sent on it"
	case $MANAGER in
	NetworkManager) is "$(nmcli -t -f DEVICE,STATE device | grep -E '^(eth0|rt0):' | sort)" "eth0:connected
rt0:unmanaged" "$1: NetworkManager has the card alone" ;;
	networkd) is "$(networkctl list --no-legend --no-pager | awk '$2 ~ /^(eth0|rt0)$/ { print $2, $5 }' | sort)" "eth0 configured
rt0 unmanaged" "$1: networkd has the card alone" ;;
	esac
}

configured "$MANAGER has set the card up"
sleep 3 # until what comes late is there
remember
load
renewed "before"
run "a link" change add
sleep 5
refuse "nothing sets it up" is_up
left_alone "down"
same "down"
run "up" change up
run "it runs" wait_until 5 sh -c 'ip link show rt0 | grep -q "state UP"'
sleep 5
left_alone "up"
same "up"
renewed "up"
run "the module goes" change remove
same "without the module"

failed=0
for round in $(seq "$ROUNDS"); do
	for what in add up down up delete add up remove; do
		change $what || {
			diag "round $round: $what failed"
			failed=$((failed + 1))
		}
		pause
		case $what in add | remove) [ "$((round % 10))" = 0 ] && same "round $round, $what" ;; esac
	done
done
is "$failed" 0 "$ROUNDS rounds"
sleep 3
same "after them"
renewed "after them"
unharmed
journalctl -b --no-pager >/out/journal
done_testing
