/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef ORR_CLI_GOODPUT_LEARN_H
#define ORR_CLI_GOODPUT_LEARN_H

#include <orrery/api.h>

/* Writes a row for each batch of a list "1,2,4" to the file, or to standard output if path is NULL. pairs: NAME=VALUE,.. of learn_options.
 */
int goodput_learn(const char *pairs, const char *batches, const char *path, struct orr_error *err);

#endif
