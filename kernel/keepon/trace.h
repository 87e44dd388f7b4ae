/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints (/sys/kernel/tracing/events/keepon), for `perf`, `trace-cmd` and `keepon run --target
 * vm`: keepon_outcome, once for every frame that ends, sent or not; keepon_arrival, for every
 * received frame that clock dual stamps.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM keepon

#if !defined(KEEPON_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KEEPON_TRACE_H

#include <linux/netdevice.h>
#include <linux/tracepoint.h>

#include "keepon/clock.h"
#include "keepon/dual.h"
#include "keepon/frame.h"

/**
 * keepon_outcome - a frame has ended
 * @tc: class; @slot: slots sent before it since the wire started, 0 if it was not sent
 * @txtime_ns: as given by the socket, 0: none
 * @start: PHC time of its reference plane, 0 if it was not sent
 */
TRACE_EVENT(keepon_outcome,
	    TP_PROTO(const struct net_device *dev, u8 tc, enum kpn_verdict verdict, u64 slot,
		     s64 txtime_ns, const struct kpn_time *start),
	    TP_ARGS(dev, tc, verdict, slot, txtime_ns, start),
	    TP_STRUCT__entry(__array(char, dev, IFNAMSIZ) __array(char, verdict, 16) __field(u8, tc)
				     __field(u64, slot) __field(s64, txtime_ns)
					     __field(s64, start_ns) __field(u32, start_ps)),
	    TP_fast_assign(strscpy(__entry->dev, dev->name, IFNAMSIZ);
			   strscpy(__entry->verdict, kpn_verdict_name(verdict), 16);
			   __entry->tc = tc;
			   __entry->slot = kpn_verdict_is_sent(verdict) ? slot : 0;
			   __entry->txtime_ns = txtime_ns; __entry->start_ns = start->ns;
			   __entry->start_ps = (u64)start->frac * 1000 >> 32;),
	    TP_printk("dev=%s tc=%u verdict=%s slot=%llu txtime_ns=%lld start_ns=%lld.%03u",
		      __entry->dev, __entry->tc, __entry->verdict, __entry->slot,
		      __entry->txtime_ns, __entry->start_ns, __entry->start_ps));

/**
 * keepon_arrival - a frame was stamped by its place in the receive ring
 * @place: as the driver counts frames, all bits set if it was not found
 * @stamp: PHC time of its reference plane, its greatest error, and whether it is valid
 */
TRACE_EVENT(keepon_arrival,
	    TP_PROTO(const struct net_device *dev, u64 place, const struct kpn_rx_stamp *stamp),
	    TP_ARGS(dev, place, stamp),
	    TP_STRUCT__entry(__array(char, dev, IFNAMSIZ) __field(u64, place) __field(s64, time_ns)
				     __field(u32, time_ps) __field(u64, error_ps)
					     __field(bool, valid)),
	    TP_fast_assign(strscpy(__entry->dev, dev->name, IFNAMSIZ); __entry->place = place;
			   __entry->time_ns = stamp->time.ns;
			   __entry->time_ps = (u64)stamp->time.frac * 1000 >> 32;
			   __entry->error_ps = stamp->error_ps; __entry->valid = stamp->valid;),
	    TP_printk("dev=%s place=%llu valid=%d time_ns=%lld.%03u error_ps=%llu", __entry->dev,
		      __entry->place, __entry->valid, __entry->time_ns, __entry->time_ps,
		      __entry->error_ps));

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
