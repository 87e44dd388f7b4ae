// SPDX-License-Identifier: BSD-3-Clause
// The load "saturate": as much as the transmitter takes.
#include "keepon/sim/load.hpp"
#include "keepon/sim/transmitter.hpp"

namespace keepon::sim
{

namespace
{

/// Keeps window_frames with the transmitter; costs no host anything. A frame that is refused is
/// made again when the wire can have sent one: at once it would be refused again, without end.
class SaturatingLoad final : public Application
{
public:
	explicit SaturatingLoad(const LoadSetup &setup);

	void Start() override { world_.events.Push(start_, refill_); }
	bool HearsSubmit() const override { return false; }
	void OnOutcome(const TxFrame &frame, kpn_verdict verdict) override;

private:
	void OnRefill(TimePs, std::uint64_t);

	World &world_;
	Host &host_;
	FlowId flow_;
	TimePs start_;
	std::uint32_t window_frames_;
	std::uint32_t outstanding_ = 0; // frames not ended
	std::int64_t count_ = 0;        // frames made
	bool refill_pending_ = false;
	MemberEvent<&SaturatingLoad::OnRefill> refill_{ *this };
};

SaturatingLoad::SaturatingLoad(const LoadSetup &setup)
	: world_(setup.world), host_(setup.host), flow_(setup.flow),
	  start_(setup.spec.start_ns * kPsPerNs), window_frames_(setup.spec.window_frames)
{
}

void SaturatingLoad::OnOutcome(const TxFrame &frame, kpn_verdict verdict)
{
	outstanding_--;
	if (refill_pending_)
		return;
	refill_pending_ = true;
	const bool sent = kpn_verdict_is_sent(verdict);
	const TimePs wait = sent ? 0 : host_.WireTime(flow_, frame.frame.frame_bytes);
	world_.events.Push(world_.now + wait, refill_);
}

/// Frames refused at once end here too and would be made again: one window per call at most.
void SaturatingLoad::OnRefill(TimePs, std::uint64_t)
{
	refill_pending_ = false;
	for (std::uint32_t i = 0; i < window_frames_ && outstanding_ < window_frames_; i++) {
		outstanding_++;
		host_.SendPlain(host_.MakeFrame(flow_, count_++));
	}
}

std::unique_ptr<Application> Make(const LoadSetup &setup)
{
	return std::make_unique<SaturatingLoad>(setup);
}

std::string Problem(const LoadSpec &)
{
	return "";
}

const Registry<LoadKind>::Entry kEntry{ "saturate", { Make, Problem } };

} // namespace

} // namespace keepon::sim
