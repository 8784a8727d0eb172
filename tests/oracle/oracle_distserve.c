/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Comparison with DistServe's simulator (LLMServe/DistServe 82831f1, simdistserve) on requests of the Azure conversation trace:
 * nine disaggregated and two colocated runs, and two runs of the same rules with transfers of KV caches over FIFO links. The start
 * of the prompt, its end, the arrival of the cache, the start of decoding and the completion of each request must be equal within
 * 1e-6 ms, workers exactly. The peer's rules and profile are stated in the README of the oracle.
 *
 * Then experiments D3 to D8 of the fact sheet on disaggregation: numbers of requests that meet limits of TTFT and TPOT, by fleet,
 * load and tensor parallelism.
 */
#include "base/bytes.h"
#include "base/mem.h"
#include "base/sbuf.h"
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

#include <stdlib.h>

extern const struct orr_policy orr_policy_serve_distserve;

enum { MOST = 1000 };

struct row {
	double prompt_s, first_s, sent_s, decode_s, end_s;
	int prefill_worker, decode_worker;
};
static struct row want[MOST], got[MOST];

struct fleet {
	uint32_t prefill, decode, prefill_tp, decode_tp, prefill_pp, decode_pp; /* decode 0: colocated */
};

struct oracle {
	const char *name, *model;
	struct fleet fleet;
	uint32_t n;
	double scale;
	const char *options; /* NULL: no time for transfers */
	double iterations;   /* of workers (README of the oracle), compared without pipelines; 0: not stated */
};

#define NO_TRANSFER "kv_Bps=1e18"
static const struct oracle runs[] = { { "d_1p1d", "13b", { 1, 1, 1, 1, 1, 1 }, 1000, 1, NO_TRANSFER, 8191 },
	{ "d_2p1d", "13b", { 2, 1, 1, 1, 1, 1 }, 1000, .6, NO_TRANSFER, 7820 },
	{ "d_1p2d", "13b", { 1, 2, 1, 1, 1, 1 }, 1000, .8, NO_TRANSFER, 8561 },
	{ "d_2p2d", "13b", { 2, 2, 1, 1, 1, 1 }, 1000, .5, NO_TRANSFER, 8335 },
	{ "d_1p1d_tp2p_tp1d", "13b", { 1, 1, 2, 1, 1, 1 }, 1000, .8, NO_TRANSFER, 8002 },
	{ "d_1p1d_tp1p_tp4d", "13b", { 1, 1, 1, 4, 1, 1 }, 1000, .8, NO_TRANSFER, 8466 },
	{ "d_1p1d_pp2_pp2", "13b", { 1, 1, 1, 1, 2, 2 }, 1000, .6, NO_TRANSFER, 17600 },
	{ "d_1p1d_pp4p_pp1d", "13b", { 1, 1, 1, 1, 4, 1 }, 1000, .6, NO_TRANSFER, 10546 },
	{ "d_2p2d_66b_tp2_pp2", "66b", { 2, 2, 2, 2, 2, 2 }, 500, 1.5, NO_TRANSFER, 23684 },
	{ "v_1x_tp1", "vllm", { 1, 0, 1, 1, 1, 1 }, 1000, 1.2, NO_TRANSFER, 7686 },
	{ "v_2x_pp2", "vllm", { 2, 0, 1, 1, 2, 2 }, 1000, .5, NO_TRANSFER, 19015 },
	{ "x_1p2d_kv25", "13b", { 1, 2, 1, 1, 1, 1 }, 1000, .8, "kv_link=fifo kv_Bps=25e9 kv_latency=50us", 0 },
	{ "x_2p3d_kv3", "13b", { 2, 3, 1, 1, 1, 1 }, 1000, .5, "kv_link=fifo kv_Bps=3.125e9 kv_latency=50us", 0 } };

static char *oracle_text(const char *name)
{
	const char *data = getenv("ORRERY_DATA_PATH");
	char path[1024];
	size_t n;
	struct orr_error err = { 0 };
	snprintf(path, sizeof path, "%s/oracles/%s", data ? data : ".", name);
	return bytes_read_file(path, 1 << 24, &n, NULL, &err);
}

