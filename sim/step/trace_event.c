/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/trace_event.h"

#include "base/mem.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX
enum { RUN_STRIDE = 1 << 22, FIRST_SEND = STEP_STREAMS, FIRST_RECEIVE = 1000 };

/* A slice: a span on its device, or on the device that receives it. */
struct slice {
	const struct step_span *span;
	uint32_t device, thread;
	uint64_t message; /* number of the arrow; 0: none */
	bool is_receiver;
};

struct events {
	struct sbuf *out;
	const char *label;
	uint32_t number; /* number of the run */
	struct slice *slice;
	size_t n;
};

static void put_text(struct sbuf *out, const char *s)
{
	sbuf_putc(out, '"');
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			sbuf_putc(out, '\\');
		if ((unsigned char)*s < 0x20)
			sbuf_printf(out, "\\u%04x", *s);
		else
			sbuf_putc(out, *s);
	}
	sbuf_putc(out, '"');
}

static void begin_event(const struct events *e, char phase, uint32_t device)
{
	sbuf_printf(e->out, ",\n{\"ph\":\"%c\",\"pid\":%" PRIu32, phase, e->number * RUN_STRIDE + device);
}

/* ---- threads ---- */

static int by_device_and_time(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->span->start_s != y->span->start_s)
		return x->span->start_s < y->span->start_s ? -1 : 1;
	if (x->is_receiver != y->is_receiver)
		return x->is_receiver ? 1 : -1;
	return (x->span > y->span) - (x->span < y->span);
}

/* Returns the first thread, from `first` on, that is free when the slice starts. */
static uint32_t free_thread(double **end, size_t *n, size_t *cap, double start_s, double end_s)
{
	size_t k = 0;
	while (k < *n && (*end)[k] > start_s)
		k++;
	if (k == *n) {
		MEM_GROW(*end, *n, *cap);
		++*n;
	}
	(*end)[k] = end_s;
	return (uint32_t)k;
}

/* Sorts slices by device and time, and assigns their threads. */
static void choose_threads(struct events *e)
{
	double *end[2] = { NULL, NULL };
	size_t n[2] = { 0, 0 }, cap[2] = { 0, 0 };
	for (size_t i = 0; i < e->n; i++) {
		struct slice *x = &e->slice[i];
		if (!i || x->device != x[-1].device)
			n[0] = n[1] = 0;
		int side = x->is_receiver;
		if (!x->is_receiver && x->span->stream < STEP_STREAMS)
			x->thread = x->span->stream;
		else
			x->thread = free_thread(&end[side], &n[side], &cap[side], x->span->start_s, x->span->end_s) +
				    (x->is_receiver ? FIRST_RECEIVE : FIRST_SEND);
	}
	mem_free(end[0]);
	mem_free(end[1]);
}

/* ---- events ---- */

static void put_name(const struct events *e, const struct slice *x)
{
	const struct step_span *s = x->span;
	struct sbuf name = { 0 };
	if (x->is_receiver)
		sbuf_printf(&name, "from %" PRIu32 "%s%s", s->device, s->label ? ": " : "", s->label ? s->label : "");
	else if (s->label)
		sbuf_puts(&name, s->label);
	else if (s->peer != NONE)
		sbuf_printf(&name, "to %" PRIu32, s->peer);
	else
		sbuf_puts(&name, s->work == ORR_WORK_KINDS ? "collective" : step_work_name(s->work));
	sbuf_puts(e->out, ",\"name\":");
	put_text(e->out, sbuf_text(&name));
	sbuf_free(&name);
}

static void put_slice(const struct events *e, const struct slice *x)
{
	const struct step_span *s = x->span;
	double us = s->start_s * 1e6, length = (s->end_s - s->start_s) * 1e6;
	begin_event(e, 'X', x->device);
	sbuf_printf(e->out, ",\"tid\":%" PRIu32 ",\"ts\":%.17g,\"dur\":%.17g", x->thread, us, length);
	put_name(e, x);
	sbuf_printf(e->out, ",\"cat\":\"%s\",\"args\":{\"iteration\":%" PRIu64 "}}", x->is_receiver ? "receive" : step_work_name(s->work),
		s->iteration);
	if (!x->message)
		return;
	/* An arrow binds to the slice that is open at its time: it starts just after the start of a slice and ends just before the
	 * end of one. */
	begin_event(e, x->is_receiver ? 'f' : 's', x->device);
	sbuf_printf(e->out, ",\"tid\":%" PRIu32 ",\"ts\":%.17g,\"id\":%" PRIu64 ",\"name\":\"message\",\"cat\":\"message\"%s}", x->thread,
		us + length * (x->is_receiver ? 0.999 : 0.001), x->message + (uint64_t)e->number * RUN_STRIDE * 64,
		x->is_receiver ? ",\"bp\":\"e\"" : "");
}

static const struct step_device *find_device(const struct step_result *r, uint32_t device)
{
	for (size_t i = 0; i < r->n_devices; i++)
		if (r->device[i].device == device)
			return &r->device[i];
	return NULL;
}

