/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy_new.h - a new policy of any world, that compiles and works
 */
#ifndef ORR_CLI_POLICY_NEW_H
#define ORR_CLI_POLICY_NEW_H

#include "world/world.h"

/* Writes NAME.c and NAME_test.sh to the current folder and prints the next commands. Existing files are an error. */
int policy_new(const char *name, const struct world *w, struct orr_error *err);

#endif
