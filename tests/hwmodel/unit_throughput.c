/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of throughput in Gavel's format: every entry is found by its key and by no other; invalid tables are refused with their key. */
#include "hwmodel/throughput.h"

#include "tests/tap.h"

#include <stdlib.h>
#include <unistd.h>

static struct orr_error err;

static struct throughput *parse(const char *text)
{
	err = (struct orr_error){ 0 };
	return throughput_parse("t.json", text, strlen(text), &err);
}

/* Each key differs from the others in one part: GPU type, job type, scale, the other job's type or its scale. */
static const char table[] =
	"{\"v100\":{\"('b', 1)\":{\"null\":1,\"('b', 1)\":[2,3],\"('b', 2)\":[4,5],\"('a', 1)\":[6,7]},\"('b', 2)\":{\"null\":8},"
	"\"('a', 1)\":{\"null\":9,\"('b', 1)\":[10,11]},\"(\\\"c's\\\", 12)\":{\"null\":0}},"
	"\"K80\":{\"('b', 1)\":{\"null\":12},\"('a', 1000000)\":{\"('a', 1000000)\":[0.5,0]}},\"p100\":{}}";

static void lookups(void)
{
	static const struct {
		const char *gpu, *a;
		int scale_a;
		const char *b;
		int scale_b;
		double want;
	} cases[] = { { "v100", "b", 1, NULL, 0, 1 }, { "V100", "b", 1, "b", 1, 2 }, { "v100", "b", 1, "b", 2, 4 },
		{ "v100", "b", 1, "a", 1, 6 }, { "v100", "b", 2, NULL, 0, 8 }, { "v100", "a", 1, NULL, 0, 9 },
		{ "v100", "a", 1, "b", 1, 10 }, { "v100", "c's", 12, NULL, 0, 0 }, { "k80", "b", 1, NULL, 0, 12 },
		{ "k80", "a", 1000000, "a", 1000000, 0.5 }, { "k80", "a", 1, NULL, 0, 0 }, { "k80", "a", 1000000, NULL, 0, 0 },
		{ "p100", "b", 1, NULL, 0, 0 }, { "p10", "b", 1, NULL, 0, 0 }, { "v100", "b", 3, NULL, 0, 0 },
		{ "v100", "a", 1, "b", 2, 0 }, { "v100", "B", 1, NULL, 0, 0 } };
	struct throughput *t = parse(table);
	int good = 0, n = sizeof cases / sizeof *cases;
	for (int i = 0; t && i < n; i++) {
		double got = cases[i].b
				     ? throughput_lookup_shared(t, cases[i].gpu, cases[i].a, cases[i].scale_a, cases[i].b, cases[i].scale_b)
				     : throughput_lookup(t, cases[i].gpu, cases[i].a, cases[i].scale_a);
		good += got == cases[i].want;
		if (got != cases[i].want)
			printf("# case %d: got %g, want %g\n", i, got, cases[i].want);
	}
	ok(good == n, "%d of %d keys have their rate, or 0 if they are missing (%s)", good, n, err.text);
	throughput_free(t);
	t = parse("{\"v100\":{}}");
	ok(t && throughput_lookup(t, "v100", "a", 1) == 0, "a table without rates");
	throughput_free(t);
	throughput_free(NULL);
}

/* Tests that both ways of reading hash the same bytes. */
static void files(void)
{
	char path[] = "/tmp/orrery-throughput.XXXXXX";
	int fd = mkstemp(path);
	ssize_t n = fd < 0 ? -1 : write(fd, "{\"v100\":{}}", 11);
	struct throughput *t = n == 11 ? throughput_load(path, &err) : NULL, *same = parse("{\"v100\":{}}");
	ok(t && same && strlen(throughput_hash(t)) == 64 && !strcmp(throughput_hash(t), throughput_hash(same)),
		"the hash is that of the contents");
	throughput_free(t);
	throughput_free(same);
	close(fd);
	unlink(path);
	ok(!throughput_load(path, &err) && strstr(err.text, path), "a missing file is named (%s)", err.text);
}

static void refusals(void)
{
	static const struct {
		const char *text, *said;
	} cases[] = { { "[]", "t.json: $: expected an object with one key per GPU type" }, { "{}", "one key per GPU type" },
		{ "{\"v100\":3}", "t.json: $.v100: expected an object with one key per job type" },
		{ "{\"v100\":{},\"V100\":{}}", "t.json: $.V100: expected one entry per GPU type" },
		{ "{\"v100\":{\"a\":{}}}", "$.v100[\"a\"]: expected a key like" },
		{ "{\"v100\":{\"('a', 0)\":{}}}", "expected a key like" }, { "{\"v100\":{\"('a', 1000001)\":{}}}", "expected a key like" },
		{ "{\"v100\":{\"('', 1)\":{}}}", "expected a key like" }, { "{\"v100\":{\"('a', 1\":{}}}", "expected a key like" },
		{ "{\"v100\":{\"('a', )\":{}}}", "expected a key like" }, { "{\"v100\":{\"('a\\\", 1)\":{}}}", "expected a key like" },
		{ "{\"v100\":{\"'a', 1)\":{}}}", "expected a key like" }, { "{\"v100\":{\"(a, 1)\":{}}}", "expected a key like" },
		{ "{\"v100\":{\"('a',1)\":{}}}", "expected a key like" },
		{ "{\"v100\":{\"('a', 1)\":7}}", "$.v100[\"('a', 1)\"]: expected an object" },
		{ "{\"v100\":{\"('a', 1)\":{\"null\":-1}}}", "[\"null\"]: expected a number of steps/s, from 0" },
		{ "{\"v100\":{\"('a', 1)\":{\"null\":1e12}}}", "expected a number of steps/s" },
		{ "{\"v100\":{\"('a', 1)\":{\"null\":\"1\"}}}", "expected a number of steps/s" },
		{ "{\"v100\":{\"('a', 1)\":{\"b\":[1,2]}}}", "[\"b\"]: expected a key like" },
		{ "{\"v100\":{\"('a', 1)\":{\"('b', 1)\":1}}}", "expected two numbers of steps/s" },
		{ "{\"v100\":{\"('a', 1)\":{\"('b', 1)\":[1]}}}", "expected two numbers" },
		{ "{\"v100\":{\"('a', 1)\":{\"('b', 1)\":[1,2,3]}}}", "expected two numbers" },
		{ "{\"v100\":{\"('a', 1)\":{\"('b', 1)\":[1,-2]}}}", "expected two numbers" },
		{ "{\"v100\":{\"('a', 1)\":{\"('b', 1)\":[\"1\",2]}}}", "expected two numbers" },
		{ "{\"v100\":{\"('b', 1)\":{\"null\":1},\"('a', 1)\":{\"null\":1},\"('b', 1)\":{\"null\":1}}}",
			"duplicate key \"('b', 1)\"" },
		{ "{\"v100\":{\"('b', 1)\":{\"null\":1},\"('b', 01)\":{\"null\":1}}}", "two keys name the same jobs" } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct throughput *t = parse(cases[i].text);
		ok(!t && err.code == ORR_EINPUT && strstr(err.text, cases[i].said), "%s: %s", cases[i].text, err.text);
		throughput_free(t);
	}
}

int main(void)
{
	lookups();
	files();
	refusals();
	return done();
}
