/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * modelgen - writes the catalogue of models
 *
 *  modelgen FOLDER           writes each model to FOLDER/NAME.json
 *  modelgen --check FOLDER   lists the files that differ from the generated ones
 *  modelgen --list           lists the names of the models
 */
#include "hwmodel/modelgen/modelgen.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum action { WRITE, CHECK, LIST };

static bool write_file(const char *path, const struct sbuf *text)
{
	FILE *f = fopen(path, "w");
	bool is_written = f && fwrite(text->text, 1, text->len, f) == text->len;
	return f && !fclose(f) && is_written;
}

static bool is_same(const char *path, const struct sbuf *text)
{
	FILE *f = fopen(path, "r");
	char *have = mem_alloc(text->len + 1);
	bool same = f && fread(have, 1, text->len + 1, f) == text->len && !memcmp(have, text->text, text->len);
	if (f)
		fclose(f);
	mem_free(have);
	return same;
}

static bool one(const struct recipe *r, enum action action, const char *folder)
{
	struct sbuf text = { 0 };
	char path[4096];
	if (action == LIST)
		return puts(r->name) >= 0;
	struct plan *p = r->make(r);
	write_model(p, r, &text);
	plan_free(p);
	snprintf(path, sizeof path, "%s/%s.json", folder, r->name);
	bool good = action == WRITE ? write_file(path, &text) : is_same(path, &text);
	if (!good)
		fprintf(stderr, "modelgen: %s: %s\n", path, action == WRITE ? "cannot be written" : "out of date: run 'make models'");
	sbuf_free(&text);
	return good;
}

int main(int argc, char **argv)
{
	static const struct recipe *const lists[] = { plain_cnns, resnets, inceptions, transformers, translators, recommenders, graphs };
	enum action action = argc == 2 && !strcmp(argv[1], "--list") ? LIST : argc == 3 && !strcmp(argv[1], "--check") ? CHECK : WRITE;
	if (argc < 2 || (action == WRITE && argc != 2)) {
		fputs("usage: modelgen [--check] FOLDER, or modelgen --list\n", stderr);
		return EXIT_FAILURE;
	}
	bool good = true;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		for (const struct recipe *r = lists[i]; r->name; r++)
			good &= one(r, action, argv[argc - 1]);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
