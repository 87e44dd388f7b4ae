# SPDX-License-Identifier: GPL-2.0-only
# `keepon link` (python3 -m keepon_host link) beside iproute2 with the plugin: what one sets the other shows in the same words.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
export PYTHONHOME=/usr PYTHONPATH=/lib/keepon/python

keepon_link() {
	"$PYTHON" -S -m keepon_host link "$@"
}

as_nobody() {
	"$PYTHON" -S -c 'import os, sys
os.setuid(65534)
from keepon_host.cli import main
sys.exit(main(["link", *sys.argv[1:]]))' "$@"
}

# [_as=as_nobody] rejected CODE TEXT PATTERN ARGUMENT ...: fails with that exit code and a sentence that matches
rejected() {
	_wanted=$1
	_name=$2
	_pattern=$3
	shift 3
	_said=$(${_as:-keepon_link} "$@" 2>&1)
	is $? "$_wanted" "$_name: exit code"
	like "$_said" "$_pattern" "$_name: sentence"
}

ip link add dum0 type dummy
loader=$(cat /proc/sys/kernel/modprobe)
echo /bin/false >/proc/sys/kernel/modprobe
rejected 3 "no module" "no link type keepon; load the module" add dum0 rt0
echo "$loader" >/proc/sys/kernel/modprobe

wire 1000000000 "persistent=0 flow_control=1"
run "add with options" keepon_link add sim0 rt0 slot_bytes 605 batch 4 ring 128 depth 100 partition 250 \
	class 7 slots 0-240/10 late strict round up class 0 slots rest late reschedule class 3-4 slots 3,5,21-30 round floor \
	prebuffer 64 tolerance_ns 100 drift_ppb 150000 trim_down 8 trim_up 4 dither off clock counter txtime tai
shown=$(keepon_link show rt0)
like "$shown" "slot_bytes 605 ring 128 batch 4 depth 100 partition 250 class 0 slots .* late reschedule" "what was set"
like "$shown" "class 3-4 slots 3,5,21-30 late strict round floor class 7 slots 0-240/10 late strict round up" "and the lists"
is "$shown " "$(options rt0) " "the words of ip with the plugin"
keepon_link show rt0 --json >/out/ours.json
ip -d -j link show rt0 >/out/plugin.json
ip link set rt0 up
# shellcheck disable=SC2086
run "set while up, by the words shown" keepon_link set rt0 $shown batch 10 class 3 late relaxed
like "$(options rt0)" "batch 10 .* class 3 slots 3,5,21-30 late relaxed round floor class 4 slots 3,5,21-30 late strict" "only that"
is "$(counter rt0 starts)" 2 "the wire ran on by it"
# What one call does at most: shown while the wire runs, in words of their own, and never taken.
ip -d -j link show rt0 >/out/plugin_up.json
like "$(ip -d link show rt0)" "most of one call: frames [0-9]+ trims [0-9]+ rearms [1-9][0-9]* words [0-9]+ stall_ns [0-9]+ rx_frames 0 " "limits by ip"
rejected 2 "a limit given" "limit_frames follows from the rest and cannot be set; leave it out" set rt0 limit_frames 1
said=$(ip link set rt0 type keepon limit_stall_ns 1 2>&1) && not_ok "a limit given to ip: was accepted" ||
	like "$said" "limit_stall_ns follows from the rest and cannot be set; leave it out" "a limit given to ip"
ip link set rt0 down # a CPU that polls has less left for Python
"$PYTHON" -S -c '
import struct, sys
from keepon_host.link import netlink
from keepon_host.link.options import LIMITS
with netlink.Route() as route:
    for limit in LIMITS:
        data = netlink.attribute(limit.attribute, struct.pack({4: "=I", 8: "=Q"}[limit.size], 1))
        info = netlink.nested(netlink.IFLA_LINKINFO, netlink.text(netlink.IFLA_INFO_KIND, "keepon"),
                              netlink.nested(netlink.IFLA_INFO_DATA, data))
        try:
            route.request(netlink.RTM_NEWLINK, netlink.NLM_F_ACK, int(sys.argv[1]), info)
        except netlink.RefusedError as error:
            print(error.sentence)
