/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * oracle_chakra.c - execution traces against ASTRA-sim 518bd51 (analytical network), rank by rank, tolerance 0
 *
 * oracles/chakra: nodes.csv has every node of every trace, decoded; runs.csv the finish time and the exposed communication of each rank
 * without congestion; runs_other.csv runs with congestion, with two active chunks and with other algorithms. README.md has the rules.
 */
#include "tests/tap.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sbuf.h"
#include "step/replay.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>

static char *read_data(const char *name)
{
	const char *root = getenv("ORRERY_DATA_PATH");
	char path[1024];
	struct orr_error err;
	size_t n;
	snprintf(path, sizeof path, "%s/oracles/chakra/%s", root ? root : "", name);
	return root ? bytes_read_file(path, 16 << 20, &n, NULL, &err) : NULL;
}

static const char *data_path(char out[1024], const char *format, ...)
{
	char name[512];
	va_list ap;
	va_start(ap, format);
	vsnprintf(name, sizeof name, format, ap);
	va_end(ap);
	snprintf(out, 1024, "%s/oracles/chakra/%s", getenv("ORRERY_DATA_PATH"), name);
	return out;
}

/* ---- CK1: nodes.csv ---- */

static void put_ids(struct sbuf *b, const uint64_t *id, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sbuf_printf(b, "%s%" PRIu64, i ? " " : "", id[i]);
	sbuf_putc(b, ',');
}

static void put_attribute(struct sbuf *b, const struct chakra_attribute *a)
{
	sbuf_printf(b, "%.*s=", (int)a->name.n, a->name.s);
	if (a->kind == CHAKRA_SIGNED)
		sbuf_printf(b, "%" PRId64, a->i);
	else if (a->kind == CHAKRA_TEXT)
		sbuf_printf(b, "%.*s", (int)a->text.n, a->text.s);
	else if (a->kind == CHAKRA_REAL)
		sbuf_printf(b, "%g", a->real);
	else
		sbuf_printf(b, "%" PRIu64, a->u);
}

static void put_node(struct sbuf *b, const char *trace, uint32_t rank, const struct chakra_record *r)
{
	sbuf_printf(
		b, "%s,%u,%" PRIu64 ",%.*s,%d,%" PRIu64 ",", trace, rank, r->id, (int)r->name.n, r->name.s, (int)r->type, r->duration_us);
	put_ids(b, r->ctrl, r->n_ctrl);
	put_ids(b, r->data, r->n_data);
	for (size_t i = 0; i < r->n_attributes; i++) {
		if (i)
			sbuf_putc(b, ';');
		put_attribute(b, &r->attribute[i]);
	}
	sbuf_putc(b, '\n');
}

static void put_trace(struct sbuf *b, const char *trace)
{
	char place[1024];
	uint32_t n;
	struct orr_error err = { 0 };
	char **path = chakra_files(data_path(place, "et/%s", trace), &n, &err);
	for (uint32_t r = 0; path && r < n; r++) {
		struct chakra_file *f = chakra_open(path[r], r, &err);
		const struct chakra_record *x;
		while (f && chakra_next(f, &x, &err) == 1)
			put_node(b, trace, r, x);
		chakra_close(f);
		mem_free(path[r]);
	}
	mem_free(path);
	if (err.code)
		printf("# %s\n", err.text);
}

