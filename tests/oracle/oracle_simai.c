/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * oracle_simai.c - communication times of SimAI-Analytical 1.6 (aliyun/SimAI), line by line
 *
 * Each line of a workload names an operation and its bytes for the forward pass, the input gradient and the weight gradient. The
 * expected output prints whole microseconds and "busbw" of each. This test evaluates the closed forms of sim/net/collective.h with a =
 * 0 and B = busbw. SimAI's GB is 2^30 bytes. In four lines of 4 bytes, the busbw column is in units of 2^20: 4 B in the least time of
 * 10 us are 0.38 MiB/s.
 *
 * Sizes of groups, from the head of the workload (TP 2, EP 16, PP 12, 9,216 GPUs): _EP 16; _DP_EP 9216 / (2 x 12 x 16) = 24; weight
 * gradients 9216 / (2 x 12) = 384; otherwise TP.
 */
#include "tests/tap.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "net/collective.h"

#include <stdlib.h>

enum { PASSES = 3, COLUMNS = 17 };

enum kind { TP, EP, DP, DP_EP, KINDS };

static const char *const kind_name[] = { "TP", "EP", "DP", "DP_EP" };

struct head {
	uint32_t tp, ep, pp, gpus, lines;
};

struct op {
	char type[32];
	double bytes;
};

struct result {
	unsigned lines, compared, far;
	double worst_us, ours_us[KINDS], theirs_us[KINDS];
};

static char *read_data(const char *name)
{
	const char *root = getenv("ORRERY_DATA_PATH");
	char path[1024];
	struct orr_error err;
	size_t n;
	snprintf(path, sizeof path, "%s/oracles/simai-analytical/%s", root ? root : "", name);
	return root ? bytes_read_file(path, 16 << 20, &n, NULL, &err) : NULL;
}

/* Returns the next line, terminated by NUL in place, or NULL at the end. */
static char *next_line(char **at)
{
	char *line = *at;
	if (!*line)
		return NULL;
	size_t n = strcspn(line, "\n");
	*at = line + n + (line[n] == '\n');
	line[n] = '\0';
	return line;
}

/* Splits a line at blanks or commas, in place; returns the number of fields. */
static unsigned fields(char *line, const char *between, char *out[], unsigned max)
{
	unsigned n = 0;
	for (char *s = strtok(line, between); s && n < max; s = strtok(NULL, between))
		out[n++] = s;
	return n;
}

static bool read_head(char **at, struct head *h)
{
	char *line = next_line(at), *count = next_line(at), *word[32];
	unsigned n = line && count ? fields(line, " \t\r", word, 32) : 0;
	for (unsigned i = 0; i + 1 < n; i++) {
		uint32_t v = (uint32_t)strtoul(word[i + 1], NULL, 10);
		if (!strcmp(word[i], "model_parallel_NPU_group:"))
			h->tp = v;
		else if (!strcmp(word[i], "ep:"))
			h->ep = v;
		else if (!strcmp(word[i], "pp:"))
			h->pp = v;
		else if (!strcmp(word[i], "all_gpus:"))
			h->gpus = v;
	}
	h->lines = count ? (uint32_t)strtoul(count, NULL, 10) : 0;
	return h->tp && h->ep && h->pp && h->gpus && h->lines;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);
	return n >= m && !strcmp(s + n - m, end);
}

static enum kind group_of(const struct head *h, const char *type, bool is_weight, uint32_t *n)
{
	if (ends_with(type, "_DP_EP")) {
		*n = h->gpus / h->tp / h->pp / h->ep;
		return DP_EP;
	}
	if (ends_with(type, "_EP")) {
		*n = h->ep;
		return EP;
	}
	*n = is_weight ? h->gpus / h->tp / h->pp : h->tp;
	return is_weight ? DP : TP;
}

static enum orr_collective_op op_of(const char *type)
{
	if (!strncmp(type, "ALLREDUCE", 9))
		return ORR_ALL_REDUCE;
	if (!strncmp(type, "ALLGATHER", 9))
		return ORR_ALL_GATHER;
	return !strncmp(type, "REDUCESCATTER", 13) ? ORR_REDUCE_SCATTER : ORR_ALL_TO_ALL;
}

