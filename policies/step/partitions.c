/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "partitions.h"

#include "document.h"

#include <stdlib.h>
#include <string.h>

void partition_new(struct partition *p, uint32_t n)
{
	p->member = orr_alloc(n + 1u, sizeof *p->member);
	p->end = orr_alloc(n + 1u, sizeof *p->end);
	p->groups = 0;
}

void partition_free(struct partition *p)
{
	orr_free(p->member);
	orr_free(p->end);
	*p = (struct partition){ 0 };
}

void partitions_new(struct partition_list *l, uint32_t count, uint32_t n)
{
	l->item = orr_alloc(count, sizeof *l->item);
	for (l->n = 0; l->n < count;)
		partition_new(&l->item[l->n++], n);
}

void partitions_free(struct partition_list *l)
{
	for (uint32_t i = 0; i < l->n; i++)
		partition_free(&l->item[i]);
	orr_free(l->item);
	*l = (struct partition_list){ 0 };
}

/* ---- text form ---- */

static int parse_one(struct partition *p, uint32_t n, uint32_t number, const char *text, size_t len, char *seen, struct orr_error *err)
{
	uint32_t at = 0;
	for (size_t i = 0; i < len; i++) {
		char *end;
		unsigned long v = text[i] >= '0' && text[i] <= '9' ? strtoul(text + i, &end, 10) : n;
		if (v >= n)
			return orr_fail(err, ORR_EINPUT, "partitions[%u]: expected members 0..%u as in 0-1,2-3;0-3,1-2, found \"%.20s\"",
				number, n - 1, text + i);
		if (seen[v])
			return orr_fail(err, ORR_EINPUT, "partitions[%u]: duplicate worker %lu: expected it once", number, v);
		seen[v] = 1;
		p->member[at++] = (uint32_t)v;
		i = (size_t)(end - text);
		if (i >= len || text[i] == ',')
			p->end[p->groups++] = at;
		else if (text[i] != '-')
			return orr_fail(err, ORR_EINPUT, "partitions[%u]: expected '-', ',' or ';' after a member, found \"%.20s\"", number,
				text + i);
	}
	if (len && (text[len - 1] < '0' || text[len - 1] > '9'))
		return orr_fail(err, ORR_EINPUT, "partitions[%u]: expected a member after '%c'", number, text[len - 1]);
	if (at != n)
		return orr_fail(err, ORR_EINPUT, "partitions[%u]: has %u workers: expected %u", number, at, n);
	return ORR_OK;
}

int partitions_from_text(struct partition_list *l, const char *text, uint32_t n, struct orr_error *err)
{
	uint32_t count = 1;
	for (const char *c = text; *c; c++)
		count += *c == ';';
	char *seen = orr_alloc(n + 1u, 1);
	int rc = ORR_OK;
	partitions_new(l, count, n);
	for (uint32_t k = 0; !rc && k < count; k++) {
		size_t len = strcspn(text, ";");
		memset(seen, 0, n);
		rc = parse_one(&l->item[k], n, k, text, len, seen, err);
		text += len + (text[len] == ';');
	}
	orr_free(seen);
	return rc;
}

/* ---- JSON form ---- */

static int read_group(const struct place *group, struct partition *p, uint32_t n, uint32_t *at, char *seen)
{
	size_t i = 0;
	int rc = place_list(group, "workers");
	if (!rc && !group->value->child)
		rc = place_fail(group, "expected a list with at least one worker, found an empty list");
	for (const cJSON *v = rc ? NULL : group->value->child; v; v = v->next) {
		struct place item = place_item(group, v, i++);
		uint32_t worker;
		if (place_own_whole(&item, 0, n - 1.0, &worker))
			return ORR_EINPUT;
		if (seen[worker])
			return place_fail(&item, "duplicate worker %u in the partition: expected it once", worker);
		seen[worker] = 1;
		p->member[(*at)++] = worker;
	}
	if (!rc)
		p->end[p->groups++] = *at;
	return rc;
}

static int read_partition(const struct place *place, struct partition *p, uint32_t n, char *seen)
{
	uint32_t at = 0, missing = 0;
	size_t i = 0;
	memset(seen, 0, n);
	int rc = place_list(place, "groups");
	for (const cJSON *v = rc ? NULL : place->value->child; !rc && v; v = v->next) {
		struct place group = place_item(place, v, i++);
		rc = read_group(&group, p, n, &at, seen);
	}
	while (!rc && missing < n && seen[missing])
		missing++;
	if (!rc && at != n)
		rc = place_fail(place, "has %u of the %u workers: expected worker %u as well", at, n, missing);
	return rc;
}

static int read_list(const struct place *root, struct partition_list *l, uint32_t n, char *seen)
{
	static const char *const known[] = { "partitions", "title", NULL };
	const char *title;
	struct place list = place_key(root, "partitions");
	if (place_keys(root, known) || place_text(root, "title", false, &title) || place_list(&list, "partitions"))
		return ORR_EINPUT;
	uint32_t count = (uint32_t)cJSON_GetArraySize(list.value), k = 0;
	if (!count)
		return place_fail(&list, "expected a list with at least one partition, found an empty list");
	partitions_new(l, count, n);
	for (const cJSON *v = list.value->child; v; v = v->next, k++) {
		struct place p = place_item(&list, v, k);
		int rc = read_partition(&p, &l->item[k], n, seen);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

int partitions_from_json(struct partition_list *l, const char *file, const char *text, size_t size, uint32_t n, struct orr_error *err)
{
	struct document d;
	char *seen = orr_alloc(n + 1u, 1);
	int rc = document_open(&d, file, text, size, err);
	if (!rc) {
		struct place root = place_root(&d);
		rc = read_list(&root, l, n, seen);
		document_close(&d);
	}
	orr_free(seen);
	return rc;
}
