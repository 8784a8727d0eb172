/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fake_gnuplot.h - a program named gnuplot that keeps its script and writes files that end like real ones
 *
 * The script is in SCRIPT, in the program's folder. If a file "fails" exists there, the program prints a message as gnuplot
 * does and exits with 3. If "short" exists, the files lack their end.
 */
#ifndef ORR_TESTS_FAKE_GNUPLOT_H
#define ORR_TESTS_FAKE_GNUPLOT_H

#include "base/mem.h"
#include "base/sbuf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char fake_gnuplot[] =
	"#!/bin/sh\n"
	"here=$(dirname \"$0\")\n"
	"cat >\"$here/SCRIPT\"\n"
	"if [ -e \"$here/fails\" ]; then printf 'plot bad\\n     ^\\n         undefined variable: bad\\n' >&2; exit 3; fi\n"
	"sed -n \"s/^set output '\\(.*\\)'$/\\1/p\" \"$here/SCRIPT\" | while read -r f; do\n"
	"  if [ -e \"$here/short\" ]; then echo cut >\"$f\"; continue; fi\n"
	"  case $f in\n"
	"  *.pdf.tmp) printf '%%PDF //CreationDate (D:20261122003456) %%%%EOF\\n' ;;\n"
	"  *.svg.tmp) printf '<svg></svg>\\n\\n' ;;\n"
	"  *.png.tmp) printf 'xIEND\\256\\102\\140\\202' ;;\n"
	"  esac >\"$f\"\n"
	"done\n";

/* Writes the program to dir/bin and puts this folder first in PATH. */
__attribute__((unused)) static void fake_gnuplot_install(const char *dir)
{
	char path[320], all[4096];
	const char *others = getenv("PATH");
	snprintf(path, sizeof path, "%s/bin", dir);
	mkdir(path, 0777);
	snprintf(all, sizeof all, "%s:%s", path, others ? others : "/bin:/usr/bin");
	setenv("PATH", all, 1);
	snprintf(path, sizeof path, "%s/bin/gnuplot", dir);
	FILE *f = fopen(path, "w");
	if (!f)
		return;
	fputs(fake_gnuplot, f);
	fclose(f);
	chmod(path, 0777);
}

/* Returns the part of a script that draws one figure: from the end of the figure before it to the end of its first page; NULL if the
 * figure is not drawn. The caller frees it with mem_free(). */
__attribute__((unused)) static char *script_of(const char *script, const char *file)
{
	char mark[200];
	snprintf(mark, sizeof mark, "set output '%s.pdf.tmp'\n", file);
	const char *end = strstr(script, mark), *start = script;
	if (!end)
		return NULL;
	for (const char *s = script; (s = strstr(s, ".png.tmp'\n")) && s < end;) {
		s = strstr(s, "\nunset output\n");
		s += strlen("\nunset output\n");
		start = s;
	}
	end = strstr(end, "\nunset output\n"); /* the position after the template */
	return end ? mem_strndup(start, (size_t)(end - start)) : NULL;
}

#endif
