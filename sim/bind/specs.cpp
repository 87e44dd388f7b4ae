// SPDX-License-Identifier: BSD-3-Clause
#include "specs.hpp"

#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdio>
#include <cstring>
#include <type_traits>

#include "keepon/sim/core.hpp"
#include "keepon/sim/host_cpu.hpp"

namespace keepon::sim::bind
{

namespace nb = nanobind;

std::string WordOf(std::uint64_t number, std::string words)
{
	const char *word = std::strtok(words.data(), "|");
	while (number--)
		word = std::strtok(nullptr, "|");
	return word;
}

namespace
{

constexpr std::int64_t kMax = INT64_MAX;
constexpr std::int64_t kU32Max = UINT32_MAX;
constexpr std::int64_t kWholeMax = INT64_MAX / 4;
constexpr double kLatencyNsMax = 1e10;
constexpr char kLate[] = "strict|relaxed|reschedule"; // enum kpn_late
constexpr char kRounding[] = "up|floor";              // enum kpn_rounding

int NumberOf(const char *key, const std::string &given, std::string words)
{
	const std::string all = words;
	int number = 0;
	for (char *word = std::strtok(words.data(), "|"); word; word = std::strtok(nullptr, "|")) {
		if (given == word)
			return number;
		number++;
	}
	throw ValueError(std::string(key) + " = " + Quoted(given) + " is not one of " + all);
}

void CheckRange(const char *key, std::int64_t value, std::int64_t min, std::int64_t max)
{
	if (value < min || value > max)
		throw ValueError(std::string(key) + " = " + std::to_string(value) +
				 " is not within " + std::to_string(min) + " to " +
				 std::to_string(max));
}

void SetAttributes(nb::handle made, nb::handle values, const std::string &where)
{
	if (!PyDict_Check(values.ptr()))
		throw ValueError(where + " = " + nb::repr(values).c_str() + " is no " +
				 nb::type_name(made.type()).c_str());
	for (const auto &[key, value] : nb::borrow<nb::dict>(values)) {
		if (value.is_none())
			continue;
		try {
			nb::setattr(made, key, value);
		} catch (const nb::python_error &error) {
			if (error.matches(PyExc_TypeError))
				throw ValueError(where + ": " + nb::str(key).c_str() + " = " +
						 nb::repr(value).c_str() + " has another type");
			throw ValueError(where + ": " + nb::str(error.value()).c_str());
		}
	}
}

} // namespace

template <class Spec>
Spec Made(nb::handle value, const std::string &where)
{
	if (nb::isinstance<Spec>(value))
		return nb::cast<Spec>(value);
	const nb::object made = nb::cast(Spec());
	SetAttributes(made, value, where);
	return nb::cast<Spec>(made);
}

namespace
{

template <class Type>
struct Bare {
	using type = Type;
};
template <class Type>
struct Bare<std::optional<Type>> {
	using type = Type;
};

/// A specification in Python: its attributes are set by keywords or one by one, each with its type
/// and its range.
template <class Spec>
class SpecClass
{
public:
	SpecClass(nb::module_ &m, const char *name) : class_(m, name)
	{
		class_.def("__init__", [name](Spec *self, const nb::kwargs &values) {
			new (self) Spec(Made<Spec>(values, name));
		});
	}

	/// Whatever its type can have.
	template <class Type, class Of>
	SpecClass &Any(const char *key, Type Of::*member)
	{
		class_.def_rw(key, static_cast<Type Spec::*>(member));
		return *this;
	}

	/// A whole number, or an optional one.
	template <class Type, class Of>
	SpecClass &Whole(const char *key, Type Of::*member, std::int64_t min, std::int64_t max)
	{
		return Put(
			key, [member](const Spec &self) { return self.*member; },
			[=](Spec &self, std::int64_t value) {
				CheckRange(key, value, min, max);
				self.*member = static_cast<typename Bare<Type>::type>(value);
			});
	}

