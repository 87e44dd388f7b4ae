# SPDX-License-Identifier: GPL-2.0-only
# Each sequence of qdisc_sequences.txt on a device of its own: what Linux makes of it, and what it says.
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
