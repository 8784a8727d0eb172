/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hash.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/param.h"
#include "base/strtab.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

static void numbers(void)
{
	int64_t i;
	double d;
	ok(num_int("-9223372036854775808", 20, &i) && i == INT64_MIN, "the smallest int64 is read");
	ok(!num_int("9223372036854775808", 19, &i), "one past the largest int64 is refused");
	ok(!num_int("", 0, &i) && !num_int("-", 1, &i) && !num_int("1 ", 2, &i) && !num_int("0x10", 4, &i),
		"text that is no whole number is refused");
	static const char *const reals[] = { "0.1", "-3.25", "1e3", "123456789012345678901234567890", "2.2250738585072011e-308",
		"9007199254740993", ".5", "5.", "0.000001" };
	for (size_t k = 0; k < sizeof reals / sizeof *reals; k++) /* strtod() of the C library */
		ok(num_real(reals[k], strlen(reals[k]), &d) && d == strtod(reals[k], NULL), "%s as strtod has it", reals[k]);
	static const char *const bad[] = { "", ".", "-", "1e", "1e+", "nan", "inf", "1.2.3", " 1", "0x1p3", "1e999" };
	for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
		ok(!num_real(bad[k], strlen(bad[k]), &d), "\"%s\" is no number", bad[k]);
	ok(num_seconds_ns("1.0000000005", 12, &i) && i == 1000000001, "seconds round to the nearest ns");
	ok(num_seconds_ns("-2.5", 4, &i) && i == -2500000000, "negative seconds");
	ok(!num_seconds_ns("1e12", 4, &i), "seconds beyond the clock are refused");
	ok(num_duration_ns("1.5h", 4, &i) && i == INT64_C(5400000000000), "1.5h");
	ok(num_duration_ns("250ms", 5, &i) && i == 250000000, "250ms");
	ok(!num_duration_ns("5 s", 3, &i) && !num_duration_ns("h", 1, &i), "a duration needs a number directly before its unit");
	char out[NUM_SECONDS_MAX];
	num_put_seconds(out, -1500000000);
	same_text(out, "-1.500000000", "seconds have nine decimals");
	num_put_seconds(out, INT64_MAX);
	same_text(out, "9223372036.854775807", "the largest time is formatted");
}

static void strings(void)
{
	struct strtab *t = strtab_new();
	uint32_t a = strtab_add_z(t, "v100"), b = strtab_add(t, "v100 and more", 4);
	ok(a == b && a != 0, "equal strings have equal numbers");
	char buf[16];
	for (int k = 0; k < 5000; k++) {
		snprintf(buf, sizeof buf, "s%d", k);
		strtab_add_z(t, buf);
	}
	same_text(strtab_text(t, a), "v100", "texts keep their addresses when the table grows");
	ok(strtab_add_z(t, "s4999") == 5001 && strtab_count(t) == 5002, "numbers follow first use");
	strtab_free(t);
}

/* Elements 0..63 with a key and their place in the heap. */
struct keys {
	uint32_t key[64], place[64];
};

static inline bool is_less(const struct keys *k, const uint32_t *a, const uint32_t *b)
{
	return k->key[*a] < k->key[*b];
}

static inline void placed(struct keys *k, const uint32_t *x, uint32_t i)
{
	k->place[*x] = i;
}

HEAP(number, uint32_t, struct keys, is_less, placed)

static bool is_heap(const struct keys *k, const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (k->place[v[i]] != i || (i && is_less(k, &v[i], &v[(i - 1) / 2])))
			return false;
	return true;
}

/* Random additions, changed keys and removals, checked against the definition of a heap. */
static void heaps(void)
{
	struct keys k = { { 0 }, { 0 } };
	uint32_t v[64], n = 0;
	uint64_t seed = 7;
	bool holds = true;
	for (uint32_t i = 0; i < 64; i++) {
		k.key[i] = (uint32_t)(hash_next(&seed) % 20);
		number_up(&k, v, n++, i);
		holds = holds && is_heap(&k, v, n);
	}
	ok(holds, "additions: no element precedes its parent, and places are right");
	for (uint32_t i = 0; i < 500; i++) {
		uint32_t x = (uint32_t)(hash_next(&seed) % 64);
		k.key[x] = (uint32_t)(hash_next(&seed) % 20);
		number_place(&k, v, n, k.place[x], x);
		holds = holds && is_heap(&k, v, n);
	}
	ok(holds, "changed keys move up or down");
	uint32_t last = 0;
	while (n) {
		holds = holds && k.key[v[0]] >= last;
		last = k.key[v[0]];
		if (--n)
			number_down(&k, v, n, 0, v[n]);
		holds = holds && is_heap(&k, v, n);
	}
	ok(holds, "removals from the top are in order");
}

