/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/hash.h"
#include "base/heap.h"
#include "base/mem.h"
#include "base/bitset.h"
#include "base/param.h"
#include "base/sbuf.h"
#include "base/strtab.h"
#include "tests/tap.h"

#include <inttypes.h>
#include <setjmp.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

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
	bool is_kept = true;
	for (int k = 0; k < 5000; k++) {
		snprintf(buf, sizeof buf, "s%d", k);
		is_kept = is_kept && strtab_add_z(t, buf) == (uint32_t)k + 2 && !strcmp(strtab_text(t, (uint32_t)k + 2), buf);
	}
	ok(is_kept && strtab_count(t) == 5002, "numbers of strings never change");
	ok(strtab_add_z(t, NULL) == 0 && strtab_add(t, "x", 0) == 0 && !*strtab_text(t, 0), "number 0 is the empty string");
	ok(!*strtab_text(t, 5002) && !*strtab_text(t, UINT32_MAX), "an unknown number has the empty text");
	/* Texts that fill the chunks of 65536 bytes exactly, with one byte less and with one more. */
	for (size_t n = 65534; n <= 65537; n++) {
		char *text = mem_alloc(n + 1);
		memset(text, 'a' + (char)(n % 7), n);
		text[n] = '\0';
		uint32_t number = strtab_add(t, text, n);
		ok(strtab_add_z(t, "short") && !strcmp(strtab_text(t, number), text) && strtab_add_z(t, text) == number,
			"a text of %zu bytes", n);
		mem_free(text);
	}
	strtab_free(t);
}

static jmp_buf ran_out;
static size_t requested;

static void out_of_memory(size_t n)
{
	requested = n;
	longjmp(ran_out, 1);
}

static void memory(void)
{
	char *volatile p = mem_strndup("orrery", 3);
	same_text(p, "orr", "a copy of the first letters");
	mem_free(p);
	p = mem_strndup("or", 3);
	same_text(p, "or", "a copy ends where the text ends");
	mem_free(p);
	p = mem_zalloc(3, 100);
	bool is_clear = true;
	for (int i = 0; i < 300; i++)
		is_clear = is_clear && !p[i];
	ok(is_clear, "memory is cleared");
	p = mem_realloc(p, 100, 5);
	memset(p, 1, 500);
	p = mem_realloc(p, 0, 5);
	ok(p != NULL, "an allocation of no elements returns an address");
	mem_free(p);
	p = mem_zalloc(0, 5);
	ok(p != NULL, "a reallocation to no elements returns an address");
	mem_free(p);
	p = mem_alloc(0);
	ok(p != NULL, "an allocation of no bytes returns an address");
	mem_free(p);
	mem_on_exhaustion(out_of_memory);
	if (!setjmp(ran_out)) {
		mem_realloc(NULL, SIZE_MAX / 4, 5);
		ok(false, "a size that overflows runs out of memory");
	} else {
		ok(requested == SIZE_MAX, "a size that overflows runs out of memory");
	}
	mem_on_exhaustion(NULL);
}

static void texts(void)
{
	struct sbuf b = { 0 };
	char expected[3001] = "";
	same_text(sbuf_text(&b), "", "a struct of zeros is an empty text");
	for (int i = 0; i < 300; i++) {
		sbuf_printf(&b, "%d:", i % 10);
		sbuf_puts(&b, "abcdef");
		sbuf_putc(&b, 'g');
		sbuf_add(&b, "hij", 1);
		memcpy(expected + 10 * i, "0:abcdefgh", 11);
		expected[10 * i] = (char)('0' + i % 10);
		if (strcmp(sbuf_text(&b), expected) || b.len != (size_t)(10 * i + 10))
			break;
	}
	ok(b.len == 3000 && !strcmp(sbuf_text(&b), expected), "a text grows by what is added, and ends with a NUL");
	sbuf_printf(&b, "%s", "");
	ok(b.len == 3000, "adding an empty text changes nothing");
	sbuf_clear(&b);
	ok(b.len == 0 && !*sbuf_text(&b), "a cleared text is empty");
	sbuf_puts(&b, "again");
	char *s = sbuf_steal(&b);
	ok(!strcmp(s, "again") && !b.text && !b.len && !b.cap, "a stolen text leaves an empty one");
	mem_free(s);
	s = sbuf_steal(&b);
	same_text(s, "", "an empty text can be stolen");
	mem_free(s);
}

