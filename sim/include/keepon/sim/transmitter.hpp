// SPDX-License-Identifier: BSD-3-Clause
// The one interface of all transmitters: submit a frame, learn its outcome. The host model sits
// above it and is the same for all; a transmitter knows neither listeners nor applications.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "keepon/sim/core.hpp"
#include "keepon/sim/latency.hpp"
#include "keepon/sim/mac.hpp"
#include "keepon/sim/node_clock.hpp"
#include "keepon/sim/registry.hpp"
#include "keepon/sim/spec.hpp"
#include "keepon/sim/types.hpp"
#include "keepon/sim/wire_pause.hpp"

namespace keepon::sim
{

/// A frame owned by its station. `frame` is what a driver gets; txtime_ns is network time, valid
/// with KPN_FRAME_TXTIME; its start is valid with an outcome, if the driver tells it.
struct TxFrame {
	kpn_frame frame{};
	FlowId flow = 0;
	std::int64_t seq = 0;
	std::uint32_t index = 0; // in the pool
	TimePs launch_ps =
		kNever;        // when its NIC is to send it, by true time; kNever: no launch time
	bool assisted = false; // its sender knows of no time, taprio gave it the one it has
	bool refused = false;  // a qdisc dropped it when it came, and its sender knows
};

/// A frame as it goes onto the wire. Times are true time; data as latched, frame_bytes - 4 long,
/// with a good FCS. `torn`, that the bytes changed under way to it, is known to nobody who receives
/// it: for accounting only.
struct WireFrame {
	const std::uint8_t *data;
	std::uint32_t frame_bytes;
	TimePs sfd_ps;
	TimePs complete_ps;
	bool torn;
};

/// \p frame as \p mac sends it, whole.
inline WireFrame OnTheWire(const TxFrame &frame, const Transmission &sent, Mac &mac)
{
	return { static_cast<const std::uint8_t *>(frame.frame.data), frame.frame.frame_bytes,
		 mac.TrueOf(sent.Sfd()), mac.TrueOf(sent.LastBit()), false };
}

/// What a transmitter reports. on_wire may come before the time it speaks of; both must not call
/// back.
class TransmitterSink
{
public:
	/// \param at  now, or later if nobody hears of it (Transmitter::OnlyTxtimes())
	virtual void OnOutcome(TxFrame &frame, kpn_verdict verdict, TimePs at) = 0;
	virtual void OnWire(const WireFrame &frame) = 0;
	/// Time of day of the station was disturbed (underrun, slip): synchronisation is needed.
	virtual void OnDisturbed() = 0;

protected:
	~TransmitterSink() = default;
};

/// What faults do to a driver that polls, and to the time it counts.
class PolledDriver
{
public:
	/// No poll before \p until.
	virtual void StallPolls(TimePs until) = 0;
	/// Rate of its clock from now on, in ppb of nominal.
	virtual void SetRate(std::int64_t ppb) = 0;

protected:
	~PolledDriver() = default;
};

class HostCpu;
class StationClock;
struct SyncKind;
struct World;

using Counters = std::vector<std::pair<std::string, std::int64_t>>;

class Transmitter
{
public:
	virtual ~Transmitter() = default;

	/// Before the start of the simulation: the wire will be paused.
	virtual void AddPause(const WirePause &pause) = 0;
	/// At the start of the simulation.
	virtual void Start() = 0;
	/// Once it is known what is at the other end of the link: a station's transmitter, or NULL.
	/// Throws ValueError if it needs another one.
	virtual void OnLinked(Transmitter *, TimePs) {}
	/// Nothing after \p until will be asked for before the next call.
	virtual void Foresee(TimePs) {}

	/// All its frames will have txtimes, and nobody hears of their end: what it does with them
	/// can be done ahead of time, until Transmitter::Foresee().
	virtual void OnlyTxtimes() {}

	/// \return KPN_VERDICT_PENDING if the frame is kept until OnOutcome(), else its verdict
	virtual kpn_verdict Submit(TxFrame &frame) = 0;
	/// Whether its ring takes \p frame behind \p coming others; if not, Linux stops the queue.
	virtual bool HasRoomFor(const TxFrame & /*frame*/, std::size_t /*coming*/) { return true; }
	/// When places in it come back next, kNever if that is not known ahead.
	virtual TimePs RoomAt() const { return kNever; }
	/// Whether Submit(), with the clock of the simulation put forward to \p at, does now what it
	/// would do then if nothing is submitted in between.
	virtual bool TakesAhead(TimePs) { return false; }

	// The clock, if the kind of transmitter has one (a PHC).
	/// What PTP sets.
	virtual std::unique_ptr<NodeClock> MakePhc() { return nullptr; }
	/// Before the start: PTP's clock is to be \p offset_ns ahead of network time then. False if
	/// it can be set at once, by who asks.
	virtual bool SetStartOffset(std::int64_t) { return false; }
	/// Somebody shifts the time of day.
	virtual void StepClock(std::int64_t) {}

	/// Its driver, if it polls; NULL otherwise.
	virtual PolledDriver *Polled() { return nullptr; }

	/// Longest frame that an application may send at any time.
	virtual std::uint32_t FrameBytesMax() const { return KPN_FRAME_BYTES_MAX; }
	/// Sum of \p count over the latencies of its own polls.
	virtual std::int64_t OfPolls(std::int64_t (Latency::*)() const) const { return 0; }
	/// Frames without a data frame on the wire so far, and everything else worth counting.
	virtual std::int64_t Placeholders() const { return 0; }
	virtual Counters NicCounters() const = 0;
};

/// What a transmitter is made of; all of it outlives the transmitter.
struct TransmitterSetup {
	World &world;
	NodeId node;
	std::uint32_t port;      // of the station
	const std::string &name; // by which it draws
	const StationSpec &spec;
	std::uint64_t rate_bps;
	Oscillator &nic_oscillator;
	Oscillator &cpu_oscillator;
	StationClock &clock; // what applications mean by time
	const SyncKind &sync;
	HostCpu &cpu;
	TransmitterSink &sink;
};

/// A sort of driver and NIC, by the name that stands in `driver`.
struct TransmitterKind {
	/// Throws ValueError.
	std::unique_ptr<Transmitter> (*make)(const TransmitterSetup &setup);
	bool has_phc; // its clock is on the NIC; if not, the system clock is all there is
};

} // namespace keepon::sim
