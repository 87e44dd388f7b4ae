// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/ptp_node.hpp"

#include <cmath>
#include <utility>

namespace keepon::sim
{

namespace
{

/// value x ratio, exact to the ps for values up to hours.
std::int64_t Scaled(std::int64_t value_ps, double ratio)
{
	return value_ps + std::llround(static_cast<double>(value_ps) * (ratio - 1.0));
}

} // namespace

PtpNode::PtpNode(PtpTransport &transport, NodeId node, NodeClock &clock, const PtpSpec &spec,
		 std::uint32_t ports)
	: transport_(transport), node_(node), clock_(clock), spec_(spec),
	  peers_(ports, PeerDelay(spec.delay_filter_samples, spec.rate_samples)),
	  domains_(spec.domains.size()), method_(*Registry<ServoKind>::Find(spec.servo.kind))
{
	for (Domain &domain : domains_)
		domain.delays = std::make_unique<MovingMedian>(spec.delay_filter_samples);
}

void PtpNode::SetRole(std::size_t index, NodeId grandmaster, int slave_port,
		      const std::vector<std::uint32_t> &master_ports)
{
	Domain &domain = domains_[index];
	const bool moved = domain.slave_port != slave_port || domain.root != grandmaster;
	domain.grandmaster = grandmaster == node_;
	domain.root = grandmaster;
	domain.slave_port = slave_port;
	domain.masters.clear();
	for (const std::uint32_t port : master_ports)
		domain.masters.push_back({ port });
	if (!moved)
		return;
	domain.have_sync = domain.have_follow_up = domain.any = false;
	domain.pair_known = domain.delay_known = false;
	domain.t3_minus_pair_ps.reset();
	domain.t4_ps.reset();
	domain.delays->Clear();
	domain.clock.valid = false;
	if (index == 0 && servo_)
		servo_->Reset();
}

std::size_t PtpNode::IndexOf(std::uint8_t number) const
{
	std::size_t index = 0;
	while (spec_.domains[index].domain != number)
		index++;
	return index;
}

void PtpNode::OnSyncTimer(std::size_t index)
{
	Domain &domain = domains_[index];
	domain.sequence++;
	for (RelayPort &port : domain.masters) {
		port.sent = false;
		domain.counters.sync_sent++;
		PtpBody sync;
		sync.kind = PtpKind::kSync;
		sync.domain = spec_.domains[index].domain;
		sync.sequence = domain.sequence;
		transport_.SendPtp(node_, port.port, sync);
	}
}

void PtpNode::OnPdelayTimer(std::uint32_t port)
{
	PtpBody request;
	request.kind = PtpKind::kPdelayReq;
	request.sequence = peers_[port].Begin();
	request.requester = node_;
	transport_.SendPtp(node_, port, request);
}

void PtpNode::OnDelayTimer(std::size_t index)
{
	Domain &domain = domains_[index];
	if (domain.grandmaster || domain.slave_port < 0 || !domain.pair_known)
		return;
	domain.t3_minus_pair_ps.reset();
	domain.t4_ps.reset();
	PtpBody request;
	request.kind = PtpKind::kDelayReq;
	request.domain = spec_.domains[index].domain;
	request.sequence = ++domain.request_sequence;
	request.requester = node_;
	transport_.SendPtp(node_, static_cast<std::uint32_t>(domain.slave_port), request);
}

void PtpNode::OnSent(std::uint32_t port, const PtpBody &body, std::int64_t stamp_ps)
{
	switch (body.kind) {
	case PtpKind::kPdelayReq: peers_[port].Sent(body.sequence, stamp_ps); return;
	case PtpKind::kPdelayResp: {
		PtpBody follow_up = body;
		follow_up.kind = PtpKind::kPdelayRespFollowUp;
		follow_up.stamp_ps = stamp_ps;
		transport_.SendPtp(node_, port, follow_up);
		return;
	}
	case PtpKind::kDelayReq: {
		Domain &domain = domains_[IndexOf(body.domain)];
		if (body.sequence == domain.request_sequence) {
			domain.t3_minus_pair_ps = stamp_ps - (domain.t2_ps - domain.t1_ps);
			DelayMeasured(domain);
		}
		return;
	}
	case PtpKind::kSync: {
		const std::size_t index = IndexOf(body.domain);
		Domain &domain = domains_[index];
		for (RelayPort &master : domain.masters) {
			if (master.port != port || body.sequence != domain.sequence)
				continue;
			master.sent = true;
			master.stamp_ps = stamp_ps;
			RelaySent(index, master);
		}
		return;
	}
	case PtpKind::kFollowUp:
	case PtpKind::kDelayResp:
	case PtpKind::kPdelayRespFollowUp: return; // general messages have no stamps
	}
}

/// The follow-up of a Sync that has left: of the grandmaster at once, of a relay when it knows what
/// it got.
void PtpNode::RelaySent(std::size_t index, RelayPort &port)
{
	Domain &domain = domains_[index];
	PtpBody out;
	out.kind = PtpKind::kFollowUp;
	out.domain = spec_.domains[index].domain;
	out.sequence = domain.sequence;
	if (domain.grandmaster) {
		// Domain 0 distributes what the clock reads, any other its free-running counter.
		out.stamp_ps = index == 0 ? clock_.ReadingOfStampPs(port.stamp_ps) : port.stamp_ps;
		out.rate_ratio = index == 0 ? clock_.RateOfStamps() : 1.0;
	} else {
		if (!domain.have_sync || !domain.have_follow_up || domain.slave_port < 0)
			return;
		const PeerDelay &peer = peers_[static_cast<std::size_t>(domain.slave_port)];
		if (!peer.Valid())
			return;
		const PtpBody &in = domain.follow_up;
		const double ratio = in.rate_ratio * peer.RateRatio();
		out.stamp_ps = in.stamp_ps;
		out.rate_ratio = ratio;
		out.correction_ps = in.correction_ps + Scaled(peer.DelayPs(), in.rate_ratio) +
				    Scaled(port.stamp_ps - domain.sync_stamp_ps, ratio);
	}
	port.sent = false;
	transport_.SendPtp(node_, port.port, out);
}

void PtpNode::OnMessage(std::uint32_t port, const PtpBody &body, std::int64_t stamp_ps)
{
	switch (body.kind) {
	case PtpKind::kPdelayReq: {
		PtpBody response = body;
		response.kind = PtpKind::kPdelayResp;
		response.stamp_ps = stamp_ps;
		transport_.SendPtp(node_, port, response);
		return;
	}
	case PtpKind::kPdelayResp:
		peers_[port].Response(body.sequence, body.stamp_ps, stamp_ps);
		return;
	case PtpKind::kPdelayRespFollowUp:
		peers_[port].ResponseFollowUp(body.sequence, body.stamp_ps);
		return;
	case PtpKind::kDelayReq: {
		if (!domains_[IndexOf(body.domain)].grandmaster)
			return;
		PtpBody response = body;
		response.kind = PtpKind::kDelayResp;
		response.stamp_ps = stamp_ps;
		transport_.SendPtp(node_, port, response);
		return;
	}
	case PtpKind::kDelayResp: {
		Domain &domain = domains_[IndexOf(body.domain)];
		if (body.requester == node_ && body.sequence == domain.request_sequence) {
			domain.t4_ps = body.stamp_ps;
			DelayMeasured(domain);
		}
		return;
	}
	case PtpKind::kSync:
	case PtpKind::kFollowUp: break;
	}

	const std::size_t index = IndexOf(body.domain);
	Domain &domain = domains_[index];
	if (domain.grandmaster || static_cast<int>(port) != domain.slave_port)
		return; // sent before its master learnt of the change
	if (body.kind == PtpKind::kFollowUp) {
		if (!domain.have_sync || body.sequence != domain.sync_sequence)
			return;
		domain.follow_up = body;
		domain.have_follow_up = true;
		Complete(index);
		return;
	}
	if (domain.any)
		domain.counters.sync_lost +=
			static_cast<std::uint16_t>(body.sequence - domain.sync_sequence) - 1 +
			(domain.have_sync && !domain.have_follow_up);
	domain.any = true;
	domain.have_sync = true;
	domain.have_follow_up = false;
	domain.sync_sequence = body.sequence;
	domain.sync_stamp_ps = stamp_ps;
	// A relay passes the Sync on at once; what it adds is measured, so its own delay does not
	// matter.
	domain.sequence = body.sequence;
	for (RelayPort &master : domain.masters) {
		master.sent = false;
		domain.counters.sync_sent++;
		PtpBody sync = body;
		transport_.SendPtp(node_, master.port, sync);
	}
}

/// Sync and follow-up are there: relay, and set the clock.
void PtpNode::Complete(std::size_t index)
{
	Domain &domain = domains_[index];
	domain.counters.sync_received++;
	const PtpBody &in = domain.follow_up;
	const std::int64_t stamp_ps = domain.sync_stamp_ps;
	std::int64_t master_ps = in.stamp_ps + in.correction_ps;
	double rate = in.rate_ratio;
	if (spec_.gptp) {
		for (RelayPort &port : domain.masters) {
			if (port.sent)
				RelaySent(index, port);
		}
		const PeerDelay &peer = peers_[static_cast<std::size_t>(domain.slave_port)];
		if (!peer.Valid()) {
			domain.counters.sync_unused++;
			return;
		}
		master_ps += Scaled(peer.DelayPs(), in.rate_ratio);
		rate *= peer.RateRatio();
		domain.delay_ps = peer.DelayPs();
	} else {
		domain.pair_known = true;
		domain.t1_ps = master_ps;
		domain.t2_ps = stamp_ps;
		if (!domain.delay_known) {
			domain.counters.sync_unused++;
			return;
		}
		master_ps += domain.delay_ps;
	}
	if (index == 0)
		Discipline(master_ps, stamp_ps);
	else
		KeepVirtual(domain, master_ps, stamp_ps, rate);
}

/// Half of the way there and back by the two clocks; the Sync used is the last one before the
/// request.
void PtpNode::DelayMeasured(Domain &domain)
{
	if (!domain.t3_minus_pair_ps || !domain.t4_ps)
		return;
	const std::int64_t sum = *domain.t4_ps - *domain.t3_minus_pair_ps;
	domain.t3_minus_pair_ps.reset();
	domain.t4_ps.reset();
	domain.delay_ps = domain.delays->Add(FloorDiv(sum, 2));
	domain.delay_known = true;
}

void PtpNode::Discipline(std::int64_t master_ps, std::int64_t stamp_ps)
{
	const std::int64_t local_ps = clock_.ReadingOfStampPs(stamp_ps);
	const std::int64_t offset_ps = local_ps - master_ps;
	const double rate_before = RateNowPpb();
	reports_.at_ps.push_back(transport_.Now());
	reports_.offset_ps.push_back(offset_ps);
	if (!servo_)
		servo_ = method_.make({ spec_.servo,
					static_cast<double>(spec_.interval_ns) / kNsPerS,
					clock_.PassesForHardware(), rate_before,
					static_cast<double>(clock_.RateLimitPpb()) });
	const ServoOutput output = servo_->Sample(offset_ps, local_ps);
	domains_[0].counters.updates++;
	state_ = output.state;
	if (state_ == ServoState::kUnlocked)
		return;
	const TimePs now = transport_.Now();
	clock_.AdjFine(now, std::llround(output.rate_ppb * 65.536));
	if (clock_.StampsFollow()) {
		for (PeerDelay &peer : peers_)
			peer.RateChanged((RateNowPpb() - rate_before) * 1e-9);
	}
	if (state_ == ServoState::kJump) {
		const std::int64_t delta_ns = -FloorDiv(offset_ps + kPsPerNs / 2, kPsPerNs);
		domains_[0].counters.steps++;
		clock_.Step(now, delta_ns);
		Stepped(delta_ns * kPsPerNs);
	}
	transport_.OnClockSet(node_, state_ == ServoState::kJump);
}

void PtpNode::Stepped(std::int64_t delta_ps)
{
	if (clock_.StampsFollow()) {
		for (PeerDelay &peer : peers_)
			peer.Stepped(delta_ps);
		for (Domain &domain : domains_) {
			domain.t2_ps += delta_ps;
			domain.clock.stamp_ps += delta_ps;
		}
	}
	if (method_.keeps_time_by_steps)
		return;
	for (Domain &domain : domains_) { // measured while the clock ran at a wrong rate
		domain.delays->Clear();
		domain.delay_known = false;
		domain.t3_minus_pair_ps.reset();
	}
}

/// Time and rate of another domain as of its last Sync; the clock itself is left alone.
void PtpNode::KeepVirtual(Domain &domain, std::int64_t master_ps, std::int64_t stamp_ps,
			  double rate)
{
	domain.clock = { true, stamp_ps, master_ps, rate };
	domain.counters.updates++;
}

} // namespace keepon::sim
