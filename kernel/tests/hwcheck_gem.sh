# SPDX-License-Identifier: GPL-2.0-only
# keepon_hwcheck on the controller of an emulated Versal board, lent by keepon_gem; the host judges
# its records and the wire's log. PREFETCH: that parameter of the driver.
. /lib/keepon/test.sh
. /lib/keepon/lent.sh

run "the driver loads" modprobe keepon_gem prefetch="$PREFETCH"
run "keepon_hwcheck loads" modprobe keepon_hwcheck
bind_gem && ok "a card" || fail "a card"
echo "eth0 native 1230" > /sys/kernel/debug/keepon_hwcheck/run
cat /sys/kernel/debug/keepon_hwcheck/run > /out/records.txt
run "the card is an ordinary one again" is_up eth0
dmesg > /out/dmesg.txt
done_testing
