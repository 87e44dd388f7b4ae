# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# For the card_managed*.sh, beside /lib/keepon/test.sh: a machine whose card eth0 a link is on, and what must not notice.
#
#   configured        eth0 has an address by DHCP (address) and one by router advertisement (address6)
#   load              from now on: pings of both from outside, each 10 ms, a TCP connection outwards, one of ssh inwards
#   unharmed          what that has seen, and ends it
#   within FILE MS TEXT   its stamps, of pings the instants of sending, are no further from one another; no ping took DELAY_MS_MAX
#   remember, same TEXT   addresses, routes, rules and the firewall, less lifetimes and the link's own line
#   change WHAT       add, up, down, delete or remove: with the link; the module
#   pause             some part of 0.4 s, by $SEED

# Between answered pings: 50 ms, and 16 in which the next is due; ping's timer has steps of 4 ms.
GAP_MS_MAX=66
# An answer may wait while udev and the manager have the one emulated CPU.
DELAY_MS_MAX=100
# The stamps of ssh are made by a process of the machine, which such a time may be without CPU.
SSH_MS_MAX=3000

far() {
	ip netns exec far "$@"
}

has_address() {
	address=$(ip -4 -o addr show dev eth0 scope global | sed -n 's,.* inet \([0-9.]*\)/.*,\1,p')
	address6=$(ip -6 -o addr show dev eth0 scope global -tentative | sed -n 's,.* inet6 \(2001:[0-9a-f:]*\)/.*,\1,p' | head -1)
	[ "$address" ] && [ "$address6" ]
}

configured() {
	run "$1" awaited 90 has_address || {
		ip addr
		tail -20 /run/dnsmasq.log
		journalctl -b --no-pager | tail -60
	}
	has_address
	diag "$address $address6"
}

state() {
	ip addr show | awk '/^[0-9]+:/ { link = $2 ~ /^rt0[@:]/ } !link' | sed 's/^[0-9]*://; s/valid_lft.*//'
	ip -4 route show table all
	ip -6 route show table all | sed 's/ expires [0-9]*sec//'
	ip -4 rule
	ip -6 rule
	nft -s list ruleset 2>/dev/null # without what it warns of in rules of iptables
	echo "carrier changes: $(cat /sys/class/net/eth0/carrier_changes)"
}

remember() {
	state >/run/before
}

same() {
	state | diff /run/before - >/run/differs
	is "$(cat /run/differs)" "" "$1: addresses, routes, rules and firewall are the same"
}

change() {
	case $1 in
	add) ip link add link eth0 name rt0 type keepon ;;
	delete) ip link delete rt0 ;;
	remove) modprobe -r keepon ;;
	*) ip link set rt0 "$1" ;;
	esac
}

pauses=$(awk -v seed="$SEED" 'BEGIN { srand(seed); for (i = 0; i < 1000; i++) printf "%.3f ", 0.4 * rand() }')
pause() {
	sleep "${pauses%% *}"
	pauses="${pauses#* } ${pauses%% *}"
}

load() {
	far chrt -f 1 ping -D -i 0.01 "$address" >/run/ping4 2>&1 &
	loads=$!
	far chrt -f 1 ping -D -i 0.01 "$address6" >/run/ping6 2>&1 &
	loads="$loads $!"
	far python3 /lib/keepon/echo.py serve &
	sleep 0.5
	python3 /lib/keepon/echo.py call 192.0.2.1 >/run/tcp 2>&1 &
	far ssh -n -o StrictHostKeyChecking=no root@"$address" 'while sleep 0.05; do date +[%s.%N]; done' >/run/ssh 2>/run/ssh.err &
	loads="$loads $!"
	wait_until 60 test -s /run/ssh
	sleep 1
}

# gap FILE: the longest time between two of its stamps, of pings between sendings, and the longest ping, in ms; the last stamp
# counts against now
gap() {
	date +[%s.%N] | awk -F '[][]' '$2 > 0 {
			at = $2
			if (match($0, /time=[0-9.]+/)) {
				delay = substr($0, RSTART + 5, RLENGTH - 5)
				at -= delay / 1000
				if (delay + 0 > longest) longest = delay + 0
			}
			if (last && at - last > most) most = at - last
			last = at
		}
		END { printf "%d %d\n", 1000 * most, longest }' "/run/$1" -
}

within() {
	_gap=$(gap "$1")
	diag "busy $(awk '/^cpu / { print int(100 * ($2 + $3 + $4 + $6 + $7 + $8) / ($2 + $3 + $4 + $5 + $6 + $7 + $8)) }' /proc/stat) %; $1: longest gap ${_gap% *} ms of $(grep -c '^\[' "/run/$1") stamps, longest ping ${_gap#* } ms"
	run "$3" eval "test ${_gap% *} -le $2 && test ${_gap#* } -le $DELAY_MS_MAX" || tail -3 "/run/$1"
}

unharmed() {
	within ping4 $GAP_MS_MAX "no loss of IPv4 for longer than 50 ms"
	within ping6 $GAP_MS_MAX "nor of IPv6"
	within tcp 1000 "the TCP connection lives"
	within ssh $SSH_MS_MAX "and so does ssh's"
	# shellcheck disable=SC2086  # numbers
	kill $loads
	mkdir -p /out
	cp /run/ping4 /run/ping6 /run/tcp /run/ssh /run/dnsmasq.log /out/
}
