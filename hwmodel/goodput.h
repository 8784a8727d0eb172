/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * goodput.h - throughput, statistical efficiency and goodput of data-parallel training (Qiao et al., "Pollux: Co-adaptive Cluster
 * Scheduling for Goodput-Optimized Deep Learning", OSDI 2021, section 3; formulas as in petuum/adaptdl, goodput.py)
 *
 * A job runs on R GPUs of N nodes. A GPU processes b samples per pass (atomic batch) and a + 1 passes per update (a: accumulation
 * steps), so the batch of an update is M = R b (a + 1). Times are in seconds, batches in samples.
 *
 *	t_acc      = alpha_c + beta_c b
 *	t_net      = alpha + beta max(R - 2, 1e-8)    alpha_n, beta_n if N > 1; alpha_r, beta_r if N = 1 and R > 1; 1e-8 if R = 1
 *	t_opt      = (t_acc^gamma + t_net^gamma)^(1 / gamma)
 *	throughput = M / (a t_acc + t_opt)
 *	efficiency = (phi + M0) / (phi + M),  phi = M0 var / sqr          (McCandlish et al., 2018: gradient noise scale)
 *	goodput    = throughput x efficiency
 */
#ifndef ORR_HWMODEL_GOODPUT_H
#define ORR_HWMODEL_GOODPUT_H

#include <orrery/api.h>

struct goodput_model {
	double init_batch, max_batch; /* M0, the batch that the user chose, and the largest batch */
	double min_local, max_local;  /* limits of b */
	double alpha_c, beta_c;       /* s; s per sample */
	double alpha_n, beta_n;       /* s; s per GPU, several nodes */
	double alpha_r, beta_r;       /* s; s per GPU, one node */
	double gamma;                 /* 1 (no overlap) to 10 */
};

/* Squared norm of the gradient, and its variance at batch M0. */
struct goodput_noise {
	double sqr, var;
};

struct goodput_choice {
	double atomic, accum; /* b and a; b is 0 if no batch is valid */
	double batch;         /* M */
	double throughput;    /* samples/s */
	double efficiency;    /* 1 at M = M0 */
	double goodput;       /* throughput x efficiency; 0 if no batch is valid */
};

/* Returns an error that names the first wrong value of the model; `where` precedes it. */
int goodput_check(const struct goodput_model *m, const char *where, struct orr_error *err);
double goodput_throughput(const struct goodput_model *m, double nodes, double gpus, double atomic, double accum);
double goodput_efficiency(const struct goodput_model *m, const struct goodput_noise *g, double batch);
/* Evaluates one choice of b and a. */
struct goodput_choice goodput_at(
	const struct goodput_model *m, const struct goodput_noise *g, double nodes, double gpus, double atomic, double accum);
/* Chooses b and a: the best of 50 batches in geometric progression from max(M0, min_local R) to max_batch. For each batch, a is the
 * smallest number of steps with b <= max_local; on one GPU, a is at least 1 if the batch is above M0, because the noise is estimated
 * from several gradients. The first maximum is chosen. No batch is valid if min_local R > max_batch. */
struct goodput_choice goodput_optimize(const struct goodput_model *m, const struct goodput_noise *g, double nodes, double gpus);
/* Splits the fixed batch M over R GPUs in the same way, with b at most max_batch / (R (a + 1)). */
void goodput_split(const struct goodput_model *m, double batch, double gpus, double *atomic, double *accum);

#endif
