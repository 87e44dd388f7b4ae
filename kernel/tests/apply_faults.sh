# SPDX-License-Identifier: GPL-2.0-only
# What may happen to `keepon apply` and to the interface: after each, all is as it was, and one sentence says why. $STEPS,
# $MODE, $DEVICE as in apply_station.sh.
. /lib/keepon/test.sh
. /lib/keepon/apply.sh
forking

# refused CODE PATTERN NAME: keepon apply ends by itself so, nothing is changed, one line says why
refused() {
	applying
	ended "$1" "$2" "$3"
	is "$(grep -c '^keepon: ' /tmp/said)" 1 "$3: one line"
	same "$3"
}

wrapped
card
addresses
state > /tmp/before

# ---- what is not there ----
sed 's/eth0/eth7/g' "/steps/$STEPS" > /tmp/eth7
keepon apply /tmp/eth7 > /tmp/said 2>&1
is $? 2 "no such interface: exit code"
like "$(cat /tmp/said)" '"eth7": is no interface here; there are eth0' "no such interface"
"$PYTHON" -S -c 'import os, runpy, sys
os.setresuid(65534, 65534, 65534)
sys.argv = ["keepon", "apply", sys.argv[1]]
runpy.run_module("keepon.linux.apply", run_name="__main__")' "/steps/$STEPS" > /tmp/said 2>&1
is $? 3 "not root: exit code"
like "$(tail -1 /tmp/said)" "only root may change an interface; use sudo" "not root"
if [ "$DEVICE" = rt0 ]; then
	mv "/lib/modules/$(uname -r)/modules.dep" /tmp/modules.dep
	refused 3 "this kernel .* has no module keepon: install" "no module"
	mv /tmp/modules.dep "/lib/modules/$(uname -r)/modules.dep"
fi
tc qdisc add dev eth0 root handle 7: tbf rate 1mbit burst 10k latency 10ms
state > /tmp/with_tbf
if [ "$DEVICE" = eth0 ]; then
	applying
	ended 3 "a queueing discipline tbf at its root, which could not be put back .* tc qdisc del dev eth0 root" "tbf"
	state > /tmp/after
	run "tbf is there still" cmp /tmp/with_tbf /tmp/after
fi
tc qdisc del dev eth0 root
tc qdisc add dev eth0 root handle 7: pfifo limit 77
state > /tmp/with_pfifo
applying --rollback 1
ended 3 "not confirmed within 1 s" "over a queueing discipline of somebody's"
state > /tmp/after
run "it is back" cmp /tmp/with_pfifo /tmp/after || diag "$(diff /tmp/with_pfifo /tmp/after)"
tc qdisc del dev eth0 root
same "without it"

# ---- the journal's folder ----
keepon_dir=/run/keepon
mkdir -p $keepon_dir
mount -t tmpfs -o ro tmpfs $keepon_dir
refused 3 "cannot be written .Read-only file system., and without it nothing could be undone" "read-only /run/keepon"
umount $keepon_dir
mount -t tmpfs -o size=4k,nr_inodes=8 tmpfs $keepon_dir
refused 3 "cannot be written .No space left on device." "full /run/keepon"
umount $keepon_dir
# full, and read-only, from a command in the middle on
mount -t tmpfs -o size=64k tmpfs $keepon_dir
AT=2 BEFORE="dd if=/dev/zero of=$keepon_dir/fill bs=4k count=99 2>/dev/null"
hooked
ended 3 "cannot be written .No space left on device.*; eth0 is as it was" "full in the middle"
rm $keepon_dir/fill
same "full in the middle"
AT=2 BEFORE="mount -o remount,ro $keepon_dir"
hooked
ended 3 "cannot be written .Read-only file system.*cannot be removed.*keepon unapply does it" "read-only in the middle"
mount -o remount,rw $keepon_dir
like "$(keepon unapply)" "eth0 is as it was before half-done station" "read-only in the middle: unapply"
same "read-only in the middle"
umount $keepon_dir

# ---- the link ----
applying
until_said "within 60 s"
ip -n far link set eth9 down
ended 3 "eth0 has lost its link; eth0 is as it was" "unplugged"
ip -n far link set eth9 up
wait_until 10 linked
same "unplugged"
ip -n far link set eth9 down
wait_until 10 unlinked
applying
ended 3 "eth0 has no link: plug its cable in.*; eth0 is as it was" "no cable"
ip -n far link set eth9 up
wait_until 10 linked
same "no cable"
applying --rollback 5
until_said "within 5 s"
renamed eth0 uplink0
ended 3 "not confirmed within 5 s" "renamed"
like "$(cat /sys/class/net/uplink0/operstate)" up "the renamed one is up"
renamed uplink0 eth0
wait_until 5 linked
relabelled
ip route replace default via 10.0.0.2 dev eth0 metric 7
same "renamed"

