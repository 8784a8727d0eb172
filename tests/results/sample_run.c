/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tests/results/sample_run.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const int64_t second = 1000000000;

static uint64_t draw(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 33;
}

static void fill_job(struct run_result *r, size_t i, uint64_t *state)
{
	static const char *const models[] = { "resnet50", "bert-base", NULL };
	char id[32];
	snprintf(id, sizeof id, "job-%zu", i);
	int64_t submit = (int64_t)i * 30 * second, wait = (int64_t)(draw(state) % 4000000) * 1000003;
	/* durations are log-uniform from 10 s to about a day */
	int64_t run = (int64_t)(10 * exp((double)(draw(state) % 1000) / 1000 * 9)) * second;
	r->jobs[i] = (struct job_row){ .number = i,
		.job_id = i % 5 ? result_text(r, id) : NULL,
		.user = result_text(r, i % 2 ? "ann" : "O'Neil, \"Bo\""),
		.queue = i % 3 ? result_text(r, "q1") : NULL,
		.model = result_text(r, models[i % 3]),
		.submit_ns = submit,
		.start_ns = submit + wait,
		.end_ns = submit + wait + run,
		.wait_ns = wait,
		.run_ns = run,
		.duration_ns = run,
		.recorded_wait_ns = i % 4 ? -1 : wait / 2,
		.gpus = 1u << draw(state) % 4,
		.gpu_milli = i % 7 ? 1000 : 250,
		.preemptions = (uint32_t)(draw(state) % 3),
		.status = JOB_COMPLETED };
	if (i % 11 == 10) {
		r->jobs[i].start_ns = r->jobs[i].end_ns = -1;
		r->jobs[i].run_ns = 0;
		r->jobs[i].status = JOB_UNFINISHED;
	}
}

static void fill_metrics(struct run_result *r, uint64_t *state)
{
	double jct = 1000 + (double)(draw(state) % 1000) / 7;
	result_metric(r, "jct_mean", jct, jct - 50.5, jct + 50.5);
	result_metric(r, "jct_p50", jct / 2, NAN, NAN);
	result_metric(r, "jct_p99", jct * 9, jct * 8, jct * 11);
	result_metric(r, "wait_mean", jct / 3, NAN, NAN);
	result_metric(r, "wait_p99", jct * 5, NAN, NAN);
	result_metric(r, "slowdown_mean", 1.0 + 1.0 / 3, NAN, NAN);
	result_metric(r, "makespan", 123456.789, NAN, NAN);
	result_metric(r, "utilisation", 0.87, NAN, NAN);
	result_metric(r, "preemptions", 42, NAN, NAN);
	result_metric(r, "jct_diff", -12.25, -20, -4.5);
}

static void fill_series(struct run_result *r, size_t k, const char *name, size_t n, uint64_t *state)
{
	struct series *s = &r->series[k];
	*s = (struct series){ .name = name, .n = n };
	s->time_ns = mem_zalloc(n + 1, sizeof *s->time_ns);
	s->value = mem_zalloc(n + 1, sizeof *s->value);
	double value = 0.5; /* a slow random walk towards 0.7 */
	for (size_t i = 0; i < n; i++) {
		value += 0.02 * (0.7 - value) + ((double)(draw(state) % 1000) / 1000 - 0.5) * 0.1;
		s->time_ns[i] = (int64_t)i * 60 * second + 1;
		s->value[i] = fmin(fmax(value, 0), 1);
	}
}

static void fill_events(struct run_result *r)
{
	r->events = mem_zalloc(2 * r->n_jobs + 1, sizeof *r->events);
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct job_row *j = &r->jobs[i];
		if (j->start_ns < 0)
			continue;
		r->events[r->n_events++] = (struct event_row){ j->start_ns, "start", j->number, "n3:4,n7:4" };
		r->events[r->n_events++] = (struct event_row){ j->end_ns, "finish", j->number, NULL };
	}
}

struct run_result *sample_run(const char *label, size_t n, uint64_t seed)
{
	struct run_result *r = result_new();
	uint64_t state = seed;
	char text[64];
	r->label = mem_strdup(label);
	r->policy = mem_strdup("fifo");
	r->world = mem_strdup("jobs");
	r->is_oracle = seed % 2;
	r->scenario = mem_strdup("{\"cluster\":\"64x8:v100\"}");
	snprintf(text, sizeof text, "hash-of-%" PRIu64, seed);
	r->hash = mem_strdup(text);
	snprintf(text, sizeof text, "%" PRIu64, seed);
	r->seed_text = mem_strdup(text);
	r->wall_s = 0.25;
	r->cpu_s = 0.125;
	r->rows_total = r->n_jobs = n;
	r->jobs = mem_zalloc(n + 1, sizeof *r->jobs);
	for (size_t i = 0; i < n; i++)
		fill_job(r, i, &state);
	fill_metrics(r, &state);
	r->n_series = 3;
	r->series = mem_zalloc(3, sizeof *r->series);
	fill_series(r, 0, "utilisation", 2 * n, &state);
	fill_series(r, 1, "empty", 0, &state);
	fill_series(r, 2, "queue_length", n, &state);
	fill_events(r);
	return r;
}

