// SPDX-License-Identifier: GPL-3.0-or-later
//
// peer_simgrid - the cases of `make bench-peers` on SimGrid's flow-level network
//
// One actor starts host-to-host communications on SimGrid's own topologies and routes. Prints
// the CPU seconds of the run (without building the platform and the list of flows) and the peak
// memory of the process. Then writes links, flows with SimGrid's routes,
// and finish times, so that orrery runs on the same input.
//
// The model is CM02 with factors 1, no cross traffic and no TCP window, so links have their nominal
// capacity and latency. Precisions are SimGrid's defaults, or tight ones that give
// finish times with more than five significant digits.

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <simgrid/s4u.hpp>
#include <string>
#include <sys/resource.h>
#include <vector>

extern "C" {
#include "base/rng.h"
#include "tests/bench/load.h"
}

namespace sg4 = simgrid::s4u;

namespace {

const double BANDWIDTH = 12.5e9; // bytes/s

struct Flow {
	int step; // -1: has its own start time
	uint32_t src, dst;
	uint64_t bytes;
	double start, finish;
};

std::vector<Flow> flows;
std::vector<sg4::Host *> hosts;

// ---- platforms ----

void make_star(uint32_t n, double latency)
{
	sg4::NetZone *zone = sg4::create_star_zone("star");
	for (uint32_t i = 0; i < n; i++) {
		sg4::Host *host = zone->create_host("h" + std::to_string(i), 1e9);
		sg4::Link *link = zone->create_split_duplex_link("l" + std::to_string(i), BANDWIDTH)->set_latency(latency)->seal();
		zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr, { { link, sg4::LinkInRoute::Direction::UP } }, true);
		hosts.push_back(host);
	}
	zone->seal();
}

// k = 16: 8 hosts per edge switch, 8 edge and 8 aggregation switches per pod, 16 pods, 64 core switches.
void make_fat_tree()
{
	sg4::ClusterCallbacks make_host(
		[](sg4::NetZone *zone, const std::vector<unsigned long> &, unsigned long id) {
			sg4::Host *host = zone->create_host("h" + std::to_string(id), 1e9)->seal();
			hosts.push_back(host);
			return std::make_pair(host->get_netpoint(), static_cast<simgrid::kernel::routing::NetPoint *>(nullptr));
		});
	sg4::create_fatTree_zone("tree", nullptr, { 3, { 8, 8, 16 }, { 1, 8, 8 }, { 1, 1, 1 } }, make_host, BANDWIDTH, 0,
		sg4::Link::SharingPolicy::SPLITDUPLEX)
		->seal();
}

// ---- cases ----

void make_ring(struct rng *)
{
	make_star(128, 1e-6);
	for (int step = 0; step < 254; step++)
		for (uint32_t i = 0; i < 128; i++)
			flows.push_back({ step, i, (i + 1) % 128, (UINT64_C(1) << 30) / 128, 0, 0 });
}

void make_all_to_all(struct rng *r)
{
	make_star(64, 1e-6);
	for (uint32_t i = 0; i < 64; i++)
		for (uint32_t k = 0; k < 64; k++)
			if (i != k)
				flows.push_back({ -1, i, k, 100000 + rng_below(r, 9900001), 0, 0 });
}

// Pairs of successive random permutations, with exponential sizes and gaps.
void make_poisson(struct rng *r)
{
	std::vector<uint32_t> to(1024);
	double t = 0;
	make_fat_tree();
	for (uint32_t i = 0; i < 1024; i++)
		to[i] = i;
	for (uint32_t i = 0; flows.size() < 10000; i = (i + 1) % 1024) {
		for (uint32_t k = 1023; i == 0 && k > 0; k--)
			std::swap(to[k], to[rng_below(r, k + 1)]);
		if (to[i] == i)
			continue;
		t += rng_exponential(r, 1 / 640000.0);
		flows.push_back({ -1, i, to[i], 1 + static_cast<uint64_t>(rng_exponential(r, 1e7)), t, 0 });
	}
}

struct Case {
	const char *name;
	void (*make)(struct rng *);
};

