/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libraries.h - cuBLASLt, cuDNN, NCCL and NVML, opened at run time
 *
 * Types come from the headers that configure found (ORR_CUBLASLT, ORR_CUDNN, ORR_NCCL), functions from dlsym(). A library that
 * lacks one of the functions is treated as absent. The smallest toolkit has no header of NVML, so its few functions are
 * declared here (NVML API reference).
 */
#ifndef ORR_CALIB_CUDA_LIBRARIES_H
#define ORR_CALIB_CUDA_LIBRARIES_H

#include "calib/cuda/module.h"

#ifdef ORR_CUBLASLT
#include <cublasLt.h>
#endif
#ifdef ORR_CUDNN
#include <cudnn.h>
#endif
#ifdef ORR_NCCL
#include <nccl.h>
#endif

struct libraries {
	char missing[256]; /* such as "cuDNN (not found), .." */
	char found[256];   /* "cuBLASLt 13.0, .." */
#ifdef ORR_CUBLASLT
	struct {
		cublasLtHandle_t handle; /* NULL: absent */
#define LT(name) decltype(&cublasLt##name) name
		LT(Create);
		LT(Destroy);
		LT(Matmul);
		LT(MatmulDescCreate);
		LT(MatmulDescDestroy);
		LT(MatmulDescSetAttribute);
		LT(MatrixLayoutCreate);
		LT(MatrixLayoutDestroy);
		LT(MatrixLayoutSetAttribute);
		LT(MatmulPreferenceCreate);
		LT(MatmulPreferenceDestroy);
		LT(MatmulPreferenceSetAttribute);
		LT(MatmulAlgoGetHeuristic);
		LT(GetVersion);
#undef LT
	} lt;
#endif
#ifdef ORR_CUDNN
	struct {
		cudnnHandle_t handle;
#define DNN(name) decltype(&cudnn##name) name
		DNN(Create);
		DNN(Destroy);
		DNN(SetStream);
		DNN(GetVersion);
		DNN(GetErrorString);
		DNN(CreateTensorDescriptor);
		DNN(DestroyTensorDescriptor);
		DNN(SetTensor4dDescriptor);
		DNN(CreateFilterDescriptor);
		DNN(DestroyFilterDescriptor);
		DNN(SetFilter4dDescriptor);
		DNN(CreateConvolutionDescriptor);
		DNN(DestroyConvolutionDescriptor);
		DNN(SetConvolution2dDescriptor);
		DNN(SetConvolutionMathType);
		DNN(GetConvolutionForwardAlgorithm_v7);
		DNN(GetConvolutionBackwardDataAlgorithm_v7);
		DNN(GetConvolutionBackwardFilterAlgorithm_v7);
		DNN(ConvolutionForward);
		DNN(ConvolutionBackwardData);
		DNN(ConvolutionBackwardFilter);
#undef DNN
	} dnn;
#endif
#ifdef ORR_NCCL
	struct {
		bool is_there;
		ncclComm_t comm[MAX_GPUS + 1][MAX_GPUS]; /* communicators, by number of ranks; NULL: not created yet */
#define NCCL(name) decltype(&nccl##name) name
		NCCL(GetVersion);
		NCCL(GetErrorString);
		NCCL(CommInitAll);
		NCCL(CommDestroy);
		NCCL(GroupStart);
		NCCL(GroupEnd);
		NCCL(AllReduce);
		NCCL(AllGather);
		NCCL(ReduceScatter);
		NCCL(Send);
		NCCL(Recv);
#undef NCCL
	} nccl;
#endif
	struct {
		void *device; /* NULL: absent */
		int (*Init_v2)(void);
		int (*Shutdown)(void);
		int (*DeviceGetHandleByPciBusId_v2)(const char *bus, void **device);
		int (*DeviceGetClockInfo)(void *device, int kind, unsigned *MHz);
		int (*DeviceGetPowerUsage)(void *device, unsigned *mW);
		int (*DeviceGetEnforcedPowerLimit)(void *device, unsigned *mW);
		int (*DeviceGetTemperature)(void *device, int sensor, unsigned *celsius);
		int (*DeviceGetCurrentClocksThrottleReasons)(void *device, unsigned long long *bits);
		int (*DeviceGetMaxClockInfo)(void *device, int kind, unsigned *MHz);
		int (*DeviceGetCurrPcieLinkGeneration)(void *device, unsigned *generation);
		int (*DeviceGetCurrPcieLinkWidth)(void *device, unsigned *lanes);
		int (*DeviceGetMigMode)(void *device, unsigned *now, unsigned *pending);
		int (*SystemGetDriverVersion)(char *text, unsigned size);
	} nvml;
};

struct libraries *libraries_open(const struct gpu *g);
void libraries_close(struct libraries *l);
/* Writes NVML's description of the device as "key=value" lines; "" without NVML. */
void libraries_describe(const struct libraries *l, char *out, size_t size);
void libraries_clocks(const struct libraries *l, struct backend_clocks *out);

#endif
