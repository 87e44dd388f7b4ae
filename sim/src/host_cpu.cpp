// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/host_cpu.hpp"

#include <algorithm>

namespace keepon::sim
{

HostCpu::HostCpu(EventQueue &events, const TimePs &now, std::uint32_t cores)
	: events_(events), now_(now), cores_(cores)
{
}

TimePs HostCpu::Thread::Run(TimePs ready, TimePs cost_ps, EventHandler &done,
			    std::uint64_t argument)
{
	if (!cpu_.Contended()) {
		last_ = std::max({ last_, ready + cost_ps, cpu_.now_ });
		cpu_.events_.Push(last_, done, argument);
		return last_;
	}
	const Step step{ cost_ps, &done, argument, 0, std::max(ready, cpu_.now_), cost_ps };
	if (ready <= cpu_.now_) {
		cpu_.Add(*this, step);
		return 0;
	}
	std::size_t at = cpu_.futures_.size();
	if (cpu_.free_futures_.empty()) {
		cpu_.futures_.push_back({ this, step });
	} else {
		at = cpu_.free_futures_.back();
		cpu_.free_futures_.pop_back();
		cpu_.futures_[at] = { this, step };
	}
	cpu_.events_.Push(ready, cpu_.ready_, at);
	return 0;
}

void HostCpu::Append(Thread &otherwise, TimePs cost_ps, EventHandler *done, std::uint64_t argument)
{
	if (!Contended()) {
		if (done)
			events_.Push(now_ + cost_ps, *done, argument);
		return;
	}
	Step step{ cost_ps, done, argument, order_, now_, cost_ps };
	if (!current_) {
		Add(otherwise, step);
		return;
	}
	step.order = current_->order_;
	current_->steps_.insert(current_->steps_.begin() +
					static_cast<std::ptrdiff_t>(current_->continued_++),
				step);
}

/// \p step is ready now, as a task of its own.
void HostCpu::Add(Thread &thread, Step step)
{
	step.order = order_++;
	thread.steps_.push_back(step);
	if (!thread.at_task_)
		Compete(thread);
	if (!current_) // if not, when its `done` has said whether it goes on
		Dispatch();
}

/// Its first step is a task that waits for a core.
void HostCpu::Compete(Thread &thread)
{
	thread.at_task_ = true;
	thread.order_ = thread.steps_.front().order;
	const auto later = [](const Thread *a, const Thread *b) { return Before(b, a); };
	waiting_.insert(std::lower_bound(waiting_.begin(), waiting_.end(), &thread, later),
			&thread);
}

bool HostCpu::Before(const Thread *a, const Thread *b)
{
	return a->priority_ != b->priority_ ? a->priority_ < b->priority_ : a->order_ < b->order_;
}

/// Cores are with the first of those that are ready.
void HostCpu::Dispatch()
{
	const auto worse = [](const Core &a, const Core &b) {
		return b.thread && (!a.thread || Before(b.thread, a.thread));
	};
	while (!waiting_.empty()) {
		// An idle one, or that of the last in turn.
		Core &core = *std::min_element(cores_.begin(), cores_.end(), worse);
		if (core.thread && !Before(waiting_.back(), core.thread))
			return;
		if (core.thread)
			Preempt(core);
		Start(core);
	}
}

void HostCpu::Preempt(Core &core)
{
	Thread &thread = *core.thread;
	Step &step = thread.steps_.front();
	step.left_ps = core.ends - now_;
	usage_[static_cast<std::size_t>(thread.priority_)].preemptions++;
	core.thread = nullptr;
	Compete(thread);
}

void HostCpu::Start(Core &core)
{
	core.thread = waiting_.back();
	waiting_.pop_back();
	core.ends = now_ + core.thread->steps_.front().left_ps;
	events_.Push(core.ends, end_, static_cast<std::uint64_t>(&core - cores_.data()));
}

void HostCpu::OnReady(TimePs, std::uint64_t future)
{
	const Future taken = futures_[future];
	free_futures_.push_back(future);
	Add(*taken.thread, taken.step);
}

/// An event of a core whose thread was preempted since comes at another time than its present end,
/// or at that very time and will do as well.
void HostCpu::OnEnd(TimePs time, std::uint64_t at)
{
	Core &core = cores_[at];
	if (!core.thread || time != core.ends)
		return;
	Thread &thread = *core.thread;
	const Step step = thread.steps_.front();
	thread.steps_.pop_front();
	Usage &usage = usage_[static_cast<std::size_t>(thread.priority_)];
	const TimePs waited = time - step.ready - step.cost_ps;
	usage.steps++;
	usage.busy_ps += step.cost_ps;
	usage.waited_ps += waited;
	usage.wait_ps_max = std::max(usage.wait_ps_max, waited);

	thread.continued_ = 0;
	if (step.done) {
		current_ = &thread;
		step.done->Handle(time, step.argument);
		current_ = nullptr;
	}
	core.thread = nullptr;
	thread.at_task_ = false;
	if (!thread.steps_.empty())
		Compete(thread);
	Dispatch();
}

} // namespace keepon::sim