/* ---- models: the fits of the peer's profile ---- */

static const struct {
	const char *name, *engine, *model;
} fits[] = { { "13b", "distserve", "facebook/opt-13b" }, { "66b", "distserve", "facebook/opt-66b" },
	{ "vllm", "vllm", "facebook/opt-13b" } };

/* Makes the model of a name above; the caller frees the text. KV cache of OPT-13B: 2 x 40 layers x 5120 x 2 bytes a token. Without
 * transfers a token has one byte, which takes less than 1e-14 s. */
static char *model_of(const char *name, bool has_transfers)
{
	char *text = oracle_text("distserve/profile.csv"), *save = NULL, engine[32], model[64];
	struct sbuf b = { 0 };
	int k = 0, tp, from, n = 0;
	while (strcmp(fits[k].name, name) != 0)
		k++;
	sbuf_printf(&b, "{\"name\":\"opt\",\"source\":\"simdistserve\",\"kind\":\"llm\",\"weight_bytes\":26e9,\"kv_bytes_per_token\":%d,",
		has_transfers ? 819200 : 1);
	sbuf_puts(&b, "\"fits\":{\"prompt_pp_ms\":1,\"first_ms\":2,\"first_token_ms\":1e-4,\"by_tp\":[");
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char v[9][32];
		if (sscanf(line, "%31[^,],%63[^,],%d,%31[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31[^,],%31[^,],%d", engine,
			    model, &tp, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], &from) != 13 ||
			strcmp(engine, fits[k].engine) != 0 || strcmp(model, fits[k].model) != 0)
			continue;
		sbuf_printf(&b,
			"%s{\"tp\":%d,\"prefill_ms\":[%s,%s,%s],\"decode_ms\":[%s,%s,%s],\"large_ms\":[%s,%s,%s],\"large_from\":%d}",
			n++ ? "," : "", tp, v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], from);
	}
	sbuf_puts(&b, "]}}");
	mem_free(text);
	return sbuf_steal(&b);
}

/* ---- requests ---- */

/* Arrivals are sums of scaled gaps, in ms. The first token is not part of the peer's output. */
static struct reqset *requests_of(uint32_t n, double scale)
{
	FILE *f = llm_oracle_file("conv2000.csv");
	char head[200];
	double a, before = 0, t = 0;
	int prompt, output;
	struct sbuf b = { 0 };
	struct orr_error err = { 0 };
	if (!f)
		return NULL;
	sbuf_puts(&b, "arrived_at,num_prefill_tokens,num_decode_tokens\n");
	if (!fgets(head, sizeof head, f))
		head[0] = 0;
	for (uint32_t i = 0; i < n && fscanf(f, "%lf,%d,%d\n", &a, &prompt, &output) == 3; i++) {
		t = i ? t + (a * scale - before * scale) * 1000 : 0;
		before = a;
		sbuf_printf(&b, "%.12f,%d,%d\n", t / 1000, prompt, output + 1);
	}
	fclose(f);
	struct reqset *set = llm_requests(b.text, &err);
	sbuf_free(&b);
	return set;
}

/* ---- a watch on the policy ---- */

static const struct orr_serve_ops *ops_of_policy;
static orr_req waits[MOST]; /* requests whose prompt is complete and that have not started to decode */
static uint32_t n_waits;

static uint32_t route(void *self, struct orr_serve *w, orr_req r)
{
	uint32_t replica = ops_of_policy->route(self, w, r);
	got[orr_req_number(w, r)].prefill_worker = (int)replica;
	return replica;
}

static void arrive(void *self, struct orr_serve *w, orr_req r)
{
	if (orr_req_done(w, r)) {
		got[orr_req_number(w, r)].sent_s = orr_serve_now(w);
		waits[n_waits++] = r;
	}
	ops_of_policy->arrive(self, w, r);
}

