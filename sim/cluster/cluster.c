/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sbuf.h"

#include <string.h>
#include <sys/stat.h>

uint64_t cluster_type_mask(const struct cluster *c, const char *types)
{
	uint64_t all = c->n_types >= 64 ? UINT64_MAX : (UINT64_C(1) << c->n_types) - 1;
	if (!types || !*types)
		return all;
	uint64_t mask = 0;
	for (const char *s = types; *s;) {
		size_t len = strcspn(s, "|");
		uint32_t t = cluster_type(c, s, len);
		if (t != CLUSTER_NO_TYPE)
			mask |= UINT64_C(1) << t;
		s += len + (s[len] == '|');
	}
	return mask;
}

/* Names of nodes are part of the hash because they are printed; results do not depend on them. */
static void set_hash(struct cluster *c)
{
	struct sbuf b = { 0 };
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		const struct cluster_node *n = &c->node[i];
		sbuf_printf(&b, "%s,%u,%s,%lld,%lld,%u\n", n->name, n->gpus, n->type == CLUSTER_NO_TYPE ? "" : c->type_name[n->type],
			(long long)n->cpu_milli, (long long)n->mem_mib, n->rack);
	}
	for (uint32_t t = 0; t < c->n_types; t++)
		if (c->type_speed[t] > 0)
			sbuf_printf(&b, "%s speed %.17g\n", c->type_name[t], c->type_speed[t]);
	bytes_hash_text(sbuf_text(&b), b.len, c->hash);
	sbuf_free(&b);
}

static int parse_text(struct cluster *c, const char *path, const char *text, struct orr_error *err)
{
	const char *first = text + strspn(text, " \t\r\n\xef\xbb\xbf");
	return *first == '{' ? cluster_from_json(c, path, text, err) : cluster_from_csv(c, path, text, err);
}

static int load_file(struct cluster *c, const char *path, struct orr_error *err)
{
	size_t n;
	char *text = bytes_read_file(path, 256u << 20, &n, NULL, err);
	if (!text)
		return ORR_EINPUT;
	int rc = strlen(text) == n ? parse_text(c, path, text, err)
				   : orr_fail(err, ORR_EINPUT, "%s: NUL byte at offset %zu: expected text", path, strlen(text));
	mem_free(text);
	return rc;
}

/* Returns the cluster if rc is 0 and it has nodes; else frees it. */
static struct cluster *finished(struct cluster *c, int rc, const char *spec, struct orr_error *err)
{
	if (!rc && !c->n_nodes)
		rc = orr_fail(err, ORR_EINPUT, "cluster \"%.100s\": expected at least one node", spec);
	if (rc) {
		cluster_free(c);
		return NULL;
	}
	set_hash(c);
	return c;
}

struct cluster *cluster_load(const char *spec, struct orr_error *err)
{
	struct cluster *c = mem_zalloc(1, sizeof *c);
	struct stat st;
	int rc = !stat(spec, &st) ? load_file(c, spec, err) : cluster_from_spec(c, spec, err);
	return finished(c, rc, spec, err);
}

struct cluster *cluster_from_text(const char *path, const char *text, struct orr_error *err)
{
	struct cluster *c = mem_zalloc(1, sizeof *c);
	return finished(c, parse_text(c, path, text, err), path, err);
}

void cluster_free(struct cluster *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < c->n_nodes; i++)
		mem_free(c->node[i].name);
	for (uint32_t t = 0; t < c->n_types; t++)
		mem_free(c->type_name[t]);
	mem_free(c->node);
	mem_free(c);
}