	template <class Type>
	SpecClass &Real(const char *key, Type Spec::*member, double min, double max)
	{
		class_.def_prop_rw(
			key, [member](const Spec &self) { return self.*member; },
			[=](Spec &self, double value) {
				char text[128];
				std::snprintf(text, sizeof(text), "%s = %g is not within %g to %g",
					      key, value, min, max);
				if (!(value >= min && value <= max))
					throw ValueError(text);
				self.*member = value;
			});
		return *this;
	}

	/// A number of C++ that is one of \p words in Python.
	template <class Type, class Of>
	SpecClass &Word(const char *key, Type Of::*member, const char *words)
	{
		return Put(
			key,
			[=](const Spec &self) -> std::optional<std::string> {
				const std::optional<typename Bare<Type>::type> value = self.*member;
				return value ? std::optional(WordOf(*value, words)) : std::nullopt;
			},
			[=](Spec &self, const std::string &value) {
				self.*member = static_cast<typename Bare<Type>::type>(
					NumberOf(key, value, words));
			});
	}

	template <class Type>
	SpecClass &List(const char *key, std::vector<Type> Spec::*member, std::int64_t min,
			std::int64_t max, std::int64_t least, std::int64_t most)
	{
		return Put(
			key, [member](const Spec &self) { return self.*member; },
			[=](Spec &self, const std::vector<std::int64_t> &values) {
				const auto count = static_cast<std::int64_t>(values.size());
				CheckRange((std::string("entries of ") + key).c_str(), count, least,
					   most);
				for (const std::int64_t value : values)
					CheckRange(key, value, min, max);
				self.*member = { values.begin(), values.end() };
			});
	}

	/// Structs of two whole numbers that are tuples in Python.
	template <class Type, class First, class Second>
	SpecClass &Pairs(const char *key, std::vector<Type> Spec::*member, First Type::*first,
			 Second Type::*second, std::pair<std::int64_t, std::int64_t> range,
			 std::pair<std::int64_t, std::int64_t> second_range)
	{
		using Numbers = std::vector<std::pair<std::int64_t, std::int64_t>>;
		return Put(
			key,
			[=](const Spec &self) {
				Numbers numbers;
				for (const Type &entry : self.*member)
					numbers.emplace_back(entry.*first, entry.*second);
				return numbers;
			},
			[=](Spec &self, const Numbers &numbers) {
				(self.*member).clear();
				for (const auto &[one, two] : numbers) {
					CheckRange(key, one, range.first, range.second);
					CheckRange(key, two, second_range.first,
						   second_range.second);
					(self.*member)
						.push_back({ static_cast<First>(one),
							     static_cast<Second>(two) });
				}
			});
	}

	/// Another specification, or an optional one.
	template <class Type>
	SpecClass &Part(const char *key, Type Spec::*member)
	{
		return Put(
			key, [member](Spec &self) -> Type & { return self.*member; },
			[=](Spec &self, nb::handle value) {
				self.*member = Made<typename Bare<Type>::type>(value, key);
			});
	}

	template <class Type>
	SpecClass &Parts(const char *key, std::vector<Type> Spec::*member)
	{
		return Put(
			key, [member](const Spec &self) { return self.*member; },
			[=](Spec &self, nb::list values) {
				std::vector<Type> parts;
				for (const nb::handle value : values)
					parts.push_back(Made<Type>(value, key));
				self.*member = parts;
			});
	}

