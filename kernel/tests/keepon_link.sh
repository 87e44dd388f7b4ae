# SPDX-License-Identifier: GPL-2.0-only
# Adding, reading back, changing and deleting keepon links, with the iproute2 plugin; what is refused, with its sentence.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire

# rejected TEXT PATTERN COMMAND ...: fails with a sentence that matches
rejected() {
	_name=$1
	_pattern=$2
	shift 2
	_said=$("$@" 2>&1) && {
		not_ok "$_name: was accepted"
		return
	}
	like "$_said" "$_pattern" "$_name"
}

rejected "no lower device" "name it: ip link add link DEVICE" ip link add name rt0 type keepon
rejected "loopback below" "no Ethernet device" ip link add link lo name rt0 type keepon
ip link add dum0 type dummy
rejected "a driver without a ring" "dum0 \(dummy\) has no descriptor ring" ip link add link dum0 name rt0 type keepon
rejected "queues chosen" "one queue per traffic class" ip link add link sim0 name rt0 numtxqueues 4 type keepon
rejected "MTU beyond the longest frame" "mtu 1500 is not within 68 to 1204, for which slots of 1230 bytes have room" \
	ip link add link sim0 name rt0 mtu 1500 type keepon partition 2 class 0 slots 0
rejected "another address" "are one station" ip link add link sim0 name rt0 address 02:00:00:00:00:09 type keepon
rejected "slot too long" "slot_bytes 5000 \(allowed: [0-9]+ to [0-9]+\)" ip link add link sim0 name rt0 type keepon slot_bytes 5000
rejected "no slot that can be made longer" "slot_bytes 1522 \(allowed: 65 to 1521\): .* trimmed both ways; choose one that can, or use paper mode" \
	ip link add link sim0 name rt0 type keepon slot_bytes 1522
rejected "ring beyond limits" "ring_slots 9999" ip link add link sim0 name rt0 type keepon ring 9999
rejected "CPU that is not there" "poll_cpu 7 is not within" ip link add link sim0 name rt0 type keepon poll thread poll_cpu 7
rejected "priority" "poll_fifo 100" ip link add link sim0 name rt0 type keepon poll_fifo 100
rejected "a slot outside the partition" "goes beyond the last" ip link add link sim0 name rt0 type keepon class 0 slots 3
rejected "unknown option" "no option \"foo\"" ip link add link sim0 name rt0 type keepon foo 1
rejected "unknown word" "choose strict or relaxed or reschedule" ip link add link sim0 name rt0 type keepon class 0 late never
is "$(ip link show type keepon)" "" "nothing of all that is left"

run "no options" ip link add link sim0 name rt0 type keepon
is "$_output" "" "nothing to tell"
is "$(cat /sys/class/net/rt0/mtu)" 1500 "the MTU of the card, whatever the slots"
like "$(options rt0)" "mode phase-locked slot_bytes 605 ring 512 batch 126 depth 507 partition 1 class 0-15 slots all" "defaults"
run "a number of slots" ip link set rt0 type keepon batch 20
like "$(options rt0)" "slot_bytes 605 .* batch 20" "leaves them as long as they are"
rejected "a second upper device" "has an upper device already" ip link add link sim0 name rt1 type keepon
run "delete" ip link del rt0

run "numbers of slots" ip link add link sim0 name rt0 type keepon partition 250
like "$(options rt0)" "mode phase-locked slot_bytes 1230 ring 256 batch 63 depth 253 partition 250" "last as long on any card"
run "delete" ip link del rt0

# A frame of 1522 bytes with FCS and tag takes so many slots of each length.
for slots in "1521 2" "1230 2" "605 3" "230 9" "105 36" "84 73"; do
	run "slots of ${slots% *} bytes" upper slot_bytes "${slots% *}"
	is "$_output $(cat /sys/class/net/rt0/mtu) $(counter rt0 frame_slots_max)" " 1500 ${slots#* }" "MTU 1500 in ${slots#* } of them"
	run "delete" ip link del rt0
