// SPDX-License-Identifier: BSD-3-Clause
// The cores of a host, for which its threads contend.
//
//   class Talker {
//           HostCpu::Thread thread_{ host.Cpu(), CpuPriority::kFifo };
//           MemberEvent<&Talker::OnStackDone> stack_done_{ *this };
//
//   thread_.Run(due + wakeup.Draw(), stack.Draw(), stack_done_, seq);
//
// A task is ready at a time, needs a core for as long as it costs, and has its handler called after
// that. A stage of a host is then: scheduling latency (until it is ready), its turn on a core, its
// own time. At every instant the cores are with the first of the tasks that are ready, as many as
// there are cores: the higher priority first, within one priority who was ready first. So no core
// is idle while a task waits, a task takes the core of one of lower priority from it, which goes on
// later with what it has left, and equal priorities never interrupt each other. A task may go on on
// another core; changing costs nothing, and there are no time slices.
//
// With 0 cores, the default, nobody contends: every task takes its own time from when it is ready.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "keepon/sim/event_queue.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

/// The highest first. Interrupts and softirqs as Linux has them without threaded interrupts.
enum class CpuPriority : std::uint8_t { kHardIrq, kSoftIrq, kFifo, kNormal };
inline constexpr std::size_t kCpuPriorities = 4;

class HostCpu final
{
public:
	/// Does one thing at a time: a thread of a program, the interrupt of a NIC, its softirq.
	/// Lives until the last event has been handled, and stays where it is.
	class Thread
	{
	public:
		Thread(HostCpu &cpu, CpuPriority priority) : cpu_(cpu), priority_(priority) {}
		Thread(const Thread &) = delete;
		Thread &operator=(const Thread &) = delete;

		/// A task that is ready at \p ready and needs a core for \p cost_ps, 0 or more;
		/// \p done is called when it has had that, never by this call. Tasks of one thread
		/// run one after the other, as they become ready. A \p ready in the past is now;
		/// with 0 cores what has passed since counts as run. Returns when it will have
		/// ended, with 0 cores; else 0, as nobody knows.
		TimePs Run(TimePs ready, TimePs cost_ps, EventHandler &done,
			   std::uint64_t argument = 0);

	private:
		friend class HostCpu;

		struct Step {
			TimePs left_ps;
			EventHandler *done; // NULL: nothing to call
			std::uint64_t argument;
			std::uint64_t order; // of its task among all that became ready
			TimePs ready;
			TimePs cost_ps;
		};

		HostCpu &cpu_;
		CpuPriority priority_;
		std::deque<Step> steps_;    // ready ones; steps of one task have its order
		std::uint64_t order_ = 0;   // of the task it is at, if it is at one
		bool at_task_ = false;      // waiting or on a core
		std::size_t continued_ = 0; // steps added by the `done` that is being called
		TimePs last_ = 0;           // end of the last task, with 0 cores
	};

	/// \param cores  0 to kCoresMax; 0: nobody contends
	HostCpu(EventQueue &events, const TimePs &now, std::uint32_t cores);
	HostCpu(const HostCpu &) = delete;
	HostCpu &operator=(const HostCpu &) = delete;
	~HostCpu() = default;

	static constexpr std::uint32_t kCoresMax = 1024;

	bool Contended() const { return !cores_.empty(); }

	/// The task whose `done` is being called goes on for \p cost_ps and is called then, before
	/// anything else of its thread: a system call goes through stack, qdisc and driver in one
	/// turn. Called several times it does one after the other. When nobody's `done` is being
	/// called this is a task of \p otherwise that is ready now.
	void Continue(Thread &otherwise, TimePs cost_ps, EventHandler &done,
		      std::uint64_t argument = 0)
	{
		Append(otherwise, cost_ps, &done, argument);
	}
	/// The same without a handler. With 0 cores nothing at all.
	void Occupy(Thread &otherwise, TimePs cost_ps) { Append(otherwise, cost_ps, nullptr, 0); }

	/// What cores did for tasks of \p priority so far, tasks under way not counted.
	struct Usage {
		std::int64_t steps = 0;       // that had their time
		std::int64_t busy_ps = 0;     // time they had
		std::int64_t waited_ps = 0;   // from ready to the end, without that
		std::int64_t wait_ps_max = 0; // of one step
		std::int64_t preemptions = 0; // how often a core was taken from one
	};
	const Usage &UsageOf(CpuPriority priority) const
	{
		return usage_[static_cast<std::size_t>(priority)];
	}

private:
	using Step = Thread::Step;

	struct Core {
		Thread *thread = nullptr;
		TimePs ends = kNever;
	};

	/// A task that is not ready yet.
	struct Future {
		Thread *thread;
		Step step;
	};

	static bool Before(const Thread *a, const Thread *b);
	void Append(Thread &otherwise, TimePs cost_ps, EventHandler *done, std::uint64_t argument);
	void Add(Thread &thread, Step step);
	void Compete(Thread &thread);
	void Dispatch();
	void Start(Core &core);
	void Preempt(Core &core);
	void OnReady(TimePs time, std::uint64_t future);
	void OnEnd(TimePs time, std::uint64_t core);

	EventQueue &events_;
	const TimePs &now_;
	std::vector<Core> cores_;
	std::vector<Thread *> waiting_; // first in turn last
	std::vector<Future> futures_;
	std::vector<std::size_t> free_futures_;
	Thread *current_ = nullptr; // whose `done` is being called
	std::uint64_t order_ = 0;
	std::array<Usage, kCpuPriorities> usage_;
	MemberEvent<&HostCpu::OnReady> ready_{ *this };
	MemberEvent<&HostCpu::OnEnd> end_{ *this };
};

} // namespace keepon::sim
