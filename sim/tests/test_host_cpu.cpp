// SPDX-License-Identifier: BSD-3-Clause
// Cores of a host against a slow model that looks at all tasks again at every instant.
#include "keepon/sim/host_cpu.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <tuple>
#include <vector>

#include "checks.hpp"
#include "keepon/sim/rng.hpp"

namespace keepon::sim::test
{

namespace
{

/// A task: ready at a time, or when another one has ended; its steps follow each other in one turn.
struct Task {
	std::size_t thread = 0;
	TimePs ready = 0;
	std::vector<TimePs> steps_ps;
	std::vector<std::size_t> then; // tasks that are ready when it has ended
	bool first = true;             // ready by its time, not by another's end
};

struct Load {
	std::uint32_t cores = 1;
	std::vector<CpuPriority> threads;
	std::vector<Task> tasks;
};

/// A step that ended: task, number of the step, when.
using Ended = std::tuple<TimePs, std::size_t, std::size_t>;

constexpr TimePs kSpanPs = 1'000'000;

/// Times are of a million, so that hardly any two meet: then nobody has to know who was first.
Load RandomLoad(Rng &rng)
{
	Load load;
	load.cores = 1 + static_cast<std::uint32_t>(rng.Below(4));
	for (std::int64_t i = 1 + rng.Below(8); i > 0; i--)
		load.threads.push_back(static_cast<CpuPriority>(rng.Below(kCpuPriorities)));
	const std::int64_t busy = 1 + rng.Below(6);
	for (std::int64_t i = 1 + rng.Below(40); i > 0; i--) {
		Task task;
		task.thread = static_cast<std::size_t>(
			rng.Below(static_cast<std::int64_t>(load.threads.size())));
		task.ready = rng.Below(kSpanPs);
		for (std::int64_t k = 1 + rng.Below(3); k > 0; k--)
			task.steps_ps.push_back(1 + rng.Below(busy * kSpanPs / 20));
		const std::size_t number = load.tasks.size();
		if (number > 0 && rng.Below(3) == 0) {
			task.first = false;
			load.tasks[static_cast<std::size_t>(
					   rng.Below(static_cast<std::int64_t>(number)))]
				.then.push_back(number);
		}
		load.tasks.push_back(task);
	}
	return load;
}

/// Everything by HostCpu.
class Host
{
public:
	explicit Host(const Load &load) : load_(load), cpu_(events_, now_, load.cores)
	{
		for (const CpuPriority priority : load.threads)
			threads_.emplace_back(cpu_, priority);
	}

	std::vector<Ended> Run()
	{
		for (std::size_t i = 0; i < load_.tasks.size(); i++) {
			if (load_.tasks[i].first)
				Begin(i, load_.tasks[i].ready);
		}
		while (!events_.Empty()) {
			const Event event = events_.Pop();
			now_ = event.time;
			event.handler->Handle(event.time, event.argument);
		}
		return ended_;
	}

	const HostCpu &Cpu() const { return cpu_; }

private:
	void Begin(std::size_t task, TimePs ready)
	{
		threads_[load_.tasks[task].thread].Run(ready, load_.tasks[task].steps_ps[0], done_,
						       task);
	}

	void OnDone(TimePs time, std::uint64_t argument)
	{
		const auto number = static_cast<std::size_t>(argument & 0xffffffff);
		const auto step = static_cast<std::size_t>(argument >> 32);
		const Task &task = load_.tasks[number];
		ended_.emplace_back(time, number, step);
		// All that is left in one go after the first: they are one after the other.
		if (step == 0) {
			for (std::size_t i = 1; i < task.steps_ps.size(); i++)
				cpu_.Continue(threads_[task.thread], task.steps_ps[i], done_,
					      std::uint64_t{ i } << 32 | number);
		}
		if (step + 1 == task.steps_ps.size()) {
			for (const std::size_t next : task.then)
				Begin(next, 0);
		}
	}

	const Load &load_;
	EventQueue events_;
	TimePs now_ = 0;
	HostCpu cpu_;
	std::deque<HostCpu::Thread> threads_;
	std::vector<Ended> ended_;
	MemberEvent<&Host::OnDone> done_{ *this };
};

/// At every instant the cores are with the first of the threads that have something to do.
class SlowHost
{
public:
	explicit SlowHost(const Load &load) : load_(load), waiting_(load.threads.size())
	{
		for (const Task &task : load.tasks)
			left_.push_back(task.steps_ps);
	}

	std::vector<Ended> Run()
	{
		for (std::size_t i = 0; i < load_.tasks.size(); i++) {
			if (load_.tasks[i].first)
				future_.emplace_back(load_.tasks[i].ready, i);
		}
		std::sort(future_.begin(), future_.end());
		for (;;) {
			std::vector<std::size_t> heads;
			for (const auto &queue : waiting_) {
				if (!queue.empty())
					heads.push_back(queue.front());
			}
			std::sort(heads.begin(), heads.end(), [&](std::size_t a, std::size_t b) {
				const auto key = [&](std::size_t task) {
					return std::tuple(load_.threads[load_.tasks[task].thread],
							  order_of_[task]);
				};
				return key(a) < key(b);
			});
			if (heads.size() > load_.cores)
				heads.resize(load_.cores);
			if (heads.empty() && future_.empty())
				return ended_;
			Advance(heads);
		}
	}

	/// Two things happened at once, and the model cannot know which was first.
	bool Tied() const { return tied_; }

private:
	void Ready(std::size_t task)
	{
		order_of_[task] = order_++;
		waiting_[load_.tasks[task].thread].push_back(task);
	}

