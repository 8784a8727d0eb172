/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of the serving world: documentation and resolution. */
#include "serve/options.h"

#include "base/mem.h"
#include "base/num.h"

#include <math.h>
#include <string.h>

const struct orr_param serve_options[] = {
	ORR_PARAM_TEXT("router", "auto",
		"router, which chooses the replica of a request: NAME, or NAME:param=value,..; auto: the policy's own rule, else jsq"),
	ORR_PARAM_INT("queue_limit", "0", 0, 9e15,
		"largest number of requests on a replica, or per replica in the policy's own queue; further requests are shed; 0: no "
		"limit"),
	ORR_PARAM_CHOICE("shed", "no", "no|late|hopeless",
		"late: shed requests that still wait at their deadline; hopeless: shed when the deadline can no longer be met"),
	ORR_PARAM_CHOICE("autoscale", "none", "none|outstanding|rate",
		"adapts the number of replicas of deployments with `most`, to live requests or to requests per second"),
	ORR_PARAM_REAL("scale_target", "8", 1e-9, 1e12, "target of live requests, or of requests per second, per replica"),
	ORR_PARAM_TIME("scale_interval", "15s", "time between two decisions of the autoscaler"),
	ORR_PARAM_TIME("scale_quiet", "5m", "scale-down window: replicas are removed if no decision in this time requested as many"),
	ORR_PARAM_TIME("start_up", "0", "start-up time of replicas added later, from the allocation of GPUs"),
	ORR_PARAM_TIME("notice", "0", "notice before a node fails: its replicas drain for this long (spot instances)"),
	ORR_PARAM_INT("clients", "0", 0, 1e6,
		"closed loop: number of users; each sends the next row of the trace after an answer and a think time; 0: rows arrive at "
		"their times"),
	ORR_PARAM_TIME("think", "0", "mean think time: from an answer to the next request of a user or a session"),
	ORR_PARAM_CHOICE("think_law", "exponential", "exponential|fixed", "distribution of the think time"),
	ORR_PARAM_CHOICE("sessions", "none", "none|replay|grow",
		"replay: each row of a session arrives after the answer to the previous row; grow: its prompt also repeats all earlier "
		"turns"),
	ORR_PARAM_TIME("slo", "0", "SLO of requests whose row has none, from arrival to completion; 0: the model's"),
	ORR_PARAM_TIME("slo_ttft", "0", "limit of TTFT, for goodput; 0: none"),
	ORR_PARAM_TIME("slo_tpot", "0", "limit of TPOT, for goodput; 0: none"),
	ORR_PARAM_BOOL("any_model", false, "send requests for models that are not served to the first model"),
	ORR_PARAM_CHOICE("interference", "none", "none|pairwise|occupancy|curve", "slowdown of runs that share a replica"),
	ORR_PARAM_TEXT_OR_FILE("slowdowns", "", ".csv",
		"with interference=pairwise: a:b=1.3,.. (a takes 1.3 times as long while b runs), or a file of such lines"),
	ORR_PARAM_LIST("slowdown_curve", "", "with interference=curve: measured slowdowns of 1, 2, .. runs on one replica: 1,1.1,1.4"),
	ORR_PARAM_REAL("utilisation_limit", "0", 0, 1e6, "largest sum of the utilisations of runs on a replica; 0: no limit"),
	ORR_PARAM_CHOICE("exit", "interval", "now|interval|layer",
		"points at which a run can be aborted: at once, at intervals of progress, or at the end of a layer"),
	ORR_PARAM_TIME("exit_interval", "0", "with exit=interval: progress between two exit points; 0: any point"),
	ORR_PARAM_TIME("resume_cost", "0", "work added to a suspended run when it resumes"),
	ORR_PARAM_BOOL("preloaded", true, "all models are in memory from the start"),
	ORR_PARAM_INT("kv_block", "16", 1, 1e6, "tokens in a block of the KV cache"),
	ORR_PARAM_REAL("kv_part", "0.9", 0.01, 1, "share of a replica's memory for weights and KV cache"),
	ORR_PARAM_CHOICE("engine", "ideal", SERVED_ENGINES,
		"serving system whose decode attention and host are modelled; ideal: a key or value is read once for all queries that "
		"share "
		"it, and the host takes no time"),
	ORR_PARAM_REAL(
		"kv_reads", "0", 0, 1024, "number of times that a key or value is read for the queries that share it; 0: the engine's"),
	ORR_PARAM_INT("weight_group", "128", 0, 1e6, "weights=int4: weights that share a scale and a zero point; 0: none"),
	ORR_PARAM_REAL("weight_group_bits", "20", 0, 1024, "weights=int4: bits of scale and zero point of a group"),
	ORR_PARAM_BOOL("quantised_head", false, "the output layer has the format of the weights too"),
	ORR_PARAM_TIME("host", "0", "time of the host per iteration of a language model by layers, added to the time in its file"),
	ORR_PARAM_TIME("host_per_request", "0", "time of the host per request of an iteration"),
	ORR_PARAM_REAL(
		"host_gpu_share", "0", 0, 1, "share of an iteration in which the GPU works; the host takes the rest; 0: the engine's"),
	ORR_PARAM_INT("host_steps", "0", 0, 1e6,
		"iterations without prompts per call of the scheduler: they share the host's time of one call, and arrivals wait for the "
		"last of them; 0: the engine's"),
	ORR_PARAM_CHOICE("host_overlap", "auto", "auto|no|yes", "the host works while the GPU computes; auto: the engine's"),
	ORR_PARAM_CHOICE("cuda_graphs", "all", SERVED_GRAPHS,
		"iterations that run as one CUDA graph: all, those without prompts, or none; others last at least as long as the launches "
		"of their kernels"),
	ORR_PARAM_TIME("kernel_launch", "5us", "time of the host to launch a kernel outside a CUDA graph"),
	ORR_PARAM_BOOL("prefix_cache", false, "keep blocks of earlier prompts while there is room"),
	ORR_PARAM_REAL("kv_dram", "0", 0, 1e18, "bytes of a node's DRAM for cached prompts that left the GPUs; 0: none"),
	ORR_PARAM_REAL("kv_ssd", "0", 0, 1e18, "bytes of a node's SSD for cached prompts; 0: none"),
	ORR_PARAM_REAL("kv_pool", "0", 0, 1e18, "bytes of a pool of cached prompts that all replicas share; 0: none"),
	ORR_PARAM_REAL("kv_dram_Bps", "16e9", 1, 1e18, "bytes per second between a replica and its node's DRAM, in each direction"),
	ORR_PARAM_REAL("kv_ssd_Bps", "6e9", 1, 1e18, "bytes per second of a node's SSD, in each direction"),
	ORR_PARAM_REAL("kv_pool_Bps", "25e9", 1, 1e18, "bytes per second between a replica and the pool, in each direction"),
	ORR_PARAM_TIME("kv_pool_latency", "0", "latency of the pool"),
	ORR_PARAM_CHOICE("kv_write", "demote", "demote|through",
		"demote: a cached block moves down a tier when it leaves the one above; through: it is written to all tiers when it is "
		"computed"),
	ORR_PARAM_CHOICE("kv_evict", "lru", "lru|fifo", "order in which blocks leave DRAM, SSD and pool"),
	ORR_PARAM_CHOICE("kv_load", "cost", "cost|always|never",
		"cached blocks below the GPUs' memory: loaded if that is faster than computing them, always, or never"),
	ORR_PARAM_BOOL("kv_prefetch", false,
		"load cached blocks as soon as a request is routed, before the policy sees it; false: when it is admitted"),
	ORR_PARAM_INT("draft_tokens", "0", 0, 64, "speculative decoding: draft tokens of a decode in each iteration; 0: off"),
	ORR_PARAM_TEXT_OR_FILE("draft_acceptance", "", ".txt",
		"probability that a draft token is accepted: one, or one per position (0.8,0.7); or a file of results of tests, 0 and 1"),
	ORR_PARAM_REAL("draft_cost", "0.1", 0, 1e6, "time of a draft pass as a share of a plain iteration of the same decodes"),
	ORR_PARAM_INT("draft_check", "0", 0, 1e6,
		"tokens of a decode that the pass computes: more than drafts + 1 for a tree of drafts; 0: drafts + 1"),
	ORR_PARAM_INT("draft_most_decodes", "0", 0, 1e9, "iterations with more decodes do not speculate; 0: no limit"),
	ORR_PARAM_BOOL("draft_adapt", false,
		"each iteration drafts as many tokens, at most draft_tokens, as give the most expected tokens per second"),
	ORR_PARAM_REAL("swap_Bps", "16e9", 1, 1e18, "bytes per second between a replica and the host's memory"),
	ORR_PARAM_REAL("kv_Bps", "25e9", 1, 1e18, "bytes per second of a KV transfer without a network"),
	ORR_PARAM_TIME("kv_latency", "0", "latency of a KV transfer; with a network, added to the latencies of its links"),
	ORR_PARAM_CHOICE("decode_router", "fewest-requests", "fewest-requests|fewest-waiting|round-robin|shortest-iteration",
		"rule that chooses the decode replica at the end of a prompt, for policies without their own roles; both numbers "
		"include "
		"requests in transit; shortest-iteration: least predicted time of an iteration of all its decodes and the request"),
	ORR_PARAM_CHOICE("decode_admission", "queue", "queue|reserve",
		"queue: a KV cache is sent at once and waits for blocks at the decode replica; reserve: it waits on the prefill replica "
		"until a decode replica has blocks for it"),
	ORR_PARAM_CHOICE("roles", "fixed", "fixed|adaptive",
		"adaptive: replicas change between the roles prefill and decode by their load, for policies without their own roles"),
	ORR_PARAM_TIME("role_interval", "10s", "with roles=adaptive: time between two decisions"),
	ORR_PARAM_REAL("role_waiting", "4", 0, 1e9,
		"with roles=adaptive: a role gets another replica if it has at least this many waiting requests per replica"),
	ORR_PARAM_REAL("role_kv", "0.9", 0, 1,
		"with roles=adaptive: decode gets another replica if the mean share of KV blocks in use is at least this"),
	ORR_PARAM_CHOICE("kv_link", "independent", "independent|fifo",
		"KV transfers without a network: each at kv_Bps, regardless of others, or one at a time from each sending replica, first "
		"come, "
		"first served"),
	ORR_PARAM_BOOL("kv_overlap", false, "send each layer of a KV cache as soon as the last iteration of the prompt has computed it"),
	ORR_PARAM_CHOICE("pipeline", "serial", "serial|micro-batches",
		"language models with pp above 1: serial: one iteration passes all stages before the next starts; micro-batches: up to pp "
		"micro-batches are in flight, each with its own members"),
	ORR_PARAM_CHOICE("front", "none", "none|shared|per-replica",
		"links of inputs and answers of table models: none, one link that all replicas share, or one for each replica"),
	ORR_PARAM_REAL(
		"front_Bps", "0", 0, 1e18, "bytes per second of a link of serve.front, in each direction; must be given with a link"),
	ORR_PARAM_TIME("front_latency", "0", "latency of a link of serve.front"),
	ORR_PARAM_REAL("loss", "0", 0, 1, "probability that the answer of a replica to a request of a table model never comes"),
	ORR_PARAM_CHOICE(
		"tbt", "tpot", "tpot|splitwise", "time per output token: tpot (end - first) / (n - 1); splitwise (end - first) / n"),
	ORR_PARAM_TEXT("quality", "",
		"accuracy by received answers: 2^n numbers separated by commas, bit k of the position being answer k; or "
		"boost:NAME=VALUE,.. trains sub-learners (docs/models/boost.md)"),
	ORR_PARAM_INT("max_calls_per_instant", "1000", 1, 1e9,
		"largest number of schedule() calls per replica at one instant; more calls are an error"),
	ORR_PARAM_REAL("warmup", "0", 0, 0.9, "share of requests, counted from the first, excluded from means"),
	ORR_PARAM_REAL("ci_level", "0.95", 0.5, 0.999999, "level of confidence intervals"), ORR_PARAM_END
};

