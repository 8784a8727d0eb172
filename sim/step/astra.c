/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "step/astra.h"

#include "base/bytes.h"
#include "base/json_text.h"
#include "base/mem.h"
#include "base/num.h"

#include <orrery/param.h>

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const topologies[] = { "Ring", "Switch", "FullyConnected", NULL };

const char *astra_topology_name(enum astra_topology t)
{
	return topologies[t];
}

uint32_t astra_hops(const struct astra_network *net, uint32_t from, uint32_t to)
{
	uint32_t hops = 0;
	for (uint32_t d = 0; d < net->n; d++) {
		uint32_t n = net->dim[d].npus, a = from % n, b = to % n, way = a > b ? a - b : b - a;
		from /= n;
		to /= n;
		if (!way)
			continue;
		hops += net->dim[d].topology == ASTRA_SWITCH                  ? 2
			: net->dim[d].topology == ASTRA_RING && way > n - way ? n - way
			: net->dim[d].topology == ASTRA_RING                  ? way
									      : 1;
	}
	return hops;
}

/* ---- the network: flat YAML ---- */

/*
 * The form that ASTRA-sim's network files have: lines KEY: VALUE or KEY: [ VALUE, .. ], comments from '#', and lists of lines "- VALUE".
 */
static const char *const network_keys[] = { "topology", "npus_count", "bandwidth", "latency", NULL };
enum { TOPOLOGY, NPUS, BANDWIDTH, LATENCY, NETWORK_KEYS };

struct yaml {
	const char *name;
	unsigned line;
	uint32_t n[NETWORK_KEYS];
	bool has[NETWORK_KEYS];
	struct astra_network *out;
	struct orr_error *err;
};

static int refuse(const struct yaml *y, const char *expected, const char *found, size_t n)
{
	return orr_fail(
		y->err, ORR_EINPUT, "%.300s:%u: expected %s, found \"%.*s\"", y->name, y->line, expected, n > 60 ? 60 : (int)n, found);
}

static const char *trim(const char *s, size_t *n)
{
	while (*n && strchr(" \t\r", *s))
		s++, --*n;
	while (*n && strchr(" \t\r", s[*n - 1]))
		--*n;
	if (*n >= 2 && (*s == '"' || *s == '\'') && s[*n - 1] == *s)
		s++, *n -= 2;
	return s;
}

/* Adds a value to the list of a key. */
static int add_value(struct yaml *y, int key, const char *s, size_t n)
{
	s = trim(s, &n);
	if (y->n[key] >= ASTRA_MOST_DIMENSIONS)
		return refuse(y, "at most 8 dimensions", s, n);
	struct astra_dimension *d = &y->out->dim[y->n[key]++];
	double v;
	int64_t whole;
	if (key == TOPOLOGY) {
		for (int i = 0; topologies[i]; i++)
			if (strlen(topologies[i]) == n && !memcmp(topologies[i], s, n)) {
				d->topology = (enum astra_topology)i;
				return ORR_OK;
			}
		return refuse(y, "Ring, Switch or FullyConnected", s, n);
	}
	if (key == NPUS) {
		if (!num_int(s, n, &whole) || whole < 1 || whole > 1 << 20)
			return refuse(y, "a number of NPUs, 1 to 1048576", s, n);
		d->npus = (uint32_t)whole;
		return ORR_OK;
	}
	if (!num_real(s, n, &v) || v < 0 || v > 1e15 || (key == BANDWIDTH && !(v >= 1e-9)))
		return refuse(y, key == BANDWIDTH ? "a bandwidth in GiB/s above 0" : "a latency in ns, 0 to 1e15", s, n);
	if (key == BANDWIDTH)
		d->bytes_per_ns = v * 1073741824.0 / 1e9;
	else
		d->latency_ns = v;
	return ORR_OK;
}

/* Reads "[ a, b ]" or "a"; an empty text: a list of lines follows. */
static int add_values(struct yaml *y, int key, const char *s, size_t n)
{
	s = trim(s, &n);
	if (!n)
		return ORR_OK;
	if (*s != '[')
		return add_value(y, key, s, n);
	if (s[n - 1] != ']')
		return refuse(y, "a list that ends on the same line, [ .. ]", s, n);
	const char *end = s + n - 1;
	for (s++; s <= end;) {
		const char *comma = memchr(s, ',', (size_t)(end - s));
		const char *stop = comma ? comma : end;
		int rc = add_value(y, key, s, (size_t)(stop - s));
		if (rc || !comma)
			return rc;
		s = comma + 1;
	}
	return ORR_OK;
}

