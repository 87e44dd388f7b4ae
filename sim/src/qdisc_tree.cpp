// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/qdisc_tree.hpp"

#include "keepon/sim/leaf_kind.hpp"

namespace keepon::sim
{

void QdiscTree::Outlet::HandOn(TxFrame &frame)
{
	if (!keeps_txtime_)
		frame.frame.flags &= static_cast<u8>(~KPN_FRAME_TXTIME);
	below_.HandOn(frame);
}

QdiscTree::QdiscTree(QdiscHost &host, QdiscBelow &driver, const QdiscSpec &spec)
	: host_(host), queue_of_class_(spec.queue_of_class)
{
	QdiscBelow *below = &driver;
	if (spec.taprio && spec.taprio->txtime_assist) {
		assist_ = std::make_unique<TaprioAssist>(host, *spec.taprio);
	} else if (spec.taprio && !spec.taprio->offload) {
		gates_ = std::make_unique<TaprioGates>(host, driver, *spec.taprio);
		windows_ = std::make_unique<TaprioAssist>(host, *spec.taprio);
		below = gates_.get();
	}
	for (const LeafSpec &leaf : spec.leaves) {
		const bool timed = leaf.kind == "etf";
		Outlet &outlet = outlets_.emplace_back(timed ? driver : *below, leaf.keeps_txtime);
		const LeafKind &kind = *Registry<LeafKind>::Find(leaf.kind);
		leaves_.push_back(kind.make({ host, outlet, leaf, assist_.get(), gates_.get() }));
	}
	for (const std::uint32_t queue : queue_of_class_) {
		if (queue >= leaves_.size())
			throw ValueError("qdisc: a class has queue " + std::to_string(queue) +
					 ", and there are " + std::to_string(leaves_.size()));
	}
	for (std::size_t tc = 0; gates_ && tc < queue_of_class_.size(); tc++) {
		const std::uint32_t queue = queue_of_class_[tc];
		if (TimedLeaf *const leaf = leaves_[queue]->Timed())
			gates_->TakeFrom(tc, *leaf, outlets_[queue]);
	}
}

void QdiscTree::Start()
{
	if (assist_)
		assist_->Start();
	if (gates_)
		gates_->Start();
}

void QdiscTree::Serve()
{
	for (const auto &leaf : leaves_)
		leaf->Serve();
}

void QdiscTree::Enqueue(TxFrame &frame)
{
	const std::uint32_t queue = queue_of_class_[frame.frame.tc];
	const bool timed = frame.frame.flags & KPN_FRAME_TXTIME;
	if (gates_ && gates_->Refuses(frame))
		return;
	if (timed && (assist_ || windows_)) { // whatever the class has
		const bool begun = !gates_ || gates_->Begun();
		if (!begun || !(assist_ ? assist_ : windows_)->Allows(frame)) {
			outside_window_++;
			host_.Drop(frame, KPN_VERDICT_NOT_ALLOWED);
			if (gates_)
				gates_->Serve();
			return;
		}
	} else if (assist_) {
		if (!assist_->Label(frame)) {
			without_window_++;
			host_.Drop(frame, KPN_VERDICT_NOT_ALLOWED);
			return;
		}
		assisted_++;
	}
	leaves_[queue]->Enqueue(frame);
}

Counters QdiscTree::Counted() const
{
	Counters counters;
	if (assist_) {
		counters.emplace_back("taprio_assisted", assisted_);
		counters.emplace_back("taprio_without_window", without_window_);
		counters.emplace_back("taprio_outside_window", outside_window_);
	}
	if (gates_) {
		counters.emplace_back("taprio_waiting", gates_->Waiting());
		counters.emplace_back("taprio_outside_window", outside_window_);
	}
	for (const auto &leaf : leaves_) {
		Counters own;
		leaf->AddCounters(own);
		for (const auto &[name, value] : own) {
			auto found = counters.begin();
			while (found != counters.end() && found->first != name)
				++found;
			if (found == counters.end())
				counters.emplace_back(name, value);
			else
				found->second += value;
		}
	}
	return counters;
}

} // namespace keepon::sim
