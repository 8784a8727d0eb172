/* SPDX-License-Identifier: GPL-3.0-or-later */
/* learn_peek.h - queries of a learner that only tests need */
#ifndef ORR_TESTS_LEARN_PEEK_H
#define ORR_TESTS_LEARN_PEEK_H

#include "learn/state.h"

void learn_config_default(struct learn_config *c); /* the defaults of learn_options */
uint64_t learn_updates(const struct learn *l);
size_t learn_dim(const struct learn *l);
/* Returns the parameters x of a device (which becomes a replica), or X of the server; valid until the next call. */
const double *learn_parameters(struct learn *l, uint32_t device);
const double *learn_gradient(struct learn *l, uint32_t device);
const double *learn_inbox(struct learn *l, uint32_t device);
const double *learn_server(struct learn *l);
void learn_set_parameters(struct learn *l, uint32_t device, const double *x);
double learn_loss_at(struct learn *l, const double *x);
void learn_gradient_at(struct learn *l, const double *x, const uint32_t *rows, uint32_t n, double *g);

#endif
