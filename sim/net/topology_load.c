/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Builds a topology from a text or a JSON file: options, links inside nodes, the hash. */
#include "net/topology_shape.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/num.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#define COMMON                                                                                                                             \
	ORR_PARAM_TEXT("bw", "10Gbps", "bandwidth of a NIC, or of a cable between two nodes (torus, ring, full-mesh), in each direction"), \
		ORR_PARAM_TIME("lat", "5us", "latency of a NIC's link to its switch, or of a cable between two nodes"),                    \
		ORR_PARAM_TIME("switch_lat", "1us", "latency of a link between switches"),                                                 \
		ORR_PARAM_INT("nics", "1", 1, 1024, "NICs per node, shared by its GPUs in order"),                                         \
		ORR_PARAM_CHOICE("gpu_link", "nvlink", "nvlink|pcie",                                                                      \
			"inside a node: one link per GPU to a switch, or one root that all GPUs share"),                                   \
		ORR_PARAM_TEXT("gpu_bw", "", "bandwidth of a GPU's link (or of the root) in each direction; empty: that of the device"),   \
		ORR_PARAM_TEXT("gpu_lat", "", "latency of a message from GPU to GPU in a node; empty: that of the device"),                \
		ORR_PARAM_TEXT("host_bw", "", "bandwidth of a host's link to its node in each direction; empty: no limit"),                \
		ORR_PARAM_CHOICE("routing", "d-mod-k", "d-mod-k|ecmp", "choice among equal paths: by destination, or by hash")

static const struct orr_param star_options[] = { COMMON, ORR_PARAM_END };
static const struct orr_param racks_options[] = { COMMON,
	ORR_PARAM_INT("hosts", "0", 0, CLUSTER_MAX_NODES, "hosts per rack; 0: the cluster's own racks"),
	ORR_PARAM_REAL("oversubscription", "1", 1e-3, 1e6, "bandwidth of a rack's NICs / bandwidth of its uplink"), ORR_PARAM_END };
static const struct orr_param leaf_spine_options[] = { COMMON,
	ORR_PARAM_INT("leaves", "0", 0, CLUSTER_MAX_NODES, "number of leaf switches; 0: computed from ports, else the cluster's racks"),
	ORR_PARAM_INT("spines", "2", 1, 65536, "spines"),
	ORR_PARAM_INT("ports", "0", 0, CLUSTER_MAX_NODES, "number of NICs at each leaf; 0: equal numbers"),
	ORR_PARAM_BOOL("rails", false, "one leaf for each NIC of a node: leaf i connects NIC i of every node"),
	ORR_PARAM_REAL("oversubscription", "1", 1e-3, 1e6, "bandwidth of a leaf's NICs over that of its uplinks"), ORR_PARAM_END };
static const struct orr_param fat_tree_options[] = { COMMON,
	ORR_PARAM_INT("k", "0", 0, 1024, "ports of a switch; 0: the smallest number with room for all NICs"), ORR_PARAM_END };
static const struct orr_param torus_options[] = { COMMON, ORR_PARAM_TEXT("dims", "", "sizes of the dimensions, such as 4x4x4"),
	ORR_PARAM_END };
static const struct orr_param json_options[] = { COMMON, ORR_PARAM_BOOL("forward", false, "nodes forward messages for other nodes"),
	ORR_PARAM_END };

struct kind {
	const char *name;
	enum topo_kind kind;
	const struct orr_param *options;
	int (*build)(struct topo *t, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err);
	bool is_direct; /* cables end at nodes, not at NICs */
};

static const struct kind kinds[] = {
	{ "star", KIND_STAR, star_options, shape_star, false },
	{ "racks", KIND_RACKS, racks_options, shape_racks, false },
	{ "leaf-spine", KIND_LEAF_SPINE, leaf_spine_options, shape_leaf_spine, false },
	{ "fat-tree", KIND_FAT_TREE, fat_tree_options, shape_fat_tree, false },
	{ "torus", KIND_TORUS, torus_options, shape_torus, true },
	{ "full-mesh", KIND_FULL_MESH, star_options, shape_full_mesh, true },
	{ "ring", KIND_RING, star_options, shape_torus, true },
};
static const struct kind json_kind = { "json", KIND_JSON, json_options, NULL, false };

