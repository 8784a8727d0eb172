/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy_new.h - a new policy of any kind, that compiles and works
 */
#ifndef ORR_CLI_POLICY_NEW_H
#define ORR_CLI_POLICY_NEW_H

#include <orrery/api.h>

/* Writes NAME.c and NAME_test.sh to the current folder and prints what to do next. Existing files are an error. */
int policy_new(const char *name, const char *kind, struct orr_error *err);

#endif
