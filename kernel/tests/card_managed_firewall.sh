# SPDX-License-Identifier: GPL-2.0-only
# A machine with a firewall ($FIREWALL: nftables or ufw) whose rules name its card, eth0, and which is the router of a namespace
# behind it: they hold while a link on the card comes and goes.
. /lib/keepon/test.sh
. /lib/keepon/managed.sh

behind() {
	ip netns exec behind "$@"
}

by_nftables() {
	nft -f - <<-END
		table inet guard {
			chain input {
				type filter hook input priority 0; policy drop;
				iifname "lo" accept
				ct state established,related accept
				iifname "eth0" meta l4proto { icmp, icmpv6 } accept
				iifname "eth0" tcp dport 22 accept
			}
			chain output {
				type filter hook output priority 0;
				oifname "eth0" udp dport 9 drop
			}
			chain forward {
				type filter hook forward priority 0; policy drop;
				iifname "inner" oifname "eth0" accept
				iifname "eth0" oifname "inner" ct state established,related accept
			}
			chain nat {
				type nat hook postrouting priority 100;
				oifname "eth0" masquerade
			}
		}
	END
}

by_ufw() {
	ufw allow in on eth0 to any port 22 proto tcp &&
		ufw deny out on eth0 to any port 9 proto udp &&
		ufw route allow in on inner out on eth0 &&
		printf '*nat\n:POSTROUTING ACCEPT [0:0]\n-A POSTROUTING -o eth0 -j MASQUERADE\nCOMMIT\n' >>/etc/ufw/before.rules &&
		ufw --force enable
}


reached() { # reached FROM ADDRESS PORT: by TCP
	"$1" python3 -c "import socket; socket.create_connection(('$2', $3), 1)" 2>/dev/null
}

datagrams() {
	far nft list chain inet count input | sed -n 's/.*dport 9 counter packets \([0-9]*\).*/\1/p'
}

holds() {
	run "$1: ssh is let in" reached far "$address" 22
	refuse "$1: nothing else is" reached far "$address" 23
	python3 -c "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))" 2>/dev/null
	is "$(datagrams)" 0 "$1: what may not leave does not"
	_next=$(($(grep -c . /run/peers) + 1))
	run "$1: who is behind it gets out" reached behind 192.0.2.1 8
	is "$(tail -n +$_next /run/peers)" "$address" "$1: by the machine's address"
	refuse "$1: and no other host gets in there" reached far 10.1.1.2 22
	same "$1"
}

configured "$MANAGER has set the card up"
ip netns add behind
ip link add inner type veth peer name outer netns behind
ip addr add 10.1.1.1/24 dev inner
ip link set inner up
ip -n behind addr add 10.1.1.2/24 dev outer
ip -n behind link set outer up
ip -n behind route add default via 10.1.1.1
echo 1 >/proc/sys/net/ipv4/ip_forward
far ip route add 10.1.1.0/24 via "$address"
far nft 'table inet count { chain input { type filter hook input priority 0; udp dport 9 counter; }; }'
far python3 -c 'import socket
listener = socket.create_server(("", 8))
while True: print(listener.accept()[1][0], flush=True)' >/run/peers &
# Both listen, whatever the firewall lets through.
python3 -c 'import socket
listener = socket.create_server(("", 23))
while True: listener.accept()' &
behind python3 -c 'import socket
listener = socket.create_server(("", 22))
while True: listener.accept()' &
sleep 1
run "without a firewall all get in" reached far "$address" 23
run "also behind it" reached far 10.1.1.2 22
python3 -c "import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('192.0.2.1', 9))"
sleep 0.2
is "$(datagrams)" 1 "and anything out"
far nft flush ruleset
far nft 'table inet count { chain input { type filter hook input priority 0; udp dport 9 counter; }; }'
run "$FIREWALL" "by_$FIREWALL"
sleep 5
remember
load
holds "before"
change add
change up
run "it runs" wait_until 5 sh -c 'ip link show rt0 | grep -q "state UP"'
holds "up"
for round in $(seq "$ROUNDS"); do
	for what in down up delete add up remove add up; do
		change $what || not_ok "round $round: $what"
		pause
	done
done
holds "up, after $ROUNDS rounds"
change remove
holds "without the module"
unharmed
journalctl -b --no-pager >/out/journal
done_testing