static void decoded(void)
{
	char *want = read_data("nodes.csv");
	struct sbuf got = { 0 };
	char last[128] = "";
	sbuf_puts(&got, "trace,rank,id,name,type,duration_micros,ctrl_deps,data_deps,attributes\n");
	for (const char *line = strchr(want, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		size_t n = strcspn(line, ",");
		if (strlen(last) == n && !strncmp(last, line, n))
			continue;
		snprintf(last, sizeof last, "%.*s", (int)n, line);
		put_trace(&got, last);
	}
	size_t at = 0;
	while (want[at] && want[at] == sbuf_text(&got)[at])
		at++;
	if (want[at] != sbuf_text(&got)[at])
		printf("# want %.120s\n# got  %.120s\n", want + at, sbuf_text(&got) + at);
	ok(!strcmp(want, sbuf_text(&got)), "CK1: every node of every trace is decoded as nodes.csv says");
	sbuf_free(&got);
	mem_free(want);
}

/* ---- CK2, CK3: runs ---- */

struct row {
	char key[160], which[64], mode[16], topology[32], system[16];
	uint32_t npus, rank;
	int64_t finish, exposed;
};

static bool take_row(const char **at, struct row *out)
{
	const char *line = *at;
	if (!*line)
		return false;
	size_t n = strcspn(line, "\n");
	*at = line + n + (line[n] == '\n');
	if (sscanf(line, "%63[^,],%15[^,],%31[^,],%u,%15[^,],%u,%" SCNd64 ",%" SCNd64, out->which, out->mode, out->topology, &out->npus,
		    out->system, &out->rank, &out->finish, &out->exposed) != 8)
		return false;
	snprintf(out->key, sizeof out->key, "%s %s %s %u %s", out->which, out->mode, out->topology, out->npus, out->system);
	return true;
}

/* Runs the case of a row; by_messages: each message of collectives is an event. */
static bool run_case(const struct row *x, bool by_messages, struct replay_result *out)
{
	static const char collectives[] = "all_reduce all_gather all_to_all reduce_scatter";
	char path[1024], text[256];
	struct orr_error err = { 0 };
	struct astra_network net;
	struct astra_system sys;
	bool is_example = strstr(collectives, x->which) != NULL;
	snprintf(
		text, sizeof text, "topology: [ %s ]\nnpus_count: [ %u ]\nbandwidth: [ 50.0 ]\nlatency: [ 500.0 ]\n", x->topology, x->npus);
	struct chakra *t = is_example ? chakra_load(data_path(path, "et/%s_%unpus_1MB", x->which, x->npus), NULL, &err)
				      : chakra_load(data_path(path, "et/%s", x->which), NULL, &err);
	bool good = t && !astra_network_parse("network", text, &net, &err) &&
		    !astra_system_load(data_path(path, "cfg/%s.json", x->system), &sys, &err);
	if (good)
		good = !replay_run(&(struct replay_config){ .trace = t,
					   .network = &net,
					   .system = &sys,
					   .is_aware = !strcmp(x->mode, "aware"),
					   .by_messages = by_messages,
					   .check = true },
			out, &err);
	if (!good)
		printf("# %s: %s\n", x->key, err.text);
	chakra_free(t);
	return good;
}

struct tally {
	unsigned rows, equal, cases, equal_cases;
	double worst;
};

static struct tally compare(const char *file, bool by_messages, bool is_shown)
{
	struct tally t = { 0 };
	struct row x;
	struct replay_result r = { 0 };
	char last[160] = "";
	bool was_equal = true;
	char *text = read_data(file);
	const char *at = strchr(text, '\n') + 1;
	while (take_row(&at, &x)) {
		if (!strcmp(x.topology, "SwitchRing8x2"))
			continue;
		if (strcmp(last, x.key) != 0) {
			t.equal_cases += t.cases && was_equal;
			t.cases++;
			was_equal = true;
			replay_result_free(&r);
			run_case(&x, by_messages, &r);
			memcpy(last, x.key, sizeof last);
		}
		int64_t finish = x.rank < r.n ? r.rank[x.rank].finish_ns : -1,
			exposed = x.rank < r.n ? finish - r.rank[x.rank].compute_ns : -1;
		bool is_equal = finish == x.finish && exposed == x.exposed;
		t.rows++;
		t.equal += is_equal;
		double far = fabs((double)(finish - x.finish)) / (double)x.finish;
		t.worst = far > t.worst ? far : t.worst;
		if (!is_equal && is_shown && was_equal)
			printf("# %s rank %u: ours %" PRId64 " %" PRId64 ", ASTRA-sim's %" PRId64 " %" PRId64 "\n", x.key, x.rank, finish,
				exposed, x.finish, x.exposed);
		was_equal &= is_equal;
	}
	t.equal_cases += t.cases && was_equal;
	replay_result_free(&r);
	mem_free(text);
	return t;
}

int main(void)
{
	char *there = read_data("runs.csv");
	if (!there) {
		skip("no oracles/chakra (ORRERY_DATA_PATH)");
		return done();
	}
	mem_free(there);
	decoded();
	struct tally t = compare("runs.csv", false, true);
	ok(t.rows == 346 && t.equal == t.rows, "CK2, CK3: finish time and exposed communication of %u of %u rows are equal", t.equal,
		t.rows);
	t = compare("runs.csv", true, true);
	ok(t.rows == 346 && t.equal == t.rows, "the same with an event for each message: %u of %u rows", t.equal, t.rows);
	t = compare("runs_other.csv", false, true);
	ok(t.equal == t.rows, "other settings: %u of %u rows in %u of %u cases are equal, largest difference %.2f %%", t.equal, t.rows,
		t.equal_cases, t.cases, 100 * t.worst);
	return done();
}