done
run "a card with another MTU" ip link set sim0 mtu 1400
run "a link" ip link add link sim0 name rt0 type keepon receive all
is "$(cat /sys/class/net/rt0/mtu)" 1400 "has that one"
run "may have a greater one" ip link set rt0 mtu 1500
ip link set sim0 mtu 1500
run "slots all frames take one of" ip link set rt0 type keepon mode paper slot_bytes 1318 batch 16
is "$_output$(cat /sys/class/net/rt0/mtu)" 1296 "have room for IPv6 and a tag"
run "it has IPv6" ip addr add 2001:db8::1/64 dev rt0
run "fewer bytes" ip link set rt0 type keepon slot_bytes 1301
like "$_output" "^Warning: mtu 1279 is below 1280, so rt0 is without IPv6; slot_bytes 1302 or more have room for it" "the warning says its MTU"
run "another byte less" ip link set rt0 type keepon slot_bytes 1300
is "$_output" "" "but not again"
refuse "for it is without" ip addr add 2001:db8::1/64 dev rt0
run "slots too short for IPv4" ip link set rt0 type keepon slot_bytes 85
like "$_output" "^Warning: mtu 67 is below 68, so rt0 is without IPv4 and IPv6; slot_bytes 90 or more have room for it" "and another warning"
run "a byte more" ip link set rt0 type keepon slot_bytes 86
is "$(cat /sys/class/net/rt0/mtu)" 68 "the least MTU of IPv4"
run "slots of that size" ip link set rt0 type keepon slot_bytes 90
is "$(cat /sys/class/net/rt0/mtu)" 68 "the least MTU of IPv4, and room for a tag"
run "delete" ip link del rt0
run "a class table of single slots" ip link add link sim0 name rt0 type keepon receive all partition 2 class 0 slots 0 trim reserved
like "$_output" "mtu 1208 is below 1280, .* best effort has 1 of the 2 slots in a row that it takes" "the warning says what is missing"
run "delete" ip link del rt0
run "one where another class has more in a row" ip link add link sim0 name rt0 type keepon receive all partition 4 class 0 slots 0 class 1 slots 1-3
like "$_output" "mtu 1200 is below 1280, .*; where mqprio leads priority 0 to a class with more slots in a row than class 0, set mtu 1500" \
	"the warning says what helps"
run "as it says" ip link set rt0 mtu 1500
refuse "but no longer than that class has" ip link set rt0 mtu 1505
run "delete" ip link del rt0
run "a ring without room" ip link add link sim0 name rt0 type keepon receive all slot_bytes 230 ring 64 depth 63
like "$_output" "mtu 200 is below 1280, .*; depth_slots 63 with a ring of 78, or longer slots, have room for it" "the warning says what is missing"
run "as it says" ip link set rt0 type keepon ring 78
[ "$(cat /sys/class/net/rt0/mtu)" -ge 1280 ] && ok "it has" || not_ok "it has: $(cat /sys/class/net/rt0/mtu)"
run "delete" ip link del rt0
run "a row without room, whatever frame_bytes" ip link add link sim0 name rt0 type keepon receive all slot_bytes 605 frame_bytes 200 partition 20 class 0 slots 0-1 class 1 slots rest
like "$_output" "is below 1280, .* best effort has 2 of the 3 slots in a row that it takes" "the warning says what is missing"
run "delete" ip link del rt0
run "the greatest MTU at once" ip link add link sim0 name rt0 mtu 1504 type keepon
is "$(cat /sys/class/net/rt0/mtu)" 1504 "it has"
run "delete" ip link del rt0
run "an MTU chosen" ip link add link sim0 name rt0 mtu 1000 type keepon
is "$_output" "" "is nobody's surprise"
run "delete" ip link del rt0
rejected "a longer frame than there is" "frame_bytes_max 1523 \(allowed: 0 to 1522\)" ip link add link sim0 name rt0 type keepon frame_bytes 1523
rejected "a longer frame than a ring of one's own has room for" "frame_bytes_max 1522 \(allowed: 0 to [0-9]*\)" \
	ip link add link sim0 name rt0 type keepon slot_bytes 230 ring 64 depth 63 frame_bytes 1522
# 1 us a slot: a quarter of 80 from poll to poll
rejected "more polls than a CPU has time for" \
	"depth_slots 79 makes 50632 polls a second, and 50000 are the most; a depth of 80 is enough, or longer slots are" \
	ip link add link sim0 name rt0 type keepon slot_bytes 105 depth 79
run "as many as it has" ip link add link sim0 name rt0 type keepon slot_bytes 105 depth 80
like "$(options rt0)" "batch 20 depth 80" "four polls to what is posted"
run "more of one's own" ip link set rt0 type keepon depth 40 batch 14
run "delete" ip link del rt0
# 1222 bytes are in one slot, whatever it is trimmed by
run "a frame of all but a slot" upper frame_bytes 1225
is "$(cat /sys/class/net/rt0/mtu) $(counter rt0 frame_slots_max)" "1203 2" "takes two"
run "delete" ip link del rt0
run "no frame longer than a slot" upper frame_bytes 0
like "$_output" "mtu 1200 is below 1280, .*; frame_bytes 1302 or more have room for it" "the warning says what is missing"
is "$(counter rt0 frame_slots_max)" 1 "no frame needs several slots"
refuse "none will" ip link set rt0 mtu 1205
run "delete" ip link del rt0

run "all options" ip link add link sim0 name rt0 type keepon slot_bytes 605 batch 4 ring 128 depth 100 partition 250 \
	class 7 slots 0-240/10 late strict round up class 0 slots rest late reschedule class 3-4 slots 3,5,21-30 round floor \
	prebuffer 64 frame_bytes 1400 tolerance_ns 100 drift_ppb 150000 wander_ppb 500 trim_down 8 trim_up 4 dither off clock counter \
	poll_overhead_ns 1000 txtime tai