/* Returns the index of a choice among the words of its parameter. */
static int choice(const struct orr_args *a, const char *name)
{
	const char *word = orr_arg_text(a, name), *words = "";
	for (const struct orr_param *p = serve_options; p->name; p++)
		if (!strcmp(p->name, name))
			words = p->choices;
	size_t n = strlen(word);
	for (int i = 0; *words; i++) {
		size_t m = strcspn(words, "|");
		if (m == n && !memcmp(words, word, n))
			return i;
		words += m + (words[m] == '|');
	}
	return 0;
}

double serve_kv_reads(const struct orr_args *a)
{
	double given = orr_arg_real(a, "kv_reads");
	return given > 0 ? given : served_engine((size_t)choice(a, "engine"))->kv_reads;
}

struct served_host serve_engine_host(const struct orr_args *a)
{
	struct served_host h = served_engine((size_t)choice(a, "engine"))->host;
	int overlap = choice(a, "host_overlap");
	h.fixed_s = (double)orr_arg_time_ns(a, "host") / 1e9;
	h.request_s = (double)orr_arg_time_ns(a, "host_per_request") / 1e9;
	h.kernel_s = (double)orr_arg_time_ns(a, "kernel_launch") / 1e9;
	h.graphs = (enum served_graphs)choice(a, "cuda_graphs");
	if (orr_arg_real(a, "host_gpu_share") > 0)
		h.gpu_share = orr_arg_real(a, "host_gpu_share");
	if (orr_arg_int(a, "host_steps"))
		h.steps = (uint32_t)orr_arg_int(a, "host_steps");
	if (overlap)
		h.is_overlapped = overlap == 2;
	return h;
}

