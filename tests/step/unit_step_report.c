/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Outputs of a step's result: spans as Trace Event JSON, and metrics. Results, expected texts and expected numbers are written
 * by hand.
 */
#include "base/sbuf.h"
#include "results/result.h"
#include "step/trace_event.h"
#include "base/hash.h"
#include "tests/tap.h"

#include <stdlib.h>

/* ---- the Trace Event format ---- */

/* Copies the value of the field "KEY" of the slice with this name, without quotes. */
static const char *field_of(const char *json, const char *name, const char *key)
{
	static char value[64];
	char wanted[96];
	snprintf(wanted, sizeof wanted, "\"name\":\"%s\",\"cat\"", name);
	const char *at = strstr(json, wanted), *line = at;
	while (line && line > json && line[-1] != '\n')
		line--;
	snprintf(wanted, sizeof wanted, "\"%s\":", key);
	const char *v = line ? strstr(line, wanted) : NULL;
	if (!v || v > strchr(at, '\n'))
		return NULL;
	v += strlen(wanted);
	snprintf(value, sizeof value, "%.*s", (int)strcspn(v, ",}"), v);
	return value;
}

static void thread_is(const char *json, const char *name, const char *tid, const char *why)
{
	same_text(field_of(json, name, "tid"), tid, why);
}

static void trace_events(void)
{
	enum { MESSAGE = STEP_STREAMS, SENT = ORR_WORK_KINDS };
	struct step_span span[] = {
		{ 0, 1, 0, 0, 0, UINT32_MAX, ORR_FORWARD, "a \"b\\\n\x1f" },
		{ 1, 2, 0, 0, 3, UINT32_MAX, ORR_BACKWARD, NULL },
		/* Two messages run from 0 to 1, and a third one begins at the end of the first. */
		{ 0, 2, 0, 0, MESSAGE, 1, SENT, "m1" },
		{ 1, 3, 0, 0, MESSAGE, 1, SENT, "m2" },
		{ 2, 4, 0, 0, MESSAGE, 2, SENT, "m3" },
		{ 5, 6, 1, 2, MESSAGE, 2, SENT, "to itself" },
		{ 5, 6, 1, 2, MESSAGE, UINT32_MAX, SENT, NULL },
		{ 8, 9, 1, 2, MESSAGE, 0, SENT, NULL },
		{ 7, 7, 1, 2, 0, UINT32_MAX, ORR_FORWARD, "without a duration" },
	};
	struct step_device device[] = { { .device = 0, .node = 0 }, { .device = 2, .node = 7 } };
	struct step_result r = { .span = span, .n_spans = sizeof span / sizeof *span, .device = device, .n_devices = 2 };
	struct sbuf b = { 0 };
	trace_event_open(&b);
	trace_event_add(&b, &r, "run", 0);
	trace_event_add(&b, &r, "again", 1);
	trace_event_close(&b);
	const char *json = sbuf_text(&b);

	thread_is(json, "a \\\"b\\\\\\u000a\\u001f", "0", "quotes, backslashes and control characters are escaped; stream 0 is thread 0");
	thread_is(json, "backward", "3", "a stream is the thread of its number; work without a label has the name of its kind");
	thread_is(json, "m1", "8", "the first thread of messages");
	thread_is(json, "m2", "9", "a message beside another has its own thread");
	thread_is(json, "m3", "8", "a message that starts when another ends takes over its thread");
	thread_is(json, "from 0: m1", "1000", "received messages have threads of their own");
	thread_is(json, "from 0: m2", "1001", "a received message beside another has its own thread");
	thread_is(json, "from 0: m3", "1000", "a received message that starts when another ends takes over its thread");
	thread_is(json, "to itself", "8", "a message to the same device is not received");
	ok(!strstr(json, "from 2: to itself") && !strstr(json, "without a duration"),
		"a message to the same device and one without a duration are not shown");
	thread_is(json, "collective", "9", "communication without a peer is a collective");
	thread_is(json, "to 0", "8", "a message without a label has the name of its receiver");
	thread_is(json, "from 2", "1000", "at the receiver, of its sender");
	same_text(field_of(json, "m3", "ts"), "2000000", "times are microseconds");
	same_text(field_of(json, "m3", "dur"), "2000000", "durations are in microseconds");
	same_text(field_of(json, "from 0: m3", "pid"), "2", "a received message is on the receiver");
	ok(strstr(json, "\"tid\":8,\"ts\":2002000,\"id\":5,\"name\":\"message\"") &&
			strstr(json, "\"tid\":1000,\"ts\":3998000,\"id\":5,\"name\":\"message\",\"cat\":\"message\",\"bp\":\"e\"}"),
		"an arrow leaves just after the start and arrives just before the end, with one number at both ends");
	ok(strstr(json, "run: device 2 (node 7)") && strstr(json, "\"run: device 1\""), "devices have the node, if it is known");
	ok(strstr(json, "{\"ph\":\"M\",\"pid\":4194304,") && strstr(json, "again: device 0 (node 0)") && strstr(json, "\"id\":268435461"),
		"devices and arrows of a second run have other numbers");
	ok(strstr(json, "\"tid\":3,\"name\":\"thread_name\",\"args\":{\"name\":\"stream 3\"") && strstr(json, "{\"name\":\"messages 1\"") &&
			strstr(json, "{\"name\":\"received 1\"") && !strstr(json, "messages 2"),
		"threads are named once");
	sbuf_free(&b);
}