/* Reads the option's rate, or def if it is empty. It must be positive, because a NIC of zero bandwidth is an input error. */
static int rate_option(const struct orr_args *a, const char *name, double def, const char *where, double *out, struct orr_error *err)
{
	const char *text = orr_arg_text(a, name);
	*out = def;
	if (*text && (!topo_rate(text, strlen(text), out) || !(*out > 0) || !isfinite(*out)))
		return orr_fail(err, ORR_EINPUT,
			"%s: %s: expected a positive rate such as 10Gbps (bits) or 12.5GBps (bytes), found \"%.60s\"", where, name, text);
	return ORR_OK;
}

static int time_option(const struct orr_args *a, const char *name, double def, const char *where, double *out, struct orr_error *err)
{
	const char *text = orr_arg_text(a, name);
	int64_t ns = 0;
	*out = def;
	if (!*text)
		return ORR_OK;
	if (!num_duration_ns(text, strlen(text), &ns) || ns < 0)
		return orr_fail(err, ORR_EINPUT, "%s: %s: expected a time such as 5us, found \"%.60s\"", where, name, text);
	*out = (double)ns / 1e9;
	return ORR_OK;
}

/* ---- the insides of nodes ---- */

struct inside {
	struct topo_gpu_link gpu[CLUSTER_MAX_TYPES]; /* by type */
	uint32_t n_types;
	double host_Bps;
	bool is_shared, is_asked; /* is_shared: PCIe; is_asked: the user set an option, so nodes with one GPU also have the link */
};

/* gpu: links of the devices by type of the cluster; NULL: unknown. */
static int read_inside(const struct cluster *c, const struct orr_args *a, const struct topo_gpu_link *gpu, const char *where,
	struct inside *in, struct orr_error *err)
{
	in->is_shared = !strcmp(orr_arg_text(a, "gpu_link"), "pcie");
	in->is_asked = *orr_arg_text(a, "gpu_bw") || *orr_arg_text(a, "gpu_lat");
	in->n_types = c->n_types ? c->n_types : 1;
	for (uint32_t i = 0; i < in->n_types; i++) {
		bool is_known = gpu && i < c->n_types && gpu[i].bandwidth_Bps > 0;
		double bw = is_known ? gpu[i].bandwidth_Bps : in->is_shared ? 12e9 : 150e9, lat = is_known ? gpu[i].latency_s : 1e-6;
		struct topo_gpu_link *to = &in->gpu[i];
		if (rate_option(a, "gpu_bw", bw, where, &to->bandwidth_Bps, err) ||
			time_option(a, "gpu_lat", lat, where, &to->latency_s, err))
			return ORR_EINPUT;
	}
	return rate_option(a, "host_bw", 0, where, &in->host_Bps, err);
}

static void join_gpus(struct topo *t, uint32_t node, const struct inside *in, const struct topo_gpu_link *gpu)
{
	struct topo_shape *s = t->shape;
	uint32_t first = s->first_gpu[node], end = s->first_gpu[node + 1], hub = shape_hub(t, node);
	if (end == first || (end - first == 1 && !in->is_asked))
		return;
	for (uint32_t g = first; g < end; g++) {
		if (in->is_shared && g > first) {
			s->out[g] = s->out[first];
			s->in[g] = s->in[first];
			continue;
		}
		char name[32];
		snprintf(name, sizeof name, in->is_shared ? "root%u" : "gpu%u", in->is_shared ? node : g);
		s->out[g] = shape_link(t, gpu->bandwidth_Bps, gpu->latency_s / 2, g, hub, "%s.out", name);
		s->in[g] = shape_link(t, gpu->bandwidth_Bps, gpu->latency_s / 2, hub, g, "%s.in", name);
	}
}

static void build_insides(struct topo *t, const struct cluster *c, const struct inside *in)
{
	struct topo_shape *s = t->shape;
	uint32_t gpu = 0;
	for (uint32_t n = 0; n < t->n_nodes; n++) {
		uint32_t host = topo_host(t, n);
		s->first_gpu[n] = gpu;
		for (uint32_t g = 0; g < c->node[n].gpus; g++)
			s->gpu_node[gpu++] = n;
		s->first_gpu[n + 1] = gpu;
		if (c->node[n].gpus)
			join_gpus(t, n, in, &in->gpu[c->node[n].type]);
		if (in->host_Bps > 0) {
			s->out[host] = shape_link(t, in->host_Bps, 0, host, shape_hub(t, n), "cpu%u.out", n);
			s->in[host] = shape_link(t, in->host_Bps, 0, shape_hub(t, n), host, "cpu%u.in", n);
		}
	}
}