static void schedule(void *self, struct orr_serve *w, uint32_t replica)
{
	ops_of_policy->schedule(self, w, replica);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < n_waits; i++) {
		if (orr_req_in_flight(w, waits[i]))
			got[orr_req_number(w, waits[i])].decode_s = orr_serve_now(w);
		else
			waits[kept++] = waits[i];
	}
	n_waits = kept;
}

static struct run_result *serve(
	const char *model, const struct fleet *f, const struct reqset *requests, const char *options, bool is_quick, struct orr_error *err)
{
	struct serve_deployment d[2] = { { .replicas = f->prefill,
						 .tp = f->prefill_tp,
						 .pp = f->prefill_pp,
						 .role = f->decode ? ORR_ROLE_PREFILL : ORR_ROLE_BOTH,
						 .kv_blocks = 1000000 },
		{ .replicas = f->decode, .tp = f->decode_tp, .pp = f->decode_pp, .role = ORR_ROLE_DECODE, .kv_blocks = 1000000 } };
	struct orr_policy policy = orr_policy_serve_distserve;
	struct orr_serve_ops ops = *(const struct orr_serve_ops *)policy.ops;
	ops_of_policy = policy.ops;
	if (!is_quick) {
		ops.route = route;
		ops.arrive = arrive;
		ops.schedule = schedule;
	}
	policy.ops = &ops;
	n_waits = 0;
	return llm_serve(&(struct llm_run){ .requests = requests,
				 .model = model,
				 .cluster = "16x8",
				 .deployments = d,
				 .n_deployments = f->decode ? 2 : 1,
				 .policy = &policy,
				 .options = options },
		err);
}

/* ---- the comparison ---- */

static bool read_rows(const struct oracle *o)
{
	char name[80], *save = NULL;
	uint32_t rows = 0;
	snprintf(name, sizeof name, "distserve/%s.csv.gz", o->name);
	char *text = oracle_text(name);
	for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
		struct row r = { .sent_s = NAN };
		int id, pw, dw;
		bool good = *o->name == 'x' ? sscanf(line, "%d,%*f,%*d,%*d,%d,%d,%lf,%lf,%*f,%lf,%lf,%lf", &id, &pw, &dw, &r.prompt_s,
						      &r.first_s, &r.sent_s, &r.decode_s, &r.end_s) == 8
					    : sscanf(line, "%d,%*f,%*d,%*d,%d,%d,%lf,%lf,%lf,%lf", &id, &pw, &dw, &r.prompt_s, &r.first_s,
						      &r.decode_s, &r.end_s) == 7;
		if (!good || id < 0 || id >= (int)o->n)
			continue;
		r.prefill_worker = pw;
		r.decode_worker = dw;
		want[id] = r;
		rows++;
	}
	mem_free(text);
	return rows == o->n;
}

/* Returns the larger of two errors, ms. A missing time (NAN) counts as the largest error. */
static double worse(double worst, double got_s, double want_ms)
{
	double x = fabs(got_s * 1e3 - want_ms);
	return isnan(x) ? INFINITY : x > worst ? x : worst;
}

