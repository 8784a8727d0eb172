/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * program.h - finds and runs other programs
 */
#ifndef ORR_BASE_PROGRAM_H
#define ORR_BASE_PROGRAM_H

#include "base/sbuf.h"

#include <stdbool.h>

/* Writes the path of an executable file of this name to out. Relative folders in PATH are skipped: they would name a program in the
 * current folder. Returns false if no folder has it; *out is then undefined. */
bool program_find(const char *name, struct sbuf *out);

/* Runs the program at this path with arguments (argv[0] first, NULL last) and its standard output on standard error, and waits. Returns
 * its exit status, 128 + N after signal N, or -1: it could not be started (errno). */
int program_run(const char *path, const char *const argv[]);

#endif
