/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Initial state of a run's network: capacities, permanent flows, capacity changes over time. */
#include "step/wire_state.h"

#include "base/mem.h"
#include "base/num.h"

#include <stdlib.h>
#include <string.h>

static int add_background(struct orr_step *s, struct wire *w, const char *text)
{
	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ",");
		const char *gt = memchr(p, '>', n), *colon = memchr(p, ':', n);
		int64_t from, to;
		double rate;
		if (!gt || !colon || gt > colon || !num_int(p, (size_t)(gt - p), &from) ||
			!num_int(gt + 1, (size_t)(colon - gt - 1), &to) || !num_real(colon + 1, n - (size_t)(colon + 1 - p), &rate) ||
			from < 0 || to < 0 || from >= s->endpoints || to >= s->endpoints || !(rate >= 0))
			return orr_fail(&s->error, ORR_EINPUT,
				"step.background: expected FROM>TO:BYTES_PER_SECOND,.. with endpoints 0..%u "
				"(GPUs, then a host for each node), "
				"found \"%.80s\"",
				s->endpoints - 1, p);
		uint32_t route[TOPO_MAX_HOPS], hops = topo_route(s->config->topo, (uint32_t)from, (uint32_t)to, 0, route);
		for (uint32_t i = 0; i < hops; i++) {
			w->background[route[i]] += rate;
			w->has_background |= rate > 0;
			const struct topo_link *l = &s->config->topo->link[route[i]];
			if (w->background[route[i]] > l->flow.capacity_Bps * (1 + 1e-9))
				return orr_fail(&s->error, ORR_EINPUT,
					"step.background: %g bytes/s on the link %s: expected at most its capacity, %g",
					w->background[route[i]], l->name, l->flow.capacity_Bps);
			w->nominal[route[i]] = fmax(0, w->nominal[route[i]] - rate);
			w->capacity[route[i]] = w->nominal[route[i]];
			flownet_set_capacity(w->net, route[i], w->capacity[route[i]]);
		}
		p += n + (p[n] == ',');
	}
	return ORR_OK;
}

static int by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	return x->time_s < y->time_s ? -1 : x->time_s > y->time_s ? 1 : (x->link > y->link) - (x->link < y->link);
}

static int read_change(struct orr_step *s, const char *path, unsigned line, const char *p, size_t n, struct change *out)
{
	const struct topo *t = s->config->topo;
	const char *a = memchr(p, ',', n), *b = a ? memchr(a + 1, ',', n - (size_t)(a + 1 - p)) : NULL;
	if (!b || !num_real(p, (size_t)(a - p), &out->time_s) || !(out->time_s >= 0) ||
		!num_real(b + 1, n - (size_t)(b + 1 - p), &out->capacity_Bps) || !(out->capacity_Bps >= 0))
		return orr_fail(&s->error, ORR_EINPUT,
			"%s:%u: expected time_s,link,bandwidth_Bps with numbers of at least 0, found \"%.*s\"", path, line,
			(int)(n < 80 ? n : 80), p);
	size_t len = (size_t)(b - a - 1);
	for (out->link = 0; out->link < t->n_links; out->link++)
		if (strlen(t->link[out->link].name) == len && !memcmp(t->link[out->link].name, a + 1, len))
			return ORR_OK;
	return orr_fail(&s->error, ORR_EINPUT, "%s:%u: link: expected a link of the network, such as \"%s\", found \"%.*s\"", path, line,
		t->n_links ? t->link[0].name : "", (int)(len < 80 ? len : 80), a + 1);
}

static int read_changes(struct orr_step *s, struct wire *w)
{
	size_t n, cap = 0;
	const char *path = orr_arg_text(s->config->options, "link_changes");
	const char *text = orr_arg_file(s->config->options, "link_changes", &n);
	unsigned line = 0;
	for (const char *p = text; text && p < text + n && !s->error.code;) {
		const char *end = memchr(p, '\n', (size_t)(text + n - p));
		size_t len = end ? (size_t)(end - p) : (size_t)(text + n - p);
		size_t used = len && p[len - 1] == '\r' ? len - 1 : len;
		line++;
		if (used && !(line == 1 && !strncmp(p, "time_s", 6))) {
			MEM_GROW(w->change, w->n_changes, cap);
			if (!read_change(s, path, line, p, used, &w->change[w->n_changes]))
				w->n_changes++;
		}
		p += len + 1;
	}
	if (w->n_changes)
		qsort(w->change, w->n_changes, sizeof *w->change, by_time);
	return s->error.code;
}