static int take_key(struct yaml *y, const char *s, size_t n, int *key)
{
	const char *colon = memchr(s, ':', n);
	if (!colon)
		return refuse(y, "KEY: VALUE", s, n);
	char name[64] = "";
	size_t length = (size_t)(colon - s);
	const char *text = trim(s, &length);
	snprintf(name, sizeof name, "%.*s", length > 60 ? 60 : (int)length, text);
	for (*key = 0; *key < NETWORK_KEYS && strcmp(network_keys[*key], name) != 0;)
		++*key;
	if (*key == NETWORK_KEYS) {
		const char *near = orr_nearest_name(name, network_keys);
		return orr_fail(y->err, ORR_EINPUT,
			"%.300s:%u: unknown key \"%s\"%s%s%s: expected topology, npus_count, bandwidth or latency", y->name, y->line, name,
			near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	}
	if (y->has[*key])
		return orr_fail(y->err, ORR_EINPUT, "%.300s:%u: duplicate key \"%s\": expected it once", y->name, y->line, name);
	y->has[*key] = true;
	return add_values(y, *key, colon + 1, n - (size_t)(colon + 1 - s));
}

static int check_network(const struct yaml *y)
{
	struct astra_network *net = y->out;
	uint64_t npus = 1;
	for (int k = 0; k < NETWORK_KEYS; k++)
		if (!y->n[k] || y->n[k] != y->n[0])
			return orr_fail(y->err, ORR_EINPUT,
				"%.300s: \"%s\" has %u values, \"topology\" %u: expected one for each dimension", y->name, network_keys[k],
				y->n[k], y->n[0]);
	net->n = y->n[0];
	for (uint32_t d = 0; d < net->n; d++)
		npus = npus > 1 << 20 ? npus : npus * net->dim[d].npus;
	if (npus > 1 << 20)
		return orr_fail(y->err, ORR_EINPUT, "%.300s: npus_count: expected a product of at most 1048576", y->name);
	net->npus = (uint32_t)npus;
	return ORR_OK;
}

int astra_network_parse(const char *name, const char *text, struct astra_network *out, struct orr_error *err)
{
	struct yaml y = { .name = name, .out = out, .err = err };
	int key = NETWORK_KEYS, rc = ORR_OK;
	*out = (struct astra_network){ 0 };
	for (const char *s = text; *s && !rc;) {
		size_t whole = strcspn(s, "\n"), n = whole;
		const char *mark = memchr(s, '#', n);
		y.line++;
		if (mark)
			n = (size_t)(mark - s);
		const char *t = trim(s, &n);
		if (n && *t == '-' && key < NETWORK_KEYS && !(n >= 3 && !memcmp(t, "---", 3)))
			rc = add_value(&y, key, t + 1, n - 1);
		else if (n && !(n == 3 && !memcmp(t, "---", 3)))
			rc = take_key(&y, t, n, &key);
		s += whole + (s[whole] == '\n');
	}
	return rc ? rc : check_network(&y);
}

int astra_network_load(const char *path, struct astra_network *out, struct orr_error *err)
{
	size_t n;
	char hash[BYTES_HASH_SIZE];
	char *text = bytes_read_file(path, 1 << 20, &n, hash, err);
	int rc = text ? astra_network_parse(path, text, out, err) : ORR_EINPUT;
	if (!rc)
		memcpy(out->hash, hash, sizeof hash);
	mem_free(text);
	return rc;
}

/* ---- the system: JSON ---- */

/* Keys of ASTRA-sim's system layer that have no effect on these rules. */
static const char *const without_effect[] = { "scheduling-policy", "collective-optimization", "boost-mode", "intra-dimension-scheduling",
	"inter-dimension-scheduling", "trace-enabled", "model-shared-bus", "track-local-mem", "local-mem-trace-filename", "L", "o", "g",
	"G", "injection-policy", "collective-implementation-notes", "local-reduction-delay", "num-queues-per-dim", "seprate-log", NULL };
static const char *const system_keys[] = { "endpoint-delay", "active-chunks-per-dimension", "preferred-dataset-splits", "local-mem-bw",
	"roofline-enabled", "peak-perf", "all-reduce-implementation", "all-gather-implementation", "reduce-scatter-implementation",
	"all-to-all-implementation", "replay-only", "scheduling-policy", "collective-optimization", "boost-mode", NULL };
static const char *const implementations[ASTRA_COLLECTIVES] = { "all-reduce-implementation", "all-gather-implementation",
	"reduce-scatter-implementation", "all-to-all-implementation" };

struct json {
	const char *name;
	struct astra_system *out;
	struct orr_error *err;
};

static int not_number(const struct json *j, const char *key, const char *expected)
{
	return orr_fail(j->err, ORR_EINPUT, "%.300s: $.\"%s\": expected %s", j->name, key, expected);
}

static int take_number(const struct json *j, const cJSON *v, double low, double high, double *out)
{
	char expected[80];
	snprintf(expected, sizeof expected, "a number from %g to %g", low, high);
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= low && v->valuedouble <= high))
		return not_number(j, v->string, expected);
	*out = v->valuedouble;
	return ORR_OK;
}

