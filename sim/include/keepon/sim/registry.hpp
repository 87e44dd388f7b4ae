// SPDX-License-Identifier: BSD-3-Clause
// Blocks of one sort by name. A block registers itself in its own file, by an object of file scope:
//
//	const Registry<TransmitterKind>::Entry kEntry{ "standard", { Make, false } };
//
// so that a new one is a new file and nothing else. (keepon_sim is a CMake object library: a linker
// would leave out of an archive what nobody names.) Names are all that is kept here; what a
// simulation is made of is its own.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace keepon::sim
{

template <class Kind>
class Registry
{
public:
	struct Entry {
		Entry(const char *name, Kind kind) { Kinds().emplace(name, std::move(kind)); }
	};

	/// NULL if there is none of that name.
	static const Kind *Find(const std::string &name)
	{
		const auto found = Kinds().find(name);
		return found == Kinds().end() ? nullptr : &found->second;
	}

	/// All names in alphabetical order.
	static std::vector<std::string> All()
	{
		std::vector<std::string> names;
		for (const auto &[name, kind] : Kinds())
			names.push_back(name);
		return names;
	}

	/// The same in one line, each quoted.
	static std::string Names()
	{
		std::string names;
		for (const std::string &name : All())
			names += (names.empty() ? "\"" : " \"") + name + "\"";
		return names;
	}

private:
	static std::map<std::string, Kind> &Kinds()
	{
		static std::map<std::string, Kind> kinds;
		return kinds;
	}
};

} // namespace keepon::sim