static void compare(const struct oracle *o)
{
	struct orr_error err = { 0 };
	char *model = model_of(o->model, *o->name == 'x');
	struct reqset *requests = requests_of(o->n, o->scale);
	const struct fleet *f = &o->fleet;
	struct run_result *r = requests ? serve(model, f, requests, o->options, false, &err) : NULL;
	mem_free(model);
	if (!ok(r && read_rows(o) && r->n_requests == o->n, "%s: the run ends, with all requests %s", o->name, err.text)) {
		result_free(r);
		reqset_free(requests);
		return;
	}
	double prompt = 0, first = 0, sent = 0, decode = 0, end = 0;
	unsigned workers = 0;
	for (uint32_t i = 0; i < o->n; i++) {
		const struct request_row *q = &r->requests[i];
		prompt = worse(prompt, q->arrival_s + q->queue_s, want[i].prompt_s);
		first = worse(first, q->first_token_s, want[i].first_s);
		if (!isnan(want[i].sent_s))
			sent = worse(sent, got[i].sent_s, want[i].sent_s);
		if (f->decode)
			decode = worse(decode, got[i].decode_s, want[i].decode_s);
		end = worse(end, q->completed_s, want[i].end_s);
		int last = (int)q->replica, base = (int)(f->prefill * f->prefill_pp);
		int worker = f->decode ? base + (last - (int)f->prefill) * (int)f->decode_pp : last * (int)f->prefill_pp;
		workers += got[i].prefill_worker * (int)f->prefill_pp != want[i].prefill_worker || worker != want[i].decode_worker;
	}
	printf("# %s: worst error, ms: prompt %.3g, first token %.3g, cache %.3g, decode %.3g, completion %.3g\n", o->name, prompt, first,
		sent, decode, end);
	ok(prompt <= 1e-6 && first <= 1e-6 && sent <= 1e-6 && decode <= 1e-6 && end <= 1e-6, "D1: %s: every time within 1e-6 ms", o->name);
	ok(!workers, "D1: %s: every request on the same workers (%u differ)", o->name, workers);
	if (o->iterations > 0 && f->prefill_pp == 1 && f->decode_pp == 1)
		ok(llm_metric(r, "iterations") == o->iterations, "%s: %.0f iterations", o->name, o->iterations);
	result_free(r);
	reqset_free(requests);
}

/* ---- D3 to D8: requests with TTFT <= 1 s and TPOT <= 150 ms ---- */

static uint32_t good_of(const char *model, const struct fleet *f, double scale)
{
	struct orr_error err = { 0 };
	struct reqset *requests = requests_of(MOST, scale);
	struct run_result *r = requests ? serve(model, f, requests, NO_TRANSFER, true, &err) : NULL;
	uint32_t good = 0;
	for (size_t i = 0; r && i < r->n_requests; i++) {
		const struct request_row *q = &r->requests[i];
		double ttft = q->first_token_s - q->arrival_s, tpot = (q->completed_s - q->first_token_s) / (q->output_tokens - 1);
		good += ttft <= 1 && tpot <= 0.15;
	}
	result_free(r);
	reqset_free(requests);
	return good;
}

static void count_good(void)
{
	static const struct {
		const char *what;
		struct fleet fleet;
		double scale;
		uint32_t good;
	} cases[] = { { "D3 1p1d", { 1, 1, 1, 1, 1, 1 }, .5, 82 }, { "D3 1p3d", { 1, 3, 1, 1, 1, 1 }, .5, 119 },
		{ "D3 2p1d", { 2, 1, 1, 1, 1, 1 }, .5, 96 }, { "D3 3p1d", { 3, 1, 1, 1, 1, 1 }, .5, 95 },
		{ "D3 2p2d", { 2, 2, 1, 1, 1, 1 }, .5, 253 }, { "D3 2p3d", { 2, 3, 1, 1, 1, 1 }, .5, 935 },
		{ "D3 2p4d", { 2, 4, 1, 1, 1, 1 }, .5, 941 }, { "D3 3p3d", { 3, 3, 1, 1, 1, 1 }, .5, 969 },
		{ "D3 3p4d", { 3, 4, 1, 1, 1, 1 }, .5, 992 }, { "D4 x1", { 1, 0, 1, 1, 1, 1 }, .5, 18 },
		{ "D4 x2", { 2, 0, 1, 1, 1, 1 }, .5, 42 }, { "D4 x3", { 3, 0, 1, 1, 1, 1 }, .5, 181 },
		{ "D4 x4", { 4, 0, 1, 1, 1, 1 }, .5, 358 }, { "D4 x5", { 5, 0, 1, 1, 1, 1 }, .5, 484 },
		{ "D4 x6", { 6, 0, 1, 1, 1, 1 }, .5, 495 }, { "D4 x7", { 7, 0, 1, 1, 1, 1 }, .5, 538 },
		{ "D4 x8", { 8, 0, 1, 1, 1, 1 }, .5, 547 }, { "D6 2p3d", { 2, 3, 1, 1, 1, 1 }, 1, 995 },
		{ "D6 2p3d", { 2, 3, 1, 1, 1, 1 }, .8, 982 }, { "D6 2p3d", { 2, 3, 1, 1, 1, 1 }, .7, 985 },
		{ "D6 2p3d", { 2, 3, 1, 1, 1, 1 }, .6, 973 }, { "D6 2p3d", { 2, 3, 1, 1, 1, 1 }, .55, 963 },
		{ "D6 2p3d", { 2, 3, 1, 1, 1, 1 }, .45, 764 }, { "D6 2p3d", { 2, 3, 1, 1, 1, 1 }, .4, 518 },
		{ "D8 1p2d, TP 2/2", { 1, 2, 2, 2, 1, 1 }, .5, 669 }, { "D8 2p1d, TP 1/4", { 2, 1, 1, 4, 1, 1 }, .5, 326 },
		{ "D8 1p1d, TP 2/4", { 1, 1, 2, 4, 1, 1 }, .5, 307 }, { "D8 1p1d, TP 4/4", { 1, 1, 4, 4, 1, 1 }, .5, 325 } };
	char *disaggregated = model_of("13b", false), *colocated = model_of("vllm", false);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint32_t good = good_of(cases[i].fleet.decode ? disaggregated : colocated, &cases[i].fleet, cases[i].scale);
		ok(good == cases[i].good, "%s at scale %g: %u requests meet both limits (%u)", cases[i].what, cases[i].scale, cases[i].good,
			good);
	}
	mem_free(disaggregated);
	mem_free(colocated);
}