/* Expected results come from an array of flags that is searched from the front. */
static void sets(void)
{
	static const uint32_t sizes[] = { 1, 63, 64, 65, 4096, 4097, 300000 };
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		uint32_t size = sizes[k];
		struct bitset b;
		bool *flag = mem_zalloc(size, sizeof *flag), is_same = true;
		uint64_t seed = size;
		bitset_init(&b, size);
		for (int round = 0; round < 400; round++) {
			uint32_t i = (uint32_t)(hash_next(&seed) % size), from = (uint32_t)(hash_next(&seed) % size), next = from;
			if (round % 3)
				bitset_add(&b, i);
			else
				bitset_remove(&b, i);
			flag[i] = round % 3;
			while (next < size && !flag[next])
				next++;
			is_same = is_same && bitset_has(&b, i) == flag[i] && bitset_next(&b, from) == (next < size ? next : BITSET_END);
		}
		ok(is_same && bitset_next(&b, size) == BITSET_END, "members and the next of them, in a set of %" PRIu32 " numbers", size);
		bitset_free(&b);
		mem_free(flag);
	}
}

/* Elements 0 to 63, each with a key and its position in the heap. */
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

/* Tests random additions, changed keys and removals against the definition of a heap. */
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
	same_text(err.text, "policy las: queues: expected a number from 1 to 16, found \"17\"",
		"a value out of bounds: the message gives the bounds");
	ok(orr_arg_int(a, "queues") == 3, "a refused value changes nothing");
	ok(args_set(a, "promot", "1", &err) == ORR_EINPUT, "unknown names are refused");
	same_text(err.text, "policy las: unknown parameter \"promot\": did you mean \"promote\"?",
		"an unknown name: the message gives the nearest one");
	ok(args_set(a, "zzz", "1", &err) == ORR_EINPUT, "a name without a near one is refused");
	same_text(err.text, "policy las: unknown parameter \"zzz\": expected one of limits, promote, queues, quantum, rules",
		"a name without a near one: the message lists all names");
	static const char *const near[] = { "sjf", "srtf", NULL };
	same_text(nearest_name("srft", near), "srtf", "two swapped letters count as one error");
	ok(!args_set_pair(a, "quantum=1.5m", &err) && orr_arg_time_ns(a, "quantum") == 90 * ORR_SECOND, "1.5m");
	ok(args_set(a, "rules", "tiresias", &err) && !args_set(a, "rules", "helios", &err), "choices");
	same_text(orr_arg_text(a, "rules"), "helios", "the text of a choice is its word");
	args_free(a);
}

/* Expected: printf() with 15 digits, or 17 if these read back as another number. */
static void reals(void)
{
	static const struct orr_param table[] = { ORR_PARAM_REAL("x", "0", -1e300, 1e300, "x"), ORR_PARAM_END };
	struct orr_error err = { 0 };
	struct orr_args *a = args_new(table, "test", &err);
	uint64_t seed = 5;
	bool is_same = true;
	for (int i = 0; i < 20000 && is_same; i++) {
		char want[40], text[40];
		double unit = pow(10, (double)(hash_next(&seed) % 12)),
		       v = (double)(hash_next(&seed) % (i % 2 ? 1000 : 1000000000000000)) / unit;
		v = i % 3 ? v : -v;
		v = i % 7 ? v : nextafter(v, 1e300);
		snprintf(want, sizeof want, "%.15g", v);
		if (strtod(want, NULL) != v)
			snprintf(want, sizeof want, "%.17g", v);
		snprintf(text, sizeof text, "%.17g", v);
		is_same = !args_set(a, "x", text, &err) && orr_arg_real(a, "x") == v && (v == 0 || !strcmp(orr_arg_text(a, "x"), want));
		if (!is_same)
			printf("# %s is written as %s\n", want, orr_arg_text(a, "x"));
	}
	ok(is_same, "numbers with and without decimals are written like printf() writes them");
	args_free(a);
}

static void refused(struct orr_args *a, const char *name, const char *text, const char *why)
{
	struct orr_error err = { 0 };
	ok(args_set(a, name, text, &err) == ORR_EINPUT, "%s: \"%s\" is refused", name, text);
	same_text(err.text, why, "the refused value has the expected message");
}

