/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the explicit form: switches by name, links between switches and nodes.
 *
 *	{ "bw": "10Gbps", "switches": ["a", "b"],
 *	  "links": [ { "from": "node0", "to": "a" }, { "from": "a", "to": "b", "bw": "40Gbps", "lat": "1us" } ] }
 *
 * The name of a node is its own name or "nodeN"; with several NICs per node, "nodeN.nicM".
 */
#include "net/topology_shape.h"

#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/strtab.h"
#include "hwmodel/json.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NOBODY UINT32_MAX
enum { MAX_NAME = 100 };

void shape_json_free(void *root)
{
	cJSON_Delete(root);
}

/* Converts a JSON value to the text of an option: bandwidths are bytes/s, times seconds. */
static int option_text(const char *path, const cJSON *v, char out[64], struct orr_error *err)
{
	if (cJSON_IsString(v) && strlen(v->valuestring) < 64)
		snprintf(out, 64, "%s", v->valuestring);
	else if (cJSON_IsBool(v))
		snprintf(out, 64, "%s", cJSON_IsTrue(v) ? "true" : "false");
	else if (cJSON_IsNumber(v))
		snprintf(out, 64, "%.17g%s", v->valuedouble, strstr(v->string, "bw") ? "Bps" : "");
	else
		return orr_fail(err, ORR_EINPUT, "%s: $.%.60s: expected a string, a number, true or false", path, v->string);
	return ORR_OK;
}

static cJSON *parse_json(const char *path, const char *text, size_t n, struct orr_error *err)
{
	if (memchr(text, '\0', n)) {
		orr_fail(err, ORR_EINPUT, "%s: contains a NUL byte: expected text", path);
		return NULL;
	}
	cJSON *root = json_parse(path, text, n, err);
	if (root && !cJSON_IsObject(root)) {
		orr_fail(err, ORR_EINPUT, "%s: $: expected an object with \"switches\" and \"links\"", path);
		cJSON_Delete(root);
		root = NULL;
	}
	return root;
}

/* Checks the keys: options, switches and links. */
static int check_root_keys(const char *path, const cJSON *root, const struct orr_args *a, struct orr_error *err)
{
	enum { MOST = 64 };
	const char *known[MOST + 3] = { "links", "switches", NULL };
	const struct orr_param *option = args_table(a);
	for (size_t i = 0; i < MOST && option[i].name; i++)
		known[i + 2] = option[i].name;
	return json_keys(path, "$", root, known, err);
}

int shape_json_options(const char *path, const char *text, size_t n, struct orr_args *a, void **root, struct orr_error *err)
{
	cJSON *json = *root = parse_json(path, text, n, err);
	if (!json || check_root_keys(path, json, a, err))
		return ORR_EINPUT;
	for (const cJSON *v = json->child; v; v = v->next) {
		char value[64];
		if (!strcmp(v->string, "switches") || !strcmp(v->string, "links"))
			continue;
		if (option_text(path, v, value, err) || args_set(a, v->string, value, err))
			return ORR_EINPUT;
	}
	return ORR_OK;
}

/* ---- names of vertices ---- */

struct names {
	struct strtab *tab;
	uint32_t *vertex; /* vertex by number of its name */
	size_t n, cap;
};

static uint32_t *name_slot(struct names *names, const char *text)
{
	uint32_t number = strtab_add(names->tab, text, strlen(text));
	while (names->n <= number) {
		MEM_GROW(names->vertex, names->n, names->cap);
		names->vertex[names->n++] = NOBODY;
	}
	return &names->vertex[number];
}

static void name_ports(struct names *names, const struct topo *t, const struct cluster *c)
{
	uint32_t nics = t->shape->nics;
	for (int pass = 0; pass < 2; pass++) /* the name of a node has precedence over the name "nodeN" of another node */
		for (uint32_t p = 0; p < t->shape->n_ports; p++) {
			char name[192], nic[32] = "";
			if (nics > 1)
				snprintf(nic, sizeof nic, ".nic%u", p % nics);
			if (pass)
				snprintf(name, sizeof name, "node%u%s", p / nics, nic);
			else
				snprintf(name, sizeof name, "%.*s%s", MAX_NAME, c->node[p / nics].name, nic);
			uint32_t *slot = name_slot(names, name);
			if (*slot == NOBODY)
				*slot = shape_port(t, p);
		}
}

