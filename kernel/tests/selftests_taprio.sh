# SPDX-License-Identifier: GPL-2.0-only
# The kernel's tc-testing/tc-tests/qdiscs/taprio.json on a keepon link, each test as tdc.py runs it: its set-up, the command,
# what is shown then, and the end. Where they make a device of netdevsim with eight queues there is a link, which has 16.
. /lib/keepon/test.sh
. /lib/keepon/common.sh
wire 100000000
cd /lib/selftests/tc-testing || exit 1
tests=tc-tests/qdiscs/taprio.json
export TC=tc IP=ip ETH=rt0

# field NAME: of test $number; lists a line each
field() {
	jq -r ".[$number].$1 | if type == \"array\" then .[] else . end" $tests
}
carry_out() {
	case $1 in
	*netdevsim/new_device*) ip link add link sim0 name rt0 type keepon receive all ;;
	*netdevsim/del_device*) ip link del rt0 ;;
	*) bash -c "$1" </dev/null ;;
	esac
}
# left_out ID: by name; the reasons are in docs/kernel-measured.md
left_out() {
	case $1,$(uname -r) in
	0a85,*) ;;     # wants a device of one queue
	831f,6.1.*) ;; # that kernel stalls, whatever the device
	*) return 1 ;;
	esac
}
# one ID: test $number
one() {
	wanted=$(field matchCount)
	[ "$1" != 8471 ] || wanted=10 # of 16 classes: its pattern knows no hexadecimal digits
	field setup >/tmp/lines
	while read -r line; do
		run "$1: set up" carry_out "$line"
	done </tmp/lines
	carry_out "$(field cmdUnderTest)" >/tmp/said 2>&1
	code=$?
	seen=$(carry_out "$(field verifyCmd)" 2>&1 | grep -oE -- "$(field matchPattern)" | wc -l)
	is "$code $((seen))" "$(field expExitCode) $wanted" "$1: $(field name)" || diag "$(cat /tmp/said)"
	field teardown >/tmp/lines
	while read -r line; do
		run "$1: taken down" carry_out "$line"
	done </tmp/lines
}
number=0
passed_over=""
count=$(jq length $tests)
while [ $number -lt "$count" ]; do
	id=$(field id)
	if left_out "$id"; then
		passed_over="$passed_over $id"
	else
		one "$id"
	fi
	number=$((number + 1))
done
case $(uname -r) in
6.1.*) wanted=" 0a85 831f" ;;
*) wanted=" 0a85" ;;
esac
is "$passed_over" "$wanted" "all others have run"
done_testing