/* Tests every kind of parameter, with values at its bounds. */
static void kinds(void)
{
	static const struct orr_param table[] = { ORR_PARAM_BOOL("flag", true, "x"), ORR_PARAM_INT("n", "3", 2, 16, "x"),
		ORR_PARAM_REAL("share", "0.95", 0.1, 1, "x"), ORR_PARAM_TIME("wait", "1.5", "x"), ORR_PARAM_LIST("list", "", "x"),
		ORR_PARAM_CHOICE("rules", "own", "own|helios|all", "x"), ORR_PARAM_END };
	static const struct {
		const char *name, *text, *value;
	} good[] = { { "flag", "no", "false" }, { "flag", "yes", "true" }, { "flag", "0", "false" }, { "flag", "1", "true" },
		{ "flag", "false", "false" }, { "flag", "true", "true" }, { "n", "2", "2" }, { "n", "16", "16" }, { "share", "0.1", "0.1" },
		{ "share", "1", "1" }, { "share", "0.3333333333333333", "0.333333333333333315" }, { "wait", "1h", "3600.000000000" },
		{ "wait", "0", "0.000000000" }, { "wait", "4.6e9", "4600000000.000000000" }, { "list", "0.1", "0.1" },
		{ "list", "1,2m,0.3333333333333333", "1,120,0.33333333333333331" }, { "list", "", "" }, { "rules", "all", "all" },
		{ "rules", "own", "own" } };
	struct orr_error err = { 0 };
	struct orr_args *a = args_new(table, "test", &err);
	same_text(orr_arg_text(a, "share"), "0.95", "a number is kept with the fewest digits");
	ok(orr_arg_bool(a, "flag") && orr_arg_real(a, "share") == 0.95 && orr_arg_real(a, "wait") == 1.5 && orr_arg_real(a, "n") == 3,
		"defaults are read");
	for (size_t k = 0; k < sizeof good / sizeof *good; k++) {
		bool is_set = !args_set(a, good[k].name, good[k].text, &err);
		const char *value = orr_arg_text(a, good[k].name);
		ok(is_set && (!strcmp(value, good[k].value) || (strlen(value) > 15 && strtod(value, NULL) == strtod(good[k].value, NULL))),
			"%s=%s is %s", good[k].name, good[k].text, good[k].value);
	}
	size_t n;
	ok(!args_set(a, "list", "7,0.5h", &err), "a list of numbers and times");
	const double *list = orr_arg_list(a, "list", &n);
	ok(n == 2 && list[0] == 7 && list[1] == 1800, "the values of a list of times are in seconds");
	ok(orr_arg_int(a, "rules") == 0 && !args_set(a, "rules", "all", &err) && orr_arg_int(a, "rules") == 2,
		"a choice is read as its index");
	ok(orr_arg_bool(a, "flag") && !args_set(a, "flag", "no", &err) && !orr_arg_bool(a, "flag"), "a flag is set and reset");
	same_text(args_value(a, 5), "all", "values by index");
	ok(args_table(a) == table, "args_table() returns the given table");
	refused(a, "flag", "maybe", "test: flag: expected true or false, found \"maybe\"");
	refused(a, "n", "1", "test: n: expected a number from 2 to 16, found \"1\"");
	refused(a, "n", "2.5", "test: n: expected a whole number, found \"2.5\"");
	refused(a, "share", "0.0999", "test: share: expected a number from 0.1 to 1, found \"0.0999\"");
	refused(a, "share", "1.0001", "test: share: expected a number from 0.1 to 1, found \"1.0001\"");
	refused(a, "share", "x", "test: share: expected a number, found \"x\"");
	refused(a, "wait", "soon", "test: wait: expected a time such as 90, 90s, 1.5m, 2h, found \"soon\"");
	refused(a, "wait", "-1", "test: wait: expected a number from 0 to 4600000000, found \"-1\"");
	refused(a, "wait", "4600000001", "test: wait: expected a number from 0 to 4600000000, found \"4600000001\"");
	refused(a, "n", "17", "test: n: expected a number from 2 to 16, found \"17\"");
	refused(a, "list", "1,", "test: list: expected numbers or times separated by commas, found \"1,\"");
	refused(a, "list", "1,,2", "test: list: expected numbers or times separated by commas, found \"1,,2\"");
	refused(a, "list", "1,x", "test: list: expected numbers or times separated by commas, found \"1,x\"");
	refused(a, "rules", "ow", "test: rules: expected one of own|helios|all, found \"ow\"");
	refused(a, "rules", "ownx", "test: rules: expected one of own|helios|all, found \"ownx\"");
	refused(a, "fla", "1", "test: unknown parameter \"fla\": did you mean \"flag\"?");
	ok(args_set_pair(a, "flag", &err) == ORR_EINPUT && !strcmp(err.text, "test: expected NAME=VALUE, found \"flag\""),
		"a pair has a sign");
	ok(!args_set_pairs(a, "", ',', &err) && !args_set_pairs(a, "n=5;wait=2;", ';', &err) && orr_arg_int(a, "n") == 5 &&
			orr_arg_real(a, "wait") == 2,
		"pairs with a separator, which may end the list");
	ok(args_set_pairs(a, "n=6,,n=7", ',', &err) == ORR_EINPUT && orr_arg_int(a, "n") == 6, "an empty pair is an error");
	ok(!orr_arg_bool(a, "none") && !orr_arg_int(a, "none") && !*orr_arg_text(a, "none"), "an unknown name has no value");
	args_free(a);
	static const struct orr_param one[] = { ORR_PARAM_INT("n", "3", 2, 16, "x"), ORR_PARAM_END }, nothing[] = { ORR_PARAM_END };
	a = args_new(one, "test", &err);
	refused(a, "zzzz", "1", "test: unknown parameter \"zzzz\": expected n");
	args_free(a);
	a = args_new(nothing, "test", &err);
	refused(a, "n", "1", "test: expected no parameters, found \"n\"");
	args_free(a);
	static const struct orr_param bad[] = { ORR_PARAM_INT("n", "99", 2, 16, "x"), ORR_PARAM_END };
	ok(!args_new(bad, "test", &err), "a default out of bounds is refused");
}

