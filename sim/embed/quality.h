/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * quality.h - quality of a compressed table: error of the vectors, accuracy of a model on them
 *
 * Error of a vector: |x - x'|^2 / dim. The plain error is its mean over features, the weighted error is its mean over samples
 * (features weighted by frequency within their field, fields equally). Fields are summed in order, each in order of frequency.
 *
 * Accuracy: a logistic model over one feature per field. A sample draws a feature of each field by its frequency. Its input is
 * the concatenation of their vectors. Its label is 1 with probability sigmoid(gain z). z is the scalar product of the input and
 * hidden weights, divided by its standard deviation over the training samples. The model is trained by SGD on the uncompressed
 * table and evaluated on the compressed vectors, without retraining. AUC is the share of pairs (label 1, label 0) that the
 * model orders correctly; a tie counts one half; log loss is the mean of -log P(label) in nats.
 */
#ifndef ORR_EMBED_QUALITY_H
#define ORR_EMBED_QUALITY_H

#include "embed/code.h"

struct embed_error {
	double plain, weighted;
};
struct embed_error embed_error(const struct embed_table *t, const struct embed_code *c);

struct embed_task {
	uint32_t train, test; /* samples */
	uint32_t epochs, batch;
	double rate; /* learning rate of SGD */
	double gain; /* gain of the labels; 0: labels are independent of the input */
	uint64_t seed;
};

struct embed_accuracy {
	double auc, log_loss;
};

struct embed_model;
/* Draws the samples and trains the model. */
struct embed_model *embed_model_train(const struct embed_table *t, const struct embed_task *task);
void embed_model_free(struct embed_model *m);
/* Evaluates on the test samples. code NULL: on the table's uncompressed vectors. */
struct embed_accuracy embed_model_test(const struct embed_model *m, const struct embed_code *c);

#endif