# ---- two of them ----
applying
first=$job
until_said "within 60 s"
cp /tmp/said /tmp/first
applying
ended 3 "another keepon apply is at work on eth0: confirm it with" "the second"
kill -INT "$first"
waited "$first"
is $? 130 "the first"
same "two"
# Another command than apply has its lock.
lock="/run/keepon/$(stat -L -c %i /proc/self/ns/net).$(cat /sys/class/net/eth0/ifindex).lock"
"$PYTHON" -S -c 'import fcntl, sys, time
file = open(sys.argv[1])
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(1000)' "$lock" > /tmp/holder &
holder=$!
awaited 30 grep -q held /tmp/holder
refused 3 "another keepon command is at work with eth0; wait for its end" "another command"
kill -9 $holder
wait $holder 2> /dev/null

# ---- who is logged in over the interface ----
export SSH_CONNECTION='10.0.0.2 50000 10.0.0.1 22'
if [ "$PING" ]; then
	applying
	until_said "within 60 s"
	ip netns exec far ip addr del 10.0.0.2/24 dev eth9
	ended 3 "10.0.0.2, from where you are logged in, does not answer; eth0 is as it was" "connection lost"
	ip netns exec far ip addr add 10.0.0.2/24 dev eth9
	same "connection lost"
	applying --yes
	waited $job
	is $? 0 "connection held: kept" || diag "$(tail -1 /tmp/said)"
	keepon unapply > /dev/null
	same "connection held"
	SSH_CONNECTION='10.0.0.9 50000 10.0.0.1 22'
	applying --yes
	ended 3 "10.0.0.9.* does not answer ping, so that nobody could tell" "a client that says nothing"
	same "a client that says nothing"
fi
unset SSH_CONNECTION

# ---- killed ----
# The terminal is lost with all that runs on it.
mkdir -p /dev/pts
mount -t devpts devpts /dev/pts
setsid "$PYTHON" -S -c 'import pty, sys
sys.exit(pty.spawn(sys.argv[1:]))' "$PYTHON" -S -m keepon.linux.apply apply "/steps/$STEPS" > /tmp/said 2>&1 < /dev/null &
job=$!
until_said "press Enter here"
said "press Enter here"
is $? 0 "terminal lost: it asks there"
kill -9 $job
unwatched
same "terminal lost"
applying
until_said "within 60 s"
kill -9 $job
unwatched
same "killed while it waits"
applying
until_said "within 60 s"
kill -9 "$(watcher)"
ended 3 "the process that watches it was killed; eth0 is as it was" "watcher killed"
same "watcher killed"
applying
until_said "within 60 s"
kill -STOP $job
kill -9 "$(watcher)"
kill -9 $job
like "$(keepon unapply)" "eth0 is as it was before half-done station" "both killed, unapply"
same "both killed, unapply"

# At each command of it, or so many, before and after it was carried out.
number=1
while [ "$number" -le "${KILLS:-1000}" ]; do
	for when in BEFORE AFTER; do
		# shellcheck disable=SC2016 # of the wrapper
		eval "AT=$number $when='kill -9 \$PPID; sleep 0.2'; hooked --rollback 1"
		waited "$job"
		code=$?
		[ $code = 137 ] || break 2
		unwatched
		same "killed $when command $number"
	done
	number=$((number + 1))
done
[ -n "$KILLS" ] || is $code 3 "no more commands"
run "killed at $((number - 1)) commands" test "$number" -gt 2
# A program that was started ends with it.
applying
until_said "within 60 s"
kill -9 $job
unwatched
is "$(grep -l KEEPON_APPLIED /proc/[0-9]*/environ 2>/dev/null)" "" "no program is left"

# ---- the interface is pulled out ----
applying
until_said "within 60 s"
echo "remove sim0" > $control
ended 3 "eth0 has lost its link; eth0 is as it was" "pulled out"
is "$(ls -A /run/keepon | grep -v 'lock$')" "" "pulled out: nothing is left of it"
echo "insert sim0" > $control
wait_until 10 linked
applying
until_said "within 60 s"
echo "delete sim0" > $control
ended 3 "the interface is gone; nothing is left of what was set up" "gone"
is "$(ls -A /run/keepon | grep -v 'lock$')" "" "gone: nothing is left of it"
is "$(ps -o args | grep -E '^(ptp4l|phc2sys) ')" "" "gone: its programs have ended"
done_testing
