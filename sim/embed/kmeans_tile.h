/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * kmeans_tile.h - the inner loops of kmeans.c, included once per instruction set
 *
 * TILE_NAME names the functions, TILE_TARGET is their attribute. GCC splits vectors before it clones functions, so
 * target_clones would leave the vectors of every clone at 16 bytes.
 */
#ifndef TILE_TARGET
#define TILE_TARGET
#endif
#define JOIN_TEXT(a, b) a##b
#define JOIN(a, b) JOIN_TEXT(a, b)

/* Assigns TILE rows to their nearest centroids. If fewer rows are left, copies of the last row fill the tile. */
TILE_TARGET static void TILE_NAME(const struct blocks *b, const float *const row[TILE], uint32_t id[TILE])
{
	simd_f32 least[TILE];
	simd_i32 best[TILE];
	for (int t = 0; t < TILE; t++) {
		least[t] = (simd_f32){ 0 } + __builtin_inff();
		best[t] = (simd_i32){ 0 };
	}
	const simd_f32 *value = (const simd_f32 *)(const void *)b->value;
	for (uint32_t i = 0; i < b->n; i++, value += b->dim + 1) {
		simd_f32 s0 = value[0], s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0;
		for (uint32_t j = 0; j < b->dim; j++) {
			simd_f32 c = value[j + 1];
			s0 -= c * row[0][j];
			s1 -= c * row[1][j];
			s2 -= c * row[2][j];
			s3 -= c * row[3][j];
			s4 -= c * row[4][j];
			s5 -= c * row[5][j];
		}
		simd_f32 sum[TILE] = { s0, s1, s2, s3, s4, s5 };
		for (int t = 0; t < TILE; t++) {
			simd_i32 is_less = sum[t] < least[t];
			least[t] = (simd_f32)(((simd_i32)sum[t] & is_less) | ((simd_i32)least[t] & ~is_less));
			best[t] = (((simd_i32){ 0 } + (int32_t)i) & is_less) | (best[t] & ~is_less);
		}
	}
	for (int t = 0; t < TILE; t++) {
		float lane[SIMD_LANES];
		int32_t block[SIMD_LANES];
		memcpy(lane, &least[t], sizeof lane);
		memcpy(block, &best[t], sizeof block);
		id[t] = first_of_least(lane, block);
	}
}

/* Returns the weighted sum of the rows' squared distances with c as one more centroid; if `takes`, also updates the distances. The
 * 16 lanes are summed in a tree, in a fixed order. */
TILE_TARGET static double JOIN(lower_, TILE_NAME)(
	const struct kmeans_points *p, const float *c, size_t first, size_t last, float *distance, bool takes)
{
	double total = 0;
	for (size_t i = first; i < last; i++) {
		simd_f32 s = { 0 };
		const float *x = p->x + i * p->stride;
		for (uint32_t j = 0; j < p->stride; j += SIMD_LANES) {
			simd_f32 gap = *(const simd_f32 *)(const void *)(x + j) - *(const simd_f32 *)(const void *)(c + j);
			s += gap * gap;
		}
		simd_half half[2];
		memcpy(half, &s, sizeof half);
		half[0] += half[1];
		simd_quarter quarter[2];
		memcpy(quarter, &half[0], sizeof quarter);
		quarter[0] += quarter[1];
		float sum = (quarter[0][0] + quarter[0][2]) + (quarter[0][1] + quarter[0][3]);
		sum = sum < distance[i] ? sum : distance[i];
		if (takes)
			distance[i] = sum;
		total += (p->weight ? p->weight[i] : 1) * (double)sum;
	}
	return total;
}

#undef JOIN
#undef JOIN_TEXT
#undef TILE_TARGET
#undef TILE_NAME
