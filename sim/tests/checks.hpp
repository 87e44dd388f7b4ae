// SPDX-License-Identifier: BSD-3-Clause
// Expectations of the C++ tests: each failure is one line, the count decides.
#pragma once

#include <cstdint>
#include <cstdio>

namespace keepon::sim::test
{

struct Checks {
	std::uint64_t passed = 0;
	std::uint64_t failed = 0;

	void Expect(bool condition, const char *file, int line, const char *text)
	{
		passed += condition;
		if (!condition && failed++ < 50)
			std::printf("%s:%d: %s\n", file, line, text);
	}
};

void TestApplication(Checks &checks);
void TestAts(Checks &checks);
void TestCreditShaper(Checks &checks);
void TestEgressPort(Checks &checks);
void TestEventQueue(Checks &checks);
void TestFrer(Checks &checks);
void TestGates(Checks &checks);
void TestHostCpu(Checks &checks);
void TestIngressPipeline(Checks &checks);
void TestLatency(Checks &checks);
void TestNodeClock(Checks &checks);
void TestOscillator(Checks &checks);
void TestPayload(Checks &checks);
void TestPsfp(Checks &checks);
void TestRegistry(Checks &checks);
void TestServo(Checks &checks);
void TestTcp(Checks &checks);
void TestTcpRules(Checks &checks);
void TestTornFrames(Checks &checks);

} // namespace keepon::sim::test

#define EXPECT(condition) checks.Expect((condition), __FILE__, __LINE__, #condition)
