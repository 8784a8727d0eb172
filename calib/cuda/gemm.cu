/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrix products by cuBLASLt. */
#include "calib/cuda/libraries.h"

#include "calib/work.h"

#include <stdlib.h>

struct product {
	struct gpu *gpu;
#ifdef ORR_CUBLASLT
	cublasLtMatmulDesc_t op;
	cublasLtMatrixLayout_t x, y, z;
	cublasLtMatmulAlgo_t algorithm;
#endif
	size_t workspace_bytes;
	float *scale; /* fp8: the number 1 in device memory */
};

#ifdef ORR_CUBLASLT

#define LT_DO(what, x)                                                                          \
	do {                                                                                    \
		cublasStatus_t status_ = (x);                                                   \
		if (status_ != CUBLAS_STATUS_SUCCESS) {                                         \
			cuda_fail(err, ORR_EINPUT, "cuBLASLt: " what " failed with status %d", (int)status_); \
			return false;                                                           \
		}                                                                               \
	} while (0)

static cudaDataType_t type_of(const char *precision, bool is_result)
{
	if (!strcmp(precision, "fp16"))
		return CUDA_R_16F;
	if (!strcmp(precision, "bf16"))
		return CUDA_R_16BF;
#if CUDART_VERSION >= 11080
	if (!strcmp(precision, "fp8"))
		return is_result ? CUDA_R_16BF : CUDA_R_8F_E4M3;
#endif
	return CUDA_R_32F;
}

static bool layout(struct libraries *l, cublasLtMatrixLayout_t *out, cudaDataType_t type, double rows, double columns, int batch,
	struct orr_error *err)
{
	int64_t stride = (int64_t)(rows * columns);
	LT_DO("a layout", l->lt.MatrixLayoutCreate(out, type, (uint64_t)rows, (uint64_t)columns, (int64_t)rows));
	LT_DO("a batch", l->lt.MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
	LT_DO("a batch", l->lt.MatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &stride, sizeof stride));
	return true;
}

static bool choose(struct product *p, struct orr_error *err)
{
	struct libraries *l = p->gpu->lib;
	cublasLtMatmulPreference_t preference;
	cublasLtMatmulHeuristicResult_t found;
	size_t workspace = p->workspace_bytes;
	int n = 0;
	LT_DO("a preference", l->lt.MatmulPreferenceCreate(&preference));
	cublasStatus_t rc = l->lt.MatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
		sizeof workspace);
	if (rc == CUBLAS_STATUS_SUCCESS)
		rc = l->lt.MatmulAlgoGetHeuristic(l->lt.handle, p->op, p->x, p->y, p->z, p->z, preference, 1, &found, &n);
	l->lt.MatmulPreferenceDestroy(preference);
	LT_DO("choice of an algorithm", rc);
	if (n < 1) {
		cuda_fail(err, ORR_EINPUT, "cuBLASLt: no algorithm for this shape: expected a supported shape");
		return false;
	}
	p->algorithm = found.algo;
	return true;
}

static bool scales(struct product *p, struct orr_error *err)
{
#if CUDART_VERSION >= 11080
	struct libraries *l = p->gpu->lib;
	const float one = 1;
	if (cudaMalloc((void **)&p->scale, sizeof one) != cudaSuccess ||
		cudaMemcpy(p->scale, &one, sizeof one, cudaMemcpyHostToDevice) != cudaSuccess) {
		cuda_fail(err, ORR_EINPUT, "out of memory for the fp8 scale");
		return false;
	}
	LT_DO("a scale", l->lt.MatmulDescSetAttribute(p->op, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, &p->scale, sizeof p->scale));
	LT_DO("a scale", l->lt.MatmulDescSetAttribute(p->op, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, &p->scale, sizeof p->scale));
	return true;
#else
	cuda_fail(err, ORR_EINPUT, "fp8: expected a module that was built with CUDA 11.8 or later");
	return false;
#endif
}

/*
 * cuBLASLt is column-major: c^T = b^T a^T. A row-major a (m x k) has the memory layout of a column-major a^T
 * (k x m), so a is read as is unless it is stored transposed; the same holds for b.
 */
