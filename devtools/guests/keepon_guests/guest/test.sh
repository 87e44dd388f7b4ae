# SPDX-License-Identifier: BSD-3-Clause
# Functions for tests in the guest that print TAP (Test Anything Protocol 13): `. /lib/keepon/test.sh`.
#
#   plan 3                         first line; or done_testing as the last
#   ok "text"    not_ok "text"     a result
#   is GOT WANTED "text"           equal as strings
#   like TEXT PATTERN "text"       matches an extended regular expression
#   run "text" COMMAND ...         succeeds; its output is shown when it does not
#   refuse "text" COMMAND ...      fails with an exit code of its own (not by a signal, not "not found")
#   diag "text"                    comment lines
#   phc DEVICE [NAMESPACE]         number of its PTP hardware clock; nothing without one
#   now_ns                         CLOCK_MONOTONIC in ns, without leaving the shell's integers
#   wait_until SECONDS COMMAND ... polls every 10 ms until the command succeeds; in the host's time for twenty times as long
#   awaited SECONDS COMMAND ...    every 100 ms, for what needs the guest's CPU itself before it is there
#
# The script's exit code is 1 after any `not ok` or a wrong plan, by a trap on EXIT.

_number=0
_failed=0
_planned=

plan() {
	_planned=$1
	echo "TAP version 13"
	echo "1..$1"
}

done_testing() {
	_planned=$_number
	echo "1..$_number"
}

diag() {
	printf '%s\n' "$*" | while IFS= read -r _line; do printf '# %s\n' "$_line"; done
}

ok() {
	_number=$((_number + 1))
	printf 'ok %d - %s\n' "$_number" "$*"
}

not_ok() {
	_number=$((_number + 1))
	_failed=$((_failed + 1))
	printf 'not ok %d - %s\n' "$_number" "$*"
}

is() {
	if [ "$1" = "$2" ]; then
		ok "$3"
	else
		not_ok "$3"
		diag "got:    $1"
		diag "wanted: $2"
	fi
}

like() {
	if printf '%s\n' "$1" | grep -Eq -e "$2"; then
		ok "$3"
	else
		not_ok "$3"
		diag "got:     $1"
		diag "pattern: $2"
	fi
}

run() {
	_text=$1
	shift
	if _output=$("$@" 2>&1); then
		ok "$_text"
	else
		_code=$?
		not_ok "$_text"
		diag "exit code $_code from: $*"
		diag "$_output"
		return 1
	fi
}

refuse() {
	_text=$1
	shift
	_output=$("$@" 2>&1)
	_code=$?
	if [ "$_code" -gt 0 ] && [ "$_code" -lt 126 ]; then
		ok "$_text"
	else
		not_ok "$_text"
		diag "exit code $_code from: $*"
		diag "$_output"
		return 1
	fi
}

phc() {
	# The second words are those of ethtool from 6.13 on where the kernel names the provider of stamps.
	${2:+ip netns exec "$2"} ethtool -T "$1" | sed -n 's/^\(PTP Hardware Clock\|Hardware timestamp provider index\): \([0-9][0-9]*\)$/\2/p'
}

now_ns() {
	# /proc/timer_list has the whole 64 bits of the clock hrtimers use; /proc/uptime only hundredths.
	sed -n 's/^now at \([0-9]*\) nsecs$/\1/p' /proc/timer_list
}

wait_until() {
	_tries=$(($1 * 100))
	# The host may be busy; what never comes is seen all the same.
	[ "$KEEPON_MODE" != smp ] || _tries=$((_tries * 20))
	shift
	until "$@" >/dev/null 2>&1; do
		_tries=$((_tries - 1))
		[ "$_tries" -gt 0 ] || return 1
		sleep 0.01
	done
}

awaited() {
	_tries=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		_tries=$((_tries - 1))
		[ "$_tries" -gt 0 ] || return 1
		sleep 0.1
	done
}

_finish() {
	_status=$?
	if [ -z "$_planned" ]; then
		diag "no plan: call plan or done_testing"
		exit 1
	fi
	if [ "$_number" -ne "$_planned" ]; then
		diag "planned $_planned tests, ran $_number"
		exit 1
	fi
	[ "$_failed" -eq 0 ] || diag "$_failed of $_number failed"
	[ "$_status" -eq 0 ] && [ "$_failed" -gt 0 ] && exit 1
	exit "$_status"
}
trap _finish EXIT
