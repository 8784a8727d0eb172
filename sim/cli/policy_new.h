/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy_new.h - a new policy of either kind, that compiles and works
 */
#ifndef ORR_CLI_POLICY_NEW_H
#define ORR_CLI_POLICY_NEW_H

#include <orrery/policy.h>

/* Writes NAME.c and NAME_test.sh in this folder, if they are not there, and says what to do with them. */
int policy_new(const char *name, enum orr_policy_kind kind, struct orr_error *err);

#endif
