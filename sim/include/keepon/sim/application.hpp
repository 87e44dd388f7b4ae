// SPDX-License-Identifier: BSD-3-Clause
// An application: whatever makes frames of its own or gets some, with timers of its own
// (MemberEvent). It sends through the Host it runs on and hears what becomes of its frames; streams,
// loads and PTP are applications. Every flow names the application that makes its frames
// (Flow::source), every address a node listens to names its Receiver.
#pragma once

#include <cstdint>

#include "keepon/sim/core.hpp"
#include "keepon/sim/event_queue.hpp"
#include "keepon/sim/host_cpu.hpp"
#include "keepon/sim/types.hpp"

namespace keepon::sim
{

struct Packet;
struct TxFrame;
class Latency;
class StationClock;

/// Gets frames that end at a node.
class Receiver
{
public:
	/// \p packet has arrived completely at \p node.
	virtual void OnReceive(NodeId node, const Packet &packet) = 0;

protected:
	~Receiver() = default;
};

class Application
{
public:
	virtual ~Application() = default;

	/// At the start of the simulation, when the wires have started.
	virtual void Start() {}
	/// It makes no frame before that time; 0: nobody knows. What is certain by that is done
	/// ahead of time, without an event.
	virtual TimePs QuietUntil() const { return 0; }
	/// Whether OnSubmit() does something.
	virtual bool HearsSubmit() const { return true; }
	/// The driver has frame \p seq of \p flow at \p at, which is now.
	virtual void OnSubmit(FlowId, std::int64_t, TimePs) {}
	/// Where its reference plane and its last bit are on the wire, now or ahead of time.
	virtual void OnWire(FlowId, std::int64_t, TimePs, TimePs) {}
	/// It has ended; its start is valid if the driver tells it. Must not send at once: others
	/// that have ended at this moment have not been reported yet.
	virtual void OnOutcome(const TxFrame &, kpn_verdict) {}
};

/// What a stage of a host is: how long it takes is drawn again each time.
enum class HostStage { kWakeup, kStack, kDriver, kTimer, kRx, kDatapath, kDeliver };
inline constexpr std::size_t kHostStages = 7;

/// What a station offers its applications.
class Host
{
public:
	/// The latency of \p stage for those who name \p purpose. Each purpose has draws of its own,
	/// so that another application leaves those of the others alone.
	virtual Latency &Stage(HostStage stage, const char *purpose) = 0;
	/// Its cores. kWakeup, kTimer and kRx are latencies, after which a task is ready; kStack and
	/// kDriver are what it costs a core. An application has a HostCpu::Thread of its own.
	virtual HostCpu &Cpu() = 0;
	/// The clock its threads sleep by.
	virtual StationClock &SystemClock() = 0;
	/// How far behind it the clock of a guest is now, on which its timers run.
	virtual TimePs GuestBehind() = 0;
	/// Whether that clock is set in the course of the run: what it reads at the start says
	/// nothing of how it will read later.
	virtual bool ClockSettles() const = 0;
	/// Whether a frame may have a txtime; if not, it is sent when it comes.
	virtual bool TakesTxtimes() const = 0;
	/// Whether a frame of \p flow that is dropped when it is handed over says so
	/// (TxFrame::refused), as qdiscs of Linux do.
	virtual bool Refuses(FlowId flow) const = 0;
	/// How long the wire that \p flow leaves by is busy with a frame.
	virtual TimePs WireTime(FlowId flow, std::uint32_t frame_bytes) const = 0;
	/// A fault: by how much the next frame comes late; 0 from then on.
	virtual TimePs TakeLateness() = 0;

	/// A new frame, number \p seq of \p flow, which counts as submitted.
	virtual TxFrame &MakeFrame(FlowId flow, std::int64_t seq) = 0;
	/// Hand it to the qdisc: it goes by its txtime if there is one that does.
	virtual void Send(TxFrame &frame) = 0;
	/// Hand it to the driver, past the qdisc.
	virtual void SendPlain(TxFrame &frame) = 0;
	/// The same at the end of a task; its argument is the frame's index.
	virtual EventHandler &DriverEntry() = 0;

protected:
	~Host() = default;
};

} // namespace keepon::sim
