/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace: its files, its groups, its ranks. */
#include "traces/chakra_load.h"

#include "base/bytes.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/sbuf.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---- */

static bool is_folder(const char *path)
{
	struct stat st;
	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Splits NAME.RANK.et; returns the length of NAME, 0 for other names. */
static size_t split(const char *file, uint64_t *rank)
{
	size_t n = strlen(file), end;
	int64_t v;
	if (n < 6 || strcmp(file + n - 3, ".et") != 0)
		return 0;
	end = n - 3;
	for (n = end; n && file[n - 1] >= '0' && file[n - 1] <= '9';)
		n--;
	if (n < 2 || file[n - 1] != '.' || n == end || !num_int(file + n, end - n, &v) || (file[n] == '0' && end - n > 1))
		return 0;
	*rank = (uint64_t)v;
	return n - 1;
}

struct found {
	char **path;
	uint32_t n, cap, most; /* most: largest rank + 1 */
	char *prefix;
};

static int add_file(struct found *f, const char *dir, const char *file, size_t prefix, uint64_t rank, struct orr_error *err)
{
	if (f->prefix && (strlen(f->prefix) != prefix || memcmp(f->prefix, file, prefix) != 0))
		return orr_fail(err, ORR_EINPUT,
			"%.200s: the folder has the traces \"%.60s\" and \"%.*s\": expected one, or --graph %.200s/%.60s", dir, f->prefix,
			prefix > 60 ? 60 : (int)prefix, file, dir, f->prefix);
	if (!f->prefix)
		f->prefix = mem_strndup(file, prefix);
	if (rank >= CHAKRA_MOST_RANKS)
		return orr_fail(err, ORR_EINPUT, "%.300s/%.200s: expected ranks below %d", dir, file, CHAKRA_MOST_RANKS);
	while (f->most <= rank) {
		MEM_GROW(f->path, f->most, f->cap);
		f->path[f->most++] = NULL;
	}
	struct sbuf path = { 0 };
	sbuf_printf(&path, "%s/%s", dir, file);
	f->path[rank] = sbuf_steal(&path);
	f->n++;
	return ORR_OK;
}

static int check_gaps(const struct found *f, const char *place, struct orr_error *err)
{
	if (!f->n)
		return orr_fail(err, ORR_EINPUT, "%.300s: no execution trace: expected files NAME.0.et, NAME.1.et, ..", place);
	for (uint32_t r = 0; r < f->most; r++)
		if (!f->path[r])
			return orr_fail(err, ORR_EINPUT,
				"%.300s: rank %u: the file %.100s.%u.et is missing: expected a file of each rank below %u", place, r,
				f->prefix, r, f->most);
	return ORR_OK;
}

/* Reads the folder's names. prefix: NULL, or the only name of interest. */
static int list_folder(struct found *f, const char *dir, const char *prefix, struct orr_error *err)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	int rc = ORR_OK;
	if (!d)
		return orr_fail(err, ORR_EINPUT, "%.300s: %s", dir, strerror(errno));
	while (!rc && (e = readdir(d))) {
		uint64_t rank;
		size_t n = split(e->d_name, &rank);
		if (n && (!prefix || (strlen(prefix) == n && !memcmp(prefix, e->d_name, n))))
			rc = add_file(f, dir, e->d_name, n, rank, err);
	}
	closedir(d);
	return rc;
}

/* Returns the folder of a place, from mem_alloc. */
static char *folder_of(const char *place)
{
	const char *slash = strrchr(place, '/');
	if (is_folder(place))
		return mem_strdup(place);
	return slash ? mem_strndup(place, slash == place ? 1 : (size_t)(slash - place)) : mem_strdup(".");
}

char **chakra_files(const char *place, uint32_t *n, struct orr_error *err)
{
	struct found f = { 0 };
	const char *slash = strrchr(place, '/');
	char *dir = folder_of(place);
	int rc = list_folder(&f, dir, is_folder(place) ? NULL : slash ? slash + 1 : place, err);
	if (!rc)
		rc = check_gaps(&f, place, err);
	mem_free(dir);
	mem_free(f.prefix);
	*n = f.most;
	if (!rc)
		return f.path;
	for (uint32_t i = 0; i < f.most; i++)
		mem_free(f.path[i]);
	mem_free(f.path);
	return NULL;
}

