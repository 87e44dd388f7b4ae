# SPDX-License-Identifier: BSD-3-Clause
# In a guest with the modules that dkms has built and programs out of the packages: all load, and a link comes up and sends.
# RELEASE: folder with `ip`, keepon-talk and all they need, if they are not those of the guest's release.
. /lib/keepon/test.sh

of_release() {
	if [ -n "${RELEASE:-}" ]; then
		_program=$1
		shift
		IP_LIB_DIR=$RELEASE "$RELEASE"/ld-linux-*.so.* --library-path "$RELEASE" "$RELEASE/$_program" "$@"
	else
		"$@"
	fi
}
control=/sys/kernel/debug/keepon_hwsim/control

for module in $MODULES; do
	run "$module loads" modprobe "$module"
	is "$(cat "/sys/module/$module/version")" "$VERSION" "and is of the package's version"
done
# What the card sends by itself goes by the link and is counted, too.
echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6
ip netns add b
echo "nic sim0 rate_bps=1000000000 ppb=20000 seed=1" >$control
echo "nic sim1 rate_bps=1000000000 ppb=-30000 seed=2" >$control
echo "link sim0 sim1 propagation_ns=50" >$control
ip link set sim1 netns b
ip link set sim0 up
ip -n b link set sim1 up
run "a link is added, with options of the package's plugin" of_release ip link add link sim0 name rt0 type keepon slot_bytes 1230 partition 2 class 7 slots 0
run "and set up" ip link set rt0 up
run "it comes up" wait_until 5 sh -c 'ip link show rt0 | grep -q "state UP"'
like "$(of_release ip -d link show rt0)" "slot_bytes 1230" "the plugin reads it back"
run "keepon-talk of the package sends" of_release keepon-talk rt0 --count 50 --period 1ms --clock monotonic --no-txtime --json /out/talk.json
is "$(ethtool -S rt0 | sed -n 's/^ *submitted: //p')" 50 "fifty frames were submitted"
ip link del rt0
done_testing
