// SPDX-License-Identifier: BSD-3-Clause
// Queueing disciplines between the stack of a host and its driver, as Linux has them:
//
//   stack --> classes by SO_PRIORITY (mqprio, taprio) --> leaf (etf, guard, fifo) --> driver
//
// Nothing is pulled: a qdisc hands a frame on when Linux's would give it to the driver that asks. A
// frame that ends here is reported as dropped. Options are those of tc, as docs/qdiscs.md has them.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "keepon/sim/event_queue.hpp"
#include "keepon/sim/transmitter.hpp"

namespace keepon::sim
{

class StationClock;

/// What is below a qdisc: the driver, or another stage of a qdisc.
class QdiscBelow
{
public:
	/// \p frame leaves the qdisc now.
	virtual void HandOn(TxFrame &frame) = 0;

protected:
	~QdiscBelow() = default;
};

/// What a station offers its qdiscs.
class QdiscHost
{
public:
	/// What CLOCK_TAI reads, in ns.
	virtual std::int64_t TaiNs() = 0;
	/// A timer of that clock, for \p tai_ns: \p handler is called by its softirq, which is late;
	/// the argument is tai_ns.
	virtual void SetTimer(std::int64_t tai_ns, EventHandler &handler) = 0;
	/// To be called by \p handler first of all.
	virtual void OnTimerTold() = 0;
	virtual TxFrame &FrameAt(std::uint32_t index) = 0;
	/// A core is busy with a frame that was handed on: the next one is taken when it is done,
	/// as one CPU at a time sends for a queue (Linux, qdisc_run()). Then Serve() comes.
	virtual bool Busy() const = 0;
	/// The ring takes \p frame. If not, nobody says when it does: see Later().
	virtual bool HasRoom(const TxFrame &frame) = 0;
	/// \p handler is called when the driver gets places in its ring back; if it does not know
	/// when, as soon as the wire can have sent \p frame.
	virtual void Later(const TxFrame &frame, EventHandler &handler) = 0;
	/// \p frame ends here.
	virtual void Drop(TxFrame &frame, kpn_verdict verdict) = 0;
	virtual std::uint32_t ByteTimePs() const = 0;

protected:
	~QdiscHost() = default;
};

/// A leaf that gates take frames out of, as they may go.
class TimedLeaf
{
public:
	/// Whose turn is next, due or not; NULL: nobody's.
	virtual TxFrame *Head() = 0;
	/// It leaves, if it is due. One whose time has passed ends instead; NULL then, too.
	virtual TxFrame *Take() = 0;

protected:
	~TimedLeaf() = default;
};

/// What takes frames out of leaves.
class LeafTaker
{
public:
	/// There may be something to be taken.
	virtual void Serve() = 0;

protected:
	~LeafTaker() = default;
};

class Qdisc
{
public:
	virtual ~Qdisc() = default;

	virtual void Enqueue(TxFrame &frame) = 0;
	/// The driver is free again.
	virtual void Serve() {}
	/// For a taker above it; NULL: it hands frames on by itself.
	virtual TimedLeaf *Timed() { return nullptr; }
	/// Frames that ended in it.
	virtual std::int64_t Drops() const { return 0; }
	virtual void AddCounters(Counters &) const {}
};

/// Gives a frame another time, not before \p least_ns. Source: Mitsubishi paper section 6.2.2
/// (N27).
class Labeller
{
public:
	virtual void GiveTime(TxFrame &frame, std::int64_t least_ns) = 0;

protected:
	~Labeller() = default;
};

/// How the kernel counts a frame: without FCS.
inline std::int64_t SkbBytes(const TxFrame &frame)
{
	return frame.frame.frame_bytes - KPN_FCS_BYTES;
}

} // namespace keepon::sim
