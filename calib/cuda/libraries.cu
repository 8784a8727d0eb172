/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/cuda/libraries.h"

#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

__attribute__((format(printf, 3, 4))) static void append(char *to, size_t size, const char *fmt, ...)
{
	size_t n = strlen(to);
	va_list ap;
	if (n && n + 3 < size) {
		strcpy(to + n, ", ");
		n += 2;
	}
	va_start(ap, fmt);
	vsnprintf(to + n, size - n, fmt, ap);
	va_end(ap);
}

/* Opens a library by name on the system's search path, then in the folder of the toolkit with which this module was built. */
static void *open_library(const char *soname)
{
	void *lib = dlopen(soname, RTLD_NOW | RTLD_LOCAL);
#ifdef ORR_CUDA_LIBDIR
	if (!lib) {
		char path[4096];
		snprintf(path, sizeof path, "%s/%s", ORR_CUDA_LIBDIR, soname);
		lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
#endif
	return lib;
}

#if defined ORR_CUBLASLT || defined ORR_CUDNN || defined ORR_NCCL
/* Functions to resolve: all or none. */
struct wanted {
	const char *name;
	void **at;
};

static bool find_all(void *lib, const struct wanted *want, size_t n, const char **lacking)
{
	for (size_t i = 0; i < n; i++) {
		*want[i].at = dlsym(lib, want[i].name);
		if (!*want[i].at) {
			*lacking = want[i].name;
			return false;
		}
	}
	return true;
}

static bool open_all(struct libraries *l, const char *title, const char *soname, const struct wanted *want, size_t n)
{
	const char *lacking = "";
	void *lib = open_library(soname);
	if (!lib) {
		append(l->missing, sizeof l->missing, "%s (%s cannot be opened)", title, soname);
		return false;
	}
	if (find_all(lib, want, n, &lacking))
		return true;
	append(l->missing, sizeof l->missing, "%s (lacks %s)", title, lacking);
	return false;
}
#endif

#define COUNT(a) (sizeof(a) / sizeof *(a))

#ifdef ORR_CUBLASLT
static void open_lt(struct libraries *l)
{
#define F(name) { "cublasLt" #name, (void **)&l->lt.name }
	const struct wanted want[] = { F(Create), F(Destroy), F(Matmul), F(MatmulDescCreate), F(MatmulDescDestroy),
		F(MatmulDescSetAttribute), F(MatrixLayoutCreate), F(MatrixLayoutDestroy), F(MatrixLayoutSetAttribute),
		F(MatmulPreferenceCreate), F(MatmulPreferenceDestroy), F(MatmulPreferenceSetAttribute), F(MatmulAlgoGetHeuristic),
		F(GetVersion) };
#undef F
	char soname[64];
	snprintf(soname, sizeof soname, "libcublasLt.so.%d", CUDART_VERSION / 1000);
	if (!open_all(l, "cuBLASLt", soname, want, COUNT(want)))
		return;
	int rc = l->lt.Create(&l->lt.handle);
	if (rc) {
		l->lt.handle = NULL;
		append(l->missing, sizeof l->missing, "cuBLASLt (cublasLtCreate failed with status %d)", rc);
		return;
	}
	size_t v = l->lt.GetVersion();
	append(l->found, sizeof l->found, "cuBLASLt %zu.%zu.%zu", v / 10000, v / 100 % 100, v % 100);
}
#endif

#ifdef ORR_CUDNN
static void open_dnn(struct libraries *l)
{
#define F(name) { "cudnn" #name, (void **)&l->dnn.name }
	const struct wanted want[] = { F(Create), F(Destroy), F(SetStream), F(GetVersion), F(GetErrorString), F(CreateTensorDescriptor),
		F(DestroyTensorDescriptor), F(SetTensor4dDescriptor), F(CreateFilterDescriptor), F(DestroyFilterDescriptor),
		F(SetFilter4dDescriptor), F(CreateConvolutionDescriptor), F(DestroyConvolutionDescriptor), F(SetConvolution2dDescriptor),
		F(SetConvolutionMathType), F(GetConvolutionForwardAlgorithm_v7), F(GetConvolutionBackwardDataAlgorithm_v7),
		F(GetConvolutionBackwardFilterAlgorithm_v7), F(ConvolutionForward), F(ConvolutionBackwardData),
		F(ConvolutionBackwardFilter) };
#undef F
	if (!open_all(l, "cuDNN", "libcudnn.so." TEXT(CUDNN_MAJOR), want, COUNT(want)))
		return;
	int rc = l->dnn.Create(&l->dnn.handle);
	if (rc) {
		l->dnn.handle = NULL;
		append(l->missing, sizeof l->missing, "cuDNN (cudnnCreate failed with status %d)", rc);
		return;
	}
	/* The major version is in ten thousands since version 9, in thousands before. */
	size_t v = l->dnn.GetVersion(), unit = v >= 90000 ? 10000 : 1000;
	append(l->found, sizeof l->found, "cuDNN %zu.%zu.%zu", v / unit, v % unit / 100, v % 100);
}
#endif

#ifdef ORR_NCCL
static void open_nccl(struct libraries *l)
{
#define F(name) { "nccl" #name, (void **)&l->nccl.name }
	const struct wanted want[] = { F(GetVersion), F(GetErrorString), F(CommInitAll), F(CommDestroy), F(GroupStart), F(GroupEnd),
		F(AllReduce), F(AllGather), F(ReduceScatter), F(Send), F(Recv) };
#undef F
	int v = 0;
	l->nccl.is_there = open_all(l, "NCCL", "libnccl.so.2", want, COUNT(want));
	if (l->nccl.is_there && !l->nccl.GetVersion(&v))
		append(l->found, sizeof l->found, "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
}
#endif

/* The first three functions are required. A value whose function is missing is unknown. */
static void open_nvml(struct libraries *l, const struct gpu *g)
{
	void *lib = open_library("libnvidia-ml.so.1");
	char bus[64], version[96] = "";
#define F(name) *(void **)&l->nvml.name = lib ? dlsym(lib, "nvml" #name) : NULL
	F(Init_v2);
	F(Shutdown);
	F(DeviceGetHandleByPciBusId_v2);
	F(DeviceGetClockInfo);
	F(DeviceGetPowerUsage);
	F(DeviceGetEnforcedPowerLimit);
	F(DeviceGetTemperature);
	F(DeviceGetCurrentClocksThrottleReasons);
	F(DeviceGetMaxClockInfo);
	F(DeviceGetCurrPcieLinkGeneration);
	F(DeviceGetCurrPcieLinkWidth);
	F(DeviceGetMigMode);
	F(SystemGetDriverVersion);
#undef F
	if (lib && !l->nvml.DeviceGetCurrentClocksThrottleReasons) /* name of the function since driver 535 */
		*(void **)&l->nvml.DeviceGetCurrentClocksThrottleReasons = dlsym(lib, "nvmlDeviceGetCurrentClocksEventReasons");
	if (!l->nvml.Init_v2 || !l->nvml.Shutdown || !l->nvml.DeviceGetHandleByPciBusId_v2 ||
		cudaDeviceGetPCIBusId(bus, sizeof bus, g->index) != cudaSuccess || l->nvml.Init_v2() ||
		l->nvml.DeviceGetHandleByPciBusId_v2(bus, &l->nvml.device)) {
		l->nvml.device = NULL;
		append(l->missing, sizeof l->missing, "NVML (%s: no clocks, power, temperature)", lib ? "does not know the device" : "not found");
		return;
	}
	if (l->nvml.SystemGetDriverVersion && !l->nvml.SystemGetDriverVersion(version, sizeof version))
		append(l->found, sizeof l->found, "driver %s", version);
}

struct libraries *libraries_open(const struct gpu *g)
{
	struct libraries *l = (struct libraries *)calloc(1, sizeof *l);
	if (!l)
		return NULL;
	append(l->found, sizeof l->found, "CUDA %d.%d", CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
#ifdef ORR_CUBLASLT
	open_lt(l);
#else
	append(l->missing, sizeof l->missing, "cuBLASLt (absent at build time)");
#endif
#ifdef ORR_CUDNN
	open_dnn(l);
#else
	append(l->missing, sizeof l->missing, "cuDNN (absent at build time)");
#endif
#ifdef ORR_NCCL
	open_nccl(l);
#else
	append(l->missing, sizeof l->missing, "NCCL (absent at build time)");
#endif
	open_nvml(l, g);
	return l;
}

void libraries_close(struct libraries *l)
{
	if (!l)
		return;
#ifdef ORR_CUBLASLT
	if (l->lt.handle)
		l->lt.Destroy(l->lt.handle);
#endif
#ifdef ORR_CUDNN
	if (l->dnn.handle)
		l->dnn.Destroy(l->dnn.handle);
#endif
#ifdef ORR_NCCL
	for (int n = 0; n <= MAX_GPUS; n++)
		for (int i = 0; i < n; i++)
			if (l->nccl.comm[n][i])
				l->nccl.CommDestroy(l->nccl.comm[n][i]);
#endif
	if (l->nvml.device)
		l->nvml.Shutdown();
	free(l);
}

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 }; /* nvmlClockType_t */

void libraries_describe(const struct libraries *l, char *out, size_t size)
{
	unsigned mW, now, pending, MHz, generation, lanes;
	char *end = out + size;
	*out = '\0';
	if (!l->nvml.device)
		return;
#define PUT(...) out += snprintf(out, (size_t)(end - out), __VA_ARGS__), out = out < end ? out : end - 1
	if (l->nvml.DeviceGetEnforcedPowerLimit && !l->nvml.DeviceGetEnforcedPowerLimit(l->nvml.device, &mW))
		PUT("power_limit_W=%.0f\n", 1e-3 * mW);
	if (l->nvml.DeviceGetMigMode && !l->nvml.DeviceGetMigMode(l->nvml.device, &now, &pending))
		PUT("mig=%u\n", now);
	if (l->nvml.DeviceGetMaxClockInfo && !l->nvml.DeviceGetMaxClockInfo(l->nvml.device, CLOCK_SM, &MHz))
		PUT("most_clock_MHz=%u\n", MHz);
	if (l->nvml.DeviceGetMaxClockInfo && !l->nvml.DeviceGetMaxClockInfo(l->nvml.device, CLOCK_MEMORY, &MHz))
		PUT("most_memory_clock_MHz=%u\n", MHz);
	if (l->nvml.DeviceGetCurrPcieLinkGeneration && !l->nvml.DeviceGetCurrPcieLinkGeneration(l->nvml.device, &generation) &&
		l->nvml.DeviceGetCurrPcieLinkWidth && !l->nvml.DeviceGetCurrPcieLinkWidth(l->nvml.device, &lanes))
		PUT("pcie=%u.0 x%u\n", generation, lanes);
#undef PUT
}

void libraries_clocks(const struct libraries *l, struct backend_clocks *out)
{
	/* nvmlClocksThrottleReasons; idle and application clocks are not throttling. */
	static const struct {
		unsigned long long bit;
		const char *name;
	} reasons[] = { { 0x4, "power cap" }, { 0x8, "hardware slowdown" }, { 0x20, "thermal (software)" },
		{ 0x40, "thermal (hardware)" }, { 0x80, "power brake" } };
	unsigned v;
	unsigned long long bits;
	out->clock_MHz = out->memory_MHz = out->power_W = out->temperature_C = NAN;
	out->throttle[0] = '\0';
	if (!l->nvml.device)
		return;
	if (l->nvml.DeviceGetClockInfo && !l->nvml.DeviceGetClockInfo(l->nvml.device, CLOCK_SM, &v))
		out->clock_MHz = v;
	if (l->nvml.DeviceGetClockInfo && !l->nvml.DeviceGetClockInfo(l->nvml.device, CLOCK_MEMORY, &v))
		out->memory_MHz = v;
	if (l->nvml.DeviceGetPowerUsage && !l->nvml.DeviceGetPowerUsage(l->nvml.device, &v))
		out->power_W = 1e-3 * v;
	if (l->nvml.DeviceGetTemperature && !l->nvml.DeviceGetTemperature(l->nvml.device, 0, &v))
		out->temperature_C = v;
	if (!l->nvml.DeviceGetCurrentClocksThrottleReasons || l->nvml.DeviceGetCurrentClocksThrottleReasons(l->nvml.device, &bits))
		return;
	for (size_t i = 0; i < COUNT(reasons); i++)
		if (bits & reasons[i].bit)
			append(out->throttle, sizeof out->throttle, "%s", reasons[i].name);
}
