/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy_new.h - makes a new policy of any world that compiles and works
 */
#ifndef ORR_CLI_POLICY_NEW_H
#define ORR_CLI_POLICY_NEW_H

#include "base/sbuf.h"
#include "world/world.h"

/* Writes NAME.c and NAME_test.sh to the current folder and prints the next commands. Fails if one of the files exists, or with
 * is_reacting (--reacting) if the world has no such template. */
int policy_new(const char *name, const struct world *w, bool is_reacting, bool is_python, struct orr_error *err);
/* Like policy_new(), for a router of the world's second table. */
int policy_new_router(const char *name, const struct world_table *t, struct orr_error *err);
/* Appends the compiler option that names the folder of the public headers: next to the program, in its sources, or in the installation. */
void policy_put_cflags(struct sbuf *out);

#endif
