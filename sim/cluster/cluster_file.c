/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads a cluster from JSON or CSV; the formats are in cluster.h. */
#include "cluster/cluster.h"

#include "base/json_text.h"
#include "base/mem.h"
#include "base/num.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- JSON ---- */

static const char *const json_keys[] = { "count", "gpus", "type", "speed", "cpus", "mem_gib", "rack", "racks", "name", NULL };

static int json_number(const char *path, int i, const cJSON *o, const char *key, double def, double max, double *out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = def;
	if (!v)
		return ORR_OK;
	if (!cJSON_IsNumber(v) || !(v->valuedouble >= 0) || v->valuedouble > max)
		return orr_fail(err, ORR_EINPUT, "%s: $.nodes[%d].%s: expected a number from 0 to %.15g", path, i, key, max);
	*out = v->valuedouble;
	return ORR_OK;
}

static int json_count(const char *path, int i, const cJSON *o, const char *key, double def, double max, double *out, struct orr_error *err)
{
	int rc = json_number(path, i, o, key, def, max, out, err);
	if (!rc && *out != floor(*out))
		rc = orr_fail(err, ORR_EINPUT, "%s: $.nodes[%d].%s: expected a whole number, found %.15g", path, i, key, *out);
	return rc;
}

static int json_text(const char *path, int i, const cJSON *o, const char *key, const char **out, struct orr_error *err)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
	*out = NULL;
	if (!v)
		return ORR_OK;
	if (!cJSON_IsString(v) || !*v->valuestring)
		return orr_fail(err, ORR_EINPUT, "%s: $.nodes[%d].%s: expected a string", path, i, key);
	*out = v->valuestring;
	return ORR_OK;
}

static int json_known_keys(const char *path, int i, const cJSON *o, struct orr_error *err)
{
	for (const cJSON *m = o->child; m; m = m->next) {
		const char *const *k = json_keys;
		while (*k && strcmp(*k, m->string))
			k++;
		if (!*k)
			return orr_fail(err, ORR_EINPUT,
				"%s: $.nodes[%d]: unknown key \"%.60s\": expected \"count\", \"gpus\", \"type\", \"speed\", \"cpus\", "
				"\"mem_gib\", \"rack\", \"racks\" or \"name\"",
				path, i, m->string);
	}
	return ORR_OK;
}

