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

namespace keepon::sim
{

template <class Kind>
class Registry
{
public:
	struct Entry {
		Entry(const char *name, Kind kind) { All().emplace(name, std::move(kind)); }
	};

	/// NULL if there is none of that name.
	static const Kind *Find(const std::string &name)
	{
		const auto found = All().find(name);
		return found == All().end() ? nullptr : &found->second;
	}

	/// All names, each quoted, in alphabetical order.
	static std::string Names()
	{
		std::string names;
		for (const auto &[name, kind] : All())
			names += (names.empty() ? "\"" : " \"") + name + "\"";
		return names;
	}

private:
	static std::map<std::string, Kind> &All()
	{
		static std::map<std::string, Kind> all;
		return all;
	}
};

} // namespace keepon::sim