static void find_nic_users(const struct orr_step *s, struct wire *w)
{
	const struct topo *t = s->config->topo;
	uint32_t *first = mem_alloc((t->n_links + 1) * sizeof *first);
	memset(first, 0xff, (t->n_links + 1) * sizeof *first);
	w->nic_user = mem_alloc((s->endpoints + 1) * sizeof *w->nic_user);
	for (uint32_t e = 0; e < s->endpoints; e++) {
		uint32_t l = topo_nic(t, e, true);
		w->nic_user[e] = e;
		if (l != NONE)
			w->nic_user[e] = first[l] = first[l] == NONE ? e : first[l];
	}
	mem_free(first);
}

struct wire *wire_new(struct orr_step *s)
{
	struct wire *w = mem_zalloc(1, sizeof *w);
	const struct topo *t = s->config->topo;
	const struct orr_args *o = s->config->options;
	w->net = s->shared_net ? s->shared_net : topo_flownet(t, FLOW_MAX_MIN);
	w->is_shared = s->shared_net != NULL;
	w->free_going = NONE;
	w->first_storage = NONE;
	w->capacity = mem_alloc((t->n_links + 1) * sizeof *w->capacity);
	w->nominal = mem_alloc((t->n_links + 1) * sizeof *w->nominal);
	w->background = mem_zalloc(t->n_links + 1, sizeof *w->background);
	w->part = mem_alloc((t->n_links + 1) * sizeof *w->part);
	for (uint32_t i = 0; i <= t->n_links; i++)
		w->part[i] = 1;
	find_nic_users(s, w);
	w->n_links = t->n_links;
	for (uint32_t i = 0; i < t->n_links; i++)
		w->capacity[i] = w->nominal[i] = t->link[i].flow.capacity_Bps;
	w->users = mem_zalloc(t->n_links + 1, sizeof *w->users);
	w->lease = mem_alloc((t->n_links + 1) * sizeof *w->lease);
	memset(w->lease, 0xff, (t->n_links + 1) * sizeof *w->lease);
	w->free_leap = NONE;
	w->contention_p = orr_arg_real(o, "contention_p");
	w->contention_f = orr_arg_real(o, "contention_f");
	w->slowed_for = mem_zalloc(s->endpoints, sizeof *w->slowed_for);
	s->wire = w;
	if (!add_background(s, w, orr_arg_text(o, "background")))
		read_changes(s, w);
	return w;
}

void wire_add_links(struct orr_step *s, const struct flow_link *more, uint32_t count)
{
	struct wire *w = s->wire;
	uint32_t before = w->n_links, n = before + count;
	struct flow_link *link = mem_alloc(n * sizeof *link);
	w->capacity = mem_realloc(w->capacity, n + 1, sizeof *w->capacity);
	w->nominal = mem_realloc(w->nominal, n + 1, sizeof *w->nominal);
	w->background = mem_realloc(w->background, n + 1, sizeof *w->background);
	w->part = mem_realloc(w->part, n + 1, sizeof *w->part);
	w->users = mem_realloc(w->users, n + 1, sizeof *w->users);
	w->lease = mem_realloc(w->lease, n + 1, sizeof *w->lease);
	for (uint32_t i = 0; i < n; i++) {
		if (i >= before) {
			link[i] = more[i - before];
			w->capacity[i] = w->nominal[i] = link[i].capacity_Bps;
			w->background[i] = 0;
			w->part[i] = 1;
			w->users[i] = 0;
			w->lease[i] = NONE;
			continue;
		}
		link[i] = (struct flow_link){ w->capacity[i], wire_link_latency(s, i) };
	}
	flownet_free(w->net);
	w->net = flownet_new(link, n, FLOW_MAX_MIN);
	w->n_links = n;
	mem_free(link);
}

void wire_extend(struct orr_step *s, const struct orr_functions *f)
{
	struct wire *w = s->wire;
	struct flow_link *link = mem_alloc(2 * (size_t)f->n * sizeof *link);
	for (uint32_t i = 0; i < 2 * f->n; i++)
		link[i] = (struct flow_link){ f->bandwidth_Bps, f->latency_s };
	w->nic_user = mem_realloc(w->nic_user, s->endpoints + 1, sizeof *w->nic_user);
	w->slowed_for = mem_realloc(w->slowed_for, s->endpoints, sizeof *w->slowed_for);
	for (uint32_t e = s->first_function; e < s->endpoints; e++) {
		w->nic_user[e] = e;
		w->slowed_for[e] = 0;
	}
	w->function_latency_s = f->latency_s;
	wire_add_links(s, link, 2 * f->n);
	mem_free(link);
}

