/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * verb.h - the verb of any world: flags and help follow from the world's descriptor
 */
#ifndef ORR_CLI_VERB_H
#define ORR_CLI_VERB_H

#include "base/sbuf.h"
#include "world/world.h"

int verb_run(const struct world *w, int argc, char **argv, struct orr_error *err);
/* The --help text. */
void verb_help(const struct world *w, struct sbuf *out);

#endif
