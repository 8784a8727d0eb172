/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kv_reuse.h - when it pays to load a cached prefix instead of computing it
 *
 * Closed forms of Qin et al., "Mooncake", FAST 2025, equations 1 and 2, for l equal layers of width d; docs/models/serve-tiers.md.
 */
#ifndef ORR_HWMODEL_KV_REUSE_H
#define ORR_HWMODEL_KV_REUSE_H

struct kv_shape {
	double layers, hidden;
	double group;         /* query heads per head of keys and values */
	double element_bytes; /* bytes per element of the cache */
	double a, b;          /* flops per layer: a n^2 d + b n d^2 */
};
/* Returns the flops of a prompt of n tokens. */
double kv_reuse_flops(const struct kv_shape *x, double n);
/* Returns the bytes of the cache of n tokens. */
double kv_reuse_bytes(const struct kv_shape *x, double n);
/* Returns the rate, bytes/s, above which loading the cache of a prefix of n tokens takes less time than computing it at flop_rate. */
double kv_reuse_least_Bps(const struct kv_shape *x, double n, double flop_rate);

#endif
