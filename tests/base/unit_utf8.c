/* SPDX-License-Identifier: GPL-3.0-or-later */
/* UTF-8 by RFC 3629 (the forms of its section 4), texts for terminals and documents, and checks of JSON text. */
#include "base/json_text.h"
#include "base/sbuf.h"
#include "base/utf8.h"
#include "tests/tap.h"

#include <string.h>

static void test_lengths(void)
{
	static const struct {
		const char *text;
		size_t n, want;
	} all[] = { { "a", 1, 1 }, { "\xc3\xa4", 2, 2 }, { "\xc3\xa4", 1, 0 }, { "\xe2\x82\xac", 3, 3 }, { "\xf0\x9f\x98\x80", 4, 4 },
		{ "\xc0\x80", 2, 0 }, { "\xc1\xbf", 2, 0 }, { "\xe0\x9f\xbf", 3, 0 }, { "\xe0\xa0\x80", 3, 3 }, { "\xed\x9f\xbf", 3, 3 },
		{ "\xed\xa0\x80", 3, 0 }, { "\xf0\x8f\xbf\xbf", 4, 0 }, { "\xf4\x8f\xbf\xbf", 4, 4 }, { "\xf4\x90\x80\x80", 4, 0 },
		{ "\xf5\x80\x80\x80", 4, 0 }, { "\x80", 1, 0 }, { "\xff", 1, 0 }, { "\xe2\x28\xa1", 3, 0 } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		ok(utf8_length(all[i].text, all[i].n) == all[i].want, "form %zu has %zu bytes", i, all[i].want);
}

static void test_texts(void)
{
	static const char text[] = "a\n\t\x1b[m\x7f\xc2\x9b\xc2\xa0\xff\xc3\xa4";
	struct sbuf shown = { 0 }, valid = { 0 };
	utf8_put_shown(&shown, text, sizeof text - 1);
	same_text(sbuf_text(&shown), "a\n\t\\x1b[m\\x7f\\xc2\\x9b\xc2\xa0\\xff\xc3\xa4", "a text for a terminal");
	utf8_put_valid(&valid, text, sizeof text - 1);
	same_text(sbuf_text(&valid), "a\n\t\x1b[m\x7f\xc2\x9b\xc2\xa0\xef\xbf\xbd\xc3\xa4", "a text for a document");
	sbuf_free(&shown);
	sbuf_free(&valid);
}

static void test_json(void)
{
	static const struct {
		const char *text, *want; /* want: the message after "f:"; NULL: accepted */
	} all[] = { { "{}", NULL }, { "[{\"a\": 1}, {\"a\": 1}]", NULL }, { "{\"a\": {\"a\": {\"a\": \"a\"}}, \"b\": \"a\"}", NULL },
		{ "{\"a\": 1,\n\"b\": 2,\n\"a\": 3}", "3:1: duplicate key \"a\" (first on line 1): expected it once" },
		{ "{\"x\": [{\"a\\\"\" : 1,\n\"a\\u0022\":2}]}", "2:1: duplicate key \"a\"\" (first on line 1): expected it once" },
		{ "[9007199254740992, -9007199254740992, 1000000000000000000000, 123456789012345, 0.12345678901234567, 1e300]", NULL },
		{ "\n[9007199254740993]",
			"2:2: integer 9007199254740993: expected an integer that a double represents exactly, such as any up to 2^53" },
		{ "[-10000000000000000000000001]", "1:2: integer -10000000000000000000000001: expected an integer that a double represents "
						   "exactly, such as any up to 2^53" },
		{ "[\"9007199254740993 \xc3\xa4\"]", NULL }, { "[\n\"\xc3\"]", "2:2: byte 0xc3: expected text in UTF-8" } };
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		struct orr_error err = { 0 };
		int rc = json_text_check("f", all[i].text, strlen(all[i].text), &err);
		ok(rc == (all[i].want ? ORR_EINPUT : ORR_OK), "text %zu: code %d", i, rc);
		same_text(rc ? err.text + 2 : "", all[i].want ? all[i].want : "", "the error has the expected message");
	}
}

int main(void)
{
	test_lengths();
	test_texts();
	test_json();
	return done();
}
