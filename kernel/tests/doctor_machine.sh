# SPDX-License-Identifier: GPL-2.0-only
# keepon doctor on a machine that has what Keepon needs, and its printed commands, run by sh:
# each mends the problem it was printed for. CARD: PCI address of a card with the kernel's own
# driver.
. /lib/keepon/test.sh

export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python:/usr/bin
ln -s "$PYTHON" /usr/bin/python3
control=/sys/kernel/debug/keepon_hwsim/control

doctor() {
	"$PYTHON" -S -m keepon_host doctor "$@"
}

# examine [ARGUMENTS ...]: into /tmp/checks, a line for each check: name, state, command
examine() {
	doctor "$@" --json > /tmp/doctor.json
	code=$?
	"$PYTHON" -S -c 'import json
for check in json.load(open("/tmp/doctor.json"))["checks"]:
    print(check["name"], check["state"], check["remedy"], sep="\t")' > /tmp/checks
}

state() {
	sed -n "s/^$1	\([a-z]*\)	.*/\1/p" /tmp/checks
}

remedy() {
	sed -n "s/^$1	[a-z]*	//p" /tmp/checks
}

# mended CHECK PATTERN [ARGUMENTS ...]: a problem now, and not after its command, which has PATTERN
mended() {
	_check=$1 _pattern=$2
	shift 2
	examine "$@"
	is "$(state "$_check")" problem "$_check: found" || diag "$(cat /tmp/checks)"
	is "$code" 1 "$_check: exit code"
	remedy "$_check" > /tmp/remedy
	like "$(cat /tmp/remedy)" "$_pattern" "$_check: command"
	run "$_check: its command runs" sh /tmp/remedy
	examine "$@"
	is "$(state "$_check")" ok "$_check: gone"
}

# program NAME [ARGUMENTS ...]: a process of that name with these; its number is $!
program() {
	printf '#!/bin/sh\nwhile :; do sleep 5; done\n' > "/tmp/$1"
	chmod +x "/tmp/$1"
	"/tmp/$@" &
}

is_up() {
	ip link show dev "$1" | grep -q 'state UP'
}

echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
for module in keepon keepon_hwsim keepon_generic keepon_intel keepon_hwcheck e1000e; do
	run "module $module" modprobe "$module"
done
echo "nic sim0 seed=1 ppb=20000 prefetch=8 index=done" > $control
echo "nic sim1 mode=ordinary seed=2 ppb=-30000" > $control
echo "link sim0 sim1 propagation_ns=50" > $control
ip link set sim0 up
ip link set sim1 up
run "carrier" wait_until 3 is_up sim0

doctor --json > /out/machine.json
doctor sim0 --measure --peer sim1 --json > /out/card.json
doctor sim0 > /out/card.txt
"$PYTHON" -S -c 'import os, runpy, sys
os.setresuid(65534, 65534, 65534)
sys.argv = ["keepon", "doctor", "sim0", "--json"]
runpy.run_module("keepon_host", run_name="__main__")' > /out/anybody.json
run "nothing was changed" is_up sim0
number=$(phc sim0)
"$PYTHON" -S -c 'import os, sys, time
time.clock_settime((~os.open(sys.argv[1], os.O_RDWR) << 3) | 3, 0)' "/dev/ptp$number"
doctor sim0 --json > /out/unset.json

program phc2sys -a -r -m
follower=$!
program systemd-timesyncd
other=$!
sleep 1
is "$(cat "/proc/$other/comm")" systemd-timesyn "the kernel cuts its name"
mended "clock writers" "^kill $other\$"
run "who follows the PHC goes on" kill -0 "$follower"
mended "TAI offset" "adjtimex"
kill "$follower"

run "a qdisc" tc qdisc add dev sim0 root tbf rate 1mbit burst 10k latency 10ms
mended qdiscs "^tc qdisc replace dev sim0 root pfifo_fast\$" sim0

ip link set sim1 down
run "an odd name" ip link set dev sim1 name 'a;b$c'
ip link set dev 'a;b$c' up
run "a qdisc" tc qdisc add dev 'a;b$c' root netem delay 1ms
mended qdiscs "'a;b[\$]c'" 'a;b$c'
mended link "up\$" "$(ip link set dev 'a;b$c' down; echo 'a;b$c')"

card=$(ls "/sys/bus/pci/devices/$CARD/net")
ip link set "$card" up
run "carrier of the card" wait_until 10 is_up "$card"
run "pause frames" ethtool -A "$card" autoneg off rx on tx on
sleep 2
mended "pause frames" "^ethtool -A $card autoneg off rx off tx off\$" "$card"
run "frames with a bad FCS" ethtool -K "$card" rx-all on
mended "bad frames" "^ethtool -K $card rx-all off\$" "$card"

examine "$card"
is "$(state driver)" note "its driver can be changed"
is "$(remedy driver)" "keepon start $card" "by keepon start"
ip link add link sim0 name rt0 type keepon
examine rt0
is "$(state driver)" ok "a Keepon link is one"
like "$(doctor nobody 2>&1)" '"nobody": is no interface here; there are' "no such interface"
doctor nobody 2>/dev/null
is $? 2 "exit code of what is not there"
done_testing
