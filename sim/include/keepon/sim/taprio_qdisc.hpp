// SPDX-License-Identifier: BSD-3-Clause
// taprio (Linux net/sched/sch_taprio.c), of which two modes are qdiscs:
//
//   txtime-assist  stack --> taprio gives frames without a time the next place in a window of their
//                  class --> leaf. One with a time must fit a window of its class, or is dropped.
//   software       stack --> leaf --> gates, that a timer of the CPU opens, late --> driver
//
// Lengths are those of the kernel, which knows no FCS, preamble or gap: places that txtime-assist
// gives are closer together than the wire can send.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "keepon/sim/qdisc.hpp"
#include "keepon/sim/qdisc_spec.hpp"

namespace keepon::sim
{

/// Gives times: txtime-assist.
class TaprioAssist final : public Labeller
{
public:
	TaprioAssist(QdiscHost &host, const TaprioSpec &spec)
		: host_(host), spec_(spec), next_ns_(spec.windows.size(), INT64_MIN)
	{
	}
	virtual ~TaprioAssist() = default;

	/// No window is free before the schedule begins.
	void Start();
	/// A time for \p frame, which has none: its place in a window, not before \p least_ns. False:
	/// none is long enough.
	bool Label(TxFrame &frame, std::int64_t least_ns = INT64_MIN);
	/// Whether \p frame, which has a time, fits the window it is in.
	bool Allows(const TxFrame &frame) const;
	/// Label()s it again; it keeps its time if there is no place.
	void GiveTime(TxFrame &frame, std::int64_t least_ns) override { Label(frame, least_ns); }

private:
	/// A window in one of its cycles.
	struct Opening {
		std::size_t window;
		std::int64_t open_ns;
		std::int64_t close_ns;

		Opening After(std::int64_t ns) const
		{
			return { window, open_ns + ns, close_ns + ns };
		}
	};

	std::int64_t DurationNs(const TxFrame &frame) const;
	std::optional<Opening> Find(const TxFrame &frame, std::int64_t least_ns) const;

	QdiscHost &host_;
	TaprioSpec spec_;
	std::vector<std::int64_t> next_ns_; // of each window: nothing before it is free
};

/// Gates by a timer: software mode. Frames that leave a leaf wait here for theirs; those of etf
/// stay in it until they go.
class TaprioGates final : public QdiscBelow, public LeafTaker
{
public:
	static constexpr std::size_t kClasses = 16;
	static constexpr std::size_t kQueueFrames = 1000; // of a child, by txqueuelen
	static constexpr std::size_t kMoreFrames = 8;     // that are taken with a first one

	TaprioGates(QdiscHost &host, QdiscBelow &below, const TaprioSpec &spec);
	virtual ~TaprioGates() = default;

	/// What a class has comes from \p leaf, and goes to \p below.
	void TakeFrom(std::size_t tc, TimedLeaf &leaf, QdiscBelow &below);
	/// The timer of the first window is set.
	void Start();
	/// \return whether \p frame, which comes now, ends: no window is ever open for so long
	bool Refuses(TxFrame &frame);
	void HandOn(TxFrame &frame) override;
	void Serve() override;
	bool Begun() const { return begun_; }
	std::int64_t Waiting() const { return waiting_; }

private:
	struct Source {
		TimedLeaf *leaf = nullptr; // NULL: `ready_`
		QdiscBelow *below = nullptr;
	};
	/// What a class has from the start of a window on.
	struct Open {
		std::int64_t close_ns;  // end of the last window in a row in which it is open
		std::int64_t budget_ps; // what the wire takes until then
	};

	std::int64_t OpenNs(std::size_t window, std::size_t tc) const;
	void OnWindow(TimePs, std::uint64_t start_ns);
	void OnRoom(TimePs, std::uint64_t);
	bool Fits(const TxFrame &frame) const;
	bool IsOpen(const TxFrame &frame);
	bool HasBudget(const TxFrame &frame);
	TxFrame *Head(std::size_t tc);
	TxFrame *TakeOut(std::size_t tc);
	TxFrame *Next();
	void TakeMore(const TxFrame &first);
	bool HasRoom(const TxFrame &frame);
	bool Take();

	QdiscHost &host_;
	QdiscBelow &below_;
	TaprioSpec spec_;
	std::array<std::deque<std::uint32_t>, kClasses> ready_;
	std::array<Source, kClasses> sources_{};
	std::deque<std::uint32_t> taken_; // for the driver (Linux, gso_skb where it had no room)
	std::deque<std::uint32_t> other_; // behind those, of another class (skb_bad_txq)
	std::vector<std::array<std::int64_t, kClasses>> open_ns_; // from each window on, by class
	std::array<Open, kClasses> open_{};
	std::size_t window_ = 0;
	bool begun_ = false;
	bool stopped_ = false; // until OnRoom()
	std::int64_t waiting_ = 0;
	MemberEvent<&TaprioGates::OnWindow> timer_{ *this };
	MemberEvent<&TaprioGates::OnRoom> room_{ *this };
};

} // namespace keepon::sim
