/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * images.h - fits one efficiency of a device to the images/s of whole networks
 */
#ifndef ORR_CALIB_IMAGES_H
#define ORR_CALIB_IMAGES_H

#include "calib/fit.h"

/* Reads TensorFlow's benchmarks of 2017 as CSV: gpu, model, batch_per_gpu, gpus, data, images_per_s. Uses the rows of one GPU and
 * synthetic data. Skips AlexNet, because it is another variant in these benchmarks. */
struct profile *images_profile(const char *file, const char *select, const struct fit_options *o, struct orr_error *err);

#endif