static double seconds_or(const struct orr_args *a, const char *name, double otherwise)
{
	int64_t ns = orr_arg_time_ns(a, name);
	return ns ? (double)ns / 1e9 : otherwise;
}

static uint32_t model_named(const struct serve_config *c, const char *name, size_t n)
{
	for (uint32_t m = 0; m < c->n_models; m++)
		if (strlen(c->model[m]->name) == n && !memcmp(c->model[m]->name, name, n))
			return m;
	return UINT32_MAX;
}

/* Reads "a:b=1.3" into the matrix. */
static int read_slowdown(const struct serve_config *c, double *slowdown, const char *s, size_t n, struct orr_error *err)
{
	const char *colon = memchr(s, ':', n), *equals = colon ? memchr(colon, '=', n - (size_t)(colon - s)) : NULL;
	double x;
	if (!equals || !num_real(equals + 1, n - (size_t)(equals + 1 - s), &x) || !(x >= 1 && x <= 1e6))
		return orr_fail(err, ORR_EINPUT,
			"serve.slowdowns: expected model:beside=FACTOR with a factor from 1 to 1e6, found \"%.*s\"", (int)(n < 80 ? n : 80),
			s);
	uint32_t a = model_named(c, s, (size_t)(colon - s));
	uint32_t b = model_named(c, colon + 1, (size_t)(equals - colon - 1));
	if (a == UINT32_MAX || b == UINT32_MAX)
		return orr_fail(err, ORR_EINPUT, "serve.slowdowns: \"%.*s\": expected served models, found \"%.*s\"",
			(int)(n < 80 ? n : 80), s, (int)(a == UINT32_MAX ? colon - s : equals - colon - 1),
			a == UINT32_MAX ? s : colon + 1);
	slowdown[(size_t)a * c->n_models + b] = x;
	return 0;
}

