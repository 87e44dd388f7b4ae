// SPDX-License-Identifier: BSD-3-Clause
#include "keepon/sim/keepon_transmitter.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace keepon::sim
{

namespace
{

/// The PHC is set once the wire runs evenly.
constexpr TimePs kFirstSyncPs = 1'000'000'000;
constexpr std::uint32_t kIndexModulus = 65536; // as the consumer index of Broadcom GENET
constexpr std::uint32_t kHistoryRuns = 256;
/// One fragment copied, taken into the FCS and stored. Chosen.
constexpr TimePs kFragmentPs = 50'000;
constexpr std::uint32_t kHistoryRunsProbed = 1u << 15;

std::string ProblemText(const std::string &name, const kpn_problem &problem)
{
	return "station " + name + ": keepon." + problem.field + " = " +
	       std::to_string(problem.value) + ": " + problem.reason + " (allowed " +
	       std::to_string(problem.min) + " to " + std::to_string(problem.max) + ")";
}

/// A25's overhead, the worst usual time from a poll that is due to its doorbell taking effect: the
/// slot on the wire does not count, the index is late, the poll comes late and reads it twice (once
/// before each doorbell), and the bell takes its time. At most half a batch.
std::uint32_t PaperOverheadNs(const StationSpec &spec, const kpn_config &config,
			      std::uint64_t rate_bps)
{
	const double slot_ns =
		kpn_wire_bytes(config.slot_bytes) * 8e9 / static_cast<double>(rate_bps);
	const LatencySpec &poll = spec.host.poll;
	const double late_ns = poll.base_ns + poll.median_ns * std::exp(3 * poll.sigma);
	const double nic_ns = static_cast<double>(
		2 * spec.nic.index_read_ns + spec.nic.index_lag_ns_max + spec.nic.restart_ns_max);
	return static_cast<std::uint32_t>(
		std::min(slot_ns + late_ns + nic_ns, config.batch_slots * slot_ns / 2));
}

} // namespace

struct KeeponTransmitter::Ops {
	static KeeponTransmitter &Self(void *nic) { return *static_cast<KeeponTransmitter *>(nic); }

	static u64 CpuNs(void *nic)
	{
		KeeponTransmitter &self = Self(nic);
		return self.CpuNsAt(self.now_);
	}

	/// The register is sampled somewhere within the bus transaction.
	static u32 ReadIndex(void *nic)
	{
		KeeponTransmitter &self = Self(nic);
		const TimePs end = self.now_ + self.read_ps_;
		self.now_ += self.read_rng_.Below(self.read_ps_ + 1);
		const std::uint64_t index = ring_nic_index(self.nic_, self.NicNow());
		self.now_ = end;
		return static_cast<u32>((index + self.index_offset_slots_) % kIndexModulus);
	}

	static void *Buffer(void *nic, u32 desc_idx)
	{
		KeeponTransmitter &self = Self(nic);
		return ring_nic_buffer(self.nic_, desc_idx, self.NicNow());
	}

	static void Commit(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes,
			   u32 written_bytes)
	{
		KeeponTransmitter &self = Self(nic);
		ring_nic_commit(self.nic_, desc_idx, frame_bytes, data_bytes, written_bytes,
				self.NicNow());
	}

	/// Every store takes its time: the NIC may fetch between any two.
	static void CommitFragments(void *nic, u32 first_idx, const kpn_span *span, u32)
	{
		KeeponTransmitter &self = Self(nic);
		for (u32 i = 0; i < span->fragments; i++) {
			u32 from = 0;
			self.now_ += kFragmentPs;
			ring_nic_commit_fragment(self.nic_,
						 (first_idx + i) % self.config_.ring_slots,
						 kpn_span_fragment(span, i, &from),
						 i + 1 == span->fragments, self.NicNow());
		}
		self.now_ += kFragmentPs;
		ring_nic_seal(self.nic_, first_idx, span->fragments, self.NicNow());
	}

	static void Retire(void *nic, u32 desc_idx, u32 frame_bytes, u32 data_bytes)
	{
		KeeponTransmitter &self = Self(nic);
		ring_nic_retire(self.nic_, desc_idx, frame_bytes, data_bytes, self.NicNow());
	}

	static void SetLength(void *nic, u32 desc_idx, u32 frame_bytes)
	{
		KeeponTransmitter &self = Self(nic);
		ring_nic_set_length(self.nic_, desc_idx, frame_bytes, self.NicNow());
	}

	static void Rearm(void *nic, u32 first_idx, u32 count)
	{
		KeeponTransmitter &self = Self(nic);
		ring_nic_rearm(self.nic_, first_idx, count, self.NicNow());
	}

	static void Doorbell(void *nic, u32, u64 tail_seq)
	{
		KeeponTransmitter &self = Self(nic);
		ring_nic_doorbell(self.nic_, tail_seq, self.NicNow());
	}

	static void Halt(void *nic)
	{
		KeeponTransmitter &self = Self(nic);
		ring_nic_halt(self.nic_, self.NicNow());
	}

	static void RealFrame(void *sink, const ring_nic_frame *frame)
	{
		Self(sink).OnRealFrame(*frame);
	}

	static constexpr kpn_nic_ops kNic{ CpuNs,  ReadIndex, Buffer, Commit,   CommitFragments,
					   Retire, SetLength, Rearm,  Doorbell, Halt };
};

namespace
{

std::unique_ptr<Transmitter> Make(const TransmitterSetup &setup)
{
	return std::make_unique<KeeponTransmitter>(setup);
}

const Registry<TransmitterKind>::Entry kEntry{ "keepon", { Make, true } };

} // namespace

KeeponTransmitter::KeeponTransmitter(const TransmitterSetup &setup)
	: world_(setup.world), name_(setup.name), spec_(setup.spec),
	  nic_oscillator_(setup.nic_oscillator), cpu_oscillator_(setup.cpu_oscillator),
	  clock_(setup.clock), sync_kind_(setup.sync), sink_(setup.sink), cpu_(setup.cpu),
	  poll_irq_(setup.cpu, CpuPriority::kHardIrq),
	  poll_latency_(spec_.host.poll, Rng(world_.seed, name_, "poll")),
	  read_rng_(world_.seed, name_, "index read"), probe_rng_(world_.seed, name_, "probe"),
	  read_ps_(spec_.nic.index_read_ns * kPsPerNs), probe_(spec_.probe),
	  index_offset_slots_(static_cast<std::uint64_t>(spec_.probe.index_offset_slots)),
	  cpu_tick_ns_(static_cast<std::uint64_t>(spec_.cpu_tick_ns))
{
	const StationSpec &spec = spec_;
	MakeConfig(spec, setup.rate_bps,
		   Mix64(world_.seed ^ setup.node ^ std::uint64_t{ setup.port } << 32));
	kpn_problem problem;
	if (kpn_config_validate(&config_, &caps_, &problem, 1))
		throw ValueError(ProblemText(name_, problem));
	byte_time_ps_ = kpn_byte_time_ps(setup.rate_bps);
	slot_ps_ = static_cast<std::uint64_t>(kpn_wire_bytes(config_.slot_bytes)) * byte_time_ps_;

	const std::size_t stride = (spec.nic.frame_bytes_max + 63) / 64 * 64;
	buffers_ = std::make_unique<std::uint8_t[]>(config_.ring_slots * stride);
	ring_nic_params params{};
	params.ring_slots = config_.ring_slots;
	params.nominal_bytes = config_.slot_bytes;
	params.frame_bytes_min =
		std::min<std::uint32_t>(spec.nic.placeholder_bytes_min, KPN_FRAME_BYTES_MIN);
	params.frame_bytes_max = spec.nic.frame_bytes_max;
	params.prefetch_slots = spec.nic.prefetch_slots;
	params.fifo_bytes = spec.nic.fifo_bytes;
	params.byte_time_ps = byte_time_ps_;
	params.fetch_ps = static_cast<std::uint64_t>(spec.nic.fetch_ns * kPsPerNs);
	params.restart_ps_min = static_cast<std::uint64_t>(spec.nic.restart_ns * kPsPerNs);
	params.restart_ps_max = static_cast<std::uint64_t>(spec.nic.restart_ns_max * kPsPerNs);
	params.index_lag_ps_min = static_cast<std::uint64_t>(spec.nic.index_lag_ns_min * kPsPerNs);
	params.index_lag_ps_max = static_cast<std::uint64_t>(spec.nic.index_lag_ns_max * kPsPerNs);
	params.index = spec.nic.index_counts_done ? RING_NIC_INDEX_DONE : RING_NIC_INDEX_FETCH;
	params.persistent = spec.nic.persistent;
	params.coherent = true;
	params.history_runs = spec.probe.boundaries ? kHistoryRunsProbed : kHistoryRuns;
	params.seed = Rng(world_.seed, name_, "nic").Next();
	params.buffers = buffers_.get();
	params.buffer_stride = stride;
	params.sink_frame = Ops::RealFrame;
	params.sink = this;
	if (const char *wrong = ring_nic_problem(&params))
		throw ValueError("station " + name_ + ": nic: " + wrong);
	// A FIFO full of longest frames, a restart and a poll's reads; twice, as CPU and NIC differ
	// by 0.1 % only.
	ahead_ps_ =
		2 * ((params.prefetch_slots + TimePs{ 2 }) *
			     kpn_wire_bytes(params.frame_bytes_max) * byte_time_ps_ +
		     static_cast<TimePs>(params.restart_ps_max + params.fetch_ps) + 4 * read_ps_);
	nic_memory_.resize(ring_nic_bytes(&params) / 8 + 1);
	nic_ = ring_nic_init(nic_memory_.data(), &params);
	pacer_memory_.resize(kpn_pacer_bytes(&config_) / 8 + 1);
	InitPacer();
}

KeeponTransmitter::~KeeponTransmitter() = default;

void KeeponTransmitter::InitPacer()
{
	pacer_ = kpn_pacer_init(pacer_memory_.data(), &config_, &caps_, &Ops::kNic, this,
				clock_.EpochNs());
}

/// A NIC that obeys PAUSE frames says for how long it may stand still by right: as long as one
/// pause after another lasts.
void KeeponTransmitter::AddPause(const WirePause &pause)
{
	TimePs until = 0;
	TimePs since = 0;
	TimePs longest = 0;

	InsertPause(pauses_, pause);
	for (const WirePause &next : pauses_) {
		if (next.at_ps > until)
			since = until = next.at_ps;
		until = std::max(until, next.at_ps + next.idle_ps);
		longest = std::max(longest, until - since);
	}
	const TimePs longest_ns = longest / kPsPerNs + longest / kPsPerNs / 1000 + 1;
	caps_.pause_ns_max = static_cast<u32>(std::min<TimePs>(longest_ns, UINT32_MAX));
	InitPacer(); // it has not been started
}

void KeeponTransmitter::MakeConfig(const StationSpec &spec, std::uint64_t rate_bps,
				   std::uint64_t seed)
{
	const NicSpec &nic = spec.nic;
	const KeeponSpec &k = spec.keepon;
	// NIC and CPU oscillators are different ones: what the NIC keeps in its own time may be
	// longer in the CPU's.
	const auto stretched = [](std::int64_t ns) { return ns + ns / 1000 + (ns > 0); };

	caps_.ring_slots_min = KPN_RING_SLOTS_MIN;
	caps_.ring_slots_max = KPN_RING_SLOTS_MAX;
	caps_.ring_slots_multiple = 1;
	caps_.reserved_slots = nic.reserved_slots;
	caps_.prefetch_slots_max = spec.probe.declared_prefetch_slots.value_or(nic.prefetch_slots);
	caps_.index_modulus = kIndexModulus;
	caps_.restart_ns_min = static_cast<u32>(nic.restart_ns - nic.restart_ns / 1000);
	caps_.restart_ns_max = static_cast<u32>(stretched(nic.restart_ns_max));
	caps_.cpu_tick_ns = static_cast<u32>(cpu_tick_ns_);
	caps_.poll_ns_min = 0; // studies look at polls that leave no time for anything else
	caps_.start_quantum_bytes = 1;
	caps_.placeholder_bytes_min = nic.placeholder_bytes_min;
	caps_.frame_bytes_max = nic.frame_bytes_max;
	caps_.fragments_max = nic.fragments_max;
	caps_.placeholder_kinds = (1u << KPN_PLACEHOLDER_COUNT) - 1;
	caps_.index_counts_done = nic.index_counts_done;
	caps_.has_spare_buffers = true;
	caps_.desc_persistent = nic.persistent;

	kpn_config_defaults(&config_, &caps_, rate_bps, k.slot_bytes.value_or(0));
#define SET(field, ...) config_.field = k.field.value_or(config_.field);
	KPN_CONFIG_FIELDS(SET)
#undef SET
	const std::optional<int> clock = !k.Dual()                      ? k.clock :
					 k.merge == KPN_MERGE_PUBLISHED ? KPN_CLOCK_COUNTER :
									  KPN_CLOCK_INTERPOLATED;
	config_.clock_read = static_cast<u8>(clock.value_or(config_.clock_read));
	config_.budget_frames =
		std::max(config_.budget_frames,
			 std::min<u32>(config_.batch_slots * 2, u32{ KPN_BUDGET_FRAMES_MAX }));
	if (k.frame_bytes_max)
		config_.budget_frames =
			std::max(config_.budget_frames, 2 * u32{ KPN_SPAN_SLOTS_MAX });
	config_.seed = seed;
	allowed_ = k.partition;
	if (config_.mode == KPN_MODE_PAPER) {
		// What the paper fixes (docs/model.md): counter clock, depth = batch, floor, period
		// = ring.
		config_.clock_read = static_cast<u8>(clock.value_or(KPN_CLOCK_COUNTER));
		config_.depth_slots = k.depth_slots.value_or(config_.batch_slots);
		for (kpn_class_config &tc : config_.classes)
			tc.rounding = KPN_ROUND_FLOOR;
		if (allowed_.empty())
			allowed_.assign(std::min<u32>(config_.ring_slots, KPN_RING_SLOTS_MAX),
					0xffff);
		if (!k.poll_overhead_ns)
			config_.poll_overhead_ns = PaperOverheadNs(spec, config_, rate_bps);
	}
	if (!allowed_.empty()) {
		config_.allowed = allowed_.data();
		config_.partition_slots = static_cast<u32>(allowed_.size());
	}
	for (const auto &[tc, values] : k.classes) {
		config_.classes[tc].late = static_cast<u8>(values.late);
		config_.classes[tc].rounding = static_cast<u8>(values.round);
	}

	if (nic.index_counts_done) {
		caps_.index_to_wire_ns_min = static_cast<s32>(-stretched(nic.index_lag_ns_max));
		caps_.index_to_wire_ns_max =
			static_cast<s32>(-(nic.index_lag_ns_min - nic.index_lag_ns_min / 1000));
		return;
	}
	// A fetch index passes slot k at its latch plus lag; its first bit follows the frames
	// fetched before it. The shortest wait is behind shortest slots or right after a restart,
	// the longest behind the longest after one.
	const double byte_ns = 8e9 / static_cast<double>(rate_bps);
	// Behind a frame that takes several slots the others of them are as short as may be, and one
	// longest frame may be on its way.
	const bool spans = config_.frame_bytes_max > SingleBytes();
	const double slot_min = byte_ns * ((spans ? u32{ KPN_FRAME_BYTES_MIN } :
						    config_.slot_bytes - config_.trim_down_bytes) +
					   KPN_WIRE_OVERHEAD_BYTES);
	const double slot_max =
		byte_ns * (config_.slot_bytes + config_.trim_up_bytes + KPN_WIRE_OVERHEAD_BYTES);
	const double fetch = static_cast<double>(nic.fetch_ns);
	const double lag_min = static_cast<double>(nic.index_lag_ns_min);
	const double lag_max = static_cast<double>(nic.index_lag_ns_max);
	const double shortest =
		std::min(nic.prefetch_slots * slot_min, static_cast<double>(nic.restart_ns)) -
		fetch - lag_max;
	const double longest = nic.prefetch_slots * slot_max +
			       (spans ? byte_ns * kpn_wire_bytes(config_.frame_bytes_max) : 0) +
			       static_cast<double>(nic.restart_ns_max) - fetch - lag_min;
	caps_.index_to_wire_ns_min =
		static_cast<s32>(std::floor(shortest - std::abs(shortest) * 1e-3)) - 1;
	caps_.index_to_wire_ns_max =
		static_cast<s32>(std::ceil(longest + std::abs(longest) * 1e-3)) + 1;
}

/// Tell the NIC model of the pauses that slots fetched until then can meet, and not of later ones:
/// their NIC time would have to be computed for the whole time between.
void KeeponTransmitter::Foresee(TimePs until)
{
	const std::size_t before = announced_.size();
	while (announced_.size() < pauses_.size()) {
		const WirePause &pause = pauses_[announced_.size()];
		if (pause.at_ps > std::max(until, paused_until_) + ahead_ps_)
			break;
		announced_.push_back(
			{ static_cast<std::uint64_t>(nic_oscillator_.Local(pause.at_ps)),
			  static_cast<std::uint64_t>(pause.idle_ps) });
		paused_until_ = std::max(paused_until_, pause.at_ps) + ahead_ps_ +
				pause.idle_ps / 1000 * 1003;
	}
	if (announced_.size() > before)
		ring_nic_set_pauses(nic_, announced_.data(), announced_.size());
}

void KeeponTransmitter::Start()
{
	now_ = world_.now;
	kpn_pacer_start(pacer_, Ops::kNic.cpu_ns(this));
	SchedulePoll();
	if (probe_.Spec().head_interval_ns)
		world_.events.Push(world_.now + probe_.Spec().head_interval_ns * kPsPerNs,
				   head_probe_);
	sync_at_ = world_.now + kFirstSyncPs;
	world_.events.Push(sync_at_, sync_);
	if (rx_ring_)
		rx_ring_->Start();
}

void KeeponTransmitter::SchedulePoll()
{
	const std::uint64_t sleep_ns = kpn_pacer_poll_interval_ns(pacer_);
	const std::int64_t wake =
		cpu_oscillator_.Local(now_) + static_cast<std::int64_t>(sleep_ns) * kPsPerNs;
	poll_at_ = cpu_oscillator_.TrueOf(wake) + poll_latency_.Draw();
	poll_irq_.Run(poll_at_, 0, poll_);
}

void KeeponTransmitter::OnPoll(TimePs, std::uint64_t)
{
	if (world_.now < stalled_until_) {
		stalls_++;
		world_.events.Push(stalled_until_, poll_);
		return;
	}
	now_ = std::max(now_, world_.now);
	if (probe_.Spec().boundaries)
		probe_.MeasureBoundaries(nic_, kpn_pacer_clock(pacer_), slot_ps_, State().lock_seq,
					 NicNow(), now_);
	kpn_pacer_poll(pacer_);
	if (dual_)
		kpn_dual_correct(dual_, Ops::CpuNs(this));
	AfterChange();
	ScheduleWake();
	cpu_.Occupy(poll_irq_, now_ - world_.now);
	SchedulePoll();
}

void KeeponTransmitter::AfterChange()
{
	constexpr u32 kHarmless = 1u << KPN_EVENT_STEP | 1u << KPN_EVENT_PARTITION;
	constexpr u32 kStopped = 1u << KPN_EVENT_LOST | 1u << KPN_EVENT_STALLED;
	const u32 events = kpn_pacer_take_events(pacer_);

	TakeEnded();
	if (events & kStopped) { // for good: nobody resets the NIC
		while (kpn_pacer_drain(pacer_))
			TakeEnded();
		TakeEnded();
	}
	if (events & ~kHarmless) {
		sink_.OnDisturbed();
		SyncAgain();
	}
	NoteLaw();
}

void KeeponTransmitter::TakeEnded()
{
	kpn_frame *frame = kpn_pacer_take_ended(pacer_);
	while (frame) {
		kpn_frame *next = frame->next; // the station may use the frame again
		sink_.OnOutcome(*static_cast<TxFrame *>(frame->cookie),
				static_cast<kpn_verdict>(frame->verdict), world_.now);
		frame = next;
	}
}

kpn_verdict KeeponTransmitter::Submit(TxFrame &frame)
{
	now_ = std::max(now_, world_.now); // a poll under way holds the lock
	const kpn_verdict verdict = kpn_pacer_submit(pacer_, &frame.frame);
	AfterChange();
	ScheduleWake();
	cpu_.Occupy(poll_irq_, now_ - world_.now);
	return verdict;
}

/// Between two polls only a setting or reading of its clock calls the pacer.
bool KeeponTransmitter::TakesAhead(TimePs at)
{
	return at < poll_at_ && at < sync_at_ && !sync_kind_.settles && !dual_ && !listener_ &&
	       !probe_.Spec().head_interval_ns;
}

/// Frames are fetched between polls: wake up when the next one starts, so that it is known before
/// it arrives anywhere.
void KeeponTransmitter::ScheduleWake()
{
	std::uint64_t when = 0;
	if (!ring_nic_next_frame(nic_, &when))
		return;
	const TimePs time =
		std::max(nic_oscillator_.TrueOf(static_cast<std::int64_t>(when)), world_.now);
	if (time >= wake_at_)
		return;
	wake_at_ = time;
	world_.events.Push(time, nic_wake_);
}

void KeeponTransmitter::OnNicWake(TimePs time, std::uint64_t)
{
	if (time != wake_at_)
		return;
	wake_at_ = kNever;
	// Inside a poll the NIC model may already be ahead of this event.
	ring_nic_advance(nic_, static_cast<std::uint64_t>(nic_oscillator_.Local(world_.now)));
	ScheduleWake();
}

void KeeponTransmitter::OnRealFrame(const ring_nic_frame &frame)
{
	const Transmission sent{ static_cast<std::int64_t>(frame.start_ps), frame.frame_bytes,
				 byte_time_ps_ };
	const TimePs sfd = nic_oscillator_.TrueOf(sent.Sfd());
	if (listener_)
		listener_->OnPeerFrame(frame.seq, sfd);
	sink_.OnWire({ frame.data, frame.frame_bytes, sfd, nic_oscillator_.TrueOf(sent.LastBit()),
		       frame.torn });
}

std::uint64_t KeeponTransmitter::FramesEnded(TimePs t)
{
	if (t < 0)
		return 0;
	const auto local = static_cast<std::uint64_t>(nic_oscillator_.Local(t));
	ring_nic_advance(nic_, local);
	return ring_nic_completed(nic_, local);
}

std::uint32_t KeeponTransmitter::FrameBytes(std::uint64_t seq) const
{
	ring_nic_slot slot;
	if (!ring_nic_find_slot(nic_, seq, &slot))
		return config_.slot_bytes;
	return slot.frame_bytes;
}

void KeeponTransmitter::OnProbe(TimePs, std::uint64_t)
{
	now_ = std::max(now_, world_.now);
	probe_.SampleHead(nic_, pacer_, Ops::CpuNs(this), NicNow());
	if (probe_.Heads().samples < probe_.Spec().head_samples_max)
		world_.events.Push(
			world_.now + 1 +
				probe_rng_.Below(2 * probe_.Spec().head_interval_ns * kPsPerNs),
			head_probe_);
}

kpn_state KeeponTransmitter::State()
{
	return kpn_pacer_state(pacer_, Ops::CpuNs(this));
}

std::uint32_t KeeponTransmitter::SingleBytes() const
{
	const bool trims = config_.mode != KPN_MODE_PAPER && config_.trim == KPN_TRIM_ANY;
	return config_.slot_bytes - (trims ? config_.trim_down_bytes : 0);
}

std::uint32_t KeeponTransmitter::FrameBytesMax() const
{
	return std::max(config_.frame_bytes_max, SingleBytes());
}

std::int64_t KeeponTransmitter::OfPolls(std::int64_t (Latency::*count)() const) const
{
	return (poll_latency_.*count)() + (rx_ring_ ? (rx_ring_->PollLatency().*count)() : 0);
}

std::int64_t KeeponTransmitter::Placeholders() const
{
	return static_cast<std::int64_t>(ring_nic_read_counters(nic_)->placeholders);
}

Counters KeeponTransmitter::NicCounters() const
{
	const ring_nic_counters &c = *ring_nic_read_counters(nic_);
	const auto number = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
	return { { "placeholders", number(c.placeholders) },
		 { "frames", number(c.frames) },
		 { "frame_bytes", number(c.frame_bytes) },
		 { "idle_ps", number(c.idle_ps) },
		 { "underruns", number(c.underruns) },
		 { "paused_ps", number(c.paused_ps) },
		 { "pauses", number(c.pauses) },
		 { "halts", number(c.halts) },
		 { "torn", number(c.torn) },
		 { "mixed", number(c.mixed) },
		 { "bell_errors", number(c.bell_errors) },
		 { "poll_stalls", stalls_ } };
}

} // namespace keepon::sim
