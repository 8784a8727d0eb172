/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * policy_new.h - a new policy of any kind, that compiles and works
 */
#ifndef ORR_CLI_POLICY_NEW_H
#define ORR_CLI_POLICY_NEW_H

#include <orrery/policy.h>

/* What a policy of a kind begins as: @NAME@ and @IDENT@ stand for its name. */
struct policy_beginning {
	const char *source, *test, *example; /* the example ends in a list of policies */
};
extern const struct policy_beginning policy_new_spot;

/* Writes NAME.c and NAME_test.sh in this folder, if they are not there, and says what to do with them. */
int policy_new(const char *name, enum orr_policy_kind kind, struct orr_error *err);

#endif
