// SPDX-License-Identifier: BSD-3-Clause
// What tells a real frame from a placeholder in ns-3: a packet tag. Only real frames carry one; it
// takes the place of a good frame check sequence.
#pragma once

#include <cstdint>

#include <ns3/core-module.h>
#include <ns3/network-module.h>

namespace bench
{

/// Which frame of which stream a packet is.
class FrameTag : public ns3::Tag
{
public:
	FrameTag() = default;
	FrameTag(std::uint32_t stream, std::uint64_t seq) : m_stream(stream), m_seq(seq) {}

	static ns3::TypeId GetTypeId();
	ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
	std::uint32_t GetSerializedSize() const override { return sizeof m_stream + sizeof m_seq; }
	void Serialize(ns3::TagBuffer buffer) const override;
	void Deserialize(ns3::TagBuffer buffer) override;
	void Print(std::ostream &out) const override { out << m_stream << '/' << m_seq; }

	std::uint32_t Stream() const { return m_stream; }
	std::uint64_t Seq() const { return m_seq; }

private:
	std::uint32_t m_stream = 0;
	std::uint64_t m_seq = 0;
};

/// Discards placeholders where they arrive, as a bad frame check sequence has them discarded.
class PlaceholderErrorModel : public ns3::ErrorModel
{
public:
	static ns3::TypeId GetTypeId();
	std::uint64_t Discarded() const { return m_discarded; }

private:
	bool DoCorrupt(ns3::Ptr<ns3::Packet> packet) override;
	void DoReset() override { m_discarded = 0; }

	std::uint64_t m_discarded = 0;
};

} // namespace bench
