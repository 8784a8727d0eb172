/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "jobs/quota_set.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"
#include "traces/lines.h"
#include "traces/table.h"

#include <stdio.h>
#include <string.h>

static const char REST[] = "*";

static int add(struct quota_set *p, const char *name, size_t n, int64_t gpus, const char *where, struct orr_error *err)
{
	if (!n || n > 200)
		return orr_fail(err, ORR_EINPUT, "%s: expected a name of 1 to 200 bytes for each partition", where);
	for (uint32_t i = 0; i < p->n; i++)
		if (strlen(p->of[i].name) == n && !memcmp(p->of[i].name, name, n))
			return orr_fail(err, ORR_EINPUT, "%s: two quotas of partition %.*s: expected one", where, (int)n, name);
	if (p->n == QUOTA_SET_MOST)
		return orr_fail(err, ORR_EINPUT, "%s: expected at most %d partitions", where, QUOTA_SET_MOST);
	p->of = mem_realloc(p->of, p->n + 1u, sizeof *p->of);
	struct sbuf cause = { 0 };
	sbuf_printf(&cause, "the quota of %.*s", (int)n, name);
	p->of[p->n] = (struct partition_quota){ mem_strndup(name, n), sbuf_steal(&cause), (uint32_t)gpus };
	p->rest = strcmp(p->of[p->n].name, REST) ? p->rest : p->n;
	p->n++;
	p->gpus += (uint64_t)gpus;
	return ORR_OK;
}

static int parse(struct quota_set *p, const char *text, struct orr_error *err)
{
	int rc = ORR_OK;
	for (const char *s = text; !rc && *s; s += strcspn(s, ","), s += *s == ',') {
		size_t n = strcspn(s, ",");
		const char *eq = memchr(s, '=', n);
		int64_t gpus;
		if (!eq || !num_int(eq + 1, n - (size_t)(eq + 1 - s), &gpus) || gpus < 0 || gpus > UINT32_MAX)
			return orr_fail(err, ORR_EINPUT,
				"partitions \"%.100s\": expected NAME=GPUS,.. such as research=64,*=16, or a file, found \"%.*s\"", text,
				(int)(n < 60 ? n : 60), s);
		rc = add(p, s, (size_t)(eq - s), gpus, "partitions", err);
	}
	return rc;
}

enum { PARTITION, GPUS };
static const struct table_column columns[] = { { "partition", true }, { "gpus", true }, { NULL, false } };

static int read_rows(struct quota_set *p, struct table *t, struct orr_error *err)
{
	int rc;
	while ((rc = table_next(t, NULL, NULL, err)) > 0) {
		size_t n;
		char where[300];
		const char *name = table_text(t, PARTITION, &n);
		int64_t gpus = table_count(t, GPUS, 0, UINT32_MAX);
		const struct lines *l = table_lines(t);
		snprintf(where, sizeof where, "%.200s:%llu", lines_name(l), (unsigned long long)lines_number(l));
		if (table_status(t) < 0 || add(p, name, n, gpus, where, err))
			return ORR_EINPUT;
	}
	return rc < 0 ? ORR_EINPUT : ORR_OK;
}

static int read_file(struct quota_set *p, const char *path, struct orr_error *err)
{
	struct lines *in = lines_open(path, err);
	struct table *t = in ? table_new(in, columns, TABLE_HEADER, err) : NULL;
	int rc = t ? read_rows(p, t, err) : ORR_EINPUT;
	table_free(t);
	if (in)
		lines_close(in);
	return rc;
}

static void set_hash(struct quota_set *p)
{
	struct sbuf b = { 0 };
	for (uint32_t i = 0; i < p->n; i++)
		sbuf_printf(&b, "%zu:%s=%u\n", strlen(p->of[i].name), p->of[i].name, p->of[i].gpus);
	bytes_hash_text(sbuf_text(&b), b.len, p->hash);
	sbuf_free(&b);
}

struct quota_set *quota_set_load(const char *text, struct orr_error *err)
{
	struct quota_set *p = mem_zalloc(1, sizeof *p);
	p->rest = QUOTA_SET_NONE;
	int rc = strchr(text, '=') ? parse(p, text, err) : read_file(p, text, err);
	if (!rc && !p->n)
		rc = orr_fail(err, ORR_EINPUT, "partitions %.200s: expected at least one partition", text);
	if (rc) {
		quota_set_free(p);
		return NULL;
	}
	set_hash(p);
	return p;
}

void quota_set_free(struct quota_set *p)
{
	for (uint32_t i = 0; p && i < p->n; i++) {
		mem_free(p->of[i].name);
		mem_free(p->of[i].cause);
	}
	if (p)
		mem_free(p->of);
	mem_free(p);
}

uint32_t quota_set_find(const struct quota_set *p, const char *queue)
{
	for (uint32_t i = 0; queue && i < p->n; i++)
		if (!strcmp(p->of[i].name, queue))
			return i;
	return p->rest;
}