static int json_nodes(struct cluster *c, const char *path, int i, const cJSON *o, struct orr_error *err)
{
	double count, gpus, speed, cpus, mem, rack, racks;
	const char *type, *name;
	if (!cJSON_IsObject(o))
		return orr_fail(err, ORR_EINPUT, "%s: $.nodes[%d]: expected an object", path, i);
	if (json_known_keys(path, i, o, err) || json_count(path, i, o, "count", 1, CLUSTER_MAX_NODES, &count, err) ||
		json_count(path, i, o, "gpus", 0, CLUSTER_MAX_NODE_GPUS, &gpus, err) ||
		json_number(path, i, o, "speed", 0, 1e6, &speed, err) || json_number(path, i, o, "cpus", -0.001, 1e9, &cpus, err) ||
		json_number(path, i, o, "mem_gib", -1.0 / 1024, 1e9, &mem, err) ||
		json_count(path, i, o, "rack", c->n_racks, 1e6, &rack, err) ||
		json_count(path, i, o, "racks", 1, count > 1 ? count : 1, &racks, err) || json_text(path, i, o, "type", &type, err) ||
		json_text(path, i, o, "name", &name, err))
		return ORR_EINPUT;
	struct cluster_node proto = { .gpus = (uint32_t)gpus,
		.cpu_milli = (int64_t)(cpus * 1000 + (cpus < 0 ? -0.5 : 0.5)),
		.mem_mib = (int64_t)(mem * 1024 + (mem < 0 ? -0.5 : 0.5)) };
	for (int64_t k = 0; k < (int64_t)count; k++) {
		char numbered[96];
		snprintf(numbered, sizeof numbered, "%.60s-%lld", name ? name : "", (long long)k);
		proto.rack = (uint32_t)rack + (uint32_t)((double)k * (racks < 1 ? 1 : racks) / count);
		struct orr_error why = { 0 };
		int rc = cluster_add(c, !name ? NULL : count == 1 ? name : numbered, type, &proto, err);
		if (!rc && cluster_state_speed(c, speed, &why))
			rc = orr_fail(err, why.code, "%s: $.nodes[%d].%s", path, i, why.text);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

int cluster_from_json(struct cluster *c, const char *path, const char *text, struct orr_error *err)
{
	const char *end = NULL;
	cJSON *root = cJSON_ParseWithOpts(text, &end, 1);
	if (!root) {
		size_t line = 1;
		for (const char *s = text; end && s < end; s++)
			line += *s == '\n';
		return orr_fail(err, ORR_EINPUT, "%s:%zu: invalid JSON from this line on: expected an object with \"nodes\"", path, line);
	}
	const cJSON *nodes = cJSON_GetObjectItemCaseSensitive(root, "nodes");
	int rc = json_text_check(path, text, strlen(text), err);
	if (!rc)
		rc = cJSON_IsArray(nodes) ? ORR_OK : orr_fail(err, ORR_EINPUT, "%s: $.nodes: expected a list of nodes", path);
	int i = 0;
	for (const cJSON *m = root->child; !rc && m; m = m->next)
		if (strcmp(m->string, "nodes"))
			rc = orr_fail(err, ORR_EINPUT, "%s: unknown key \"%.60s\": expected \"nodes\"", path, m->string);
	for (const cJSON *o = nodes ? nodes->child : NULL; !rc && o; o = o->next)
		rc = json_nodes(c, path, i++, o, err);
	cJSON_Delete(root);
	return rc;
}

/* ---- CSV ---- */

enum { COLUMNS = 16 };

struct table {
	const char *path, *at; /* at: start of the next line */
	size_t line;           /* number of the current line */
	const char *field[COLUMNS];
	size_t len[COLUMNS];
	int n;
};

/* Reads the next line, skipping empty lines; returns false at the end. None of the three formats has quoted fields. */
static bool next_line(struct table *t)
{
	while (*t->at) {
		const char *s = t->at;
		size_t n = strcspn(s, "\n");
		t->at = s + n + (s[n] == '\n');
		t->line++;
		if (n && s[n - 1] == '\r')
			n--;
		if (!n)
			continue;
		t->n = 0;
		for (size_t from = 0; from <= n && t->n < COLUMNS;) {
			const char *comma = memchr(s + from, ',', n - from);
			size_t len = comma ? (size_t)(comma - (s + from)) : n - from;
			t->field[t->n] = s + from;
			t->len[t->n++] = len;
			from += len + 1;
		}
		return true;
	}
	return false;
}

static int column(const struct table *header, const char *name)
{
	for (int i = 0; i < header->n; i++)
		if (header->len[i] == strlen(name) && !memcmp(header->field[i], name, header->len[i]))
			return i;
	return -1;
}

/* Allowed values of a column of numbers. */
struct cell {
	double def;   /* value of a missing or empty cell; NAN: a value is required */
	double scale; /* factor of the unit; 1: whole numbers */
	double max;
};

static int number(const struct table *t, const struct table *header, const char *name, struct cell k, int64_t *out, struct orr_error *err)
{
	int i = column(header, name);
	double v;
	*out = (int64_t)(isnan(k.def) ? 0 : k.def);
	if (!isnan(k.def) && (i < 0 || (i < t->n && !t->len[i])))
		return ORR_OK;
	if (i < 0 || i >= t->n || !num_real(t->field[i], t->len[i], &v) || v < 0 || v > k.max || (k.scale == 1 && v != floor(v)))
		return orr_fail(err, ORR_EINPUT, "%s:%zu: %s: expected a %snumber from 0 to %.15g, found \"%.*s\"", t->path, t->line, name,
			k.scale == 1 ? "whole " : "", k.max, i >= 0 && i < t->n ? (int)(t->len[i] < 60 ? t->len[i] : 60) : 0,
			i >= 0 && i < t->n ? t->field[i] : "");
	*out = (int64_t)(v * k.scale + 0.5);
	return ORR_OK;
}

static char *text_of(const struct table *t, const struct table *header, const char *name)
{
	int i = column(header, name);
	return i >= 0 && i < t->n ? mem_strndup(t->field[i], t->len[i]) : mem_strdup("");
}

/* One CSV format: the names of its columns. */
struct form {
	const char *key; /* column that identifies the format */
	const char *name, *gpus, *type, *cpu, *mem, *rack;
	double cpu_scale, mem_scale;
};

static const struct form openb = { "sn", "sn", "gpu", "model", "cpu_milli", "memory_mib", "rack", 1, 1 };
static const struct form own = { "gpus", "name", "gpus", "type", "cpus", "mem_gib", "rack", 1000, 1024 };

static int csv_node(struct cluster *c, const struct form *f, const struct table *t, const struct table *header, struct orr_error *err)
{
	int64_t gpus, rack, speed_millionths;
	struct cluster_node proto;
	if (number(t, header, f->gpus, (struct cell){ NAN, 1, CLUSTER_MAX_NODE_GPUS }, &gpus, err) ||
		number(t, header, f->cpu, (struct cell){ -1, f->cpu_scale, 1e12 / f->cpu_scale }, &proto.cpu_milli, err) ||
		number(t, header, f->mem, (struct cell){ -1, f->mem_scale, 1e12 / f->mem_scale }, &proto.mem_mib, err) ||
		number(t, header, "speed", (struct cell){ 0, 1e6, 1e6 }, &speed_millionths, err) ||
		number(t, header, f->rack, (struct cell){ 0, 1, 1e6 }, &rack, err))
		return ORR_EINPUT;
	proto.gpus = (uint32_t)gpus;
	proto.rack = (uint32_t)rack;
	char *name = text_of(t, header, f->name), *type = text_of(t, header, f->type);
	int rc = cluster_add(c, name, type, &proto, err);
	if (!rc)
		rc = cluster_state_speed(c, (double)speed_millionths / 1e6, err);
	mem_free(name);
	mem_free(type);
	return rc;
}

/* Reads num_switch,num_node_p_switch,num_gpu_p_node,num_cpu_p_node,mem_p_node; a switch is a rack. */
static int tiresias_nodes(struct cluster *c, const struct table *t, const struct table *header, struct orr_error *err)
{
	int64_t racks, nodes, gpus;
	struct cluster_node proto = { 0 };
	if (number(t, header, "num_switch", (struct cell){ NAN, 1, 1e5 }, &racks, err) ||
		number(t, header, "num_node_p_switch", (struct cell){ 1, 1, 1e5 }, &nodes, err) ||
		number(t, header, "num_gpu_p_node", (struct cell){ NAN, 1, CLUSTER_MAX_NODE_GPUS }, &gpus, err) ||
		number(t, header, "num_cpu_p_node", (struct cell){ -1, 1000, 1e6 }, &proto.cpu_milli, err) ||
		number(t, header, "mem_p_node", (struct cell){ -1, 1024, 1e9 }, &proto.mem_mib, err))
		return ORR_EINPUT;
	proto.gpus = (uint32_t)gpus;
	for (int64_t i = 0; i < racks * nodes; i++) {
		proto.rack = (uint32_t)(i / nodes);
		int rc = cluster_add(c, NULL, NULL, &proto, err);
		if (rc)
			return rc;
	}
	return ORR_OK;
}

int cluster_from_csv(struct cluster *c, const char *path, const char *text, struct orr_error *err)
{
	struct table header = { .path = path, .at = text };
	if (!next_line(&header))
		return orr_fail(err, ORR_EINPUT, "%s: the file is empty: expected a list of nodes", path);
	bool is_tiresias = column(&header, "num_switch") >= 0;
	const struct form *f = column(&header, openb.key) >= 0 ? &openb : &own;
	if (!is_tiresias && column(&header, f->gpus) < 0)
		return orr_fail(err, ORR_EINPUT,
			"%s:%zu: expected a column \"gpus\" (orrery's own format), \"sn\" (openb) or \"num_switch\" (Tiresias)", path,
			header.line);
	struct table t = header;
	c->is_recorded = f == &openb && !is_tiresias;
	while (next_line(&t)) {
		int rc = is_tiresias ? tiresias_nodes(c, &t, &header, err) : csv_node(c, f, &t, &header, err);
		if (rc) {
			if (err && strncmp(err->text, path, strlen(path)) !=
					   0) { /* errors of cluster_add() lack file and line, which are added here */
				struct orr_error inner = *err;
				orr_fail(err, rc, "%s:%zu: %.600s", path, t.line, inner.text);
			}
			return rc;
		}
	}
	return ORR_OK;
}