/* ---- loading ---- */

static struct chakra *trace_new(uint32_t n_ranks)
{
	struct chakra *c = mem_zalloc(1, sizeof *c);
	c->n_ranks = n_ranks;
	c->rank = mem_zalloc(n_ranks, sizeof *c->rank);
	chakra_groups_begin(c);
	return c;
}

/* Reads the file of groups; without a name, groups.json of the folder, if it exists. Appends its hash to *hashes. */
static int load_groups(struct chakra *c, const char *place, const char *groups, struct sbuf *hashes, struct orr_error *err)
{
	struct sbuf path = { 0 };
	struct stat st;
	char hash[BYTES_HASH_SIZE];
	size_t n;
	if (groups && *groups) {
		sbuf_puts(&path, groups);
	} else {
		char *dir = folder_of(place);
		sbuf_printf(&path, "%s/groups.json", dir);
		mem_free(dir);
		if (stat(sbuf_text(&path), &st)) {
			sbuf_free(&path);
			return ORR_OK;
		}
	}
	char *text = bytes_read_file(sbuf_text(&path), 256 << 20, &n, hash, err);
	int rc = text ? chakra_groups_parse(c, sbuf_text(&path), text, n, err) : ORR_EINPUT;
	if (!rc)
		sbuf_printf(hashes, "groups %s\n", hash);
	mem_free(text);
	sbuf_free(&path);
	return rc;
}

static int load_rank(struct chakra *c, uint32_t rank, struct sbuf *hashes, struct orr_error *err)
{
	char hash[BYTES_HASH_SIZE];
	struct chakra_file *f = chakra_open(c->rank[rank].path, rank, err);
	if (!f)
		return ORR_EINPUT;
	limits_begin_input(c->rank[rank].path);
	int rc = chakra_rank_read(c, f, rank, err);
	chakra_hash(f, hash);
	sbuf_printf(hashes, "%u %s\n", rank, hash);
	chakra_close(f);
	return rc;
}

struct chakra *chakra_load(const char *place, const char *groups, struct orr_error *err)
{
	uint32_t n;
	char **path = chakra_files(place, &n, err);
	struct sbuf hashes = { 0 };
	if (!path)
		return NULL;
	struct chakra *c = trace_new(n);
	for (uint32_t r = 0; r < n; r++)
		c->rank[r].path = path[r];
	mem_free(path);
	int rc = load_groups(c, place, groups, &hashes, err);
	for (uint32_t r = 0; r < n && !rc; r++)
		rc = load_rank(c, r, &hashes, err);
	bytes_hash_text(sbuf_text(&hashes), hashes.len, c->hash);
	sbuf_free(&hashes);
	if (!rc)
		return c;
	chakra_free(c);
	return NULL;
}

struct chakra *chakra_from_memory(const char *name, const void *data, size_t n, uint32_t rank, uint32_t n_ranks, struct orr_error *err)
{
	struct chakra_file *f = chakra_open_memory(name, data, n, rank, err);
	if (!f)
		return NULL;
	struct chakra *c = trace_new(n_ranks);
	for (uint32_t r = 0; r < n_ranks; r++)
		c->rank[r].path = mem_strdup(name);
	int rc = chakra_rank_read(c, f, rank, err);
	chakra_close(f);
	if (!rc)
		return c;
	chakra_free(c);
	return NULL;
}

void chakra_free(struct chakra *c)
{
	if (!c)
		return;
	for (uint32_t r = 0; r < c->n_ranks; r++) {
		mem_free(c->rank[r].path);
		mem_free(c->rank[r].node);
		mem_free(c->rank[r].child);
	}
	for (uint32_t g = 0; g < c->n_groups; g++) {
		mem_free(c->group[g].name);
		mem_free(c->group[g].member);
	}
	mem_free(c->rank);
	mem_free(c->group);
	mem_free(c);
}