' "$(cat /sys/class/net/rt0/ifindex)" >/tmp/said
is "$(grep -c '^limit_[a-z_]* follows from the rest and cannot be set; leave it out$' /tmp/said)" 6 "each refused by the kernel"
is "$(ip -d link show rt0 | grep -c 'most of one call')" 0 "no wire, no limits"
before=$(options rt0)
rejected 2 "a value the kernel refuses" "set rt0: ring_slots 7 \(allowed: 8 to 4096\)" set rt0 ring 7
is "$(options rt0)" "$before" "changed nothing"
_as=as_nobody rejected 3 "no permission" "del rt0: not permitted; run as root" del rt0
run "delete" keepon_link del rt0
is "$(ip link show type keepon)" "" "it is gone"

# A table that does not repeat: ip shows a summary, we all of it.
scattered=$(awk 'BEGIN { for (i = 0; i < 5000; i = i + 1 + i % 7) printf "%s%d", i ? "," : "", i }')
said=$(keepon_link add sim0 rt0 mode paper 2>&1 >/tmp/said)
is "$?$(cat /tmp/said)" 0 "paper mode"
like "$said" "^keepon: add rt0: sim0 sends frames of 1518 bytes, class 0 carries 1230; give class 0 more slots in a row" \
	"with what the kernel warns of"
keepon_link del rt0
run "5000 slots" keepon_link add sim0 rt0 partition 5000 class 5 slots "$scattered" class 0 slots rest
like "$(options rt0)" "partition 5000 class 0 slots [0-9]* of 5000 .* class 5 slots [0-9]* of 5000" "are there"
shown=$(keepon_link show rt0)
like "$shown" "class 5 slots 0-1,3,7-8,10,14-15,17,21-22,24,28-29,31,35-36,38,42-43,45,49-50," "each of them"
is "$(keepon_link show)" "rt0 on sim0: $shown" "shown among all links"
# shellcheck disable=SC2086
run "ip sets them by the words shown" ip link set rt0 type keepon $shown class 9 late relaxed
like "$(keepon_link show rt0)" "class 9 slots none late relaxed" "and more"

# The longest table: slot i has mask i, as far as a list can say it; longer than a message, and than a command line if shown.
"$PYTHON" -S -c '
for traffic_class in range(16):
    width = 1 << traffic_class
    if traffic_class < 8:
        terms = [f"{width + i}-65535/{2 * width}" for i in range(width)]
    else:
        terms = [f"{first}-{first + width - 1}" for first in range(width, 65536, 2 * width)]
    print(f"class {traffic_class} slots " + ",".join(terms))
print("partition 65536")
' >/tmp/words
run "65536 slots, each of other classes, from standard input" sh -c '"$PYTHON" -S -m keepon_host link set rt0 - </tmp/words'
run "shown" sh -c '"$PYTHON" -S -m keepon_host link show rt0 >/tmp/shown'
run "they read back equal" "$PYTHON" -S -c '
import struct
from keepon_host.link import options
table = options.parse(open("/tmp/shown").read().split())[options.ALLOWED]
assert table == struct.pack("=65536H", *range(65536)), len(table)
'
run "all is listed" ip addr
run "a short table, a longer batch" keepon_link set rt0 partition 1 class 0-15 slots all batch 64 ring 512 depth 400 slot_bytes 1000 clock dual
ip link set rt0 up
run "up" wait_until 3 is_running rt0
keepon_link show rt0 --json >/out/ours_up.json
keepon_link show >/tmp/shown
ip -d -j link show rt0 >/out/plugin_longer.json
ip link set rt0 down
like "$(tail -n 1 /tmp/shown)" "^    most of one call: frames [0-9]+ trims [0-9]+ rearms [1-9][0-9]* words [0-9]+ stall_ns [0-9]+ rx_frames [1-9][0-9]*$" "limits by keepon link"
done_testing
