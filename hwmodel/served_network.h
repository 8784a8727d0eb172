/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * served_network.h - tables made from the layers of a DNN, evaluated on the GPUs of a replica (private to served_*.c)
 *
 * Formulas: docs/models/serve-networks.md. Times s, sizes bytes.
 */
#ifndef ORR_HWMODEL_SERVED_NETWORK_H
#define ORR_HWMODEL_SERVED_NETWORK_H

#include "hwmodel/dnn.h"
#include "hwmodel/served.h"

struct served_network {
	struct dnn *dnn;
};

/* Source of a table by layers whose file names no other. */
extern const char served_network_source[];

/* Loads the DNN into a model and fills in what the model does not state; m->n_batches: largest batch; 0: default. */
int served_network_open(struct served *m, const char *dnn, struct orr_error *err);
void served_network_free(struct served_network *n);
/* Sets weights and memory of batches for the precision. */
void served_network_set_precision(struct served *m, enum precision precision);

/* Fills in latency_s, stage_s, network_bytes and source of a model whose batches are known, from the DNN of m. */
int served_network_place(const struct served *m, const struct served_place *p, struct served *out, struct orr_error *err);

#endif
