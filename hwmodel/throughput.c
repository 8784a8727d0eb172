/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/throughput.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/strtab.h"
#include "hwmodel/json.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { MAX_BYTES = 1 << 28, MAX_SCALE = 1000000 };

struct rate {
	uint32_t gpu;            /* index of the GPU type */
	const char *job, *other; /* other "": the job runs alone */
	int scale, other_scale;
	double steps_per_s;
};

/* Invariant after loading: rate[0..n) is sorted by compare(). */
struct throughput {
	const char *path; /* path for messages while loading */
	char hash[BYTES_HASH_SIZE];
	char **gpu_type;
	size_t n_gpu_types;
	struct strtab *names;
	struct rate *rate;
	size_t n, cap;
	bool has_pairs;
};

static int compare(const void *x, const void *y)
{
	const struct rate *a = x, *b = y;
	if (a->gpu != b->gpu)
		return a->gpu < b->gpu ? -1 : 1;
	int order = strcmp(a->job, b->job);
	if (order)
		return order;
	if (a->scale != b->scale)
		return a->scale < b->scale ? -1 : 1;
	order = strcmp(a->other, b->other);
	if (order)
		return order;
	return a->other_scale < b->other_scale ? -1 : a->other_scale > b->other_scale;
}

/* Reads a Python tuple "('JOB TYPE', SCALE)"; the quote may be ' or ". */
static bool parse_job(struct throughput *t, const char *s, const char **job, int *scale)
{
	if (s[0] != '(' || (s[1] != '\'' && s[1] != '"'))
		return false;
	const char *name = s + 2;
	const char *end = strchr(name, s[1]);
	if (!end || end == name || strncmp(end + 1, ", ", 2))
		return false;
	const char *digits = end + 3;
	size_t len = strlen(digits);
	int64_t v;
	if (len < 2 || digits[len - 1] != ')' || !num_int(digits, len - 1, &v) || v < 1 || v > MAX_SCALE)
		return false;
	*job = strtab_text(t->names, strtab_add(t->names, name, (size_t)(end - name)));
	*scale = (int)v;
	return true;
}

static void add(struct throughput *t, struct rate r)
{
	MEM_GROW(t->rate, t->n, t->cap);
	t->has_pairs |= *r.other != '\0';
	t->rate[t->n++] = r;
}

static bool is_rate(const cJSON *v)
{
	return cJSON_IsNumber(v) && v->valuedouble >= 0 && v->valuedouble < 1e12;
}

static int wrong(
	const struct throughput *t, const char *gpu, const char *job, const char *other, const char *expected, struct orr_error *err)
{
	return orr_fail(err, ORR_EINPUT, "%.200s: $.%.40s%s%.80s%s%s%.80s%s: expected %s", t->path, gpu, job ? "[\"" : "", job ? job : "",
		job ? "\"]" : "", other ? "[\"" : "", other ? other : "", other ? "\"]" : "", expected);
}

static int load_job(struct throughput *t, struct rate r, const char *gpu, const cJSON *job, struct orr_error *err)
{
	static const char tuple[] = "a key like ('ResNet-18 (batch size 16)', 1)";
	if (!parse_job(t, job->string, &r.job, &r.scale))
		return wrong(t, gpu, job->string, NULL, tuple, err);
	if (!cJSON_IsObject(job))
		return wrong(t, gpu, job->string, NULL, "an object", err);
	const cJSON *v;
	cJSON_ArrayForEach(v, job)
	{
		const cJSON *own = cJSON_GetArrayItem(v, 0);
		r.other = "";
		r.other_scale = 0;
		if (!strcmp(v->string, "null")) {
			if (!is_rate(v))
				return wrong(t, gpu, job->string, v->string, "a number of steps/s, from 0", err);
			r.steps_per_s = v->valuedouble;
		} else {
			if (!parse_job(t, v->string, &r.other, &r.other_scale))
				return wrong(t, gpu, job->string, v->string, tuple, err);
			if (!cJSON_IsArray(v) || cJSON_GetArraySize(v) != 2 || !is_rate(own) || !is_rate(own->next))
				return wrong(t, gpu, job->string, v->string, "two numbers of steps/s, from 0", err);
			r.steps_per_s = own->valuedouble;
		}
		add(t, r);
	}
	return ORR_OK;
}