/* ---- metrics ---- */

static double metric(const struct run_result *r, const char *name)
{
	const struct metric *m = result_find(r, name);
	return m ? m->value : NAN;
}

static void metrics(void)
{
	struct step_iteration row[] = { { 0, 0, 2, 8 }, { 1, 2, 3, 8 } };
	struct step_device device[] = { { .device = 0,
						.compute_s = 3,
						.optimizer_s = 1,
						.codec_s = 2,
						.exposed_s = 4,
						.bubble_s = 6,
						.idle_s = 8,
						.peak_memory_bytes = 5,
						.sent_bytes = 10 },
		{ .device = 1,
			.node = 1,
			.compute_s = 5,
			.optimizer_s = 3,
			.codec_s = 4,
			.exposed_s = 6,
			.bubble_s = 8,
			.idle_s = 10,
			.peak_memory_bytes = 9,
			.sent_bytes = 30 },
		/* The device is a server, which is excluded from the means. */
		{ .device = 2, .node = 2, .optimizer_s = 100, .exposed_s = 100, .peak_memory_bytes = 2, .sent_bytes = 60 } };
	struct step_result s = { .iteration = row,
		.n_iterations = 2,
		.simulated = 2,
		.device = device,
		.n_devices = 3,
		.samples_per_s = 8,
		.iteration_s = 1,
		.flows = 77,
		.choice = "F=1, largest_slice=2.5e3, p=3x, =7, q=, r=-4; F=9" };
	struct run_result *r = result_new();
	step_metrics(&s, r);
	near_to(metric(r, "compute_s"), 4, 0, "times are means over the devices that train");
	near_to(metric(r, "optimizer_s"), 2, 0, "optimizer time is a mean over devices that train, not over servers");
	near_to(metric(r, "codec_s"), 3, 0, "codec");
	near_to(metric(r, "exposed_s"), 5, 0, "exposed");
	near_to(metric(r, "bubble_s"), 7, 0, "bubble");
	near_to(metric(r, "idle_s"), 9, 0, "idle");
	near_to(metric(r, "peak_memory_bytes"), 9, 0, "the largest memory of all devices");
	near_to(metric(r, "sent_bytes"), 100, 0, "bytes are sums over all devices");
	near_to(metric(r, "sent_bytes_max"), 60, 0, "sent_bytes_max is the maximum over devices");
	near_to(metric(r, "flows"), 77, 0, "flows");
	near_to(metric(r, "choice_F"), 1, 0, "a choice is a metric: the first value of a name");
	near_to(metric(r, "choice_largest_slice"), 2500, 0, "names may hold underscores, numbers exponents");
	near_to(metric(r, "choice_r"), -4, 0, "a choice may be negative");
	ok(!result_find(r, "choice_p") && !result_find(r, "choice_q") && !result_find(r, "choice_"),
		"no choice without a name and a whole number");
	ok(r->n_iterations == 2 && r->rows_total == 2 && r->iterations[1].end_s == 3 && r->n_devices == 3 && r->devices[1].bubble_s == 8,
		"rows of iterations and devices");
	result_free(r);
}

/* Tests intervals of independent durations from 1 to 2 s, with mean 1.5 s and standard deviation 1/sqrt(12). The mean of 20,000
 * iterations has an interval from batch means, whose half-width is within a third of 1.96 / sqrt(12 n). The mean of 20 iterations has
 * no interval. */
static void intervals(void)
{
	enum { N = 20001 };
	struct step_iteration *row = calloc(N, sizeof *row);
	uint64_t state = 2;
	row[0] = (struct step_iteration){ 0, 0, 1, 8 };
	for (int i = 1; i < N; i++)
		row[i] = (struct step_iteration){ (uint64_t)i, row[i - 1].end_s,
			row[i - 1].end_s + 1 + (double)(hash_next(&state) >> 11) * 0x1p-53, 8 };
	struct step_result s = { .iteration = row, .n_iterations = N, .simulated = N, .samples_per_s = 8 / 1.5, .iteration_s = 1.5 };
	double w = 1.96 / sqrt(12. * (N - 1));
	struct run_result *r = result_new();
	step_metrics(&s, r);
	const struct metric *t = result_find(r, "iteration_s"), *x = result_find(r, "samples_per_s");
	near_to((t->ci_high - t->ci_low) / 2, w, w / 3, "the half-width of the mean duration");
	ok(t->ci_low < 1.5 && 1.5 < t->ci_high, "the interval of the mean duration contains 1.5 s");
	near_to(x->ci_low, 8 / t->ci_high, 1e-2, "interval of the rate: lower end");
	near_to(x->ci_high, 8 / t->ci_low, 1e-2, "interval of the rate: upper end");
	result_free(r);
	r = result_new();
	s.n_iterations = s.simulated = 20;
	step_metrics(&s, r);
	ok(isnan(result_find(r, "iteration_s")->ci_low) && isnan(result_find(r, "samples_per_s")->ci_high),
		"twenty iterations have no interval");
	result_free(r);
	r = result_new();
	s.period = 1;
	s.iteration_s = 2;
	s.samples_per_s = 8;
	step_metrics(&s, r);
	ok(result_find(r, "iteration_s")->ci_low == 2 && result_find(r, "samples_per_s")->ci_high == 8,
		"iterations that repeat have one of width 0");
	result_free(r);
	free(row);
}

int main(void)
{
	trace_events();
	metrics();
	intervals();
	return done();
}