static int take_algorithm(const struct json *j, const cJSON *v, int collective)
{
	static const char *const names[] = { "ring", "direct", "halvingDoubling", NULL };
	const cJSON *first = cJSON_IsArray(v) ? v->child : v;
	int found = -1;
	for (const cJSON *x = first; x; x = cJSON_IsArray(v) ? x->next : NULL) {
		int k = -1;
		for (int i = 0; cJSON_IsString(x) && names[i]; i++)
			if (!strcmp(names[i], x->valuestring))
				k = i;
		if (k < 0 || (found >= 0 && k != found))
			return not_number(j, v->string, "ring, direct or halvingDoubling, the same one in each dimension");
		found = k;
	}
	if (found < 0)
		return not_number(j, v->string, "a list, such as [\"ring\"]");
	j->out->algorithm[collective] = (enum astra_algorithm)found;
	if (collective == ASTRA_ALL_TO_ALL && found == ASTRA_HALVING_DOUBLING)
		return ORR_OK; /* refused where an all-to-all needs it */
	return ORR_OK;
}

/* Reads the value of one key. */
static int take_member(const struct json *j, const cJSON *v)
{
	struct astra_system *s = j->out;
	const char *key = v->string;
	double x = 0;
	int rc;
	for (int i = 0; i < ASTRA_COLLECTIVES; i++)
		if (!strcmp(key, implementations[i]))
			return take_algorithm(j, v, i);
	if (!strcmp(key, "endpoint-delay")) {
		rc = take_number(j, v, 0, 1e12, &x);
		s->endpoint_delay_ns = (int64_t)x;
		return rc;
	}
	if (!strcmp(key, "active-chunks-per-dimension") || !strcmp(key, "preferred-dataset-splits")) {
		rc = take_number(j, v, 1, 1 << 20, &x);
		*(*key == 'a' ? &s->active_chunks : &s->splits) = (uint32_t)x;
		return rc;
	}
	if (!strcmp(key, "local-mem-bw")) {
		rc = take_number(j, v, 1e-6, 1e9, &x);
		s->memory_bytes_per_s = x * 1e9;
		return rc;
	}
	if (!strcmp(key, "peak-perf")) {
		rc = take_number(j, v, 0, 1e9, &x);
		s->peak_ops_per_s = x * 1e12;
		return rc;
	}
	if (!strcmp(key, "roofline-enabled")) {
		rc = take_number(j, v, 0, 1, &x);
		s->has_roofline = x > 0;
		return rc;
	}
	if (!strcmp(key, "replay-only")) {
		rc = take_number(j, v, 0, 1, &x);
		return rc || !(x > 0) ? rc : not_number(j, key, "0: collectives are simulated");
	}
	for (const char *const *k = without_effect; *k; k++)
		if (!strcmp(key, *k)) {
			size_t n = strlen(s->ignored);
			snprintf(s->ignored + n, sizeof s->ignored - n, "%s%s", n ? ", " : "", key);
			return ORR_OK;
		}
	const char *near = orr_nearest_name(key, system_keys);
	return orr_fail(j->err, ORR_EINPUT, "%.300s: unknown key \"%.60s\"%s%s%s: expected keys of ASTRA-sim's system layer", j->name, key,
		near ? ": did you mean \"" : "", near ? near : "", near ? "\"?" : "");
}

int astra_system_parse(const char *name, const char *text, size_t n, struct astra_system *out, struct orr_error *err)
{
	struct json j = { name, out, err };
	*out = (struct astra_system){ .active_chunks = 1, .splits = 1 };
	cJSON *root = cJSON_ParseWithLength(text, n);
	int rc = cJSON_IsObject(root) ? json_text_check(name, text, n, err)
				      : orr_fail(err, ORR_EINPUT, "%.300s: expected a JSON object, a system file of ASTRA-sim", name);
	for (const cJSON *v = rc ? NULL : root->child; v && !rc; v = v->next)
		rc = take_member(&j, v);
	cJSON_Delete(root);
	if (!rc && !(out->memory_bytes_per_s > 0))
		rc = orr_fail(err, ORR_EINPUT, "%.300s: expected \"local-mem-bw\", the bandwidth of the memory in GB/s", name);
	if (!rc && out->has_roofline && !(out->peak_ops_per_s > 0))
		rc = orr_fail(err, ORR_EINPUT, "%.300s: \"roofline-enabled\" is 1: expected \"peak-perf\", in TFLOP/s, above 0", name);
	return rc;
}

int astra_system_load(const char *path, struct astra_system *out, struct orr_error *err)
{
	size_t n;
	char hash[BYTES_HASH_SIZE];
	char *text = bytes_read_file(path, 1 << 20, &n, hash, err);
	int rc = text ? astra_system_parse(path, text, n, out, err) : ORR_EINPUT;
	if (!rc)
		memcpy(out->hash, hash, sizeof hash);
	mem_free(text);
	return rc;
}
