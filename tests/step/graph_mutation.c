/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * graph_mutation.c - a damaged graph or list of partitions neither crashes orrery nor is accepted by mistake
 *
 * Each token of a file that has every key is replaced by hostile tokens and by other tokens of the file, removed and doubled. Files are
 * truncated after every byte. Each case ends in an input error that names the file and the JSON path (or line and column), or in a
 * valid graph. The valid graphs are run (under the sanitizers, a sample of them).
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "policies/step/graph_read.h"
#include "policies/step/partitions.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <ctype.h>
#include <stdlib.h>
#include <unistd.h>

extern const struct orr_policy orr_policy_graph;

static const char graph_text[] =
	"{\"title\":\"t\",\"groups\":{\"all\":[0,1,2,3],\"p\":[3,1]},\"samples\":64,\"barrier\":true,"
	"\"holds\":[{\"device\":0,\"kind\":\"weights\",\"bytes\":1e6}],\"ops\":["
	"{\"id\":\"sum\",\"collective\":{\"op\":\"all-reduce\",\"group\":\"all\",\"layers\":[\"c1\",\"c3\"],\"algorithm\":\"hierarchical\","
	"\"inner\":2,\"repeat\":3},\"after\":[\"b\"],\"stream\":2,\"priority\":-1},"
	"{\"id\":\"f\",\"compute\":{\"device\":0,\"layers\":{\"first\":\"c1\",\"last\":\"f5\"},\"pass\":\"forward\",\"batch\":4,\"shards\":"
	"2},"
	"\"after_previous\":[\"u\",\"sum\"],\"takes\":{\"device\":0,\"bytes\":5}},"
	"{\"id\":\"b\",\"compute\":{\"device\":0,\"layers\":\"all\",\"pass\":\"backward\"},\"after\":[\"f\"],"
	"\"gives\":[{\"device\":0,\"bytes\":5}],\"label\":\"x\"},"
	"{\"id\":\"w\",\"compute\":{\"device\":5,\"work\":\"codec\",\"seconds\":0.5},\"detach\":true},"
	"{\"id\":\"t\",\"transfer\":{\"from\":0,\"to\":4,\"layers\":[\"f5\"]},\"after\":[\"b\"],\"stream\":1},"
	"{\"id\":\"c\",\"collective\":{\"op\":\"broadcast\",\"group\":[2,0,5],\"bytes\":100,\"algorithm\":\"double-tree\",\"root\":2,"
	"\"chunks\":4}},"
	"{\"id\":\"d\",\"delay\":{\"seconds\":1e-3},\"after\":[\"t\",\"c\"]},"
	"{\"id\":\"m\",\"mark\":{},\"after\":[\"d\",\"sum\"]},"
	"{\"id\":\"u\",\"compute\":{\"device\":0,\"layers\":[\"f5\",\"c1\"],\"pass\":\"update\"},\"after\":[\"m\"],\"samples\":8}]}";

static const char partitions_text[] = "{\"title\":\"pairs\",\"partitions\":[[[0,1],[2,3]],[[0,3],[1,2]],[[0,1,2,3]]]}";

static const char *const hostile[] = { "", "null", "true", "-1", "0", "4", "99", "1.5", "-0", "1e999", "-1e999", "1e308", "1e-320",
	"4294967296", "9007199254740993", "18446744073709551616", "0x1", "01", "1e", "nan", "\"\"", "\"x\"", "\"all\"", "\"a\\u0000b\"",
	"\"\\n\"", "\"\xff\"", "\"%s%n\"", "\"", "[]", "[[]]", "{}", "[0,0]", "{\"\":0}", "}", "]", ",", ":", "[[[[[[[[[[", "/**/" };
enum { N_HOSTILE = sizeof hostile / sizeof *hostile, MAX_TOKENS = 1000, OTHERS = 12 };

static struct graph_facts facts;
static struct fixture *fixture;
static char path[] = "/tmp/orrery-mutation-XXXXXX";
static unsigned long cases, accepted, refused, ran, insane, unnamed, wrong_code;
static bool is_graph, is_small;

/* Returns whether the text starts with "in: $..: text" or "in:LINE:COLUMN: text". */
static bool names_its_place(const char *text)
{
	if (!strncmp(text, "in: $", 5))
		return strchr(text + 5, ':') != NULL;
	const char *s = text + 3 + strspn(text + 3, "0123456789");
	return !strncmp(text, "in:", 3) && isdigit((unsigned char)text[3]) && s[0] == ':' && isdigit((unsigned char)s[1]);
}

static bool is_ordered(const struct graph *g)
{
	for (uint32_t i = 0; i < g->n; i++)
		for (uint32_t k = 0; k < g->op[i].n_after; k++)
			if (g->op[i].after[k] >= i)
				return false;
	return g->n > 0;
}