wanted=$(options rt0)
like "$wanted" "class 3-4 slots 3,5,21-30 late strict round floor class 7 slots 0-240/10 late strict round up" "lists read back"
like "$wanted" "prebuffer 64 .* trim_down 8 trim_up 4 frame_bytes 1400 tolerance_ns 100 horizon_ns 10000000000 drift_ppb 150000 wander_ppb 500 .* clock counter" "numbers read back"
run "delete" ip link del rt0
# shellcheck disable=SC2086
run "what is printed is accepted" ip link add link sim0 name rt0 type keepon $wanted
is "$(options rt0)" "$wanted" "and comes back the same"
like "$(ip -j -d link show rt0)" '"class":\[3,4\],"slots":"3,5,21-30"' "JSON"

run "up" ip link set rt0 up
is "$(counter rt0 starts)" 1 "the wire runs"
# what is the card's is set on the card
for words in "-L rt0 combined 1" "-G rt0 tx 64" "-C rt0 tx-usecs 10" "-A rt0 tx off" "-s rt0 speed 10 duplex half autoneg off" \
	"--set-eee rt0 eee off" "-r rt0" "-X rt0 equal 1"; do
	# shellcheck disable=SC2086 # words
	rejected "ethtool $words" "[Nn]ot supported" ethtool $words
	is "$(echo "$_said" | grep -c .)" 1 "in one line"
done
# frames are handed over whole, and what the stack makes of them before is its own
features() {
	ethtool -k rt0 | sed 's/ *\[.*//' | grep -v 'generic-\|gro\|gso'
}
before=$(features)
rejected "ethtool -K rt0 tx on sg on tso on" "Could not change any device features" ethtool -K rt0 tx on sg on tso on
run "ethtool -K of the stack's own" ethtool -K rt0 gro off
like "$(ethtool -k rt0)" "generic-receive-offload: off" "it is off"
is "$(features)" "$before" "no other feature is"
is "$(counter rt0 starts)" 1 "and nothing has changed"
run "batch changed while up" ip link set rt0 type keepon batch 10
run "one class changed while up" ip link set rt0 type keepon class 3 late relaxed
like "$(options rt0)" "batch 10 .* class 3 slots 3,5,21-30 late relaxed round floor class 4 slots 3,5,21-30 late strict" "only that"
is "$(counter rt0 starts)" 3 "the wire ran on by each"
before=$(options rt0)
rejected "a wrong change while up" "ring_slots 7" ip link set rt0 type keepon ring 7
rejected "paper mode with another period" "repeats with the ring" ip link set rt0 type keepon mode paper
is "$(options rt0)" "$before" "changed nothing"
is "$(counter rt0 starts)" 3 "and did not stop the wire"
run "poll thread" ip link set rt0 type keepon poll thread poll_cpu 0 poll_fifo 50
like "$(ps)" "keepon/rt0" "there it is"
sleep 0.1
run "and the timer again" ip link set rt0 type keepon poll hrtimer
is "$(ps | grep -c '[k]eepon/rt0')" 0 "the thread is gone"
run "delete while up" ip link del rt0

run "paper mode" ip link add link sim0 name rt0 type keepon mode paper ring 32 partition 32 class 0 slots 0 class 1 slots 1,17
like "$(options rt0)" "mode paper .* batch 8 depth 8 .* class 1 slots 1,17 late strict round floor .* clock counter" "as published"
run "up" ip link set rt0 up
sleep 0.2
[ "$(counter rt0 slots_completed)" -gt 10000 ] && ok "it runs" || not_ok "it runs"
ip link del rt0

# Whatever the link rate and the slots, what is chosen by default is not refused, and polls are no closer than 5 us.
for rate in 10000000 100000000 1000000000 2500000000 5000000000 10000000000 25000000000 40000000000 50000000000 100000000000; do
	echo "nic near rate_bps=$rate" >$control
	echo "nic away rate_bps=$rate" >$control
	echo "link near away" >$control
	ip link set near up
	ip link set away up
	for chosen in "" "slot_bytes 100" "mode paper" "mode paper slot_bytes 300" "poll_overhead_ns 4000"; do
		# shellcheck disable=SC2086
		said=$(ip link add link near name rt0 type keepon $chosen 2>&1) || { not_ok "$rate bit/s, $chosen: $said"; continue; }
		# Faster wires cost the guest more than they show: that they are accepted is enough.
		[ $rate -gt 1000000000 ] || ip link set rt0 up
		if [ $rate -gt 1000000000 ] || wait_until 3 is_running rt0; then
			ok "defaults at $rate bit/s, $chosen"
		else
			not_ok "$rate bit/s, $chosen: does not run"
		fi
		ip link del rt0
	done
	echo "delete near" >$control
	echo "delete away" >$control
done

# Modules go in any order; what uses a ring holds its driver.
upper
rmmod keepon_hwsim 2>/dev/null && not_ok "a driver whose ring is used" || ok "a driver whose ring is used stays"
ip link set rt0 down
run "an unused driver goes" rmmod keepon_hwsim
is "$(ip link show type keepon)" "" "and its links with it"
run "keepon goes" rmmod keepon
ip netns del b
wire
upper
run "keepon goes first, with a link that is up" rmmod keepon
run "then the driver" rmmod keepon_hwsim
done_testing