/* Expected: the test vectors of the FNV reference code (isthe.com/chongo/src/fnv/test_fnv.c). */
static void hashes(void)
{
	ok(hash_text(HASH_START, "") == UINT64_C(0xcbf29ce484222325), "FNV-1a of nothing");
	ok(hash_text(HASH_START, "a") == UINT64_C(0xaf63dc4c8601ec8c), "FNV-1a of a");
	ok(hash_bytes(HASH_START, "foobar", 6) == UINT64_C(0x85944171f73967e8), "FNV-1a of foobar");
	ok(hash_bytes(hash_text(HASH_START, "foo"), "bar", 3) == hash_text(HASH_START, "foobar"), "a hash can be continued");
}

static void parameters(void)
{
	static const struct orr_param table[] = { ORR_PARAM_LIST("limits", "3250s,2h", "x"), ORR_PARAM_BOOL("promote", false, "x"),
		ORR_PARAM_INT("queues", "3", 1, 16, "x"), ORR_PARAM_TIME("quantum", "0", "x"),
		ORR_PARAM_CHOICE("rules", "own", "own|helios", "x"), ORR_PARAM_END };
	struct orr_error err = { 0 };
	struct orr_args *a = args_new(table, "policy las", &err);
	size_t n;
	const double *l = orr_arg_list(a, "limits", &n);
	ok(n == 2 && l[0] == 3250 && l[1] == 7200, "a list of times in seconds");
	ok(args_set(a, "queues", "17", &err) == ORR_EINPUT, "values out of bounds are refused");
	same_text(err.text, "policy las: queues: expected a number from 1 to 16, found \"17\"", "with a message that gives the bounds");
	ok(orr_arg_int(a, "queues") == 3, "a refused value changes nothing");
	ok(args_set(a, "promot", "1", &err) == ORR_EINPUT, "unknown names are refused");
	same_text(err.text, "policy las: no parameter \"promot\"; did you mean promote", "with a message that gives the nearest name");
	ok(args_set(a, "zzz", "1", &err) == ORR_EINPUT, "also without a near name");
	same_text(err.text, "policy las: no parameter \"zzz\"; expected one of limits, promote, queues, quantum, rules",
		"with a message that gives all names");
	static const char *const near[] = { "sjf", "srtf", NULL };
	same_text(nearest_name("srft", near), "srtf", "two swapped letters count as one error");
	ok(!args_set_pair(a, "quantum=1.5m", &err) && orr_arg_time_ns(a, "quantum") == 90 * ORR_SECOND, "1.5m");
	ok(args_set(a, "rules", "tiresias", &err) && !args_set(a, "rules", "helios", &err), "choices");
	same_text(orr_arg_text(a, "rules"), "helios", "the text of a choice is its word");
	args_free(a);
}

/* The SHA-256 of "abc" is an example of FIPS 180-4. */
static void files(void)
{
	static const char abc[] = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
	static const struct orr_param table[] = { ORR_PARAM_FILE("file", "x"), ORR_PARAM_TEXT_OR_FILE("either", "0-1", ".json", "x"),
		ORR_PARAM_END };
	struct orr_error err = { 0 };
	char path[] = "/tmp/orrery-XXXXXX.json";
	size_t n = 7;
	int fd = mkstemps(path, 5);
	if (fd < 0 || write(fd, "abc", 3) != 3 || close(fd)) {
		ok(false, "a file can be made in /tmp");
		return;
	}
	struct orr_args *a = args_new(table, "test", &err);
	ok(a && !orr_arg_file(a, "file", &n) && !n && !*args_file_hash(a, 0), "a file parameter is empty by default");
	ok(!args_set(a, "file", path, &err) && !args_set(a, "either", path, &err), "files are read when the parameter is set");
	unlink(path);
	const char *text = orr_arg_file(a, "either", &n);
	ok(text && n == 3 && !strcmp(text, "abc"), "and kept in memory");
	same_text(orr_arg_text(a, "file"), path, "the text of a file parameter is its name");
	same_text(args_file_hash(a, 0), abc, "the hash is that of the contents");
	ok(args_set(a, "file", path, &err) == ORR_EINPUT && strstr(err.text, path), "a missing file is an input error");
	ok(orr_arg_file(a, "file", &n) && n == 3, "which keeps the value");
	ok(!args_set(a, "either", "2-3", &err) && !orr_arg_file(a, "either", &n) && !*args_file_hash(a, 1),
		"a value with another ending is a text");
	ok(!args_set(a, "file", "", &err) && !orr_arg_file(a, "file", &n), "the empty name removes the file");
	args_free(a);
}

int main(void)
{
	numbers();
	strings();
	heaps();
	hashes();
	parameters();
	files();
	return done();
}