/* Runs the graph with every check enabled. A graph that does not fit on a device is an error of the run. */
static void carry_out(const char *text, size_t n)
{
	char set[80];
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	FILE *f = fopen(path, "w");
	if (!f)
		exit(1);
	fwrite(text, 1, n, f);
	fclose(f);
	snprintf(set, sizeof set, "file=%s", path);
	int rc = fixture_run(fixture, &orr_policy_graph, set, &r, &e);
	bool is_good = rc ? strstr(e.text, "GiB") != NULL : r.iteration_s >= 0 && isfinite(r.iteration_s);
	if (!is_good)
		printf("# %s, %g s: %.*s\n", e.text, r.iteration_s, (int)n, text);
	insane += !is_good;
	ran++;
	step_result_free(&r);
}

static void parse(const char *text, size_t n)
{
	struct orr_error e = { 0 };
	bool is_read;
	cases++;
	if (is_graph) {
		struct graph *g = graph_file_read("in", text, n, &facts, &e);
		is_read = g != NULL;
		insane += g && !is_ordered(g);
		if (g && (accepted % (is_small ? 20 : 1) == 0))
			carry_out(text, n);
		graph_file_free(g);
	} else {
		struct partition_list l = { 0 };
		is_read = !partitions_from_json(&l, "in", text, n, 4, &e);
		for (uint32_t i = 0; is_read && i < l.n; i++)
			insane += !l.item[i].groups || l.item[i].end[l.item[i].groups - 1] != 4;
		partitions_free(&l);
	}
	accepted += is_read;
	refused += !is_read;
	wrong_code += !is_read && e.code != ORR_EINPUT;
	if (!is_read && !names_its_place(e.text)) {
		unnamed++;
		printf("# %s\n", e.text);
	}
}

static size_t tokens(const char *text, size_t *at)
{
	size_t n = 0;
	for (size_t i = 0; text[i];) {
		size_t len = 1;
		if (text[i] == '"')
			len = strcspn(text + i + 1, "\"") + 2;
		else if (!strchr("{}[],:", text[i]))
			len = strcspn(text + i, "{}[],:");
		at[n++] = i;
		i += len;
	}
	at[n] = strlen(text);
	return n;
}

static void with(const char *text, size_t from, size_t to, const char *token, size_t len)
{
	static struct sbuf b;
	sbuf_clear(&b);
	sbuf_add(&b, text, from);
	sbuf_add(&b, token, len);
	sbuf_puts(&b, text + to);
	parse(b.text, b.len);
}

static void mutate(const char *text)
{
	static size_t at[MAX_TOKENS];
	size_t n = tokens(text, at);
	for (size_t i = 0; i < n; i++) {
		for (int h = 0; h < N_HOSTILE; h++)
			with(text, at[i], at[i + 1], hostile[h], strlen(hostile[h]));
		for (size_t k = 1; k <= OTHERS; k++) { /* spread over the file */
			size_t other = (i * 7 + k * 31) % n;
			with(text, at[i], at[i + 1], text + at[other], at[other + 1] - at[other]);
		}
		with(text, at[i], at[i], text + at[i], at[i + 1] - at[i]);
	}
	for (size_t i = 0; text[i]; i++)
		parse(text, i);
}

static void report(const char *what)
{
	printf("# %lu cases, %lu accepted (%lu run), %lu refused\n", cases, accepted, ran, refused);
	ok(refused > cases / 2 && accepted > cases / 200, "%s: most damaged files are refused, some are accepted", what);
	ok(!insane, "%s: every accepted graph runs (%lu do not)", what, insane);
	ok(!unnamed, "%s: every error names its position (%lu do not)", what, unnamed);
	ok(!wrong_code, "%s: every error is an input error", what);
	cases = accepted = refused = ran = insane = unnamed = wrong_code = 0;
}

int main(void)
{
	int fd = mkstemp(path);
	if (fd < 0)
		return 1;
	close(fd);
	is_small = getenv("ORR_SANITIZED") != NULL;
	fixture = fixture_new("4x1:v100", "star", "lenet5", 8);
	fixture_set(fixture, "iterations=3");
	const char **layer = mem_zalloc(fixture->dnn->n_layers + 1, sizeof *layer);
	double *params = mem_zalloc(fixture->dnn->n_layers + 1, sizeof *params);
	for (uint32_t i = 0; i < fixture->dnn->n_layers; i++) {
		layer[i] = fixture->dnn->layer[i].name;
		params[i] = fixture->dnn->layer[i].params;
	}
	facts = (struct graph_facts){ 4, 8, fixture->dnn->n_layers, layer, params };
	is_graph = true;
	parse(graph_text, strlen(graph_text));
	ok(accepted == 1 && ran == 1 && !insane, "the unchanged graph runs");
	mutate(graph_text);
	report("graph");
	is_graph = false;
	parse(partitions_text, strlen(partitions_text));
	ok(accepted == 1 && !insane, "the unchanged partitions are read");
	mutate(partitions_text);
	report("partitions");
	mem_free(layer);
	mem_free(params);
	fixture_free(fixture);
	unlink(path);
	return done();
}
