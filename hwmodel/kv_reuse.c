/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loading a cached prefix against computing it: closed forms. */
#include "hwmodel/kv_reuse.h"

double kv_reuse_flops(const struct kv_shape *x, double n)
{
	return x->layers * (x->a * n * n * x->hidden + x->b * n * x->hidden * x->hidden);
}

double kv_reuse_bytes(const struct kv_shape *x, double n)
{
	return n * x->layers * (2 * x->hidden / x->group) * x->element_bytes;
}

double kv_reuse_least_Bps(const struct kv_shape *x, double n, double flop_rate)
{
	double d = x->hidden;
	return flop_rate * (2 * d * x->element_bytes) / (x->group * (x->a * n * d + x->b * d * d));
}
