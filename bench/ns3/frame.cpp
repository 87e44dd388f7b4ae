// SPDX-License-Identifier: BSD-3-Clause
#include "frame.hpp"

namespace bench
{

NS_OBJECT_ENSURE_REGISTERED(FrameTag);
NS_OBJECT_ENSURE_REGISTERED(PlaceholderErrorModel);

ns3::TypeId FrameTag::GetTypeId()
{
	static const ns3::TypeId tid =
		ns3::TypeId("bench::FrameTag").SetParent<ns3::Tag>().AddConstructor<FrameTag>();
	return tid;
}

void FrameTag::Serialize(ns3::TagBuffer buffer) const
{
	buffer.WriteU32(m_stream);
	buffer.WriteU64(m_seq);
}

void FrameTag::Deserialize(ns3::TagBuffer buffer)
{
	m_stream = buffer.ReadU32();
	m_seq = buffer.ReadU64();
}

ns3::TypeId PlaceholderErrorModel::GetTypeId()
{
	static const ns3::TypeId tid = ns3::TypeId("bench::PlaceholderErrorModel")
					       .SetParent<ns3::ErrorModel>()
					       .AddConstructor<PlaceholderErrorModel>();
	return tid;
}

bool PlaceholderErrorModel::DoCorrupt(ns3::Ptr<ns3::Packet> packet)
{
	FrameTag tag;
	const bool placeholder = !packet->PeekPacketTag(tag);
	m_discarded += placeholder;
	return placeholder;
}

} // namespace bench