const Case cases[] = { { "poisson", make_poisson }, { "all-to-all", make_all_to_all }, { "ring", make_ring } };

// ---- the run ----

std::vector<sg4::CommPtr> started;

void start(size_t i)
{
	flows[i].start = sg4::Engine::get_clock();
	started[i] = sg4::Comm::sendto_async(hosts[flows[i].src], hosts[flows[i].dst], flows[i].bytes);
}

void take(size_t first, size_t end)
{
	for (size_t i = first; i < end; i++) {
		started[i]->wait();
		flows[i].finish = started[i]->get_finish_time();
		started[i] = nullptr;
	}
}

void drive()
{
	size_t first = 0;
	for (size_t i = 0; i < flows.size(); i++) {
		if (flows[i].step >= 0 && i > first && flows[i].step != flows[i - 1].step) {
			take(first, i);
			first = i;
		} else if (flows[i].step < 0 && flows[i].start > sg4::Engine::get_clock()) {
			sg4::this_actor::sleep_until(flows[i].start);
		}
		start(i);
	}
	take(first, flows.size());
}

// ---- input for orrery ----

FILE *open_csv(const std::string &stem, const char *suffix)
{
	FILE *f = fopen((stem + suffix).c_str(), "w");
	if (!f) {
		perror(stem.c_str());
		exit(1);
	}
	return f;
}

void write_csv(const std::string &stem)
{
	std::map<std::string, sg4::Link *> used;
	FILE *out = open_csv(stem, "_flows.csv");
	fputs("id,step,src,dst,bytes,start_s,finish_s,links\n", out);
	for (size_t i = 0; i < flows.size(); i++) {
		const Flow &x = flows[i];
		std::vector<sg4::Link *> route;
		double latency = 0;
		hosts[x.src]->route_to(hosts[x.dst], route, &latency);
		fprintf(out, "%zu,%d,%u,%u,%" PRIu64 ",%.17g,%.17g,", i, x.step, x.src, x.dst, x.bytes, x.start, x.finish);
		for (size_t h = 0; h < route.size(); h++) {
			used[route[h]->get_name()] = route[h];
			fprintf(out, "%s%s", h ? ";" : "", route[h]->get_cname());
		}
		fputc('\n', out);
	}
	fclose(out);
	out = open_csv(stem, "_links.csv");
	fputs("link,bandwidth_Bps,latency_s\n", out);
	for (const auto &l : used)
		fprintf(out, "%s,%.17g,%.17g\n", l.first.c_str(), l.second->get_bandwidth(), l.second->get_latency());
	fclose(out);
}

void configure(bool is_precise)
{
	for (const char *s : { "network/model:CM02", "network/bandwidth-factor:1", "network/latency-factor:1",
		     "network/TCP-gamma:0", "network/crosstraffic:0", "network/weight-S:0" })
		sg4::Engine::set_config(s);
	if (is_precise) {
		sg4::Engine::set_config("maxmin/precision:1e-9");
		sg4::Engine::set_config("surf/precision:1e-12");
	}
}

} // namespace

int main(int argc, char **argv)
{
	sg4::Engine engine(&argc, argv);
	const Case *chosen = nullptr;
	for (const Case &c : cases)
		if (argc == 4 && !strcmp(argv[1], c.name))
			chosen = &c;
	if (!chosen || (strcmp(argv[2], "precise") && strcmp(argv[2], "default"))) {
		fprintf(stderr, "usage: %s poisson|all-to-all|ring precise|default STEM\n", argv[0]);
		return 2;
	}
	struct rng r;
	rng_init(&r, 1, chosen->name, 0);
	configure(!strcmp(argv[2], "precise"));
	chosen->make(&r);
	started.resize(flows.size());
	sg4::Actor::create("driver", hosts[0], drive);
	double begun = cpu_seconds();
	engine.run();
	double spent = cpu_seconds() - begun;
	struct rusage used;
	getrusage(RUSAGE_SELF, &used);
	printf("%.6f %ld %zu\n", spent, used.ru_maxrss, flows.size());
	write_csv(argv[3]);
	return 0;
}