/* D11: transfers do not change the first tokens. */
static void check_first_tokens(void)
{
	char *slow = model_of("13b", true), *none = model_of("13b", false);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
		struct orr_error err = { 0 };
		struct reqset *requests = *runs[i].name == 'x' ? requests_of(runs[i].n, runs[i].scale) : NULL;
		if (!requests)
			continue;
		struct run_result *a = serve(slow, &runs[i].fleet, requests, runs[i].options, false, &err);
		struct run_result *b = serve(none, &runs[i].fleet, requests, NO_TRANSFER, false, &err);
		size_t differ = 0;
		for (size_t k = 0; a && b && k < a->n_requests; k++)
			differ += !(a->requests[k].first_token_s == b->requests[k].first_token_s);
		ok(a && b && a->n_requests == runs[i].n && !differ, "D11: %s: first tokens as without transfers (%zu differ)", runs[i].name,
			differ);
		result_free(a);
		result_free(b);
		reqset_free(requests);
	}
	mem_free(slow);
	mem_free(none);
}

/* D5, D7: the smallest fleet of up to four prefill and five decode instances of which 90 % of the requests meet both limits, and its
 * goodput. */
static void smallest_fleet(void)
{
	char *model = model_of("13b", false);
	uint32_t best = UINT32_MAX, best_good = 0, p = 0, d = 0, attaining = 0;
	for (uint32_t i = 1; i <= 4; i++)
		for (uint32_t k = 1; k <= 5 && i + k <= best; k++) {
			uint32_t good = good_of(model, &(struct fleet){ i, k, 1, 1, 1, 1 }, .5);
			if (good < 900 || (i + k == best && good <= best_good))
				continue;
			attaining++;
			best = i + k;
			best_good = good;
			p = i;
			d = k;
		}
	mem_free(model);
	ok(attaining && p == 2 && d == 3, "D5: the smallest fleet is 2p3d (%up%ud)", p, d);
	struct reqset *requests = requests_of(MOST, .5);
	const struct request_rec *last = requests ? reqset_at(requests, MOST - 1) : NULL;
	near_to(last ? MOST / ((double)last->arrival_ns / 1e9) / best : NAN, 1.8516, 1e-4, "D7: goodput of 1.8516 requests/s per GPU");
	reqset_free(requests);
}

int main(void)
{
	char *text = oracle_text("distserve/profile.csv");
	if (!text) {
		skip("no oracles/distserve under ORRERY_DATA_PATH: the comparison with DistServe was NOT made");
		return done();
	}
	mem_free(text);
	for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
		compare(&runs[i]);
	check_first_tokens();
	count_good();
	smallest_fleet();
	return done();
}