/* Expected distances by hand: the nearer of two candidates is returned, and the first of two equally near ones. */
static void nearest(void)
{
	static const struct {
		const char *name, *candidates[3], *expected;
	} cases[] = { { "abcd", { "abxx", "abdc", NULL },
			      "abdc" },                           /* distances 2 (2 changed letters) and 1 (2 swapped letters count as 1) */
		{ "abcd", { "xbcd", "abdc", NULL }, "xbcd" },     /* distances 1 and 1 */
		{ "abcd", { "abcxx", "bacd", NULL }, "bacd" },    /* distances 2 and 1 */
		{ "abcd", { "abcdxx", "abcdx", NULL }, "abcdx" }, /* distances 2 (2 additional letters) and 1 */
		{ "abcd", { "abcdx", "abcxd", NULL }, "abcdx" },  /* distances 1 and 1 */
		{ "abcd", { "ab", "abd", NULL }, "abd" },         /* distances 2 (2 missing letters) and 1 */
		{ "abcd", { "abd", "bcd", NULL }, "abd" },        /* distances 1 and 1 */
		{ "abcd", { "axxd", "xabcd", NULL }, "xabcd" },   /* distances 2 and 1 */
		{ "abcd", { "abcd", "abce", NULL }, "abcd" },     /* distances 0 and 1 */
		{ "abcdef", { "badcef", "abcdxef", NULL }, "abcdxef" }, /* distances 2 (2 swaps) and 1 */
		{ "abcdef", { "abyyyy", "badcfe", NULL }, "badcfe" },   /* distances 4 and 3 (3 swaps) */
		{ "abcdef", { "abxxxx", "xxxxef", NULL }, NULL },       /* Both distances are 4, above the limit of 3. */
		{ "abc", { "axxx", "xbx", NULL }, "xbx" },              /* distances 3 and 2; the limit is 2 */
		{ "ab", { "xy", "axx", NULL }, NULL },                  /* Both distances are 2, above the limit of 1. */
		{ "ab", { "ax", "ab", NULL }, "ab" } };
	for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
		const char *got = orr_nearest_name(cases[k].name, cases[k].candidates);
		ok(got == cases[k].expected || (got && cases[k].expected && !strcmp(got, cases[k].expected)),
			"nearest to %s of %s and %s: %s", cases[k].name, cases[k].candidates[0], cases[k].candidates[1],
			got ? got : "none");
	}
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
	ok(text && n == 3 && !strcmp(text, "abc"), "the contents of a file parameter are kept in memory");
	same_text(orr_arg_text(a, "file"), path, "the text of a file parameter is its name");
	same_text(args_file_hash(a, 0), abc, "the hash is that of the contents");
	ok(args_set(a, "file", path, &err) == ORR_EINPUT && strstr(err.text, path), "a missing file is an input error");
	ok(orr_arg_file(a, "file", &n) && n == 3, "a missing file leaves the value unchanged");
	ok(!args_set(a, "either", "2-3", &err) && !orr_arg_file(a, "either", &n) && !*args_file_hash(a, 1),
		"a value with another ending is a text");
	ok(!args_set(a, "file", "", &err) && !orr_arg_file(a, "file", &n), "the empty name removes the file");
	args_free(a);
}

int main(void)
{
	strings();
	memory();
	texts();
	sets();
	heaps();
	hashes();
	parameters();
	reals();
	kinds();
	nearest();
	files();
	return done();
}