static int load_gpu_type(struct throughput *t, const cJSON *gpu, struct orr_error *err)
{
	if (!cJSON_IsObject(gpu))
		return wrong(t, gpu->string, NULL, NULL, "an object with one key per job type", err);
	for (size_t i = 0; i < t->n_gpu_types; i++)
		if (!strcasecmp(t->gpu_type[i], gpu->string))
			return wrong(t, gpu->string, NULL, NULL, "one entry per GPU type, whose name is not case-sensitive", err);
	t->gpu_type = mem_realloc(t->gpu_type, t->n_gpu_types + 1, sizeof *t->gpu_type);
	t->gpu_type[t->n_gpu_types] = mem_strdup(gpu->string);
	struct rate r = { .gpu = (uint32_t)t->n_gpu_types++ };
	const cJSON *job;
	cJSON_ArrayForEach(job, gpu)
	{
		int rc = load_job(t, r, gpu->string, job, err);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

static int load_all(struct throughput *t, const cJSON *root, struct orr_error *err)
{
	if (!cJSON_IsObject(root) || !root->child)
		return orr_fail(err, ORR_EINPUT, "%.200s: $: expected an object with one key per GPU type", t->path);
	const cJSON *gpu;
	cJSON_ArrayForEach(gpu, root)
	{
		int rc = load_gpu_type(t, gpu, err);
		if (rc)
			return rc;
	}
	if (t->n) /* a table may be empty, and qsort() requires a non-NULL pointer */
		qsort(t->rate, t->n, sizeof *t->rate, compare);
	for (size_t i = 1; i < t->n; i++)
		if (!compare(&t->rate[i - 1], &t->rate[i]))
			return wrong(t, t->gpu_type[t->rate[i].gpu], t->rate[i].job, t->rate[i].other,
				"one entry for these jobs: two keys name the same jobs", err);
	return ORR_OK;
}

struct throughput *throughput_parse(const char *path, const char *text, size_t n, struct orr_error *err)
{
	struct throughput *t = mem_zalloc(1, sizeof *t);
	t->path = path;
	t->names = strtab_new();
	bytes_hash_text(text, n, t->hash);
	cJSON *root = json_parse(path, text, n, err);
	int rc = root ? load_all(t, root, err) : ORR_EINPUT;
	cJSON_Delete(root);
	t->path = NULL;
	if (!rc)
		return t;
	throughput_free(t);
	return NULL;
}

struct throughput *throughput_load(const char *path, struct orr_error *err)
{
	size_t n;
	char hash[BYTES_HASH_SIZE];
	char *text = bytes_read_file(path, MAX_BYTES, &n, hash, err);
	if (!text)
		return NULL;
	struct throughput *t = throughput_parse(path, text, n, err);
	mem_free(text);
	if (t)
		memcpy(t->hash, hash, sizeof t->hash); /* SHA-256 of the file on disk, compressed or not */
	return t;
}

void throughput_free(struct throughput *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n_gpu_types; i++)
		mem_free(t->gpu_type[i]);
	mem_free(t->gpu_type);
	mem_free(t->rate);
	strtab_free(t->names);
	mem_free(t);
}

double throughput_lookup_shared(const struct throughput *t, const char *gpu_type, const char *a, int scale_a, const char *b, int scale_b)
{
	for (size_t i = 0; i < t->n_gpu_types; i++) {
		if (strcasecmp(t->gpu_type[i], gpu_type))
			continue;
		struct rate want = { (uint32_t)i, a, b, scale_a, scale_b, 0 };
		const struct rate *r = !t->n ? NULL : bsearch(&want, t->rate, t->n, sizeof *t->rate, compare);
		return r ? r->steps_per_s : 0;
	}
	return 0;
}

bool throughput_has_type(const struct throughput *t, const char *gpu_type)
{
	for (size_t i = 0; i < t->n_gpu_types; i++)
		if (!strcasecmp(t->gpu_type[i], gpu_type))
			return true;
	return false;
}

double throughput_lookup(const struct throughput *t, const char *gpu_type, const char *job_type, int scale)
{
	return throughput_lookup_shared(t, gpu_type, job_type, scale, "", 0);
}

bool throughput_has_pairs(const struct throughput *t)
{
	return t->has_pairs;
}

const char *throughput_hash(const struct throughput *t)
{
	return t->hash;
}
