/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * python.h - policies written in Python
 *
 * CPython is opened at run time (libpython3.N.so.1.0), so the program does not depend on it. The embedded python/orrery.py
 * makes the binding from the embedded public headers. It provides a struct orr_policy whose functions call the class of the
 * policy. The interpreter is started at the first policy and lives as long as the process. Locale and rounding mode remain
 * unchanged.
 */
#ifndef ORR_WORLD_PYTHON_H
#define ORR_WORLD_PYTHON_H

#include <orrery/policy.h>

#include "base/sbuf.h"

/* Returns whether this names a Python file: it ends in .py. */
bool python_is_file(const char *path);
/* Loads a policy into this process. *out lives as long as the process. ORR_EDEVICE: no libpython; ORR_EINPUT: the file is wrong. Call it
 * from one thread at a time. */
int python_load(const char *path, const struct orr_policy **out, struct orr_error *err);
/* Appends the file name of the library that would be opened; false and a remedy if none is found. */
bool python_find(struct sbuf *out);

#endif
