/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kmeans_tile.h - the inner loops of kmeans.c, included once per instruction set
 *
 * TILE_NAME names the functions, TILE_TARGET is their attribute, TILE_WIDTH is the number of lanes of a register: 4, 8 or 16. Vectors
 * have this width, because GCC keeps wider ones in memory. It also splits vectors before it clones functions, so target_clones would
 * leave the vectors of every clone at 16 bytes.
 */
#ifndef TILE_TARGET
#define TILE_TARGET
#endif
#define JOIN_TEXT(a, b) a##b
#define JOIN(a, b) JOIN_TEXT(a, b)
#define VEC JOIN(vec_, TILE_NAME)
#define MASK JOIN(mask_, TILE_NAME)
#define LOAD(x) (*(const VEC *)(const void *)(x))

typedef float VEC __attribute__((vector_size(TILE_WIDTH * sizeof(float)), may_alias));
typedef int32_t MASK __attribute__((vector_size(TILE_WIDTH * sizeof(float)), may_alias));

/* Each of the TILE rows has one sum in registers, or two if there are 16 registers of less than 16 lanes: two loads of centroids then
 * serve 12 sums. A block of 16 centroids takes 16 / TILE_LANES passes. */
#if TILE_WIDTH == 16
#define SECOND(...)
#define TILE_LANES TILE_WIDTH
#else
#define SECOND(...) __VA_ARGS__
#define TILE_LANES (2 * TILE_WIDTH)
#endif

/* Keeps the lanes of sum s of row t that are less than its least so far. */
#define KEEP(s, t, at)                                                           \
	do {                                                                     \
		VEC *l = (VEC *)(void *)(least[t] + (at));                       \
		MASK *of = (MASK *)(void *)(best[t] + (at));                     \
		MASK is_less = (s) < *l;                                         \
		*l = (VEC)(((MASK)(s)&is_less) | ((MASK)*l & ~is_less));         \
		*of = (((MASK){ 0 } + (int32_t)i) & is_less) | (*of & ~is_less); \
	} while (0)

/* Assigns TILE rows to their nearest centroids. If fewer rows are left, copies of the last row fill the tile. */
TILE_TARGET static void TILE_NAME(const struct blocks *b, const float *const row[TILE], uint32_t id[TILE])
{
	_Alignas(64) float least[TILE][SIMD_LANES];
	_Alignas(64) int32_t best[TILE][SIMD_LANES] = { 0 };
	for (int t = 0; t < TILE; t++)
		for (int l = 0; l < SIMD_LANES; l++)
			least[t][l] = __builtin_inff();
	const float *block = b->value;
	for (uint32_t i = 0; i < b->n; i++, block += (size_t)(b->dim + 1) * SIMD_LANES)
		for (uint32_t at = 0; at < SIMD_LANES; at += TILE_LANES) {
			const float *value = block + at;
			VEC s0 = LOAD(value), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
			SECOND(VEC z0 = LOAD(value + TILE_WIDTH), z1 = z0, z2 = z0, z3 = z0, z4 = z0, z5 = z0;)
			for (uint32_t j = 0; j < b->dim; j++) {
				value += SIMD_LANES;
				VEC c = LOAD(value);
				SECOND(VEC d = LOAD(value + TILE_WIDTH);)
#define TAKE(t)                \
	s##t -= c * row[t][j]; \
	SECOND(z##t -= d * row[t][j];)
				TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5)
#undef TAKE
			}
#define TAKE(t)            \
	KEEP(s##t, t, at); \
	SECOND(KEEP(z##t, t, at + TILE_WIDTH);)
			TAKE(0) TAKE(1) TAKE(2) TAKE(3) TAKE(4) TAKE(5)
#undef TAKE
		}
	for (int t = 0; t < TILE; t++)
		id[t] = first_of_least(least[t], best[t]);
}

/* Lowers the rows' squared distances to those with c as one more centroid. Returns their weighted sum. The 16 lanes are summed in a tree,
 * in a fixed order. */
TILE_TARGET static double JOIN(lower_, TILE_NAME)(const struct kmeans_points *p, const float *c, size_t first, size_t last, float *distance)
{
	double total = 0;
	for (size_t i = first; i < last; i++) {
		enum { PARTS = SIMD_LANES / TILE_WIDTH };
		VEC s[PARTS] = { { 0 } };
		const float *x = p->x + i * p->stride;
		for (uint32_t j = 0; j < p->stride; j += SIMD_LANES)
#pragma GCC unroll 4
			for (int k = 0; k < PARTS; k++) {
				VEC gap = LOAD(x + j + k * TILE_WIDTH) - LOAD(c + j + k * TILE_WIDTH);
				s[k] += gap * gap;
			}
		four_lanes lane[4];
		memcpy(lane, s, sizeof lane);
		lane[0] += lane[2];
		lane[1] += lane[3];
		lane[0] += lane[1];
		float sum = (lane[0][0] + lane[0][2]) + (lane[0][1] + lane[0][3]);
		sum = sum < distance[i] ? sum : distance[i];
		distance[i] = sum;
		total += (p->weight ? p->weight[i] : 1) * (double)sum;
	}
	return total;
}

/* Computes what lower_() would return for each of TRIALS candidates. The rows are read once, and the last steps of their sums share
 * instructions. */
TILE_TARGET static void JOIN(try_, TILE_NAME)(
	const struct kmeans_points *p, const float *const c[TRIALS], size_t first, size_t last, const float *distance, double total[TRIALS])
{
	enum { PARTS = SIMD_LANES / TILE_WIDTH };
	four_doubles all = { 0 };
	for (size_t i = first; i < last; i++) {
		VEC s[TRIALS][PARTS] = { { { 0 } } };
		four_lanes lane[TRIALS][4];
		const float *x = p->x + i * p->stride;
		for (uint32_t j = 0; j < p->stride; j += SIMD_LANES)
#pragma GCC unroll 4
			for (int k = 0; k < PARTS; k++) {
				VEC at = LOAD(x + j + k * TILE_WIDTH);
#pragma GCC unroll 4
				for (int t = 0; t < TRIALS; t++) {
					VEC gap = at - LOAD(c[t] + j + k * TILE_WIDTH);
					s[t][k] += gap * gap;
				}
			}
		memcpy(lane, s, sizeof lane);
#pragma GCC unroll 4
		for (int t = 0; t < TRIALS; t++)
			lane[t][0] = (lane[t][0] + lane[t][2]) + (lane[t][1] + lane[t][3]);
#define COLUMN(l) (four_lanes){ lane[0][0][l], lane[1][0][l], lane[2][0][l], lane[3][0][l] }
		four_lanes sum = (COLUMN(0) + COLUMN(2)) + (COLUMN(1) + COLUMN(3)), old = (four_lanes){ 0 } + distance[i];
#undef COLUMN
		four_masks is_less = sum < old;
		sum = (four_lanes)(((four_masks)sum & is_less) | ((four_masks)old & ~is_less));
		all += (p->weight ? p->weight[i] : 1) * __builtin_convertvector(sum, four_doubles);
	}
	memcpy(total, &all, sizeof all);
}

#undef JOIN
#undef JOIN_TEXT
#undef VEC
#undef MASK
#undef LOAD
#undef SECOND
#undef KEEP
#undef TILE_LANES
#undef TILE_WIDTH
#undef TILE_TARGET
#undef TILE_NAME
