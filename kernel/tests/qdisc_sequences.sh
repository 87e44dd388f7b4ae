# SPDX-License-Identifier: GPL-2.0-only
# Each sequence of qdisc_sequences.txt on a device of its own: what Linux makes of it, and what it says. Then, in
# /out/silent, what it does without a word (docs/qdiscs.md).
set -f
GATES="num_tc 2 queues 1@0 3@1 base-time 0 sched-entry S 01 500000 sched-entry S 02 500000 clockid CLOCK_TAI"

# The words of a command, with the options that stand for names.
words() {
	for word; do
		case $word in
		MQPRIO) echo "mqprio num_tc 2 map 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 queues 1@0 3@1 hw 0" ;;
		TAPRIO) echo "taprio map 0 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 $GATES" ;;
		OTHER_TAPRIO) echo "taprio map 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 $GATES" ;;
		ETF) echo "etf clockid CLOCK_TAI delta 300000" ;;
		CBS) echo "cbs idleslope 20000 sendslope -80000 hicredit 250 locredit -1000" ;;
		*) echo "$word" ;;
		esac
	done
}

# Commands for `dev d0`; empty when the last one is done.
refused() {
	rest="$1;"
	while [ -n "$rest" ]; do
		# shellcheck disable=SC2086 # words
		set -- $(words ${rest%%;*})
		rest=${rest#*;}
		action=$1
		shift
		if ! said=$(tc qdisc "$action" dev d0 "$@" 2>&1); then
			[ -z "$rest" ] || echo "not the last command: $*"
			echo "no $said"
			return
		fi
	done
}

grep '^[a-z]' /lib/keepon/sequences.txt | while IFS='|' read -r _ sequence; do
	ip link add d0 numtxqueues 4 type dummy
	verdict=$(refused "$sequence")
	root=$(tc qdisc show dev d0 | sed -n 's/^qdisc \([a-z_]*\).* root.*/\1/p')
	class=$(cat /sys/class/net/d0/queues/tx-1/traffic_class)
	# The second queue is the second class's under mqprio and taprio.
	case "$verdict$root $class" in
	"mqprio 0" | "taprio 0") verdict=lost ;;
	esac
	echo "${verdict:-yes}" | tr '\n' ' '
	echo "|$sequence"
	ip link del d0
done

# gated DEVICE NS: a class for all frames that ask for none, open in every other window of taprio in software
gated() {
	# shellcheck disable=SC2046 # words
	tc qdisc replace dev "$1" root handle 100: $(words TAPRIO | sed "s/500000/$2/g") 2>/dev/null
	sleep 0.1
}
# Of 3 frames of 100 bytes, those that left
left() {
	before=$(cat "/sys/class/net/$1/statistics/tx_packets")
	ping -c 3 -s 58 -W 1 10.0.0.2 >/dev/null
	echo $(($(cat "/sys/class/net/$1/statistics/tx_packets") - before))
}
# addressed DEVICE: whose neighbour 10.0.0.2 needs no ARP
addressed() {
	ip addr add 10.0.0.1/24 dev "$1"
	ip link set "$1" up
	ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:02 dev "$1"
}
expire() {
	txtime_sender d0 0 20 5000000 1000000
}

echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip link add d0 numtxqueues 4 type dummy # whose speed is not known
addressed d0
exec >/out/silent
gated d0 50000
echo "speed not known, windows of 50 us: $(left d0)"
tc qdisc del dev d0 root
gated d0 200000
echo "speed not known, windows of 200 us: $(left d0)"
ip link del d0

ip link add d0 numtxqueues 4 type veth peer name d1
ip link set d1 up
addressed d0
gated d0 50000
echo "speed known, windows of 50 us: $(left d0)"
ip link set d1 down
sleep 0.1
ip link set d1 up
sleep 0.1
echo "link was down: $(left d0)"
gated d0 50000
echo "gates given again: $(left d0)"
tc qdisc del dev d0 root

tc qdisc add dev d0 root etf clockid CLOCK_TAI
echo "etf without delta: $(expire)"
tc qdisc del dev d0 root
tc qdisc add dev d0 root etf clockid CLOCK_TAI delta 300000
echo "late at etf: $(txtime_sender d0 0 20 -9000000 1000)"
tc qdisc del dev d0 root
# shellcheck disable=SC2046 # words
tc qdisc add dev d0 root handle 100: $(words TAPRIO | sed 's/S 02/S 03/') flags 1 \
	txtime-delay 500000 2>/dev/null
tc qdisc add dev d0 parent 100:1 etf clockid CLOCK_TAI
expire >/dev/null
tc -s -j qdisc show dev d0 >/out/counted
