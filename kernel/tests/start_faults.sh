# SPDX-License-Identifier: GPL-2.0-only
# What may happen to `keepon start` and to the interface: after each, all is as it was, and one sentence says why. $STEPS,
# $MODE, $DEVICE as in start_station.sh; $KILLS: at how many commands it is killed.
. /lib/keepon/test.sh
. /lib/keepon/start.sh

wrapped
card
addresses
state > /tmp/before

# ---- what is not there ----
sed 's/eth0/eth7/g' "/steps/$STEPS" > /tmp/eth7
keepon start --steps /tmp/eth7 > /tmp/said 2>&1
is $? 2 "no such interface: exit code"
like "$(cat /tmp/said)" '"eth7": is no interface here; there are eth0' "no such interface"
"$PYTHON" -S -c 'import os, runpy, sys
os.setresuid(65534, 65534, 65534)
sys.argv = ["keepon", "start", "--steps", sys.argv[1]]
runpy.run_module("keepon_host", run_name="__main__")' "/steps/$STEPS" > /tmp/said 2>&1
is $? 3 "not root: exit code"
like "$(tail -1 /tmp/said)" "only root may change an interface; use sudo" "not root"
if [ "$DEVICE" = rt0 ]; then
	mv "/lib/modules/$(uname -r)/modules.dep" /tmp/modules.dep
	refused 3 "this kernel .* has no module keepon: install" "no module"
	mv /tmp/modules.dep "/lib/modules/$(uname -r)/modules.dep"
else
	tc qdisc add dev eth0 root handle 7: tbf rate 1mbit burst 10k latency 10ms
	starting
	ended 3 "a queueing discipline tbf at its root, which could not be put back .* tc qdisc del dev eth0 root" "tbf"
	tc qdisc del dev eth0 root
	same "tbf"
fi

# ---- the journal's folder ----
keepon_dir=/run/keepon
mkdir -p $keepon_dir
mount -t tmpfs -o ro tmpfs $keepon_dir
refused 3 "cannot be written .Read-only file system., and without it nothing could be undone" "read-only /run/keepon"
umount $keepon_dir
mount -t tmpfs -o size=64k tmpfs $keepon_dir
AT=2 BEFORE="mount -o remount,ro $keepon_dir" AFTER=
hooked
ended 3 "cannot be written .Read-only file system.*cannot be removed.*keepon stop does it" "read-only in the middle"
mount -o remount,rw $keepon_dir
like "$(keepon stop | tail -1)" "eth0 is as it was before half-done station" "read-only in the middle: stop"
same "read-only in the middle"
umount $keepon_dir

# ---- the link, and who is logged in over it ----
ip -n far link set eth9 down
wait_until 10 unlinked
starting
ended 3 "eth0 has no link: plug its cable in.*; eth0 is as it was" "no cable"
ip -n far link set eth9 up
wait_until 10 linked
same "no cable"
export SSH_CONNECTION='10.0.0.2 50000 10.0.0.1 22'
AT=2 BEFORE= AFTER='ip netns exec far ip addr del 10.0.0.2/24 dev eth9'
hooked --rollback 3
ended 3 "10.0.0.2, from where you are logged in, does not answer; eth0 is as it was" "connection lost"
ip netns exec far ip addr add 10.0.0.2/24 dev eth9
same "connection lost"
AT= AFTER=
starting
ended 0 "keepon stop eth0 takes it away" "connection held"
keepon stop > /dev/null
same "connection held"
unset SSH_CONNECTION

# ---- killed: at each command of it, or so many, before and after it was carried out; it, its worker, or both ----
number=1
while [ "$number" -le "${KILLS:-1000}" ]; do
	for who in command worker both; do
		AT=$number AFTER=
		case $who in
		# the worker is the parent of the commands, the command is the worker's
		command) BEFORE='kill -9 $(cut -d" " -f4 /proc/$PPID/stat); sleep 0.2' ;;
		worker) BEFORE= AFTER='kill -9 $PPID; sleep 0.2' ;;
		both) BEFORE='kill -9 $(cut -d" " -f4 /proc/$PPID/stat) $PPID; sleep 0.2' ;;
		esac
		hooked
		wait "$job"
		code=$?
		[ "$(wc -l < /tmp/calls)" -ge "$number" ] || break 2
		run "killed $who at command $number: the rest ends" wait_until $WAIT idle
		if [ $who = both ]; then
			like "$(keepon stop | tail -1)" "eth0 is as it was before half-done station" "killed $who at command $number: stop"
		else
			[ $who = command ] || is $code 3 "killed $who at command $number: exit code"
		fi
		same "killed $who at command $number"
	done
	number=$((number + 1))
done
keepon stop > /dev/null 2>&1
run "killed at $((number - 1)) commands" test "$number" -gt 2
is "$(grep -l KEEPON_STARTED /proc/[0-9]*/environ 2>/dev/null)" "" "no program is left"
same "killed"

# ---- the interface is gone ----
AT= BEFORE=
starting
ended 0 "keepon stop eth0 takes it away" "before it goes"
echo "delete sim0" > $control
like "$(keepon stop 2>&1)" "eth0 is gone: nothing to put back there" "gone"
is "$(ls -A /run/keepon | grep -v 'lock$')" "" "gone: nothing is left of it"
is "$(ps -o args | grep -E '^(ptp4l|phc2sys) ')" "" "gone: its programs have ended"
done_testing