	/// Nothing is converted: a whole number is no boolean and no text of digits.
	template <class Get, class Set>
	SpecClass &Put(const char *key, Get get, Set set)
	{
		class_.def_prop_rw(key, get, set, nb::for_setter(nb::arg("value").noconvert()));
		return *this;
	}

private:
	nb::class_<Spec> class_;
};

void BindHost(nb::module_ &m)
{
	using L = LatencySpec;
	SpecClass<L>(m, "LatencySpec")
		.Real("base_ns", &L::base_ns, 0, kLatencyNsMax)
		.Real("median_ns", &L::median_ns, 0, kLatencyNsMax)
		.Real("sigma", &L::sigma, 0, 10)
		.Real("tail_probability", &L::tail_probability, 0, 1)
		.Real("tail_mean_ns", &L::tail_mean_ns, 0, kLatencyNsMax)
		.Real("cap_ns", &L::cap_ns, 0, kLatencyNsMax)
		.Real("limit_ns", &L::limit_ns, 0, kLatencyNsMax);
	SpecClass<HostSpec>(m, "HostSpec")
		.Part("wakeup", &HostSpec::wakeup)
		.Part("stack", &HostSpec::stack)
		.Part("driver", &HostSpec::driver)
		.Part("timer", &HostSpec::timer)
		.Part("poll", &HostSpec::poll)
		.Part("rx", &HostSpec::rx)
		.Part("datapath", &HostSpec::datapath)
		.Part("deliver", &HostSpec::deliver);
	SpecClass<GuestSpec>(m, "GuestSpec")
		.Whole("host", &GuestSpec::host, -1, 1'000'000)
		.Whole("clock_error_ns", &GuestSpec::clock_error_ns, 0, kNsPerS)
		.Whole("clock_interval_ns", &GuestSpec::clock_interval_ns, 1, 100 * kNsPerS);
	SpecClass<CpuSpec>(m, "CpuSpec")
		.Whole("cores", &CpuSpec::cores, 0, HostCpu::kCoresMax)
		.Whole("irq_ns", &CpuSpec::irq_ns, 0, kNsPerS)
		.Whole("softirq_ns", &CpuSpec::softirq_ns, 0, kNsPerS);
}

void BindNic(nb::module_ &m)
{
	using N = NicSpec;
	SpecClass<N>(m, "NicSpec")
		.Whole("prefetch_slots", &N::prefetch_slots, 0, 1024)
		.Whole("fifo_bytes", &N::fifo_bytes, 0, 1 << 24)
		.Word("index", &N::index_counts_done, "fetch|done")
		.Whole("index_lag_ns_min", &N::index_lag_ns_min, 0, 1'000'000)
		.Whole("index_lag_ns_max", &N::index_lag_ns_max, -1, 1'000'000)
		.Whole("rx_lag_ns_min", &N::rx_lag_ns_min, 0, 900'000)
		.Whole("rx_lag_ns_max", &N::rx_lag_ns_max, -1, 900'000)
		.Any("persistent", &N::persistent)
		.Whole("index_read_ns", &N::index_read_ns, 0, 100'000)
		.Whole("fetch_ns", &N::fetch_ns, 1, 1'000'000)
		.Whole("fetch_ns_max", &N::fetch_ns_max, -1, 10'000'000)
		.Whole("restart_ns", &N::restart_ns, -1, 1'000'000)
		.Whole("restart_ns_max", &N::restart_ns_max, -1, 1'000'000)
		.Whole("reserved_slots", &N::reserved_slots, 0, 4096)
		.Whole("placeholder_bytes_min", &N::placeholder_bytes_min, 18, 1522)
		.Whole("frame_bytes_max", &N::frame_bytes_max, 64, kFrameBytesMax)
		.Whole("fragments_max", &N::fragments_max, 1, 1024)
		.Whole("ring_slots", &N::ring_slots, 1, 65536)
		.Whole("queue_frames", &N::queue_frames, 0, 1'000'000)
		.Whole("coalesce_ns", &N::coalesce_ns, 0, kNsPerS)
		.Whole("coalesce_frames", &N::coalesce_frames, 1, 65536);
}

/// Ranges of a row's numbers are the core's affair: kpn_config_validate() names field, value and
/// range.
template <class Type>
void PutRow(SpecClass<KeeponSpec> &of, const char *key, std::optional<Type> KeeponSpec::*member,
	    const char *unit)
{
	if constexpr (std::is_same_v<Type, bool>)
		of.Any(key, member);
	else if (std::strchr(unit, '|'))
		of.Word(key, member, unit);
	else
		of.Whole(key, member, 0, sizeof(Type) == 8 ? kMax : kU32Max);
}

void BindKeepon(nb::module_ &m)
{
	using K = KeeponSpec;
	using Words = std::map<int, std::pair<std::string, std::string>>;
	SpecClass<K> keepon(m, "KeeponSpec");
#define PUT(field, type, option, attribute, unit, ...) PutRow(keepon, #field, &K::field, unit);
	KPN_CONFIG_FIELDS(PUT)
#undef PUT
	keepon.Word("clock", &K::clock, "interpolated|counter|dual")
		.Word("merge", &K::merge, "strip|published")
		.Whole("tau_ns", &K::tau_ns, 1, kNsPerS)
		.List("partition", &K::partition, 0, 0xffff, 1, KPN_PARTITION_SLOTS_MAX)
		.Put(
			"classes",
			[](const K &self) {
				Words classes;
				for (const auto &[tc, own] : self.classes)
					classes[tc] = { WordOf(own.late, kLate),
							WordOf(own.round, kRounding) };
				return classes;
			},
			[](K &self, const Words &classes) {
				self.classes.clear();
				for (const auto &[tc, own] : classes) {
					CheckRange("class", tc, 0, KPN_CLASS_COUNT - 1);
					self.classes[tc] = { NumberOf("late", own.first, kLate),
							     NumberOf("round", own.second,
								      kRounding) };
				}
			});
}

void BindQdiscs(nb::module_ &m)
{
	using L = LeafSpec;
	SpecClass<L>(m, "LeafSpec")
		.Any("kind", &L::kind)
		.Any("keeps_txtime", &L::keeps_txtime)
		.Whole("delta_ns", &L::delta_ns, 0, INT32_MAX)
		.Any("deadline_mode", &L::deadline_mode)
		.Any("skip_sock_check", &L::skip_sock_check)
		.Any("reschedule", &L::reschedule)
		.Whole("rate_bps", &L::rate_bps, 0, KPN_RATE_BPS_MAX)
		.Whole("mtu_bytes", &L::mtu_bytes, 64, KPN_GUARD_MTU_BYTES_MAX)
		.Whole("fudge_ns", &L::fudge_ns, 0, KPN_GUARD_FUDGE_NS_MAX)
		.Whole("tolerance_ns", &L::tolerance_ns, 0, KPN_GUARD_FUDGE_NS_MAX)
		.Whole("limit_frames", &L::limit_frames, 1, 65536)
		.Word("late", &L::late_send, "drop|send");
	using T = TaprioSpec;
	SpecClass<T>(m, "TaprioSpec")
		.Whole("base_ns", &T::base_ns, -kWholeMax, kWholeMax)
		.Whole("cycle_ns", &T::cycle_ns, 1, kWholeMax)
		.Pairs("windows", &T::windows, &GateWindow::classes, &GateWindow::ns, { 0, 0xffff },
		       { 1, INT32_MAX })
		.Any("txtime_assist", &T::txtime_assist)
		.Any("offload", &T::offload)
		.Whole("txtime_delay_ns", &T::txtime_delay_ns, 0, INT32_MAX);
	SpecClass<QdiscSpec>(m, "QdiscSpec")
		.List("queues", &QdiscSpec::queue_of_class, 0, 0xffff, KPN_CLASS_COUNT,
		      KPN_CLASS_COUNT)
		.Parts("leaves", &QdiscSpec::leaves)
		.Part("taprio", &QdiscSpec::taprio);
}

void BindNodes(nb::module_ &m)
{
	using P = ProbeSpec;
	SpecClass<P>(m, "ProbeSpec")
		.Any("boundaries", &P::boundaries)
		.Whole("boundary_bound_ps", &P::boundary_bound_ps, 0, kMax)
		.Whole("head_interval_ns", &P::head_interval_ns, 0, kNsPerS)
		.Whole("head_samples_max", &P::head_samples_max, 1, 100'000'000)
		.Whole("declared_prefetch_slots", &P::declared_prefetch_slots, 0, 1024)
		.Whole("index_offset_slots", &P::index_offset_slots, -4096, 4096);
	SpecClass<PortSpec>(m, "PortSpec")
		.Part("nic", &PortSpec::nic)
		.Real("nic_ppm", &PortSpec::nic_ppm, -1000, 1000)
		.Part("keepon", &PortSpec::keepon)
		.Part("qdisc", &PortSpec::qdisc);
	using S = StationSpec;
	SpecClass<S>(m, "StationSpec")
		.Any("driver", &S::driver)
		.Any("release", &S::release)
		.Any("sync", &S::sync)
		.Part("host", &S::host)
		.Part("cpu", &S::cpu)
		.Part("guest", &S::guest)
		.Whole("ingress_latency_ns", &S::ingress_latency_ns, -kNsPerS, kNsPerS)
		.Whole("egress_latency_ns", &S::egress_latency_ns, -kNsPerS, kNsPerS)
		.Whole("occupancy_ns", &S::occupancy_ns, 0, kNsPerS)
		.Whole("etf_delta_ns", &S::etf_delta_ns, 0, kNsPerS)
		.Whole("sync_interval_ns", &S::sync_interval_ns, 100'000, 100 * kNsPerS)
		.Real("nic_ppm", &S::nic_ppm, -1000, 1000)
		.Real("cpu_ppm", &S::cpu_ppm, -1000, 1000)
		.Whole("cpu_tick_ns", &S::cpu_tick_ns, 1, 1000)
		.Real("wander_ppb_per_s", &S::wander_ppb_per_s, 0, 1e6)
		.Real("wander_ppb", &S::wander_ppb, 0, 1e6)
		.Whole("stamp_resolution_ns", &S::stamp_resolution_ns, 1, 1'000'000)
		.Part("nic", &S::nic)
		.Part("keepon", &S::keepon)
		.Part("probe", &S::probe)
		.Part("qdisc", &S::qdisc)
		.Parts("ports", &S::ports);
	using W = SoftwareSpec;
	SpecClass<W>(m, "SoftwareSpec")
		.Whole("cores", &W::cores, 1, HostCpu::kCoresMax)
		.Word("priority", &W::priority, "hardirq|softirq|fifo|normal")
		.Whole("ring_frames", &W::ring_frames, 1, 1'000'000)
		.Part("wait", &W::wait)
		.Whole("poll_ns", &W::poll_ns, 0, kNsPerS)
		.Part("frame", &W::frame)
		.Whole("irq_gap_ns", &W::irq_gap_ns, 0, 100 * kNsPerS)
		.Whole("irq_ns", &W::irq_ns, 0, kNsPerS)
		.Whole("hogs", &W::hogs, 0, HostCpu::kCoresMax)
		.Whole("hog_ns", &W::hog_ns, 1'000, kNsPerS);
	using B = BridgeSpec;
	SpecClass<B>(m, "BridgeSpec")
		.Part("software", &B::software)
		.Whole("processing_ns", &B::processing_ns, 0, kNsPerS)
		.Real("ppm", &B::ppm, -1000, 1000)
		.Real("wander_ppb_per_s", &B::wander_ppb_per_s, 0, 1e6)
		.Real("wander_ppb", &B::wander_ppb, 0, 1e6)
		.Whole("queue_frames", &B::queue_frames, 1, 1'000'000)
		.List("queues", &B::queues, 0, 7, 8, 8)
		.Word("sync", &B::ptp, "none|ptp")
		.Whole("ptp_turnaround_ns", &B::ptp_turnaround_ns, 0, kNsPerS)
		.Whole("stamp_resolution_ns", &B::stamp_resolution_ns, 1, 1'000'000);
}

void BindFlows(nb::module_ &m)
{
	using S = StreamSpec;
	SpecClass<S>(m, "StreamSpec")
		.Any("id", &S::id)
		.Any("talker", &S::talker)
		.Any("listeners", &S::listeners)
		.Any("routes", &S::routes)
		.Whole("period_ns", &S::period_ns, 1, 1000 * kNsPerS)
		.Whole("offset_ns", &S::offset_ns, 0, kMax)
		.List("turns_ns", &S::turns_ns, 0, kMax, 0, 128)
		.Whole("cycle_ns", &S::cycle_ns, 0, 1000 * kNsPerS)
		.Whole("start_ns", &S::start_ns, 0, 1'000'000 * kNsPerS)
		.Whole("frame_bytes", &S::frame_bytes, 64, kFrameBytesMax)
		.Whole("tc", &S::tc, 0, KPN_CLASS_COUNT - 1)
		.Whole("queue", &S::queue, 0, 7)
		.Whole("advance_ns", &S::advance_ns, 0, 1000 * kNsPerS);
	using L = LoadSpec;
	SpecClass<L>(m, "LoadSpec")
		.Any("id", &L::id)
		.Any("talker", &L::talker)
		.Any("listener", &L::listener)
		.Any("route", &L::route)
		.Any("kind", &L::kind)
		.Any("congestion", &L::congestion)
		.Whole("rate_bps", &L::rate_bps, 0, 100'000'000'000)
		.Whole("frame_bytes", &L::frame_bytes, 64, kFrameBytesMax)
		.Whole("window_frames", &L::window_frames, 1, 65536)
		.Whole("start_ns", &L::start_ns, 0, 1'000'000 * kNsPerS)
		.Whole("tc", &L::tc, 0, KPN_CLASS_COUNT - 1)
		.Whole("queue", &L::queue, 0, 7);
}

void BindPsfp(nb::module_ &m)
{
	using E = StreamGateEntry;
	SpecClass<E>(m, "StreamGateEntry")
		.Any("open", &E::open)
		.Whole("ns", &E::ns, 1, 100 * kNsPerS)
		.Whole("priority", &E::priority, -1, 7)
		.Whole("octets", &E::octets, -1, kU32Max);
	using G = StreamGateSpec;
	SpecClass<G>(m, "StreamGateSpec")
		.Any("name", &G::name)
		.Whole("base_ns", &G::base_ns, 0, kWholeMax)
		.Parts("entries", &G::entries)
		.Any("close_on_invalid_rx", &G::close_on_invalid_rx)
		.Any("close_on_octets_exceeded", &G::close_on_octets_exceeded);
	using M = FlowMeterSpec;
	SpecClass<M>(m, "FlowMeterSpec")
		.Any("name", &M::name)
		.Whole("cir_bps", &M::cir_bps, 0, 100'000'000'000)
		.Whole("cbs_bytes", &M::cbs_bytes, 0, kU32Max)
		.Whole("eir_bps", &M::eir_bps, 0, 100'000'000'000)
		.Whole("ebs_bytes", &M::ebs_bytes, 0, kU32Max)
		.Any("coupling", &M::coupling)
		.Any("color_aware", &M::color_aware)
		.Any("drop_on_yellow", &M::drop_on_yellow)
		.Any("mark_all_red", &M::mark_all_red);
	using F = StreamFilterSpec;
	SpecClass<F>(m, "StreamFilterSpec")
		.Any("flows", &F::flows)
		.Whole("priority", &F::priority, -1, 7)
		.Whole("max_sdu_bytes", &F::max_sdu_bytes, -1, kFrameBytesMax)
		.Any("block_oversize", &F::block_oversize)
		.Whole("gate", &F::gate, -1, 65'535)
		.Whole("meter", &F::meter, -1, 65'535);
	using P = PsfpSpec;
	SpecClass<P>(m, "PsfpSpec")
		.Any("as_linux", &P::as_linux)
		.Parts("gates", &P::gates)
		.Parts("meters", &P::meters)
		.Parts("filters", &P::filters);
}

void BindAts(nb::module_ &m)
{
	using A = AtsSpec;
	SpecClass<A>(m, "AtsSpec")
		.Any("flows", &A::flows)
		.Whole("cir_bps", &A::cir_bps, 1, 100'000'000'000)
		.Whole("cbs_bytes", &A::cbs_bytes, 1, kU32Max)
		.Whole("max_residence_ns", &A::max_residence_ns, 0, 1000 * kNsPerS)
		.Whole("group", &A::group, 0, 65'535);
}

void BindFrer(nb::module_ &m)
{
	using R = RecoverySpec;
	SpecClass<R>(m, "RecoverySpec")
		.Whole("stream", &R::stream, 0, kU32Max)
		.Word("algorithm", &R::match, "vector|match")
		.Whole("history_length", &R::history_length, 2, 32'767)
		.Whole("reset_ns", &R::reset_ns, 1, 1000 * kNsPerS)
		.Any("individual", &R::individual)
		.Any("untag", &R::untag)
		.Whole("latent_period_ns", &R::latent_period_ns, 0, 1000 * kNsPerS)
		.Whole("latent_reset_ns", &R::latent_reset_ns, 1, 1000 * kNsPerS)
		.Whole("latent_difference", &R::latent_difference, 0, kU32Max)
		.Whole("latent_paths", &R::latent_paths, 1, 65'535);
}

void BindSync(nb::module_ &m)
{
	using V = ServoSpec;
	SpecClass<V>(m, "ServoSpec")
		.Any("kind", &V::kind)
		.Real("pi_proportional_scale", &V::kp_scale, 0, 100)
		.Real("pi_proportional_exponent", &V::kp_exponent, -10, 10)
		.Real("pi_proportional_norm_max", &V::kp_norm_max, 1e-9, 1)
		.Real("pi_integral_scale", &V::ki_scale, 0, 100)
		.Real("pi_integral_exponent", &V::ki_exponent, -10, 10)
		.Real("pi_integral_norm_max", &V::ki_norm_max, 1e-9, 2)
		.Whole("step_threshold_ns", &V::step_threshold_ns, 0, 1000 * kNsPerS)
		.Whole("first_step_threshold_ns", &V::first_step_threshold_ns, 0, 1000 * kNsPerS)
		.Whole("filter_samples", &V::filter_samples, 0, 1000);
	using P = PtpSpec;
	SpecClass<P>(m, "SyncSpec")
		.Word("mode", &P::gptp, "ptp|gptp")
		.Pairs("domains", &P::domains, &PtpDomainSpec::domain, &PtpDomainSpec::grandmaster,
		       { 0, 127 }, { 0, kU32Max })
		.Whole("interval_ns", &P::interval_ns, 1'000'000, 100 * kNsPerS)
		.Whole("delay_interval_ns", &P::delay_interval_ns, 1'000'000, 100 * kNsPerS)
		.Part("servo", &P::servo)
		.Whole("delay_filter_samples", &P::delay_filter_samples, 1, 1000)
		.Whole("rate_samples", &P::rate_samples, 1, 1000)
		.Whole("tc", &P::tc, 0, KPN_CLASS_COUNT - 1)
		.Whole("queue", &P::queue, 0, 7)
		.Whole("start_offset_ns", &P::start_offset_ns, 0, 1000 * kNsPerS)
		.Whole("sample_ns", &P::sample_ns, 20, 100 * kNsPerS)
		.Pairs("changes", &P::changes, &MasterChange::at_ns, &MasterChange::node,
		       { 0, 4'000'000'000'000'000 }, { 0, kU32Max });
}

} // namespace

void BindSpecs(nb::module_ &m)
{
	BindHost(m);
	BindNic(m);
	BindKeepon(m);
	BindQdiscs(m);
	BindNodes(m);
	BindFlows(m);
	BindPsfp(m);
	BindAts(m);
	BindFrer(m);
	BindSync(m);
}

template StationSpec Made(nb::handle, const std::string &);
template BridgeSpec Made(nb::handle, const std::string &);
template StreamSpec Made(nb::handle, const std::string &);
template LoadSpec Made(nb::handle, const std::string &);
template PsfpSpec Made(nb::handle, const std::string &);
template AtsSpec Made(nb::handle, const std::string &);
template RecoverySpec Made(nb::handle, const std::string &);
template PtpSpec Made(nb::handle, const std::string &);

} // namespace keepon::sim::bind