static uint32_t *no_links(uint32_t n)
{
	uint32_t *v = mem_alloc((n ? n : 1) * sizeof *v);
	memset(v, 0xff, n * sizeof *v);
	return v;
}

static struct topo *topo_new(const struct cluster *c, enum topo_kind kind, uint32_t nics, uint64_t seed)
{
	struct topo *t = mem_zalloc(1, sizeof *t);
	struct topo_shape *s = t->shape = mem_zalloc(1, sizeof *s);
	t->n_gpus = c->gpus;
	t->n_nodes = c->n_nodes;
	t->seed = seed;
	s->kind = kind;
	s->nics = nics;
	s->n_ports = c->n_nodes * nics;
	s->gpu_node = no_links(c->gpus);
	s->first_gpu = no_links(c->n_nodes + 1);
	s->out = no_links(topo_endpoints(t));
	s->in = no_links(topo_endpoints(t));
	s->up = no_links(s->n_ports);
	s->down = no_links(s->n_ports);
	return t;
}

/* ---- loading ---- */

static int check_common(const struct kind *k, const struct cluster *c, const struct orr_args *a, const char *where, struct orr_error *err)
{
	int64_t nics = orr_arg_int(a, "nics");
	if (k->is_direct && nics != 1)
		return orr_fail(
			err, ORR_EINPUT, "%s: nics: a %s joins nodes directly: expected 1, found %lld", where, k->name, (long long)nics);
	if ((uint64_t)nics * c->n_nodes > TOPO_MAX_LINKS / 4)
		return orr_fail(err, ORR_EINPUT, "%s: nics: %lld NICs on each of %u nodes: expected at most %d in total", where,
			(long long)nics, c->n_nodes, TOPO_MAX_LINKS / 4);
	return ORR_OK;
}

/* Writes the options in the order of the table; rates and times inside nodes of the
 * first type as the resulting numbers. */
static void canonical(struct sbuf *b, const struct topo *t, const struct kind *k, const struct orr_args *a, const struct inside *in)
{
	static const char *const numbers[] = { "bw", "gpu_bw", "gpu_lat", "host_bw", NULL };
	for (size_t i = 0; k->options[i].name; i++) {
		const char *const *n = numbers;
		while (*n && strcmp(*n, k->options[i].name))
			n++;
		if (!*n)
			sbuf_printf(b, "%s=%s\n", k->options[i].name, args_value(a, i));
	}
	sbuf_printf(b, "%.17g,%.17g,%.17g,%.17g,%d\n", t->shape->bw, in->gpu[0].bandwidth_Bps, in->gpu[0].latency_s, in->host_Bps,
		in->is_asked);
}

/* Sets the names of links and frees data that only the build needs. */
static void finish(
	struct topo *t, const struct cluster *c, const struct orr_args *a, const struct kind *k, const struct inside *in, const char *hash)
{
	struct topo_shape *s = t->shape;
	s->names = sbuf_steal(&s->text);
	for (uint32_t i = 0; i < t->n_links; i++)
		t->link[i].name = s->names + s->name_at[i];
	mem_free(s->name_at);
	s->name_at = NULL;
	struct sbuf b = { 0 };
	sbuf_printf(&b, "%s\n%s\n", k->name, hash);
	canonical(&b, t, k, a, in);
	sbuf_printf(&b, "seed=%llu\n", t->routing == TOPO_ECMP ? (unsigned long long)t->seed : 0ull);
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		const struct topo_gpu_link *own = c->node[i].gpus ? &in->gpu[c->node[i].type] : in->gpu;
		sbuf_printf(&b, "%u,%u,%s\n", c->node[i].gpus, c->node[i].rack, s->kind == KIND_JSON ? c->node[i].name : "");
		if (own->bandwidth_Bps != in->gpu->bandwidth_Bps || own->latency_s != in->gpu->latency_s)
			sbuf_printf(&b, "%.17g,%.17g\n", own->bandwidth_Bps, own->latency_s);
	}
	bytes_hash_text(sbuf_text(&b), b.len, t->hash);
	sbuf_free(&b);
}

