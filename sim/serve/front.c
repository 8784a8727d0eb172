/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links between the front and the replicas (docs/models/serve-edge.md). */
#include "serve/front.h"
#include "serve/metrics.h"
#include "serve/replica.h"

#include "base/hash.h"
#include "base/mem.h"
#include "net/share.h"
#include "results/summary.h"

#include <math.h>

void front_begin(struct orr_serve *w)
{
	const struct serve_settings *set = w->set;
	if (set->front == FRONT_NONE)
		return;
	struct front *f = w->front = mem_zalloc(1, sizeof *f);
	f->n = set->front == FRONT_SHARED ? 1 : w->n_replicas;
	f->in = mem_zalloc((size_t)f->n + 1, sizeof *f->in);
	f->out = mem_zalloc((size_t)f->n + 1, sizeof *f->out);
	for (uint32_t i = 0; i < f->n; i++) {
		f->in[i] = (struct front_link){ .share = share_new(set->front_Bps, set->front_latency_s), .awaited_ns = ORR_NEVER };
		f->out[i] = (struct front_link){ .share = share_new(set->front_Bps, set->front_latency_s), .awaited_ns = ORR_NEVER };
	}
}

void front_free(struct orr_serve *w)
{
	struct front *f = w->front;
	if (!f)
		return;
	for (uint32_t i = 0; i < f->n; i++) {
		share_free(f->in[i].share);
		share_free(f->out[i].share);
	}
	mem_free(f->in);
	mem_free(f->out);
	mem_free(f);
	w->front = NULL;
}

/* ---- events ---- */

static void on_link(struct engine *e, void *ctx, uint64_t subject, uint64_t arg);

/* Schedules the event of the link at the next receipt. An event that is too early is kept: it schedules the next one. */
static void await(struct orr_serve *w, struct front_link *l)
{
	double next = share_next(l->share);
	int64_t at = next < INFINITY ? serve_ns(next) : ORR_NEVER;
	if (at >= l->awaited_ns)
		return;
	eng_cancel(w->host.engine, l->event);
	bool is_out = l >= w->front->out && l < w->front->out + w->front->n;
	l->awaited_ns = at;
	l->event = eng_at(w->host.engine, at, PRIO_MOVE, on_link, w, (uint64_t)(is_out ? l - w->front->out : l - w->front->in), is_out);
}

static void on_link(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	struct orr_serve *w = ctx;
	struct front *f = w->front;
	struct front_link *l = arg ? &f->out[subject] : &f->in[subject];
	double next;
	uint64_t run;
	l->awaited_ns = ORR_NEVER;
	if (w->error.code)
		return;
	/* Receives all transfers whose end rounds to this instant. */
	while (serve_ns(next = share_next(l->share)) <= eng_now(e) && share_pop(l->share, next, &run, &next)) {
		struct run *x = &w->run[run];
		serve_happen(w, next);
		if (arg) {
			f->received_out += x->bytes;
			f->on_answer(w, x, next);
		} else {
			f->received_in += x->bytes;
			f->on_input(w, x);
		}
	}
	await(w, l);
}

/* ---- transfers ---- */

static struct front_link *link_of(const struct orr_serve *w, const struct run *x)
{
	struct front *f = w->front;
	uint32_t i = f->n > 1 ? x->replica : 0;
	return x->state == RUN_SENDING ? &f->in[i] : &f->out[i];
}

static void start(struct orr_serve *w, struct run *x, double bytes)
{
	struct front_link *l = link_of(w, x);
	x->bytes = bytes;
	x->flow = share_start(l->share, w->now_s, bytes, run_slot(w, x));
	await(w, l);
}

void front_send(struct orr_serve *w, struct run *x)
{
	double bytes = w->config->model[x->model]->input_bytes * x->asked;
	w->front->sent_in += bytes;
	start(w, x, bytes);
}

void front_answer(struct orr_serve *w, struct run *x)
{
	double bytes = w->config->model[x->model]->output_bytes * x->asked;
	w->front->sent_out += bytes;
	start(w, x, bytes);
}

void front_cancel(struct orr_serve *w, struct run *x)
{
	struct front *f = w->front;
	struct front_link *l = link_of(w, x);
	double left = share_cancel(l->share, w->now_s, x->flow);
	*(x->state == RUN_SENDING ? &f->sent_in : &f->sent_out) -= left;
	f->lost += x->bytes - left;
	await(w, l);
}

double front_alone_s(const struct orr_serve *w, double bytes)
{
	return w->front ? bytes / w->set->front_Bps + w->set->front_latency_s : 0;
}

/* ---- loss ---- */

bool front_loses(const struct orr_serve *w, const struct req *q, uint32_t replica)
{
	if (!(w->set->loss > 0))
		return false;
	uint64_t h = hash_mix(hash_mix(w->loss_seed ^ hash_mix(q->number)) ^ hash_mix(~(uint64_t)replica));
	return (double)(h >> 11) * 0x1p-53 < w->set->loss;
}

/* ---- the end of a run ---- */

/* Returns the bytes of the transfers in flight. */
static double on_their_way(const struct orr_serve *w)
{
	double bytes = 0;
	for (uint32_t i = 0; i < w->n_run; i++)
		if (w->run[i].state == RUN_SENDING || w->run[i].state == RUN_ANSWERING)
			bytes += w->run[i].bytes;
	return bytes;
}

const char *front_verify(const struct orr_serve *w)
{
	static const double rounding = 1e-9;
	const struct front *f = w->front;
	const char *wrong = NULL;
	for (uint32_t i = 0; f && i < f->n && !wrong; i++)
		if (!(wrong = share_verify(f->in[i].share)))
			wrong = share_verify(f->out[i].share);
	if (wrong || !f)
		return wrong;
	double sent = f->sent_in + f->sent_out, known = f->received_in + f->received_out + f->lost + on_their_way(w);
	return fabs(sent - known) > rounding * (sent + 1)
		       ? "the bytes sent over links of the front are neither received, lost nor in transit"
		       : NULL;
}

/* Returns the time in which the links of one direction carried bytes, summed over links. */
static double busy_s(const struct orr_serve *w, const struct front_link *l)
{
	double s = 0;
	for (uint32_t i = 0; i < w->front->n; i++)
		s += share_busy_s(l[i].share, w->now_s);
	return s;
}

/* Returns the time from the first arrival, summed over links. A link of a replica counts while the replica is up. */
static double span_s(const struct orr_serve *w)
{
	if (w->set->front == FRONT_SHARED)
		return w->now_s - w->metrics->begun_s;
	double up = -w->metrics->up_before_s;
	for (uint32_t i = 0; i < w->n_replicas; i++)
		up += replica_up_s(w, &w->replica[i]);
	return up;
}

void front_measure(struct orr_serve *w)
{
	const struct front *f = w->front;
	if (!f)
		return;
	double span = span_s(w);
	summary_put(w->result, "front_input_bytes", f->received_in);
	summary_put(w->result, "front_answer_bytes", f->received_out);
	summary_put(w->result, "front_lost_bytes", f->lost);
	summary_put(w->result, "front_input_use", w->metrics->has_begun && span > 0 ? busy_s(w, f->in) / span : NAN);
	summary_put(w->result, "front_answer_use", w->metrics->has_begun && span > 0 ? busy_s(w, f->out) / span : NAN);
}
