// SPDX-License-Identifier: GPL-3.0-or-later
//
// peer_ns3 - compares the engine's step with ns-3's default scheduler on the HOLD model
//
// Both simulators exist side by side and take turns, slice by slice; results are
// medians of CPU time. Each event schedules another at its time plus an increment from
// a common table, and hashes the index of the popped event: both hashes must be
// equal. ns-3 resolves time to 1 ns, like the engine.

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ns3/core-module.h>
#include <vector>

extern "C" {
#include "base/mem.h"
#include "engine/engine.h"
#include "tests/bench/load.h"
}

namespace {

const int SLICES = 5;

struct Run {
	const int64_t *draws;
	uint32_t drawn = 0;
	uint64_t hash = 0;
	size_t left = 0;

	int64_t next() { return draws[drawn++ & (LOAD_DRAWS - 1)]; }
	void note(uint64_t slot) { hash = (hash ^ slot) * UINT64_C(0x9e3779b97f4a7c15); }
};

void orrery_event(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	Run *r = static_cast<Run *>(ctx);
	r->note(subject);
	eng_at(e, eng_now(e) + r->next(), 0, orrery_event, ctx, subject, arg);
	if (--r->left == 0)
		eng_stop(e);
}

void ns3_event(Run *r, uint64_t subject)
{
	r->note(subject);
	ns3::Simulator::Schedule(ns3::NanoSeconds(r->next()), &ns3_event, r, subject);
	if (--r->left == 0)
		ns3::Simulator::Stop();
}

// Returns ns per hold of a slice.
template <typename Loop> double timed(Run &r, size_t holds, Loop run)
{
	r.left = holds;
	double start = cpu_seconds();
	run();
	return (cpu_seconds() - start) / static_cast<double>(holds) * 1e9;
}

bool compare(const struct load &l, size_t pending, size_t holds)
{
	int64_t *draws = load_draws(&l);
	Run ours, theirs;
	ours.draws = theirs.draws = draws;
	struct engine *e = eng_new();
	for (uint64_t i = 0; i < pending; i++) {
		eng_at(e, ours.next(), 0, orrery_event, &ours, i, 0);
		ns3::Simulator::Schedule(ns3::NanoSeconds(theirs.next()), &ns3_event, &theirs, i);
	}
	auto run_ours = [e] { eng_run(e); };
	auto run_theirs = [] { ns3::Simulator::Run(); };
	timed(ours, pending, run_ours);
	timed(theirs, pending, run_theirs);
	double ns_ours[SLICES], ns_theirs[SLICES];
	for (int s = 0; s < SLICES; s++) {
		ns_ours[s] = timed(ours, holds, run_ours);
		ns_theirs[s] = timed(theirs, holds, run_theirs);
	}
	double a = median(ns_ours, SLICES), b = median(ns_theirs, SLICES);
	std::printf("| %-11s | %7zu | %6.2f | %6.2f | %5.1f |\n", l.name, pending, 1e3 / a, 1e3 / b, b / a);
	std::fflush(stdout);
	eng_free(e);
	ns3::Simulator::Destroy();
	mem_free(draws);
	if (ours.hash != theirs.hash)
		std::printf("the two do not agree on the order of events\n");
	return ours.hash == theirs.hash;
}

} // namespace

int main(int argc, char **argv)
{
	size_t holds = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200000;
	bool is_good = true;
	if (holds == 0) {
		std::printf("usage: %s [HOLDS PER SLICE]\n", argv[0]);
		return 2;
	}
	std::printf("Million holds/s, medians of %d slices of %zu holds; ns-3 with its default scheduler.\n\n"
		    "| increments | pending | orrery | ns-3 | ratio |\n|---|---|---|---|---|\n",
		SLICES, holds);
	for (int l = 0; l < loads_count; l++)
		for (size_t pending : { 1000, 100000, 1000000 })
			is_good = compare(loads[l], pending, holds) && is_good;
	return is_good ? 0 : 1;
}