static void compare(const struct head *h, const struct op *op, bool is_weight, const char *us, const char *busbw, struct result *r)
{
	double theirs = strtod(us, NULL), unit = op->bytes < 64 ? 1 << 20 : 1 << 30, ours = 0;
	uint32_t n;
	enum kind kind = group_of(h, op->type, is_weight, &n);
	if (strcmp(op->type, "NONE") && op->bytes > 0) {
		struct coll_shape s = { .op = op_of(op->type), .n = n, .bytes = op->bytes };
		ours = 1e6 * coll_time_s(&s, 0, strtod(busbw, NULL) * unit, 0, 0);
		r->compared++;
	}
	double off = fabs(ours - theirs);
	if (!(off <= 1)) {
		r->far++;
		printf("# %s of %.0f bytes, group %u, busbw %s: %.3f us, SimAI %s us\n", op->type, op->bytes, n, busbw, ours, us);
	}
	r->worst_us = fmax(r->worst_us, off);
	r->ours_us[kind] += ours;
	r->theirs_us[kind] += theirs;
}

/* Compares a line of the workload with its line of the output. Workload columns: name, dependency, then time, type and bytes of
 * forward, input gradient and weight gradient. Output columns, from the ninth on: total, algbw and busbw of forward, weight gradient
 * and input gradient. */
static bool compare_line(const struct head *h, char *workload, char *output, struct result *r)
{
	static const unsigned column[PASSES] = { 8, 14, 11 };
	char *w[16], *o[COLUMNS + 1];
	if (fields(workload, " \t\r", w, 16) < 11 || fields(output, ",\r", o, COLUMNS + 1) != COLUMNS || strcmp(w[0], o[0]))
		return false;
	for (unsigned pass = 0; pass < PASSES; pass++) {
		struct op op = { .bytes = strtod(w[4 + 3 * pass], NULL) };
		snprintf(op.type, sizeof op.type, "%s", w[3 + 3 * pass]);
		compare(h, &op, pass == 2, o[column[pass]], o[column[pass] + 2], r);
	}
	r->lines++;
	return true;
}

static bool run(const char *workload_name, const char *output_name, struct result *r)
{
	char *workload = read_data(workload_name), *output = read_data(output_name);
	bool good = workload && output;
	if (good) {
		char *w = workload, *o = output, *a, *b;
		struct head h = { 0 };
		good = read_head(&w, &h);
		for (int i = 0; i < 3; i++)
			next_line(&o);
		while (good && (a = next_line(&w)) && (b = next_line(&o)))
			good = compare_line(&h, a, b, r);
		good &= r->lines == h.lines;
	}
	mem_free(workload);
	mem_free(output);
	return good;
}

static void totals(const struct result *r, const double *printed)
{
	double worst = 0;
	for (unsigned k = 0; k < KINDS; k++) {
		double off = (fabs(r->ours_us[k] - printed[k]) - 1) / fmax(1, printed[k]); /* whole microseconds are printed */
		printf("# %-5s ours %.1f us, sum of SimAI's lines %.0f us, its total %.0f us\n", kind_name[k], r->ours_us[k],
			r->theirs_us[k], printed[k]);
		worst = fmax(worst, off);
	}
	ok(worst < 1e-4, "totals by kind of group are SimAI's to 1e-4 and the last whole us (worst %.1e)", worst);
}

int main(void)
{
	/* The second line of example-EndToEnd.csv and micro-EndToEnd.csv. */
	static const double example_us[KINDS] = { 326686, 1222811, 40332, 1067010 }, micro_us[KINDS] = { 380, 0, 0, 0 };
	struct result micro = { 0 }, example = { 0 };
	char *there = read_data("README.md");
	if (!there) {
		skip("no oracles/simai-analytical under $ORRERY_DATA_PATH");
		return done();
	}
	mem_free(there);
	bool is_read = run("microAllReduce.txt", "micro-EndToEnd.csv", &micro);
	ok(is_read && micro.compared == 2 && !micro.far, "both all-reduces among 8 GPUs within 1 us of SimAI (worst %.2f us)",
		micro.worst_us);
	totals(&micro, micro_us);
	is_read = run("workload_analytical.txt", "example-EndToEnd.csv", &example);
	ok(is_read && example.lines == 1789 && !example.far, "%u lines, %u operations: each within 1 us of SimAI (worst %.2f us)",
		example.lines, example.compared, example.worst_us);
	totals(&example, example_us);
	return done();
}