static int name_switches(struct names *names, struct topo *t, const char *path, const cJSON *switches, struct orr_error *err)
{
	int i = 0;
	if (!switches)
		return ORR_OK;
	if (!cJSON_IsArray(switches))
		return orr_fail(err, ORR_EINPUT, "%s: $.switches: expected a list of names", path);
	for (const cJSON *v = switches->child; v; v = v->next, i++) {
		if (!cJSON_IsString(v) || !*v->valuestring || strlen(v->valuestring) > MAX_NAME)
			return orr_fail(err, ORR_EINPUT, "%s: $.switches[%d]: expected a name of 1 to %d letters", path, i, MAX_NAME);
		uint32_t *slot = name_slot(names, v->valuestring);
		if (*slot != NOBODY)
			return orr_fail(err, ORR_EINPUT, "%s: $.switches[%d]: duplicate name \"%.60s\": expected a unique name", path, i,
				v->valuestring);
		*slot = shape_switch(t, (uint32_t)i);
	}
	t->shape->n_switches = (uint32_t)i;
	return ORR_OK;
}

/* ---- links ---- */

struct link_reader {
	struct topo *t;
	struct names vertices, links;
	const char *path;
	int i; /* index of the link in $.links */
	struct orr_error *err;
};

static const cJSON *member(const cJSON *o, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(o, key);
}

/* Returns the nearest name of a vertex; NULL if none is near. */
static const char *nearest_vertex(const struct names *names, const char *text)
{
	const char **known = mem_zalloc(names->n + 1, sizeof *known);
	size_t n = 0;
	for (uint32_t i = 0; i < names->n; i++)
		if (names->vertex[i] != NOBODY)
			known[n++] = strtab_text(names->tab, i);
	const char *near = nearest_name(text, known);
	mem_free(known);
	return near;
}

static int read_end(struct link_reader *r, const cJSON *o, const char *key, uint32_t *out)
{
	const cJSON *v = member(o, key);
	const char *text = cJSON_IsString(v) ? v->valuestring : NULL;
	*out = text && strlen(text) < 192 ? *name_slot(&r->vertices, text) : NOBODY;
	if (*out != NOBODY)
		return ORR_OK;
	const char *near = text ? nearest_vertex(&r->vertices, text) : NULL;
	return orr_fail(r->err, ORR_EINPUT, "%s: $.links[%d].%s: %s%.60s%s: expected a switch of $.switches or a node%s%s%.100s%s", r->path,
		r->i, key, text ? "unknown vertex \"" : "no vertex is given", text ? text : "", text ? "\"" : "",
		r->t->shape->nics > 1 ? " and its NIC, such as \"node0.nic1\"" : " such as \"node0\"", near ? "; did you mean \"" : "",
		near ? near : "", near ? "\"?" : "");
}

static int read_rate(struct link_reader *r, const cJSON *o, double *out)
{
	const cJSON *v = member(o, "bw");
	*out = r->t->shape->bw;
	if (!v)
		return ORR_OK;
	bool is_read = cJSON_IsString(v) && topo_rate(v->valuestring, strlen(v->valuestring), out);
	if (cJSON_IsNumber(v)) {
		*out = v->valuedouble;
		is_read = true;
	}
	if (!is_read || !(*out >= 0) || !isfinite(*out))
		return orr_fail(r->err, ORR_EINPUT,
			"%s: $.links[%d].bw: expected a rate of at least 0, such as \"10Gbps\" (bits), \"12.5GBps\" (bytes) or a number of "
			"bytes/s",
			r->path, r->i);
	return ORR_OK;
}

