# SPDX-License-Identifier: GPL-2.0-only
# Faults by chance: at a random command of `keepon start`, before or after it, one of a list happens. Once what is not Keepon's to mend
# is mended, all is as it was. $SEED, $CASES; $STEPS, $MODE, $DEVICE as in start_station.sh.
. /lib/keepon/test.sh
. /lib/keepon/start.sh
keepon_dir=/run/keepon

# chance N: a number from 0 to N - 1 in $drawn
chance() {
	SEED=$(((SEED * 1103515245 + 12345) % 2147483648))
	drawn=$((SEED / 65536 % $1))
}

# What a fault is, and what its maker mends.
fault() {
	mend=:
	case $1 in
	killed) happens='kill -9 $PPID; sleep 0.2' ;;
	interrupted) happens='kill -INT $(cut -d" " -f4 /proc/$PPID/stat); sleep 0.2' ;;
	refused) happens='exit 7' ;;
	command) happens='kill -9 $(cut -d" " -f4 /proc/$PPID/stat); sleep 0.2' ;;
	both) happens='kill -9 $(cut -d" " -f4 /proc/$PPID/stat) $PPID; sleep 0.2' ;;
	unplugged)
		happens='ip -n far link set eth9 down'
		mend='ip -n far link set eth9 up; wait_until 10 linked'
		;;
	down)
		happens='ip link set eth0 down'
		mend='ip link set eth0 up; wait_until 10 linked; routed'
		;;
	deleted) happens='ip link del rt0 2>/dev/null' ;;
	queues) happens='tc qdisc del dev $DEVICE root 2>/dev/null' ;;
	full)
		happens="dd if=/dev/zero of=$keepon_dir/fill bs=4k count=99 2>/dev/null"
		mend="rm -f $keepon_dir/fill"
		;;
	readonly)
		happens="mount -o remount,ro $keepon_dir"
		mend="mount -o remount,rw $keepon_dir"
		;;
	esac
}

routed() {
	ip route replace default via 10.0.0.2 dev eth0 metric 7
}

card
addresses
wrapped
mkdir -p $keepon_dir
mount -t tmpfs -o size=64k tmpfs $keepon_dir
state > /tmp/before
number=0
while [ $number -lt "$CASES" ]; do
	number=$((number + 1))
	chance 11
	set -- killed interrupted refused command both unplugged down deleted queues full readonly
	shift $drawn
	fault "$1"
	chance 8
	AT=$((drawn + 1))
	chance 2
	when=$drawn
	if [ $when = 0 ]; then BEFORE=$happens AFTER=; else AFTER=$happens BEFORE=; fi
	hooked --rollback 1
	wait "$job"
	code=$?
	said=$(tail -1 /tmp/said)
	name="$1 at command $AT ($when), exit code $code"
	run "$name: the rest ends" wait_until $WAIT idle
	case $code in
	3 | 130) is "$(grep -c '^keepon: ' /tmp/said)" 1 "$name: one sentence" ;;
	0 | 137) ;;
	*) not_ok "$name: $said" ;;
	esac
	eval "$mend"
	ls $keepon_dir/*.json > /dev/null 2>&1 && keepon stop > /tmp/stopped 2>&1
	same "$name: $said"
done
done_testing