static void put_process(const struct events *e, const struct step_result *r, uint32_t device)
{
	const struct step_device *d = find_device(r, device);
	struct sbuf name = { 0 };
	const char *row = device < r->n_names ? r->name[device] : NULL;
	sbuf_printf(&name, "%s: device %" PRIu32, e->label, device);
	if (row)
		sbuf_printf(&name, " (%s)", row);
	else if (d)
		sbuf_printf(&name, " (node %" PRIu32 ")", d->node);
	begin_event(e, 'M', device);
	sbuf_puts(e->out, ",\"name\":\"process_name\",\"args\":{\"name\":");
	put_text(e->out, sbuf_text(&name));
	sbuf_puts(e->out, "}}");
	begin_event(e, 'M', device);
	sbuf_printf(e->out, ",\"name\":\"process_sort_index\",\"args\":{\"sort_index\":%" PRIu32 "}}", e->number * RUN_STRIDE + device);
	sbuf_free(&name);
}

static void put_thread(const struct events *e, uint32_t device, uint32_t thread)
{
	begin_event(e, 'M', device);
	sbuf_printf(e->out, ",\"tid\":%" PRIu32 ",\"name\":\"thread_name\",\"args\":{\"name\":\"", thread);
	if (thread == 0)
		sbuf_puts(e->out, "compute");
	else if (thread < STEP_STREAMS)
		sbuf_printf(e->out, "stream %" PRIu32, thread);
	else if (thread < FIRST_RECEIVE)
		sbuf_printf(e->out, "messages %" PRIu32, thread - FIRST_SEND);
	else
		sbuf_printf(e->out, "received %" PRIu32, thread - FIRST_RECEIVE);
	sbuf_puts(e->out, "\"}}");
}

/* Writes the names of devices and of the threads in use, each before its first slice. */
static void put_all(const struct events *e, const struct step_result *r)
{
	bool *seen = NULL;
	size_t cap = 0;
	for (size_t i = 0; i < e->n; i++) {
		const struct slice *x = &e->slice[i];
		if (!i || x->device != x[-1].device) {
			put_process(e, r, x->device);
			if (cap)
				memset(seen, 0, cap * sizeof *seen);
		}
		if (x->thread >= cap) {
			size_t had = cap;
			cap = x->thread + 64;
			seen = mem_realloc(seen, cap, sizeof *seen);
			memset(seen + had, 0, (cap - had) * sizeof *seen);
		}
		if (!seen[x->thread])
			put_thread(e, x->device, x->thread);
		seen[x->thread] = true;
		put_slice(e, x);
	}
	mem_free(seen);
}

void trace_event_open(struct sbuf *out)
{
	sbuf_puts(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"trace_config\",\"args\":{}}");
}

void trace_event_add(struct sbuf *out, const struct step_result *r, const char *label, uint32_t number)
{
	struct events e = { .out = out, .label = label, .number = number };
	e.slice = mem_zalloc(2 * r->n_spans + 1, sizeof *e.slice);
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct step_span *s = &r->span[i];
		if (!(s->end_s > s->start_s))
			continue;
		bool has_peer = s->peer != NONE && s->peer != s->device;
		e.slice[e.n++] = (struct slice){ .span = s, .device = s->device, .message = has_peer ? i + 1 : 0 };
		if (has_peer)
			e.slice[e.n++] = (struct slice){ .span = s, .device = s->peer, .message = i + 1, .is_receiver = true };
	}
	qsort(e.slice, e.n, sizeof *e.slice, by_device_and_time);
	choose_threads(&e);
	put_all(&e, r);
	mem_free(e.slice);
}

/* ---- rows ---- */

static int by_device_and_start(const void *a, const void *b)
{
	const struct step_span *x = a, *y = b;
	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	if (x->start_s != y->start_s)
		return x->start_s < y->start_s ? -1 : 1;
	return (x->stream > y->stream) - (x->stream < y->stream);
}

static void put_field(struct sbuf *out, const char *text)
{
	bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;
	if (is_quoted)
		sbuf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"')
			sbuf_putc(out, '"');
		sbuf_putc(out, *text);
	}
	if (is_quoted)
		sbuf_putc(out, '"');
}

void trace_rows_open(struct sbuf *out)
{
	sbuf_puts(out, "policy,iteration,device,stream,kind,label,start_s,end_s\n");
}

void trace_rows_add(struct sbuf *out, const struct step_result *r, const char *label)
{
	struct step_span *span = mem_alloc((r->n_spans + 1) * sizeof *span);
	if (r->n_spans)
		memcpy(span, r->span, r->n_spans * sizeof *span);
	qsort(span, r->n_spans, sizeof *span, by_device_and_start);
	for (size_t i = 0; i < r->n_spans; i++) {
		const struct step_span *x = &span[i];
		put_field(out, label);
		sbuf_printf(out, ",%" PRIu64 ",%" PRIu32 ",", x->iteration, x->device);
		if (x->stream < STEP_STREAMS)
			sbuf_printf(out, "%" PRIu32, x->stream);
		sbuf_printf(out, ",%s,", step_work_name(x->work));
		put_field(out, x->label ? x->label : "");
		sbuf_printf(out, ",%.17g,%.17g\n", x->start_s, x->end_s);
	}
	mem_free(span);
}

void trace_event_close(struct sbuf *out)
{
	sbuf_puts(out, "\n]}\n");
}
