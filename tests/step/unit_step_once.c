/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One collective, or messages that start together, on an idle network (sim/step/once.h). Nodes have links of 1e9 bytes/s, GPUs of a node
 * of 1e10 bytes/s, without latency. A ring of n takes 2 (n - 1) / n of the bytes over the slowest link.
 */
#include "step/once.h"
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

static const char network[] = "star:bw=1GBps,lat=0,gpu_bw=10GBps,gpu_lat=0";

static void takes(const char *cluster, struct step_once q, double seconds, double bytes, const char *what)
{
	struct fixture *f = fixture_new(cluster, network, "lenet5", 1);
	struct orr_error e = { 0 };
	double t = NAN, out = NAN, again = NAN;
	char text[160];
	q.cluster = f->cluster;
	q.topo = f->topo;
	q.dnn = f->dnn;
	q.cost = f->config.cost;
	q.device = f->config.device;
	ok(!step_once(&q, &t, &out, &e), "%s (%s)", what, e.text);
	near_to(t, seconds, 1e-9, "time");
	near_to(out / 1e9, bytes / 1e9, 1e-9, "bytes that leave the nodes");
	snprintf(text, sizeof text, "%s: the same without the bytes", what);
	ok(!step_once(&q, &again, NULL, &e) && !step_once(&q, NULL, NULL, &e) && fabs(again - seconds) <= 1e-9, "%s", text);
	fixture_free(f);
}

#define AMONG(...) .member = (uint32_t[]){ __VA_ARGS__ }, .n = sizeof((uint32_t[]){ __VA_ARGS__ }) / 4
#define TO(...)             \
	.to = (uint32_t[])  \
	{                   \
		__VA_ARGS__ \
	}

int main(void)
{
	takes("4x1:v100", (struct step_once){ .op = ORR_ALL_REDUCE, .bytes = 1e9, AMONG(0, 1, 2, 3) }, 1.5, 6e9,
		"all-reduce of four nodes: each sends 2 x 3/4 of the bytes");
	takes("4x1:v100", (struct step_once){ .op = ORR_ALL_GATHER, .bytes = 1e9, AMONG(0, 3) }, 0.5, 1e9,
		"all-gather of two nodes: each sends its half");
	takes("2x2:v100", (struct step_once){ .op = ORR_ALL_REDUCE, .bytes = 1e9, AMONG(0, 1, 2, 3) }, 1.5, 3e9,
		"a ring over two nodes of two GPUs leaves each node once");
	takes("2x2:v100", (struct step_once){ .op = ORR_ALL_REDUCE, .bytes = 1e9, AMONG(2, 3) }, 0.1, 0,
		"a ring inside a node does not leave it");
	takes("2x2:v100", (struct step_once){ .bytes = 1e9, AMONG(0, 1), TO(2, 3) }, 1, 1e9,
		"two messages of half the bytes share the link of their node");
	takes("4x1:v100", (struct step_once){ .bytes = 1e9, AMONG(0, 1), TO(2, 3) }, 0.5, 1e9,
		"two messages of half the bytes on links of their own");
	takes("2x2:v100", (struct step_once){ .bytes = 1e9, AMONG(0), TO(1) }, 0.1, 0, "a message inside a node");
	takes("4x1:v100", (struct step_once){ .bytes = 3e9, AMONG(0, 1, 2), TO(3, 3, 3) }, 3, 3e9, "three messages into one node");
	return done();
}
