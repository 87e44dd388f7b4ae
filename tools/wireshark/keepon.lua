-- SPDX-License-Identifier: BSD-3-Clause
-- Wireshark: test frames of keepon-talk, of the simulator and of target vm (tools/payload.h), and
-- placeholders. docs/tools.md says where this file belongs.
local HEADER_BYTES = 36
local MAGIC = 0x4b504e54
local VERSION = 1
local ETHERTYPE = 0x88b5
local NS_PER_S = 1000000000

local clocks = { [1] = "CLOCK_MONOTONIC", [11] = "CLOCK_TAI" }

local test = Proto("keepon", "Keepon test frame")
local f = {
	magic = ProtoField.uint32("keepon.magic", "Magic", base.HEX),
	version = ProtoField.uint8("keepon.version", "Version"),
	clock = ProtoField.uint8("keepon.clock", "Clock of the times", base.DEC, clocks),
	flags = ProtoField.uint16("keepon.flags", "Flags", base.HEX),
	timed = ProtoField.bool("keepon.flags.txtime", "Handed over with its txtime", 16, nil, 1),
	stream = ProtoField.uint32("keepon.stream", "Stream (FNV-1a of its id)", base.HEX),
	seq = ProtoField.uint64("keepon.seq", "Sequence number"),
	txtime = ProtoField.int64("keepon.txtime", "txtime, ns"),
	sent = ProtoField.int64("keepon.sent", "Handed over at, ns"),
	delay = ProtoField.int64("keepon.delay", "Stamp less txtime, ns"),
	advance = ProtoField.int64("keepon.advance", "txtime less hand-over, ns"),
}
test.fields = { f.magic, f.version, f.clock, f.flags, f.timed, f.stream, f.seq, f.txtime, f.sent,
		f.delay, f.advance }
test.prefs.offset_s = Pref.uint("Seconds to add to stamps", 0,
	"37 where stamps are UTC and txtimes TAI; 0 for captures of target sim and of a NIC's clock")

local wrong = ProtoExpert.new("keepon.version.unknown", "Unknown version: not dissected",
	expert.group.UNDECODED, expert.severity.WARN)
local short = ProtoExpert.new("keepon.short", "Shorter than its header",
	expert.group.MALFORMED, expert.severity.ERROR)
test.experts = { wrong, short }

-- pinfo.abs_ts is a float and has no single nanoseconds at today's dates.
local stamp_field = Field.new("frame.time_epoch")

local function stamp_ns()
	local stamp = stamp_field().value
	return Int64(stamp.secs + test.prefs.offset_s) * Int64(NS_PER_S) + Int64(stamp.nsecs)
end

function test.dissector(buffer, pinfo, root)
	if buffer:len() < 4 or buffer(0, 4):uint() ~= MAGIC then
		return 0
	end
	pinfo.cols.protocol = "KEEPON"
	local tree = root:add(test, buffer(0, math.min(HEADER_BYTES, buffer:len())))
	if buffer:len() < HEADER_BYTES then
		tree:add_proto_expert_info(short)
		return buffer:len()
	end
	tree:add(f.magic, buffer(0, 4))
	local version = tree:add(f.version, buffer(4, 1))
	if buffer(4, 1):uint() ~= VERSION then
		version:add_proto_expert_info(wrong)
		return buffer:len()
	end
	tree:add(f.clock, buffer(5, 1))
	tree:add(f.flags, buffer(6, 2))
	tree:add(f.timed, buffer(6, 2))
	tree:add(f.stream, buffer(8, 4))
	tree:add(f.seq, buffer(12, 8))
	local seq, txtime, sent = buffer(12, 8):uint64(), buffer(20, 8):int64(), buffer(28, 8):int64()
	local told = string.format("stream 0x%08x seq %s", buffer(8, 4):uint(), tostring(seq))
	if buffer(6, 2):bitfield(15, 1) == 1 then
		tree:add(f.txtime, buffer(20, 8))
		tree:add(f.sent, buffer(28, 8))
		local delay = stamp_ns() - txtime
		tree:add(f.delay, delay):set_generated()
		tree:add(f.advance, txtime - sent):set_generated()
		told = told .. " txtime " .. tostring(txtime) .. " delay " .. tostring(delay) .. " ns"
	end
	pinfo.cols.info = told
	return buffer:len()
end

DissectorTable.get("ethertype"):add(ETHERTYPE, test)
test:register_heuristic("udp", function(buffer, pinfo, root)
	if buffer:len() < HEADER_BYTES or buffer(0, 4):uint() ~= MAGIC then
		return false
	end
	test.dissector(buffer, pinfo, root)
	return true
end)

-- Placeholders: a frame of zeros with a bad FCS, a MAC control frame with the opcode 7FFF, or one
-- to the reserved address 01-80-C2-00-00-0F (docs/hwsim.md).
local placeholder = Proto("keepon_placeholder", "Keepon placeholder")
local kind = ProtoField.string("keepon_placeholder.kind", "Kind")
placeholder.fields = { kind }
local destination = Field.new("eth.dst")

local MAC_CONTROL, RESERVED, ZERO = "01:80:c2:00:00:01", "01:80:c2:00:00:0f", "00:00:00:00:00:00"
local TYPE_AT, OPCODE_AT, PLACEHOLDER_TYPE, PLACEHOLDER_OPCODE = 12, 14, 0x8808, 0x7fff

local function kind_of(buffer)
	if buffer:len() < OPCODE_AT + 2 then
		return nil
	end
	local address, ethertype = tostring(destination()), buffer(TYPE_AT, 2):uint()
	if address == MAC_CONTROL and ethertype == PLACEHOLDER_TYPE
	    and buffer(OPCODE_AT, 2):uint() == PLACEHOLDER_OPCODE then
		return "mac-control"
	elseif address == RESERVED and ethertype == ETHERTYPE then
		return "reserved-address"
	elseif address == ZERO and ethertype == 0 then
		return "bad-fcs"
	end
	return nil
end

function placeholder.dissector(buffer, pinfo, root)
	local found = destination() and kind_of(buffer)
	if not found then
		return
	end
	local tree = root:add(placeholder, buffer())
	tree:add(kind, found):set_generated()
	pinfo.cols.protocol = "KEEPON"
	pinfo.cols.info = "placeholder, " .. found
end
register_postdissector(placeholder)