	void Advance(const std::vector<std::size_t> &running)
	{
		TimePs next = future_.empty() ? kNever : future_.front().first;
		for (const std::size_t task : running)
			next = std::min(next, now_ + left_[task].front());
		for (const std::size_t task : running)
			left_[task].front() -= next - now_;
		now_ = next;
		int at_once = 0;
		for (const std::size_t task : running) {
			if (left_[task].front() > 0)
				continue;
			at_once++;
			left_[task].erase(left_[task].begin());
			const std::size_t all = load_.tasks[task].steps_ps.size();
			ended_.emplace_back(now_, task, all - left_[task].size() - 1);
			if (!left_[task].empty())
				continue;
			waiting_[load_.tasks[task].thread].pop_front();
			for (const std::size_t then : load_.tasks[task].then)
				Ready(then);
		}
		if (!future_.empty() && future_.front().first == now_) {
			at_once++;
			Ready(future_.front().second);
			future_.erase(future_.begin());
		}
		tied_ |= at_once > 1;
	}

	const Load &load_;
	TimePs now_ = 0;
	bool tied_ = false;
	std::uint64_t order_ = 0;
	std::vector<std::uint64_t> order_of_ = std::vector<std::uint64_t>(load_.tasks.size());
	std::vector<std::deque<std::size_t>> waiting_;
	std::vector<std::vector<TimePs>> left_;
	std::vector<std::pair<TimePs, std::size_t>> future_;
	std::vector<Ended> ended_;
};

void TestAgainstModel(Checks &checks)
{
	constexpr int kRuns = 3000;
	Rng rng(1, "host", "cpu");
	int compared = 0;
	std::int64_t preemptions = 0;
	for (int run = 0; run < kRuns; run++) {
		const Load load = RandomLoad(rng);
		SlowHost slow(load);
		const std::vector<Ended> expected = slow.Run();
		if (slow.Tied())
			continue;
		compared++;
		Host host(load);
		EXPECT(host.Run() == expected);
		std::int64_t busy_ps = 0;
		std::int64_t steps = 0;
		for (std::size_t i = 0; i < kCpuPriorities; i++) {
			const HostCpu::Usage &usage =
				host.Cpu().UsageOf(static_cast<CpuPriority>(i));
			busy_ps += usage.busy_ps;
			steps += usage.steps;
			preemptions += usage.preemptions;
			EXPECT(usage.waited_ps >= usage.wait_ps_max);
		}
		std::int64_t needed_ps = 0;
		for (const Task &task : load.tasks) {
			for (const TimePs step : task.steps_ps)
				needed_ps += step;
		}
		EXPECT(busy_ps == needed_ps);
		EXPECT(steps == static_cast<std::int64_t>(expected.size()));
	}
	EXPECT(compared > kRuns * 9 / 10);
	EXPECT(preemptions > kRuns / 2);
}

/// Writes down when it was called and for what.
class Log
{
public:
	void OnDone(TimePs time, std::uint64_t argument) { seen.emplace_back(time, argument); }

	std::vector<std::pair<TimePs, std::uint64_t>> seen;
	MemberEvent<&Log::OnDone> done{ *this };
};

using Seen = std::vector<std::pair<TimePs, std::uint64_t>>;

void RunAll(EventQueue &events, TimePs &now)
{
	while (!events.Empty()) {
		const Event event = events.Pop();
		now = event.time;
		event.handler->Handle(event.time, event.argument);
	}
}

/// 0 cores: every task takes its own time, and what has passed since it was ready counts.
void TestUncontended(Checks &checks)
{
	EventQueue events;
	TimePs now = 100;
	HostCpu cpu(events, now, 0);
	HostCpu::Thread a(cpu, CpuPriority::kNormal);
	HostCpu::Thread b(cpu, CpuPriority::kHardIrq);
	Log log;
	EXPECT(!cpu.Contended());
	a.Run(120, 30, log.done, 1);
	a.Run(110, 10, log.done, 2); // does not overtake
	b.Run(90, 30, log.done, 3);
	b.Run(10, 30, log.done, 4);
	cpu.Continue(a, 5, log.done, 5);
	cpu.Occupy(a, 500);
	RunAll(events, now);
	EXPECT((log.seen == Seen{ { 105, 5 }, { 120, 3 }, { 120, 4 }, { 150, 1 }, { 150, 2 } }));
}

/// Turns of no length are turns; what has no handler takes its time; a late task is ready now.
void TestTurns(Checks &checks)
{
	EventQueue events;
	TimePs now = 100;
	HostCpu cpu(events, now, 1);
	HostCpu::Thread normal(cpu, CpuPriority::kNormal);
	HostCpu::Thread irq(cpu, CpuPriority::kHardIrq);
	Log log;
	cpu.Occupy(normal, 50);
	normal.Run(0, 20, log.done, 1);
	irq.Run(110, 0, log.done, 2);
	irq.Run(120, 7, log.done, 3);
	RunAll(events, now);
	EXPECT((log.seen == Seen{ { 110, 2 }, { 127, 3 }, { 177, 1 } }));
	EXPECT(cpu.UsageOf(CpuPriority::kNormal).preemptions == 2);
	EXPECT(cpu.UsageOf(CpuPriority::kNormal).waited_ps == 7 + 57);
	EXPECT(cpu.UsageOf(CpuPriority::kNormal).wait_ps_max == 57);
	EXPECT(cpu.UsageOf(CpuPriority::kHardIrq).waited_ps == 0);
}

} // namespace

void TestHostCpu(Checks &checks)
{
	TestUncontended(checks);
	TestTurns(checks);
	TestAgainstModel(checks);
}

} // namespace keepon::sim::test
