/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * images.h - one efficiency of a device from the images/s of whole networks
 *
 * For a device without published kernel times. The fit finds the share of the peak that convolutions and products must reach at
 * which training steps take the measured time; all other layers are bound by the data sheet's memory bandwidth (cost.h). The
 * efficiency is the geometric mean over networks, each with equal weight. The held-out error of a network uses the efficiency
 * of the other networks.
 */
#ifndef ORR_CALIB_IMAGES_H
#define ORR_CALIB_IMAGES_H

#include "calib/fit.h"

/* Reads TensorFlow's benchmarks of 2017 as CSV: gpu, model, batch_per_gpu, gpus, data, images_per_s. Uses the rows of one GPU and
 * synthetic data. Skips AlexNet, because it is another variant in these benchmarks. */
struct profile *images_profile(const char *file, const char *select, const struct fit_options *o, struct orr_error *err);

#endif
