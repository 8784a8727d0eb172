/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "traces/k8s_events.h"

#include "base/mem.h"
#include "base/sbuf.h"
#include "base/strtab.h"
#include "traces/items.h"
#include "traces/stamp.h"

#include <cjson/cJSON.h>
#include <string.h>

/* Times since 1970; -1: no such event. */
struct times {
	int64_t started_ns, scheduled_ns, gone_ns, killed_ns;
};

struct k8s_events {
	struct strtab *pods; /* namespace/name */
	struct times *at;    /* by number of the pod */
	size_t n, cap;
	uint64_t count;
};

struct k8s_events *k8s_events_new(void)
{
	struct k8s_events *e = mem_zalloc(1, sizeof *e);
	e->pods = strtab_new();
	return e;
}

void k8s_events_free(struct k8s_events *e)
{
	if (!e)
		return;
	strtab_free(e->pods);
	mem_free(e->at);
	mem_free(e);
}

uint64_t k8s_events_count(const struct k8s_events *e)
{
	return e->count;
}

static struct times *times_of(struct k8s_events *e, const char *namespace, const char *name)
{
	struct sbuf key = { 0 };
	sbuf_printf(&key, "%s/%s", namespace, name);
	uint32_t i = strtab_add_z(e->pods, sbuf_text(&key));
	sbuf_free(&key);
	while (e->n <= i) {
		MEM_GROW(e->at, e->n, e->cap);
		e->at[e->n++] = (struct times){ -1, -1, -1, -1 };
	}
	return &e->at[i];
}

static void keep_last(int64_t *at, int64_t ns)
{
	*at = ns > *at ? ns : *at;
}

int k8s_events_add(struct k8s_events *e, const struct cJSON *item, const struct lines *in, struct orr_error *err)
{
	static const char *const names[] = { "lastTimestamp", "eventTime", "firstTimestamp" };
	const cJSON *about = items_get(item, "involvedObject");
	const char *reason = items_text(item, "reason"), *stamp = "";
	int64_t ns;
	for (size_t i = 0; i < sizeof names / sizeof *names && !*stamp; i++)
		stamp = items_text(item, names[i]);
	e->count++;
	if (strcmp(items_text(about, "kind"), "Pod") != 0)
		return ORR_OK;
	if (!stamp_date_ns(stamp, strlen(stamp), &ns))
		return lines_fail(in, err, "lastTimestamp: expected a time such as 2025-03-01T10:00:00Z, found \"%.60s\"", stamp);
	struct times *t = times_of(e, items_text(about, "namespace"), items_text(about, "name"));
	if (!strcmp(reason, "Started"))
		t->started_ns = t->started_ns < 0 || ns < t->started_ns ? ns : t->started_ns;
	else if (!strcmp(reason, "Scheduled"))
		keep_last(&t->scheduled_ns, ns);
	else if (!strcmp(reason, "Preempted") || !strcmp(reason, "Evicted"))
		keep_last(&t->gone_ns, ns);
	else if (!strcmp(reason, "Killing"))
		keep_last(&t->killed_ns, ns);
	return ORR_OK;
}

bool k8s_events_apply(struct k8s_events *e, const char *namespace, const char *name, bool runs, struct k8s_object *o)
{
	const struct times *t = times_of(e, namespace, name);
	int64_t start = t->started_ns >= 0 ? t->started_ns : t->scheduled_ns, end = t->gone_ns >= 0 || runs ? t->gone_ns : t->killed_ns;
	bool is_set = false;
	if (o->start_ns < 0 && start >= 0) {
		o->start_ns = start;
		is_set = true;
	}
	if (o->end_ns < 0 && end >= 0 && o->start_ns >= 0 && end >= o->start_ns) {
		o->end_ns = end;
		is_set = true;
	}
	return is_set;
}