void sample_add_step(struct run_result *r, size_t n)
{
	r->n_iterations = r->n_devices = r->n_spans = r->n_endpoints = n;
	r->iterations = mem_zalloc(n + 1, sizeof *r->iterations);
	r->devices = mem_zalloc(n + 1, sizeof *r->devices);
	r->spans = mem_zalloc(n + 1, sizeof *r->spans);
	r->endpoints = mem_zalloc(n + 1, sizeof *r->endpoints);
	for (size_t i = 0; i < n; i++) {
		double t = (double)i / 3;
		r->endpoints[i] = (struct endpoint_row){ (uint32_t)i * 2, i % 2 ? "pool" : "server \"0\"" };
		r->iterations[i] = (struct iteration_row){ i, t, i % 4 ? t + 1e-17 : NAN, 128.5 };
		r->devices[i] = (struct device_row){ (uint32_t)i * 3, (uint32_t)i, t, t / 7, 0, t / 11, t / 13, 1e-300, 0x1p33 + 1, 1e18 };
		r->spans[i] = (struct span_row){ .start_s = t,
			.end_s = t + 0.1,
			.iteration = UINT64_C(1) << 40,
			.device = (uint32_t)i,
			.stream = 8,
			.kind = i % 2 ? "send" : "forward",
			.label = i % 3 ? "to 7 \"x\"" : NULL };
	}
}

void sample_add_requests(struct run_result *r, size_t n)
{
	r->n_requests = n;
	r->requests = mem_zalloc(n + 1, sizeof *r->requests);
	for (size_t i = 0; i < n; i++) {
		double t = (double)i / 7;
		char id[32];
		snprintf(id, sizeof id, "req \"%zu\", 1", i);
		bool is_served = i % 4 == REQUEST_COMPLETED;
		r->requests[i] = (struct request_row){ .number = i,
			.request_id = i % 3 ? result_text(r, id) : NULL,
			.model = result_text(r, i % 5 ? "llama-2-70b" : NULL),
			.arrival_s = t,
			.first_token_s = i % 2 ? NAN : t + 1e-9,
			.completed_s = is_served ? t + 1.0 / 3 : NAN,
			.queue_s = is_served ? 0 : NAN,
			.prompt_tokens = (uint32_t)i * 100000001u,
			.output_tokens = (uint32_t)i,
			.preemptions = (uint32_t)(i % 6),
			.replica = is_served ? (uint32_t)i : UINT32_MAX,
			.status = (uint8_t)(i % 4) };
	}
	r->n_replicas = n;
	r->replicas = mem_zalloc(n + 1, sizeof *r->replicas);
	for (size_t i = 0; i < n; i++)
		r->replicas[i] = (struct replica_row){ .replica = (uint32_t)i / 2,
			.deployment = (uint32_t)i % 3,
			.model = i % 5 ? "llama-2-70b" : NULL,
			.gpus = 8,
			.places = "n0:4,n7:4",
			.start_ns = (int64_t)i,
			.ready_ns = i % 2 ? -1 : (int64_t)i * 1000,
			.stop_ns = i % 3 ? (int64_t)i * 3000000000 : -1,
			.reason = i % 3 ? "scale-down" : NULL };
}

/* Prints all fields of a result, so that equal results give equal texts. */
static void put_text(struct sbuf *b, const char *s)
{
	if (s)
		sbuf_printf(b, "\"%s\" ", s);
	else
		sbuf_puts(b, "none ");
}

static void describe(struct sbuf *b, const struct run_result *r)
{
	const char *texts[] = { r->label, r->policy, r->world, r->scenario, r->hash, r->seed_text };
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		put_text(b, texts[i]);
	sbuf_printf(b, "%d %.17g %.17g %" PRIu64 "\n", r->is_oracle, r->wall_s, r->cpu_s, r->rows_total);
	for (size_t i = 0; i < r->n_jobs; i++) {
		const struct job_row *j = &r->jobs[i];
		put_text(b, j->job_id);
		put_text(b, j->user);
		put_text(b, j->queue);
		put_text(b, j->model);
		const int64_t times[] = { j->submit_ns, j->start_ns, j->end_ns, j->wait_ns, j->run_ns, j->duration_ns,
			j->recorded_wait_ns };
		for (size_t k = 0; k < sizeof times / sizeof *times; k++)
			sbuf_printf(b, "%" PRId64 " ", times[k]);
		sbuf_printf(b, "%" PRIu64 " %u %u %u %u %u %u\n", j->number, j->gpus, j->gpu_milli, j->preemptions, j->migrations,
			j->restarts, j->status);
	}
	for (size_t i = 0; i < r->n_metrics; i++)
		sbuf_printf(
			b, "%s %.17g %.17g %.17g\n", r->metrics[i].name, r->metrics[i].value, r->metrics[i].ci_low, r->metrics[i].ci_high);
	for (size_t i = 0; i < r->n_series; i++) {
		sbuf_printf(b, "%s %zu\n", r->series[i].name, r->series[i].n);
		for (size_t k = 0; k < r->series[i].n; k++)
			sbuf_printf(b, "%" PRId64 " %.17g\n", r->series[i].time_ns[k], r->series[i].value[k]);
	}
	for (size_t i = 0; i < r->n_events; i++) {
		sbuf_printf(b, "%" PRId64 " %" PRIu64 " ", r->events[i].time_ns, r->events[i].subject);
		put_text(b, r->events[i].kind);
		put_text(b, r->events[i].detail);
		sbuf_putc(b, '\n');
	}
}