void wire_free(struct wire *w)
{
	if (!w)
		return;
	if (!w->is_shared)
		flownet_free(w->net);
	mem_free(w->going);
	mem_free(w->capacity);
	mem_free(w->nominal);
	mem_free(w->background);
	mem_free(w->part);
	mem_free(w->nic_user);
	mem_free(w->change);
	mem_free(w->slowed_for);
	mem_free(w->users);
	mem_free(w->lease);
	mem_free(w->leap);
	quotient_free(w->quotient);
	mem_free(w->pattern);
	mem_free(w->class_list);
	mem_free(w->phase_at);
	mem_free(w->stored);
	mem_free(w);
}

/* ---- queries ---- */

struct flownet *wire_net(const struct orr_step *s)
{
	return s->wire->net;
}

uint32_t wire_link(const struct orr_step *s, uint32_t link)
{
	return s->is_merged && !s->is_analytic ? quotient_link_class(s->wire->quotient, link) : link;
}

/* Returns the link on which an endpoint sends (out) or receives, as a function uses it. */
static uint32_t outer_link(const struct orr_step *s, uint32_t endpoint, bool out)
{
	if (endpoint < s->first_function)
		return topo_nic(s->config->topo, endpoint, out);
	return s->config->topo->n_links + 2 * (endpoint - s->first_function) + !out;
}

uint32_t wire_route(const struct orr_step *s, uint32_t from, uint32_t to, uint64_t key, uint32_t *out)
{
	if (from < s->first_function && to < s->first_function)
		return topo_route(s->config->topo, from, to, key, out);
	uint32_t n = 0, link[2] = { outer_link(s, from, true), outer_link(s, to, false) };
	for (int i = 0; i < 2; i++)
		if (link[i] != NONE)
			out[n++] = link[i];
	return n;
}

double wire_link_latency(const struct orr_step *s, uint32_t link)
{
	if (link >= s->config->topo->n_links)
		return link < s->wire->first_storage ? s->wire->function_latency_s : 0;
	return s->config->topo->link[link].flow.latency_s;
}

double wire_latency(const struct orr_step *s, uint32_t from, uint32_t to)
{
	uint32_t route[TOPO_MAX_HOPS], n = wire_route(s, from, to, 0, route);
	double sum = 0;
	for (uint32_t i = 0; i < n; i++)
		sum += wire_link_latency(s, route[i]);
	return sum;
}

double wire_bandwidth(const struct orr_step *s, uint32_t from, uint32_t to)
{
	const struct topo *t = s->config->topo;
	uint32_t route[TOPO_MAX_HOPS], n = wire_route(s, from, to, 0, route);
	double least = INFINITY;
	for (uint32_t i = 0; i < n; i++)
		least = fmin(least, route[i] < t->n_links ? t->link[route[i]].flow.capacity_Bps : s->wire->nominal[route[i]]);
	return least;
}

double wire_bandwidth_now(const struct orr_step *s, uint32_t from, uint32_t to)
{
	uint32_t route[TOPO_MAX_HOPS], n = wire_route(s, from, to, 0, route);
	double least = INFINITY;
	if (s->wire->quotient) /* merged: capacities are constant, and capacity[] is that of classes */
		return topo_bandwidth(s->config->topo, from, to);
	for (uint32_t i = 0; i < n; i++) {
		note_background(s, route[i]);
		least = fmin(least, s->wire->capacity[route[i]]);
	}
	return least;
}

/* ---- checks of --check ---- */

int wire_check_functions(struct orr_step *s)
{
	const struct wire *w = s->wire;
	double carried = 0;
	for (uint32_t i = s->config->topo->n_links; i < w->n_links && i < w->first_storage; i++)
		carried += flownet_link_bytes(w->net, i);
	if (!s->is_analytic && fabs(carried - w->function_bytes) > 1e-9 * w->function_bytes)
		return orr_fail(&s->error, ORR_EFAIL,
			"check: the links of functions carried %.17g bytes: expected the bytes of their messages, %.17g", carried,
			w->function_bytes);
	return s->error.code;
}
