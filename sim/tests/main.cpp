// SPDX-License-Identifier: BSD-3-Clause
// Tests of the simulator's parts that Python does not see. Prints 'N passed, N failed'; exit code 1
// if anything failed.
#include <cinttypes>

#include "checks.hpp"

int main()
{
	keepon::sim::test::Checks checks;

	keepon::sim::test::TestApplication(checks);
	keepon::sim::test::TestAts(checks);
	keepon::sim::test::TestCreditShaper(checks);
	keepon::sim::test::TestEgressPort(checks);
	keepon::sim::test::TestEventQueue(checks);
	keepon::sim::test::TestFrer(checks);
	keepon::sim::test::TestGates(checks);
	keepon::sim::test::TestHostCpu(checks);
	keepon::sim::test::TestIngressPipeline(checks);
	keepon::sim::test::TestLatency(checks);
	keepon::sim::test::TestNodeClock(checks);
	keepon::sim::test::TestOscillator(checks);
	keepon::sim::test::TestPayload(checks);
	keepon::sim::test::TestPsfp(checks);
	keepon::sim::test::TestRegistry(checks);
	keepon::sim::test::TestServo(checks);
	keepon::sim::test::TestTcp(checks);
	keepon::sim::test::TestTcpRules(checks);
	keepon::sim::test::TestTornFrames(checks);
	std::printf("%" PRIu64 " passed, %" PRIu64 " failed\n", checks.passed, checks.failed);
	return checks.failed != 0;
}