static int read_slowdowns(struct serve_settings *x, const struct serve_config *c, struct orr_error *err)
{
	size_t n = 0, cells = (size_t)c->n_models * c->n_models;
	const char *s = orr_arg_file(c->options, "slowdowns", &n);
	if (!s) {
		s = orr_arg_text(c->options, "slowdowns");
		n = strlen(s);
	}
	x->slowdown = mem_alloc((cells + 1) * sizeof *x->slowdown);
	for (size_t i = 0; i < cells; i++)
		x->slowdown[i] = 1;
	for (const char *end = s + n; s < end;) {
		size_t m = 0;
		while (s + m < end && s[m] != ',' && s[m] != '\n')
			m++;
		size_t used = m && s[m - 1] == '\r' ? m - 1 : m;
		if (used && read_slowdown(c, x->slowdown, s, used, err))
			return ORR_EINPUT;
		s += m + 1;
	}
	return 0;
}

/* The curve also limits the number of runs on a replica. */
static int read_curve(struct serve_settings *x, const struct orr_args *a, struct orr_error *err)
{
	size_t n = 0;
	const double *curve = orr_arg_list(a, "slowdown_curve", &n);
	if (!n)
		return orr_fail(
			err, ORR_EINPUT, "serve.interference=curve: expected serve.slowdown_curve=1,.. (slowdown with 1, 2, .. runs)");
	for (size_t i = 0; i < n; i++) {
		if (i ? curve[i] >= 1 && curve[i] <= 1e6 : curve[i] == 1)
			continue;
		return orr_fail(err, ORR_EINPUT, "serve.slowdown_curve: with %zu run%s: expected %s, found %g", i + 1, i ? "s" : "",
			i ? "a factor from 1 to 1e6" : "1, for a single run", curve[i]);
	}
	x->curve = curve;
	x->n_curve = n;
	return 0;
}

