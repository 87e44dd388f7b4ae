# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the ptp_*.sh tests share; after /lib/keepon/common.sh: `. /lib/keepon/ptp.sh`.
#
#   far_phc DEVICE         as phc, of a device in namespace b
#   settings FILE [LINES]  ptp4l's configuration: gPTP, and these lines

far_phc() {
	phc "$1" b
}

# linuxptp's gPTP.cfg with these differences. Servo: gentler than its default and fed more often, since receive stamps of a
# keepon link are software's; damping 0.6 / (2 sqrt(0.006 * 32)) = 0.68. neighborPropDelayThresh: gPTP takes what these
# stamps are late for the length of the cable. fault_reset_interval: ptp4l forgets its own request when a master appears
# while the answer is under way, takes that for a fault and would wait 16 s.
settings() {
	cat >"$1" <<X
[global]
gmCapable 1
priority1 248
priority2 248
logAnnounceInterval -2
logSyncInterval -5
logMinPdelayReqInterval -3
summary_interval -5
syncReceiptTimeout 3
neighborPropDelayThresh 100000
min_neighbor_prop_delay -20000000
assume_two_step 1
path_trace_enabled 1
follow_up_info 1
transportSpecific 0x1
ptp_dst_mac 01:80:C2:00:00:0E
network_transport L2
delay_mechanism P2P
tx_timestamp_timeout 100
fault_reset_interval ASAP
pi_proportional_const 0.6
pi_integral_const 0.006
$2
X
}
