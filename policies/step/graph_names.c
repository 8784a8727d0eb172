/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions for the readers of graphs: sorted names, and lists of devices. */
#include "graph_read.h"

#include "document.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
	const struct graph_name *x = a, *y = b;
	int c = strcmp(x->text, y->text);
	return c ? c : (x->number > y->number) - (x->number < y->number);
}

void graph_sort_names(struct graph_name *names, uint32_t n)
{
	qsort(names, n, sizeof *names, by_name);
}

uint32_t graph_find_name(const struct graph_name *names, uint32_t n, const char *text)
{
	uint32_t low = 0, high = n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (strcmp(names[middle].text, text) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && !strcmp(names[low].text, text) ? names[low].number : UINT32_MAX;
}

int graph_unknown(const struct place *p, const char *what, const char *text, const struct graph_name *names, uint32_t n)
{
	const char **list = orr_alloc(n + 1u, sizeof *list);
	for (uint32_t i = 0; i < n; i++)
		list[i] = names[i].text;
	const char *near = orr_nearest_name(text, list);
	orr_free(list);
	return place_fail(p, "%s \"%.80s\"%s%.80s%s", what, text, near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

int graph_read_members(struct graph_reader *r, const struct place *list, struct graph_group *out)
{
	int rc = place_list(list, "devices"), i = 0;
	if (!rc && !list->value->child)
		rc = place_fail(list, "expected a list with at least one device, found an empty list");
	if (rc)
		return rc;
	out->member = orr_alloc((size_t)cJSON_GetArraySize(list->value), sizeof *out->member);
	r->stamp++;
	for (const cJSON *v = list->value->child; v; v = v->next) {
		struct place p = place_item(list, v, (size_t)i++);
		uint32_t device;
		if (place_own_whole(&p, 0, r->facts->endpoints - 1.0, &device))
			return ORR_EINPUT;
		if (r->mark[device] == r->stamp)
			return place_fail(&p, "duplicate device %u in the group: expected it once", device);
		r->mark[device] = r->stamp;
		out->member[out->n++] = device;
	}
	return ORR_OK;
}
