/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * varuna_artifact.h - Varuna as in the Oobleck artifact: every removal restarts the job from a checkpoint
 *
 * A checkpoint follows every ckpt_steps steps, and the first step that completes after a removal. Training is paused for the
 * checkpoint's time; the checkpoint is complete after twice that time (ckpt_twice). At a removal, an incomplete checkpoint has
 * failed: the last ckpt_steps steps before it count no samples. The step counter, which determines the next checkpoint,
 * decreases by the same number, clamped to 0. Then all steps begun since the last complete checkpoint count no samples (without
 * a complete one, all steps so far). Each of the artifact's traces ends with a removal: checkpoints that are incomplete at the
 * end of the run have failed.
 *
 * Pause: restart time minus checkpoint time. If the restart time is a curve over the nodes, it is evaluated at the end of a
 * rendezvous and used at the next removal.
 *
 * Source: SymbioticLab/Oobleck, branch sosp23-artifact.
 */
#ifndef ORR_SPOT_VARUNA_ARTIFACT_H
#define ORR_SPOT_VARUNA_ARTIFACT_H

#include "artifact.h"

#define VARUNA_ARTIFACT_PARAMS                                                                                                            \
	ARTIFACT_PARAMS,                                                                                                                  \
		ORR_PARAM_BOOL("rollback", true,                                                                                          \
			"artifact: removals and failed checkpoints discard samples (off: no_small_model_fallback of the artifact)"),      \
		ORR_PARAM_BOOL("ckpt_twice", true, "artifact: a checkpoint takes twice its time to complete"),                            \
		ORR_PARAM_BOOL("ckpt_after_removal", true, "artifact: a checkpoint after the first step that completes after a removal"), \
		ORR_PARAM_BOOL("free_checkpoints", false, "artifact: checkpoints take no time; restarts are unchanged")

struct varuna_artifact;

/* NULL on error. */
struct varuna_artifact *varuna_artifact_new(struct orr_spot *w, const struct orr_args *args, struct orr_error *err);
void varuna_artifact_free(struct varuna_artifact *v);
void varuna_artifact_instance(struct varuna_artifact *v, struct orr_spot *w, orr_inst i, enum orr_inst_event event);
void varuna_artifact_timer(struct varuna_artifact *v, struct orr_spot *w, uint64_t tag);
void varuna_artifact_steps(struct varuna_artifact *v, struct orr_spot *w);
void varuna_artifact_end(struct varuna_artifact *v, struct orr_spot *w);

#endif