static bool set_up(struct product *p, const char *precision, bool ta, bool tb, double m, double n, double k, int batch,
	struct orr_error *err)
{
	struct libraries *l = p->gpu->lib;
	cublasComputeType_t compute = strcmp(precision, "tf32") ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_32F_FAST_TF32;
	cublasOperation_t op_x = tb ? CUBLAS_OP_T : CUBLAS_OP_N, op_y = ta ? CUBLAS_OP_T : CUBLAS_OP_N;
	cudaDataType_t type = type_of(precision, false);
	LT_DO("creation of an operation", l->lt.MatmulDescCreate(&p->op, compute, CUDA_R_32F));
	LT_DO("a transposition", l->lt.MatmulDescSetAttribute(p->op, CUBLASLT_MATMUL_DESC_TRANSA, &op_x, sizeof op_x));
	LT_DO("a transposition", l->lt.MatmulDescSetAttribute(p->op, CUBLASLT_MATMUL_DESC_TRANSB, &op_y, sizeof op_y));
	if (!strcmp(precision, "fp8") && !scales(p, err))
		return false;
	return layout(l, &p->x, type, tb ? k : n, tb ? n : k, batch, err) && layout(l, &p->y, type, ta ? m : k, ta ? k : m, batch, err) &&
		layout(l, &p->z, type_of(precision, true), n, m, batch, err) && choose(p, err);
}

struct product *product_new(struct gpu *g, const char *precision, bool ta, bool tb, double m, double n, double k, double batch,
	size_t workspace_bytes, struct orr_error *err)
{
	struct product *p = (struct product *)calloc(1, sizeof *p);
	if (!p || !g->lib->lt.handle) {
		free(p);
		cuda_fail(err, ORR_EINPUT, "cuBLASLt: the library cannot be opened");
		return NULL;
	}
	p->gpu = g;
	p->workspace_bytes = workspace_bytes;
	if (set_up(p, precision, ta, tb, m, n, k, (int)batch, err))
		return p;
	product_free(p);
	return NULL;
}

int product_run(struct product *p, const void *a, const void *b, void *c, void *workspace, cudaStream_t stream, struct orr_error *err)
{
	const float one = 1, zero = 0;
	cublasStatus_t rc = p->gpu->lib->lt.Matmul(p->gpu->lib->lt.handle, p->op, &one, b, p->x, a, p->y, &zero, c, p->z, c, p->z,
		&p->algorithm, workspace, p->workspace_bytes, stream);
	return rc == CUBLAS_STATUS_SUCCESS ? ORR_OK : cuda_fail(err, ORR_EINPUT, "cublasLtMatmul failed with status %d", (int)rc);
}

void product_free(struct product *p)
{
	if (!p)
		return;
	struct libraries *l = p->gpu->lib;
	if (p->op)
		l->lt.MatmulDescDestroy(p->op);
	if (p->x)
		l->lt.MatrixLayoutDestroy(p->x);
	if (p->y)
		l->lt.MatrixLayoutDestroy(p->y);
	if (p->z)
		l->lt.MatrixLayoutDestroy(p->z);
	cudaFree(p->scale);
	free(p);
}

#else

struct product *product_new(struct gpu *g, const char *precision, bool ta, bool tb, double m, double n, double k, double batch,
	size_t workspace_bytes, struct orr_error *err)
{
	(void)g, (void)precision, (void)ta, (void)tb, (void)m, (void)n, (void)k, (void)batch, (void)workspace_bytes;
	cuda_fail(err, ORR_EINPUT, "matrix products: expected a module that was built with cuBLASLt");
	return NULL;
}

int product_run(struct product *p, const void *a, const void *b, void *c, void *workspace, cudaStream_t stream, struct orr_error *err)
{
	(void)p, (void)a, (void)b, (void)c, (void)workspace, (void)stream;
	return cuda_fail(err, ORR_EINPUT, "matrix products: expected a module that was built with cuBLASLt");
}

void product_free(struct product *p)
{
	free(p);
}

#endif

static int gemm_enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	return product_run((struct product *)t->own, task_buffer(t, 0), task_buffer(t, 1), task_buffer(t, 2),
		workspace_of(t->gpu, s), s, err);
}

static void drop_product(struct task *t)
{
	product_free((struct product *)t->own);
}

int gemm_prepare(struct task *t, struct orr_error *err)
{
	const double *d = t->k.d;
	double size = precision_bytes(t->k.precision), result = size == 1 ? 2 : size, batch = d[3] > 0 ? d[3] : 1;
	bool ta = t->k.variant[0] == 't', tb = t->k.variant[1] == 't';
	t->bytes[0] = (size_t)(size * d[0] * d[2] * batch);
	t->bytes[1] = (size_t)(size * d[1] * d[2] * batch);
	t->bytes[2] = (size_t)(result * d[0] * d[1] * batch);
	t->own = product_new(t->gpu, t->k.precision, ta, tb, d[0], d[1], d[2], batch, WORKSPACE_BYTES, err);
	if (!t->own)
		return err->code;
	t->drop = drop_product;
	t->enqueue = gemm_enqueue;
	return task_buffers(t, t->k.precision, err);
}
