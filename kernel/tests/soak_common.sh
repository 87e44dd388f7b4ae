# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
# What the soak_*.sh tests share beside /lib/keepon/common.sh: memory before and after.
#
#   memory FILE            settles, then writes what is allocated: a line `CACHE OBJECTS BYTES_EACH OBJECTS_PER_SLAB` per slab cache, and
#                          lines `=NAME KB` for MemAvailable, VmallocUsed and Percpu
#   no_leak BEFORE AFTER N both are files of memory(), N rounds apart: no cache has grown by N / 2 objects or more, and of
#                          MemAvailable less than N / 2 pages are gone
#
# Why N / 2: what leaks one object or one page a round grows by N. What does not, grows by what does not depend on N: after
# drop_caches and shrinking, a cache still counts the free objects of its per-CPU slab, all of one slab at most, and things of the
# kernel that were used for the first time. So N has to be some multiple of that for a small object to be found; one slab,
# NOISE_OBJECTS and NOISE_KB are what stays unjudged however small N is.
NOISE_OBJECTS=${NOISE_OBJECTS:-64}
NOISE_KB=${NOISE_KB:-1024}

memory() {
	# What is freed by RCU or by delayed work has to be gone, then what is cached, then what that has freed. kfree_rcu() collects
	# for 5 s.
	sleep 6
	echo 3 >/proc/sys/vm/drop_caches
	sleep 6
	for _cache in /sys/kernel/slab/*/shrink; do
		echo 1 >"$_cache"
	done
	# Each of these was an open file, and those are freed by RCU, too.
	sleep 6
	echo 1 >/sys/kernel/slab/filp/shrink
	{
		awk 'NR > 2 { print $1, $2, $4, $5 }' /proc/slabinfo
		sed -n 's/^\(MemAvailable\|VmallocUsed\|Percpu\): *\([0-9]*\) kB/=\1 \2/p' /proc/meminfo
	} >"$1"
}

no_leak() {
	_grown=$(awk -v rounds="$3" -v noise="$NOISE_OBJECTS" -v noise_kb="$NOISE_KB" '
		function most(a, b) { return a > b ? a : b }
		NR == FNR { before[$1] = $2; next }
		$1 ~ /^=/ {
			grown = $1 == "=MemAvailable" ? before[$1] - $2 : $2 - before[$1]
			if (grown >= most(rounds * 2, noise_kb)) print $1, before[$1], $2
			next
		}
		$2 - before[$1] >= most(rounds / 2, most(noise, $4)) { print $1, before[$1], $2, $3 }' "$1" "$2")
	is "$_grown" "" "no leak over $3 rounds"
	diag "grown (cache, before, after, bytes each): $(awk '
		NR == FNR { before[$1] = $2; next }
		$2 - before[$1] > 8 || $1 ~ /^=/ { printf "%s %d %d %d; ", $1, before[$1], $2, $3 }' "$1" "$2")"
}
