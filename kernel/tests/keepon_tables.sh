# SPDX-License-Identifier: GPL-2.0-only
# Class tables of up to 65536 slots, set by iproute2 with the plugin: no listing of interfaces of the machine suffers from them.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire

# Slot i has mask i: every slot has another one. Class k has the slots whose bit k is set.
different_masks() {
	awk 'BEGIN {
		printf "partition 65536"
		for (class = 0; class < 16; class++) {
			width = class ? 2 * width : 1
			printf " class %d slots ", class
			for (i = 0; class < 8 && i < width; i++)
				printf "%s%d-65535/%d", (i ? "," : ""), width + i, 2 * width
			for (i = width; class >= 8 && i < 65536; i += 2 * width)
				printf "%s%d-%d", (i == width ? "" : ","), i, i + width - 1
		}
	}'
}

# lists_all TEXT: everything that lists interfaces lists these
lists_all() {
	run "$1: ip addr" ip addr
	like "$(echo "$_output" | tr "\\n" " ")" "sim0: .*rt0@sim0: " "$1: all of them"
	run "$1: ip -d link" ip -d link
	like "$(echo "$_output" | tr "\\n" " ")" "sim0: .*rt0@sim0: .*txtime phc" "$1: all of them in detail"
	run "$1: getifaddrs()" interfaces
	like "$_output" "lo .*sim0 .*rt0 " "$1: all of them by the C library"
}

words=$(different_masks)
# shellcheck disable=SC2086
run "65536 slots" ip link add link sim0 name rt0 type keepon $words
shown=$(options rt0)
like "$shown" "partition 65536 class 0 slots 1-65535/2 late strict round up class 1 slots 32768 of 65536 late" "a summary"
like "$shown" "class 15 slots 32768-65535 late" "short lists in full"
like "$(ip -j -d link show rt0)" '"class":\[1\],"slot_count":32768' "as JSON"
lists_all "65536 slots"
run "up" ip link set rt0 up
run "it runs" wait_until 2 is_running rt0
is "$(counter rt0 head_valid)" 1 "by the wire's own account"
run "changed while up" ip link set rt0 type keepon partition 65536 class 7 slots 65535 class 0 slots rest
like "$(options rt0)" "class 0 slots 0-65534 late .* class 7 slots 65535 late" "by a table whose part that repeats is as long"
# A list without a pattern, of which a table was known to break everything
scattered=$(awk 'BEGIN { for (i = 0; i < 1700; i = i + 1 + i % 7) printf "%s%d", i ? "," : "", i }')
run "1700 slots" ip link set rt0 type keepon partition 1700 class 5 slots "$scattered" class 0 slots rest
lists_all "1700 slots"
before=$(options rt0)
run "another option leaves the table" ip link set rt0 type keepon batch 10
is "$(options rt0)" "$(echo "$before" | sed 's/ batch [0-9]* / batch 10 /')" "as it was"
run "a table for all" ip link set rt0 type keepon class 0-15 slots all
like "$(options rt0)" "partition 1 class 0-15 slots all" "is short"
run "deleted" ip link del rt0
run "the module goes" rmmod keepon
done_testing
