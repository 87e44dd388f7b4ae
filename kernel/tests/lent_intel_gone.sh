# SPDX-License-Identifier: GPL-2.0-only
# An Intel controller that goes while its ring is lent, under traffic: taken from its driver, below
# a link whose module goes, dead. The link goes with it or says so; every frame has one verdict.
# OURS, THEIRS: PCI addresses; STOCK: the kernel's driver at the far end. OURS has an expansion ROM
# as large as its registers, all ones.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh
PEER=10.0.0.2
STATION=10.0.0.1

modprobe keepon_intel prefetch=4
modprobe keepon
bind_intel && ok "a card" || fail "a card"
far_end

# ---- out of the driver's hands; the link goes with its device
begin_traffic
link_it && ok "a link" || fail "a link"
run "the stream runs" wait_until 5 has_sent 50
echo "$OURS" > "/sys/bus/pci/devices/$OURS/driver/unbind"
is "$(ls /sys/class/net | grep -c rt0)" 0 "unbound: the link is gone"
bind_intel && ok "bound again" || fail "bound again"
link_it && ok "a link" || fail "a link"
run "unbound, bound: the stream runs" wait_until 5 has_sent 50
run "keepon goes" rmmod keepon
is "$(ls /sys/class/net | grep -c rt0)" 0 "keepon unloaded: the link is gone"
run "the card is an ordinary one" ip addr add $STATION/24 dev "$lower"
wait_until 5 is_up "$lower"
is "$(ping -q -c 20 -i 0.01 $PEER | sed -n 's/.* \([0-9]*\) packets received.*/\1/p')" \
	20 "echoes come back over it"
ip addr flush dev "$lower"
run "keepon is back" modprobe keepon
link_it && ok "a link" || fail "a link"
run "keepon loaded again: the stream runs" wait_until 5 has_sent 50

# ---- dead: its registers read as all ones, as its ROM in their place does; it reaches no memory
config=/sys/bus/pci/devices/$OURS/config
registers=$(sed 's/ .*//; q' "/sys/bus/pci/devices/$OURS/resource")
store() { # OFFSET VALUE, 32 bits
	printf "$(printf '\\%03o\\%03o\\%03o\\%03o' $(($2 & 255)) $(($2 >> 8 & 255)) \
		$(($2 >> 16 & 255)) $(($2 >> 24 & 255)))" |
		dd of="$config" bs=4 seek=$(($1 / 4)) conv=notrunc 2> /dev/null
}
word() { # OFFSET
	od -An -tu4 -j "$1" -N 4 "$config" | tr -d ' '
}
command=$(word 4)
store 48 $((registers | 1))
store 16 0x40000000
store 4 $((command & 0x403 & ~1 | 2))
run "dead: no carrier" wait_until 5 is_stopped rt0
begin_ns=$(now_ns)
ip link show > /dev/null
ip link set dev "$lower" promisc on
diag "it takes $((($(now_ns) - begin_ns) / 1000000)) ms until another process may change something"
sleep 1.5
is "$(identity)" 0 "dead: every frame has one verdict"
is "$(counter pending)" 0 "dead: none is pending"
like "$(dmesg)" "does not answer any more" "dead: the log says so"
end_traffic
ip link del rt0
refuse "dead: no other link" link_it
like "$(ip link add link "$lower" name rt1 type keepon 2>&1)" \
	"does not answer any more" "dead: why not"
run "let go" sh -c "echo $OURS > /sys/bus/pci/devices/$OURS/driver/unbind"
store 48 0
store 16 $((registers))
# it still has the rings of before, so a driver resets it before it reaches memory
store 4 $((command & ~4))
begin_traffic
bind_intel && ok "found again: a card" || fail "found again: a card"
link_it && ok "found again: a link" || fail "found again: a link"
run "found again: the stream runs" wait_until 5 has_sent 50
is "$(identity)" 0 "found again: every frame has one verdict"
end_traffic
run "the link goes" ip link del rt0
run "the driver goes" rmmod keepon_intel
dmesg > /out/dmesg.txt
done_testing
