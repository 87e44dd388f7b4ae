# SPDX-License-Identifier: GPL-2.0-only
# `keepon link watch` (python3 -m keepon_host link watch) beside ethtool -S.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python

watch() {
	"$PYTHON" -S -m keepon_host link watch "$@"
}

as_nobody() {
	"$PYTHON" -S -c 'import os, sys
os.setuid(65534)
from keepon_host.cli import main
sys.exit(main(["link", "watch", *sys.argv[1:]]))' "$@"
}

# refused CODE PATTERN ARGUMENT ...
refused() {
	_code=$1
	_sentence=$2
	shift 2
	_said=$(watch "$@" 2>&1)
	is $? "$_code" "watch $*: exit code"
	like "$_said" "$_sentence" "watch $*: sentence"
}

ip link add dum0 type dummy
refused 2 "there is no device \"rt9\"" rt9
wire 100000000
refused 2 "dum0 is no keepon link but dummy" dum0
ip link add link sim0 name rt0 type keepon slot_bytes 605 partition 40 \
	class 7 slots 0-39/4 class 0 slots rest
refused 2 "interval = 0: must be between 0.1 and 3600" rt0 --interval 0
refused 2 "interval = nan: must be between" rt0 --interval nan
refused 2 "count = 0: must be 1 or more" rt0 --count 0
is "$(watch rt0 --count 1)" "rt0: wire down" "down"
ip addr add 10.0.0.1/24 dev rt0
ip link set rt0 up
tc qdisc add dev rt0 root handle 1: mqprio num_tc 8 map 0 1 2 3 4 5 6 7 0 0 0 0 0 0 0 0 \
	queues 1@0 1@1 1@2 1@3 1@4 1@5 1@6 1@7 hw 0
like "$(watch rt0 --count 1)" "^rt0: not synchronised, clock within [0-9.]+ ns" "up"
phc_ctl rt0 set >/dev/null
like "$(watch rt0 --count 1)" "^rt0: synchronised, clock within [0-9.]+ ns" "set"

echo 1 >/sys/kernel/tracing/events/keepon/keepon_outcome/enable
as_nobody rt0 --interval 0.5 --count 6 --json >/out/watched.json &
watcher=$!
run "frames" keepon-talk rt0 --period 10ms --advance 20ms --count 100 --priority 7
wait $watcher
is $? 0 "watched by nobody in particular"
# Between this and the last reading nothing was sent.
ip link set rt0 down
cat /sys/kernel/tracing/trace >/out/trace.txt
watch rt0 --count 1 --json >/out/last.json
ethtool -S rt0 | sed -n 's/^ *\([^:]*\): \([0-9]*\)$/\1 \2/p' >/out/ethtool.txt

watch rt0 --interval 0.2 >/tmp/gone 2>&1 &
watcher=$!
sleep 1
ip link del rt0
wait $watcher
is $? 3 "the link goes: exit code"
like "$(tail -n 1 /tmp/gone)" "keepon: rt0: the link has gone" "the link goes: sentence"
done_testing
