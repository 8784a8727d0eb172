/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Convolutions by cuDNN, with the first algorithm of its heuristics that fits in the workspace. */
#include "calib/cuda/libraries.h"

#include "calib/work.h"

#include <stdlib.h>

#ifdef ORR_CUDNN

enum pass { FORWARD, DATA, WEIGHT };
enum { MAX_ALGORITHMS = 16 };

struct convolution {
	cudnnTensorDescriptor_t in, out;
	cudnnFilterDescriptor_t filter;
	cudnnConvolutionDescriptor_t op;
	enum pass pass;
	int algorithm;
	size_t workspace_bytes;
	void *workspace;
};

#define DNN_DO(x)                                                                                                 \
	do {                                                                                                      \
		cudnnStatus_t status_ = (x);                                                                      \
		if (status_ != CUDNN_STATUS_SUCCESS)                                                              \
			return cuda_fail(err, ORR_EINPUT, "cuDNN: %s", t->gpu->lib->dnn.GetErrorString(status_)); \
	} while (0)

static void drop(struct task *t)
{
	struct convolution *c = (struct convolution *)t->own;
	struct libraries *l = t->gpu->lib;
	if (c->in)
		l->dnn.DestroyTensorDescriptor(c->in);
	if (c->out)
		l->dnn.DestroyTensorDescriptor(c->out);
	if (c->filter)
		l->dnn.DestroyFilterDescriptor(c->filter);
	if (c->op)
		l->dnn.DestroyConvolutionDescriptor(c->op);
	cudaFree(c->workspace);
	free(c);
}

static int describe(struct task *t, struct convolution *c, struct orr_error *err)
{
	struct libraries *l = t->gpu->lib;
	const double *d = t->k.d;
	bool is_bf16 = !strcmp(t->k.precision, "bf16"), is_short = is_bf16 || !strcmp(t->k.precision, "fp16");
	/* Tensor cores need the channels-last layout. */
	cudnnTensorFormat_t format = is_short ? CUDNN_TENSOR_NHWC : CUDNN_TENSOR_NCHW;
	cudnnDataType_t type = !is_short ? CUDNN_DATA_FLOAT : CUDNN_DATA_HALF;
#if CUDNN_MAJOR > 8 || (CUDNN_MAJOR == 8 && CUDNN_MINOR >= 1)
	type = is_bf16 ? CUDNN_DATA_BFLOAT16 : type;
#else
	if (is_bf16)
		return cuda_fail(err, ORR_EINPUT, "cuDNN: bf16: expected version 8.1 or later");
#endif
	cudnnMathType_t math = is_short ? CUDNN_TENSOR_OP_MATH : !strcmp(t->k.precision, "tf32") ? CUDNN_DEFAULT_MATH : CUDNN_FMA_MATH;
	int r = (int)d[5], padding = (r - 1) / 2, stride = (int)conv_stride(&t->k);
	int out_h = (int)conv_out(&t->k, d[2]), out_w = (int)conv_out(&t->k, d[3]);
	DNN_DO(l->dnn.CreateTensorDescriptor(&c->in));
	DNN_DO(l->dnn.CreateTensorDescriptor(&c->out));
	DNN_DO(l->dnn.CreateFilterDescriptor(&c->filter));
	DNN_DO(l->dnn.CreateConvolutionDescriptor(&c->op));
	DNN_DO(l->dnn.SetTensor4dDescriptor(c->in, format, type, (int)d[0], (int)d[1], (int)d[2], (int)d[3]));
	DNN_DO(l->dnn.SetTensor4dDescriptor(c->out, format, type, (int)d[0], (int)d[4], out_h, out_w));
	DNN_DO(l->dnn.SetFilter4dDescriptor(c->filter, type, format, (int)d[4], (int)d[1], r, r));
	DNN_DO(l->dnn.SetConvolution2dDescriptor(c->op, padding, padding, stride, stride, 1, 1, CUDNN_CROSS_CORRELATION,
		CUDNN_DATA_FLOAT));
	DNN_DO(l->dnn.SetConvolutionMathType(c->op, math));
	return ORR_OK;
}

/* Takes the first algorithm that works within a sixteenth of the device's memory. */
template <typename PERF> static int take_first(struct task *t, struct convolution *c, const PERF *found, int n, struct orr_error *err)
{
	for (int i = 0; i < n; i++)
		if (found[i].status == CUDNN_STATUS_SUCCESS && found[i].memory <= t->gpu->prop.totalGlobalMem / 16) {
			c->algorithm = (int)found[i].algo;
			c->workspace_bytes = found[i].memory;
			/* The math type of the search; with another one the workspace may be too small. */
			DNN_DO(t->gpu->lib->dnn.SetConvolutionMathType(c->op, found[i].mathType));
			return ORR_OK;
		}
	return cuda_fail(err, ORR_EINPUT, "cuDNN: no algorithm for this shape: expected a supported shape");
}