static int read_latency(struct link_reader *r, const cJSON *o, double *out)
{
	const cJSON *v = member(o, "lat");
	int64_t ns = -1;
	*out = r->t->shape->lat;
	if (!v)
		return ORR_OK;
	if (cJSON_IsNumber(v))
		*out = v->valuedouble;
	else if (cJSON_IsString(v) && num_duration_ns(v->valuestring, strlen(v->valuestring), &ns))
		*out = (double)ns / 1e9;
	else
		*out = -1;
	if (!(*out >= 0) || *out > 1e9)
		return orr_fail(r->err, ORR_EINPUT,
			"%s: $.links[%d].lat: expected a time of at least 0, such as \"5us\" or a number of seconds", r->path, r->i);
	return ORR_OK;
}

/* Adds one direction of a link. Names of links are unique. */
static int add_link(struct link_reader *r, double bw, double lat, uint32_t from, uint32_t to, const char *name)
{
	uint32_t *slot = name_slot(&r->links, name);
	if (*slot != NOBODY)
		return orr_fail(
			r->err, ORR_EINPUT, "%s: $.links[%d]: duplicate link \"%.120s\": expected another \"name\"", r->path, r->i, name);
	if (r->t->n_links >= TOPO_MAX_LINKS)
		return orr_fail(r->err, ORR_EINPUT, "%s: $.links[%d]: too many links: expected at most %d", r->path, r->i, TOPO_MAX_LINKS);
	*slot = shape_link(r->t, bw, lat, from, to, "%s", name);
	return ORR_OK;
}

static int check_keys(struct link_reader *r, const cJSON *o)
{
	static const char *const known[] = { "from", "to", "bw", "lat", "both", "name", NULL };
	char where[48];
	snprintf(where, sizeof where, "$.links[%d]", r->i);
	return json_keys(r->path, where, o, known, r->err);
}

static int read_link(struct link_reader *r, const cJSON *o)
{
	uint32_t from, to;
	double bw, lat;
	char name[224], back[224];
	if (check_keys(r, o) || read_end(r, o, "from", &from) || read_end(r, o, "to", &to) || read_rate(r, o, &bw) ||
		read_latency(r, o, &lat))
		return ORR_EINPUT;
	if (from == to)
		return orr_fail(r->err, ORR_EINPUT, "%s: $.links[%d].to: equal to \"from\": expected another vertex", r->path, r->i);
	const cJSON *both = member(o, "both"), *own = member(o, "name");
	if (both && !cJSON_IsBool(both))
		return orr_fail(
			r->err, ORR_EINPUT, "%s: $.links[%d].both: expected true (a cable) or false (one direction)", r->path, r->i);
	if (own && (!cJSON_IsString(own) || !*own->valuestring || strlen(own->valuestring) > MAX_NAME))
		return orr_fail(r->err, ORR_EINPUT, "%s: $.links[%d].name: expected a string of 1 to %d letters", r->path, r->i, MAX_NAME);
	const char *a = member(o, "from")->valuestring, *b = member(o, "to")->valuestring;
	if (own) {
		snprintf(name, sizeof name, "%s", own->valuestring);
		snprintf(back, sizeof back, "%s.back", own->valuestring);
	} else {
		snprintf(name, sizeof name, "%.*s-%.*s", MAX_NAME, a, MAX_NAME, b);
		snprintf(back, sizeof back, "%.*s-%.*s", MAX_NAME, b, MAX_NAME, a);
	}
	int rc = add_link(r, bw, lat, from, to, name);
	return rc || (both && !cJSON_IsTrue(both)) ? rc : add_link(r, bw, lat, to, from, back);
}

static void names_free(struct names *names)
{
	strtab_free(names->tab);
	mem_free(names->vertex);
}

int shape_json(struct topo *t, const struct cluster *c, const char *path, void *root, struct orr_error *err)
{
	struct link_reader r = { .t = t, .path = path, .err = err };
	r.vertices.tab = strtab_new();
	r.links.tab = strtab_new();
	name_ports(&r.vertices, t, c);
	int rc = name_switches(&r.vertices, t, path, member(root, "switches"), err);
	const cJSON *links = member(root, "links");
	if (!rc && !cJSON_IsArray(links))
		rc = orr_fail(err, ORR_EINPUT, "%s: $.links: expected a list of links", path);
	for (const cJSON *o = rc ? NULL : links->child; !rc && o; o = o->next, r.i++)
		rc = read_link(&r, o);
	names_free(&r.vertices);
	names_free(&r.links);
	return rc;
}
