/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "calib/backend.h"
#include "paths.h"

#include <config.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE "orr_calib_cuda.so"

static const struct backend *from_module(void *module, const char *path, struct orr_error *err)
{
	const struct backend *(*get)(void);
	*(void **)&get = dlsym(module, BACKEND_SYMBOL);
	const struct backend *b = get ? get() : NULL;
	if (!b)
		orr_fail(err, ORR_EDEVICE, "%.400s: not a calibration module: expected the symbol %s", path, BACKEND_SYMBOL);
	else if (b->abi != BACKEND_ABI || b->size != sizeof *b)
		orr_fail(err, ORR_EDEVICE, "%.400s: the module was built for interface version %u: expected a module built for version %d",
			path, b->abi, BACKEND_ABI);
	else
		return b;
	dlclose(module);
	return NULL;
}

/* Opens the module in this folder. Returns NULL on failure; *is_found is false if the folder has no module. */
static const struct backend *look_in(const char *folder, bool *is_found, struct orr_error *err)
{
	char path[4200];
	snprintf(path, sizeof path, "%.4000s/" MODULE, folder);
	*is_found = !access(path, F_OK);
	if (!*is_found)
		return NULL;
	void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (module)
		return from_module(module, path, err);
	const char *why = dlerror();
	orr_fail(err, ORR_EDEVICE, "%.300s: the module cannot be opened: %.300s", path, why ? why : "unknown reason");
	return NULL;
}

static const struct backend *find_cuda(struct orr_error *err)
{
	char self[4000] = "";
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash = n > 0 ? strrchr(self, '/') : NULL;
	if (slash)
		*slash = '\0';
	const char *folders[] = { getenv("ORRERY_MODULE_PATH"), slash ? self : NULL, ORR_PKGLIBDIR };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
		bool is_found = false;
		const struct backend *b = folders[i] && *folders[i] ? look_in(folders[i], &is_found, err) : NULL;
		if (is_found)
			return b;
	}
#ifdef ORR_CUDA
	orr_fail(err, ORR_EDEVICE,
		"no usable GPU: expected the module " MODULE " in the build or installation folder, or in the folder ORRERY_MODULE_PATH");
#else
	orr_fail(err, ORR_EDEVICE,
		"no usable GPU: this program was built without CUDA: expected a build by configure --with-cuda, or --backend cpu, which "
		"measures this machine's processor");
#endif
	return NULL;
}

const struct backend *backend_find(const char *name, struct orr_error *err)
{
	if (!strcmp(name, "cpu"))
		return &backend_cpu;
	if (!strcmp(name, "synthetic"))
		return &backend_synthetic;
	if (!strcmp(name, "cuda"))
		return find_cuda(err);
	orr_fail(err, ORR_EINPUT, "unknown backend \"%.60s\": expected cuda, cpu or synthetic", name);
	return NULL;
}
