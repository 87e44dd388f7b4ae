// SPDX-License-Identifier: BSD-3-Clause
// The qdiscs of a station's interface: classes, a leaf for each transmit queue, gates.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "keepon/sim/qdisc.hpp"
#include "keepon/sim/qdisc_spec.hpp"
#include "keepon/sim/taprio_qdisc.hpp"

namespace keepon::sim
{

class QdiscTree final
{
public:
	/// \param driver  what is below all of them. Throws ValueError.
	QdiscTree(QdiscHost &host, QdiscBelow &driver, const QdiscSpec &spec);

	void Start();
	/// The driver is free again.
	void Serve();
	/// A frame of class frame.tc comes from the stack.
	void Enqueue(TxFrame &frame);
	Counters Counted() const;

private:
	/// Between a leaf and what is below it: whether the driver gets txtimes.
	class Outlet final : public QdiscBelow
	{
	public:
		Outlet(QdiscBelow &below, bool keeps_txtime)
			: below_(below), keeps_txtime_(keeps_txtime)
		{
		}
		virtual ~Outlet() = default;
		void HandOn(TxFrame &frame) override;

	private:
		QdiscBelow &below_;
		bool keeps_txtime_;
	};
	QdiscHost &host_;
	std::vector<std::uint32_t> queue_of_class_;
	std::unique_ptr<TaprioAssist> assist_;
	std::unique_ptr<TaprioGates> gates_;
	std::unique_ptr<TaprioAssist> windows_; // of gates: which txtimes are within them
	std::deque<Outlet> outlets_;
	std::vector<std::unique_ptr<Qdisc>> leaves_;
	std::int64_t assisted_ = 0;
	std::int64_t without_window_ = 0;
	std::int64_t outside_window_ = 0;
};

} // namespace keepon::sim
