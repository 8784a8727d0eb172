/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/utf8.h"

#include "base/sbuf.h"

#include <string.h>

#include <stdbool.h>

size_t utf8_length(const char *s, size_t n)
{
	const unsigned char *u = (const unsigned char *)s;
	/* RFC 3629, section 4: no overlong forms, no surrogates, nothing past U+10FFFF. */
	size_t len = u[0] < 0x80 ? 1 : u[0] < 0xc2 ? 0 : u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : u[0] < 0xf5 ? 4 : 0;
	if (!len || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((u[i] & 0xc0) != 0x80)
			return 0;
	bool is_wrong = (u[0] == 0xe0 && u[1] < 0xa0) || (u[0] == 0xed && u[1] > 0x9f) || (u[0] == 0xf0 && u[1] < 0x90) ||
			(u[0] == 0xf4 && u[1] > 0x8f);
	return is_wrong ? 0 : len;
}

/* Returns whether a terminal would interpret the character: C0, DEL, or C1 (U+0080 to U+009F). */
static bool is_control(const char *s, size_t len)
{
	const unsigned char *u = (const unsigned char *)s;
	if (len == 1)
		return (u[0] < 0x20 && u[0] != '\n' && u[0] != '\t') || u[0] == 0x7f;
	return len == 2 && u[0] == 0xc2 && u[1] < 0xa0;
}

void utf8_put_shown(struct sbuf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = utf8_length(s + i, n - i);
		if (len && !is_control(s + i, len)) {
			sbuf_add(out, s + i, len);
			i += len;
			continue;
		}
		for (size_t end = i + (len ? len : 1); i < end; i++)
			sbuf_printf(out, "\\x%02x", (unsigned char)s[i]);
	}
}

const char *utf8_shown(const char *s)
{
	static _Thread_local struct sbuf shown[UTF8_SHOWN];
	static _Thread_local unsigned next;
	size_t n = s ? strlen(s) : 0, plain = 0;
	while (plain < n && (unsigned char)s[plain] >= 0x20 && (unsigned char)s[plain] < 0x7f)
		plain++;
	if (plain == n)
		return s ? s : "";
	struct sbuf *out = &shown[next++ % UTF8_SHOWN];
	sbuf_clear(out);
	for (size_t i = 0; i < n; i++) {
		size_t len = utf8_length(s + i, n - i);
		if (s[i] == '\n' || s[i] == '\t')
			sbuf_printf(out, "\\x%02x", s[i]);
		else
			utf8_put_shown(out, s + i, len ? len : 1);
		i += len ? len - 1 : 0;
	}
	return sbuf_text(out);
}

void utf8_put_valid(struct sbuf *out, const char *s, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t len = utf8_length(s + i, n - i);
		if (len)
			sbuf_add(out, s + i, len);
		else
			sbuf_puts(out, "\xef\xbf\xbd");
		i += len ? len : 1;
	}
}
