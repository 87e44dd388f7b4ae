# SPDX-License-Identifier: GPL-2.0-only
# ROUNDS random configurations from one process that speaks raw netlink, drawn from SEED. A warning in the log fails the run.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
. /lib/keepon/soak.sh
wire
warm_up=$((ROUNDS / 5))
config_storm sim0 $warm_up $((SEED + 1000000)) || exit 1
memory /tmp/before
run "$ROUNDS random configurations" config_storm sim0 $((ROUNDS - warm_up)) "$SEED"
diag "$_output"
memory /tmp/after
no_leak /tmp/before /tmp/after $((ROUNDS - warm_up))
is "$(ip link show type keepon)" "" "no link is left"
run "keepon unloads" rmmod keepon
run "so does hwsim" rmmod keepon_hwsim
done_testing