static int choose(struct task *t, struct convolution *c, struct orr_error *err)
{
	struct libraries *l = t->gpu->lib;
	int n = 0;
	if (c->pass == FORWARD) {
		cudnnConvolutionFwdAlgoPerf_t found[MAX_ALGORITHMS];
		DNN_DO(l->dnn.GetConvolutionForwardAlgorithm_v7(l->dnn.handle, c->in, c->filter, c->op, c->out, MAX_ALGORITHMS, &n, found));
		return take_first(t, c, found, n, err);
	}
	if (c->pass == DATA) {
		cudnnConvolutionBwdDataAlgoPerf_t found[MAX_ALGORITHMS];
		DNN_DO(l->dnn.GetConvolutionBackwardDataAlgorithm_v7(l->dnn.handle, c->filter, c->out, c->op, c->in, MAX_ALGORITHMS, &n,
			found));
		return take_first(t, c, found, n, err);
	}
	cudnnConvolutionBwdFilterAlgoPerf_t found[MAX_ALGORITHMS];
	DNN_DO(l->dnn.GetConvolutionBackwardFilterAlgorithm_v7(l->dnn.handle, c->in, c->out, c->op, c->filter, MAX_ALGORITHMS, &n, found));
	return take_first(t, c, found, n, err);
}

static int enqueue(struct task *t, cudaStream_t s, struct orr_error *err)
{
	struct convolution *c = (struct convolution *)t->own;
	struct libraries *l = t->gpu->lib;
	const float one = 1, zero = 0;
	char *in = task_buffer(t, 0), *filter = task_buffer(t, 1), *out = task_buffer(t, 2);
	DNN_DO(l->dnn.SetStream(l->dnn.handle, s));
	if (c->pass == FORWARD)
		DNN_DO(l->dnn.ConvolutionForward(l->dnn.handle, &one, c->in, in, c->filter, filter, c->op,
			(cudnnConvolutionFwdAlgo_t)c->algorithm, c->workspace, c->workspace_bytes, &zero, c->out, out));
	else if (c->pass == DATA)
		DNN_DO(l->dnn.ConvolutionBackwardData(l->dnn.handle, &one, c->filter, filter, c->out, out, c->op,
			(cudnnConvolutionBwdDataAlgo_t)c->algorithm, c->workspace, c->workspace_bytes, &zero, c->in, in));
	else
		DNN_DO(l->dnn.ConvolutionBackwardFilter(l->dnn.handle, &one, c->in, in, c->out, out, c->op,
			(cudnnConvolutionBwdFilterAlgo_t)c->algorithm, c->workspace, c->workspace_bytes, &zero, c->filter, filter));
	return ORR_OK;
}

int conv_prepare(struct task *t, struct orr_error *err)
{
	const double *d = t->k.d;
	double size = precision_bytes(t->k.precision), out = conv_out(&t->k, d[2]) * conv_out(&t->k, d[3]);
	struct convolution *c = (struct convolution *)calloc(1, sizeof *c);
	if (!c)
		return cuda_fail(err, ORR_EFAIL, "out of memory");
	t->own = c;
	t->drop = drop;
	c->pass = !strcmp(t->k.op, "forward") ? FORWARD : !strcmp(t->k.op, "data-gradient") ? DATA : WEIGHT;
	t->bytes[0] = (size_t)(size * d[0] * d[1] * d[2] * d[3]);
	t->bytes[1] = (size_t)(size * d[1] * d[4] * d[5] * d[5]);
	t->bytes[2] = (size_t)(size * d[0] * d[4] * out);
	int rc = describe(t, c, err);
	if (!rc)
		rc = choose(t, c, err);
	if (!rc)
		rc = task_buffers(t, t->k.precision, err);
	if (rc)
		return rc;
	if (c->workspace_bytes)
		CUDA_DO(cudaMalloc(&c->workspace, c->workspace_bytes));
	t->enqueue = enqueue;
	return ORR_OK;
}

#else

int conv_prepare(struct task *t, struct orr_error *err)
{
	(void)t;
	return cuda_fail(err, ORR_EINPUT, "convolutions: expected a module that was built with cuDNN");
}

#endif
