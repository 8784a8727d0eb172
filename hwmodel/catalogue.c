/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/catalogue.h"

#include "base/mem.h"
#include "base/param.h"

#include <string.h>
#include <strings.h>

enum { MAX_NAMES = 256 };

static int open_embedded(const struct embedded_file *files, const char *what, const char *list, const char *name,
	struct catalogue_text *out, struct orr_error *err)
{
	const char *names[MAX_NAMES + 1] = { NULL };
	for (size_t i = 0; files[i].name; i++) {
		if (!strcasecmp(files[i].name, name)) {
			*out = (struct catalogue_text){ .path = files[i].name, .text = (const char *)files[i].text, .n = files[i].n };
			return ORR_OK;
		}
		if (i < MAX_NAMES)
			names[i] = files[i].name;
	}
	const char *near = nearest_name(name, names);
	return orr_fail(err, ORR_EINPUT, "unknown %s \"%.80s\": %s%s%s'%s' shows all of them; the name of a file ends in .json", what, name,
		near ? "did you mean \"" : "", near ? near : "", near ? "\"? " : "", list);
}

int catalogue_open(const struct embedded_file *files, const char *what, const char *list, const char *name_or_file, size_t max_bytes,
	struct catalogue_text *out, struct orr_error *err)
{
	size_t len = strlen(name_or_file);
	if (!strchr(name_or_file, '/') && (len < 5 || strcasecmp(name_or_file + len - 5, ".json")))
		return open_embedded(files, what, list, name_or_file, out, err);
	*out = (struct catalogue_text){ .path = name_or_file };
	out->owned = bytes_read_file(name_or_file, max_bytes, &out->n, out->hash, err);
	out->text = out->owned;
	return out->owned ? ORR_OK : err->code;
}

void catalogue_close(struct catalogue_text *t)
{
	mem_free(t->owned);
}