/* Links need a bandwidth, and carry inputs and answers of table models. */
static int check_front(const struct serve_settings *x, const struct serve_config *c, struct orr_error *err)
{
	bool is_used = x->front != FRONT_NONE || x->loss > 0;
	if (x->front != FRONT_NONE && !(x->front_Bps > 0))
		return orr_fail(err, ORR_EINPUT,
			"serve.front=%s: expected serve.front_Bps=BYTES, the bandwidth of a link in bytes per second, found 0",
			x->front == FRONT_SHARED ? "shared" : "per-replica");
	for (uint32_t m = 0; is_used && m < c->n_models; m++)
		if (c->model[m]->kind != SERVED_TABLE)
			return orr_fail(err, ORR_EINPUT, "%s: expected models with latency tables, found the language model %s",
				x->front != FRONT_NONE ? "serve.front" : "serve.loss", c->model[m]->name);
	return 0;
}

static int check_kv_link(const struct serve_settings *x, const struct serve_config *c, struct orr_error *err)
{
	if (x->kv_link != KV_LINK_FIFO || !c->topo)
		return 0;
	return orr_fail(err, ORR_EINPUT,
		"serve.kv_link=fifo: KV caches cross the links of the network: expected network=none, or serve.kv_link=independent");
}

struct serve_settings *settings_new(const struct serve_config *c, struct orr_error *err)
{
	const struct orr_args *a = c->options;
	struct serve_settings *s = mem_zalloc(1, sizeof *s);
	int64_t limit = orr_arg_int(a, "queue_limit");
	double utilisation = orr_arg_real(a, "utilisation_limit");
	s->queue_limit = limit ? (uint64_t)limit : UINT64_MAX;
	s->shed = (enum serve_shed)choice(a, "shed");
	s->slo_s = seconds_or(a, "slo", INFINITY);
	s->slo_ttft_s = seconds_or(a, "slo_ttft", INFINITY);
	s->slo_tpot_s = seconds_or(a, "slo_tpot", INFINITY);
	s->any_model = orr_arg_bool(a, "any_model");
	s->interference = (enum serve_interference)choice(a, "interference");
	s->utilisation_limit = utilisation > 0 ? utilisation : INFINITY;
	s->exit = (enum serve_exit)choice(a, "exit");
	s->exit_interval_s = seconds_or(a, "exit_interval", 0);
	s->resume_cost_s = seconds_or(a, "resume_cost", 0);
	s->preloaded = orr_arg_bool(a, "preloaded");
	s->kv_block = (uint32_t)orr_arg_int(a, "kv_block");
	s->kv_part = orr_arg_real(a, "kv_part");
	s->steps = serve_engine_host(a).steps;
	s->prefix_cache = orr_arg_bool(a, "prefix_cache");
	s->swap_Bps = orr_arg_real(a, "swap_Bps");
	s->kv_Bps = orr_arg_real(a, "kv_Bps");
	s->kv_latency_s = seconds_or(a, "kv_latency", 0);
	s->kv_overlap = orr_arg_bool(a, "kv_overlap");
	s->decode_router = (enum serve_decode_router)choice(a, "decode_router");
	s->decode_reserves = choice(a, "decode_admission") == 1;
	s->kv_load = (enum serve_kv_load)choice(a, "kv_load");
	s->kv_prefetch = orr_arg_bool(a, "kv_prefetch");
	s->roles_adapt = choice(a, "roles") == 1;
	s->role_interval = orr_arg_time_ns(a, "role_interval");
	s->role_waiting = orr_arg_real(a, "role_waiting");
	s->role_kv = orr_arg_real(a, "role_kv");
	s->kv_link = (enum serve_kv_link)choice(a, "kv_link");
	s->pipeline = (enum serve_pipeline)choice(a, "pipeline");
	s->front = (enum serve_front)choice(a, "front");
	s->front_Bps = orr_arg_real(a, "front_Bps");
	s->front_latency_s = seconds_or(a, "front_latency", 0);
	s->loss = orr_arg_real(a, "loss");
	s->tbt = (enum serve_tbt)choice(a, "tbt");
	s->max_calls = orr_arg_int(a, "max_calls_per_instant");
	s->warmup = orr_arg_real(a, "warmup");
	s->ci_level = orr_arg_real(a, "ci_level");
	s->n_curve = SIZE_MAX;
	if (check_front(s, c, err) || check_kv_link(s, c, err) || (s->interference == INTERFERENCE_PAIRWISE && read_slowdowns(s, c, err)) ||
		(s->interference == INTERFERENCE_CURVE && read_curve(s, a, err))) {
		settings_free(s);
		return NULL;
	}
	return s;
}

void settings_free(struct serve_settings *s)
{
	if (!s)
		return;
	mem_free(s->slowdown);
	mem_free(s);
}
