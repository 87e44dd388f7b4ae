// SPDX-License-Identifier: BSD-3-Clause
// PTP in one node: ports, domains, servo. It turns stamps into messages and settings of its clock;
// how frames travel, how long software takes and how stamps come about is PtpNetwork's and the
// clock's affair.
//
//   gPTP: peer delay on every link, Sync relayed port by port with residence time and rate ratio
//   (IEEE Std 802.1AS-2020 clauses 10 and 11). PTP: Sync to all, Delay_Req and Delay_Resp end to
//   end (IEEE Std 1588-2019 clause 11.3).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/peer_delay.hpp"
#include "keepon/sim/ptp_message.hpp"
#include "keepon/sim/ptp_spec.hpp"
#include "keepon/sim/servo.hpp"

namespace keepon::sim
{

/// What a node asks of the network around it.
class PtpTransport
{
public:
	/// Send \p body from port \p port of \p node; its TX stamp comes back by PtpNode::OnSent().
	virtual void SendPtp(NodeId node, std::uint32_t port, const PtpBody &body) = 0;
	virtual TimePs Now() const = 0;
	/// The clock of \p node was set.
	virtual void OnClockSet(NodeId node, bool stepped) = 0;

protected:
	~PtpTransport() = default;
};

/// A clock that is only computed: time of another domain as an offset and a rate to the node's
/// stamps (a virtual PTP clock, L8).
struct VirtualClock {
	bool valid = false;
	std::int64_t stamp_ps = 0;
	std::int64_t time_ps = 0;
	double rate = 1.0;

	std::int64_t At(std::int64_t stamp) const
	{
		const std::int64_t span = stamp - stamp_ps;
		return time_ps + span +
		       static_cast<std::int64_t>(static_cast<double>(span) * (rate - 1.0));
	}
};

class PtpNode
{
public:
	struct Counters {
		std::int64_t sync_sent = 0;
		std::int64_t sync_received = 0; // complete with their follow-up
		std::int64_t sync_lost = 0;     // sequence numbers that never became complete
		std::int64_t sync_unused = 0;   // complete, but the link delay was not known yet
		std::int64_t steps = 0;
		std::int64_t updates = 0; // samples the servo of domain 0 got
	};

	/// Offsets from the master as the servo of domain 0 got them, which is what PTP software
	/// reports: stamps, their errors included, less the link delay as measured. One per Sync
	/// used.
	struct Reports {
		std::vector<TimePs> at_ps;
		std::vector<std::int64_t> offset_ps;
	};

	PtpNode(PtpTransport &transport, NodeId node, NodeClock &clock, const PtpSpec &spec,
		std::uint32_t ports);

	/// Place of this node in the tree of domain \p index: port towards \p grandmaster (-1: the
	/// node itself, or cut off) and ports away from it. With another grandmaster or port,
	/// measuring begins again.
	void SetRole(std::size_t index, NodeId grandmaster, int slave_port,
		     const std::vector<std::uint32_t> &master_ports);

	void OnSyncTimer(std::size_t index);
	void OnPdelayTimer(std::uint32_t port);
	void OnDelayTimer(std::size_t index);
	void OnSent(std::uint32_t port, const PtpBody &body, std::int64_t stamp_ps);
	void OnMessage(std::uint32_t port, const PtpBody &body, std::int64_t stamp_ps);

	bool IsGrandmaster(std::size_t index) const { return domains_[index].grandmaster; }
	NodeClock &Clock() { return clock_; }
	const Counters &CountersOf(std::size_t index) const { return domains_[index].counters; }
	const VirtualClock &VirtualOf(std::size_t index) const { return domains_[index].clock; }
	const PeerDelay &PeerOf(std::uint32_t port) const { return peers_[port]; }
	std::size_t Ports() const { return peers_.size(); }
	ServoState State() const { return state_; }
	const Reports &Reported() const { return reports_; }
	std::int64_t DelayPs(std::size_t index) const { return domains_[index].delay_ps; }

private:
	struct RelayPort {
		std::uint32_t port;
		bool sent = false;
		std::int64_t stamp_ps = 0;
	};

	struct Domain {
		bool grandmaster = false;
		std::optional<NodeId> root;
		int slave_port = -1;
		std::vector<RelayPort> masters;
		std::uint16_t sequence = 0;
		// The Sync under way, as received.
		bool have_sync = false;
		bool have_follow_up = false;
		bool any = false;
		std::uint16_t sync_sequence = 0;
		std::int64_t sync_stamp_ps = 0;
		PtpBody follow_up;
		// End to end delay.
		bool pair_known = false;
		std::int64_t t1_ps = 0;
		std::int64_t t2_ps = 0;
		std::uint16_t request_sequence = 0;
		std::optional<std::int64_t>
			// t3 and the Sync before it: steps afterwards do not matter
			t3_minus_pair_ps;
		std::optional<std::int64_t> t4_ps;
		bool delay_known = false;
		std::int64_t delay_ps = 0;
		std::unique_ptr<MovingMedian> delays;
		VirtualClock clock;
		Counters counters;
	};

	void Complete(std::size_t index);
	void RelaySent(std::size_t index, RelayPort &port);
	void DelayMeasured(Domain &domain);
	void Discipline(std::int64_t master_ps, std::int64_t stamp_ps);
	void KeepVirtual(Domain &domain, std::int64_t master_ps, std::int64_t stamp_ps,
			 double rate);
	void Stepped(std::int64_t delta_ps);
	std::size_t IndexOf(std::uint8_t domain) const;
	double RateNowPpb() const
	{
		return static_cast<double>(clock_.ScaledPpm()) * 1000.0 / 65536.0;
	}

	PtpTransport &transport_;
	NodeId node_;
	NodeClock &clock_;
	const PtpSpec &spec_;
	std::vector<PeerDelay> peers_;
	std::vector<Domain> domains_;
	const ServoKind &method_;
	std::unique_ptr<Servo> servo_;
	ServoState state_ = ServoState::kUnlocked;
	Reports reports_;
};

} // namespace keepon::sim
