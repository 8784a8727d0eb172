/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * images.h - one efficiency of a device from the images/s of whole networks
 *
 * For a device whose kernels nobody published: the share of the peak that convolutions and products must reach so
 * that training steps take what was measured, all other layers being bound by the data sheet's memory bandwidth (cost.h).
 * The mean of logarithms over networks, each counted once; the held-out error is that of each network's steps with the
 * share that the other networks give.
 */
#ifndef ORR_CALIB_IMAGES_H
#define ORR_CALIB_IMAGES_H

#include "calib/fit.h"

/* TensorFlow's benchmarks of 2017 as CSV: gpu, model, batch_per_gpu, gpus, data, images_per_s; rows of one GPU and
 * synthetic data. AlexNet is a third variant there and left out. */
struct profile *images_profile(const char *file, const char *select, const struct fit_options *o, struct orr_error *err);

#endif
