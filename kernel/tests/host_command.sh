# SPDX-License-Identifier: GPL-2.0-only
# `keepon run SCENARIO --target host` as one process on a machine: planned, run, judged and written there; and what can go wrong with
# the command as a whole. test_host_command.py judges the result folder it leaves.
. /lib/keepon/test.sh
. /lib/keepon/host.sh
export COLUMNS=200
scenario=/lib/keepon/two.toml

# keepon FOLDER OPTIONS ...: the command, in place of the shell
keepon() {
	_out=$1
	shift
	exec "$PYTHON" -S -m keepon run $scenario --target host --map talker=sim0 --map listener=lab/sim1 --out "$_out" "$@"
}

# starting FOLDER OPTIONS ...: the same in the background; its number is in /tmp/agent, what it says in /tmp/said
starting() {
	keepon "$@" >/tmp/said 2>&1 &
	echo $! >/tmp/agent
}

# ends CODE PATTERN NAME FOLDER: it does so, with one sentence, wrote nothing and put everything back
ends() {
	wait "$(cat /tmp/agent)"
	is $? "$1" "$3: exit code"
	like "$(cat /tmp/said)" "$2" "$3: sentence"
	is "$(grep -c . /tmp/said)" 1 "$3: one line" || diag "$(cat /tmp/said)"
	is "$(find "$4" -type f 2>/dev/null)" "" "$3: nothing was written"
	unchanged "$3"
}

cards
modprobe keepon
state /tmp/before

starting /out/run
wait "$(cat /tmp/agent)"
is $? 0 "it ran" || diag "$(cat /tmp/said)"
cp /tmp/said /out/said
unchanged "it ran"

# ---- no place for the result
mkdir /tmp/full
mount -t tmpfs -o size=64k tmpfs /tmp/full
starting /tmp/full/out
ends 3 "/tmp/full/out.*No space left on device" "full disk" /tmp/full/out
mount -o remount,ro /tmp/full
starting /tmp/full/out
ends 3 "/tmp/full/out.*Read-only file system" "read-only folder" /tmp/full/out
umount /tmp/full

# ---- two at once, and the first ended in the middle of it; it stands still until the second has started
starting /tmp/int
awaited 100 sh -c "ps | grep -q '[k]eepon-talk rt0'"
kill -STOP "$(cat /tmp/agent)"
said=$(keepon /tmp/second 2>&1)
is $? 3 "the second: exit code"
like "$said" "^keepon: station talker: another keepon command is at work with sim0; wait for its end$" "the second: sentence"
is "$(ls /tmp/second 2>/dev/null)" "" "the second: nothing was written"
kill -CONT "$(cat /tmp/agent)"
kill -INT "$(cat /tmp/agent)"
ends 130 "interrupted" "Ctrl-C" /tmp/int

# ---- clocks that nobody sets, 1 ms apart
ip netns exec lab phc_ctl sim1 set adj 0.001 >/dev/null
starting /tmp/apart --keep-clocks --clock-wait-s 0
ends 3 "the clocks disagree by [0-9]+ ns \(that of .* more than --clock-limit-ns 1000, after --clock-wait-s 0" "clocks apart" /tmp/apart
done_testing