/* Builds a topology. root: the parsed JSON, path its file name, hash the hash of its text; NULL for the other kinds. */
static struct topo *build(const struct kind *k, const struct cluster *c, const struct orr_args *a, const char *where,
	const struct topo_gpu_link *gpu, uint64_t seed, void *root, const char *path, const char *hash, struct orr_error *err)
{
	struct inside inside;
	if (check_common(k, c, a, where, err) || read_inside(c, a, gpu, where, &inside, err))
		return NULL;
	struct topo *t = topo_new(c, k->kind, (uint32_t)orr_arg_int(a, "nics"), seed);
	struct topo_shape *s = t->shape;
	t->routing = strcmp(orr_arg_text(a, "routing"), "ecmp") ? TOPO_D_MOD_K : TOPO_ECMP;
	s->lat = (double)orr_arg_time_ns(a, "lat") / 1e9;
	s->switch_lat = (double)orr_arg_time_ns(a, "switch_lat") / 1e9;
	int rc = rate_option(a, "bw", 0, where, &s->bw, err);
	if (!rc) {
		build_insides(t, c, &inside);
		uint32_t first = t->n_links;
		rc = root ? shape_json(t, c, path, root, err) : k->build(t, c, a, where, err);
		if (!rc && root)
			rc = graph_new(t, first, orr_arg_bool(a, "forward"), path, c, err);
	}
	if (rc) {
		topo_free(t);
		return NULL;
	}
	finish(t, c, a, k, &inside, hash);
	return t;
}

struct topo *topo_parse(const struct cluster *c, const char *path, const char *text, size_t n, uint64_t seed,
	const struct topo_gpu_link *gpu, struct orr_error *err)
{
	void *root = NULL;
	char hash[65], where[300];
	struct topo *t = NULL;
	snprintf(where, sizeof where, "%.290s: $", path);
	struct orr_args *a = args_new(json_kind.options, where, err);
	bytes_hash_text(text, n, hash);
	if (a && !shape_json_options(path, text, n, a, &root, err))
		t = build(&json_kind, c, a, where, gpu, seed, root, path, hash, err);
	shape_json_free(root);
	args_free(a);
	return t;
}

static struct topo *load_file(
	const struct cluster *c, const char *path, uint64_t seed, const struct topo_gpu_link *gpu, struct orr_error *err)
{
	size_t n;
	char *text = bytes_read_file(path, 256u << 20, &n, NULL, err);
	struct topo *t = text ? topo_parse(c, path, text, n, seed, gpu, err) : NULL;
	mem_free(text);
	return t;
}

static int read_options(const struct kind *k, const char *spec, const char *options, struct orr_args *a, struct orr_error *err)
{
	int rc = args_set_pairs(a, options, ',', err);
	if (!rc && *options && options[strlen(options) - 1] == ',')
		rc = orr_fail(err, ORR_EINPUT, "topology \"%.100s\": ends in a comma: expected an option of %s", spec, k->name);
	return rc;
}

struct topo *topo_load_with(
	const struct cluster *c, const char *spec, uint64_t seed, const struct topo_gpu_link *gpu, struct orr_error *err)
{
	size_t n = strcspn(spec, ":");
	const struct kind *k = NULL;
	struct stat st;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strlen(kinds[i].name) == n && !memcmp(kinds[i].name, spec, n))
			k = &kinds[i];
	if (!k && !stat(spec, &st))
		return load_file(c, spec, seed, gpu, err);
	if (!k) {
		orr_fail(err, ORR_EINPUT,
			"topology \"%.100s\": expected star, racks, leaf-spine, fat-tree, torus, full-mesh, ring or the name of an "
			"existing JSON file",
			spec);
		return NULL;
	}
	char where[160];
	snprintf(where, sizeof where, "topology \"%.100s\"", spec);
	struct topo *t = NULL;
	struct orr_args *a = args_new(k->options, where, err);
	if (a && !read_options(k, spec, spec[n] ? spec + n + 1 : "", a, err))
		t = build(k, c, a, where, gpu, seed, NULL, NULL, "", err);
	args_free(a);
	return t;
}

struct topo *topo_load(const struct cluster *c, const char *spec, uint64_t seed, struct orr_error *err)
{
	return topo_load_with(c, spec, seed, NULL, err);
}