static void describe_step(struct sbuf *b, const struct run_result *r)
{
	for (size_t i = 0; i < r->n_iterations; i++)
		sbuf_printf(b, "%" PRIu64 " %.17g %.17g %.17g\n", r->iterations[i].number, r->iterations[i].start_s, r->iterations[i].end_s,
			r->iterations[i].samples);
	for (size_t i = 0; i < r->n_devices; i++) {
		const struct device_row *d = &r->devices[i];
		sbuf_printf(b, "%u %u %.17g %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", d->device, d->node, d->compute_s, d->optimizer_s,
			d->codec_s, d->exposed_s, d->bubble_s, d->idle_s, d->peak_memory_bytes, d->sent_bytes);
	}
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct span_row *x = &r->spans[i];
		sbuf_printf(b, "%.17g %.17g %" PRIu64 " %u %u ", x->start_s, x->end_s, x->iteration, x->device, x->stream);
		put_text(b, x->kind);
		put_text(b, x->label);
		sbuf_putc(b, '\n');
	}
	for (size_t i = 0; i < r->n_endpoints; i++) {
		sbuf_printf(b, "%u ", r->endpoints[i].device);
		put_text(b, r->endpoints[i].name);
		sbuf_putc(b, '\n');
	}
}

static void describe_requests(struct sbuf *b, const struct run_result *r)
{
	for (size_t i = 0; i < r->n_requests; i++) {
		const struct request_row *q = &r->requests[i];
		put_text(b, q->request_id);
		put_text(b, q->model);
		sbuf_printf(b, "%" PRIu64 " %.17g %.17g %.17g %.17g %u %u %u %u %u\n", q->number, q->arrival_s, q->first_token_s,
			q->completed_s, q->queue_s, q->prompt_tokens, q->output_tokens, q->preemptions, q->replica, q->status);
	}
}

static void describe_replicas(struct sbuf *b, const struct run_result *r)
{
	for (size_t i = 0; i < r->n_replicas; i++) {
		const struct replica_row *x = &r->replicas[i];
		sbuf_printf(b, "replica %u %u %u %lld %lld %lld ", x->replica, x->deployment, x->gpus, (long long)x->start_ns,
			(long long)x->ready_ns, (long long)x->stop_ns);
		put_text(b, x->model);
		put_text(b, x->places);
		put_text(b, x->reason);
	}
}

void sample_add_spot(struct run_result *r, size_t n)
{
	static const char *const accounts[] = { "useful", "with \"quotes\", and a comma", "idle" };
	r->n_nodes = n;
	r->nodes = mem_zalloc(n + 1, sizeof *r->nodes);
	for (size_t i = 0; i < n; i++)
		r->nodes[i] = (struct node_row){ (int64_t)i * 1500000000, 3 + (uint32_t)i, 2 + (uint32_t)i, (uint32_t)i, (double)i / 3 };
	r->n_accounts = n ? 3 : 0;
	r->accounts = mem_zalloc(3, sizeof *r->accounts);
	for (size_t i = 0; i < r->n_accounts; i++)
		r->accounts[i] = (struct account_row){ result_text(r, accounts[i]), 3600. / (double)(i + 1), i == 1 ? 0.1 : 7. };
}

static void describe_spot(struct sbuf *b, const struct run_result *r)
{
	for (size_t i = 0; i < r->n_nodes; i++) {
		const struct node_row *x = &r->nodes[i];
		sbuf_printf(b, "node %lld %u %u %u %.17g\n", (long long)x->time_ns, x->live, x->ready, x->in_use, x->usd);
	}
	for (size_t i = 0; i < r->n_accounts; i++)
		sbuf_printf(b, "account %s %.17g %.17g\n", r->accounts[i].account, r->accounts[i].node_s, r->accounts[i].usd);
}

bool same_run(const struct run_result *a, const struct run_result *b)
{
	struct sbuf x = { 0 }, y = { 0 };
	describe(&x, a);
	describe(&y, b);
	describe_step(&x, a);
	describe_step(&y, b);
	describe_requests(&x, a);
	describe_requests(&y, b);
	describe_replicas(&x, a);
	describe_replicas(&y, b);
	describe_spot(&x, a);
	describe_spot(&y, b);
	bool same = x.len == y.len && !memcmp(x.text, y.text, x.len);
	sbuf_free(&x);
	sbuf_free(&y);
	return same;
}
