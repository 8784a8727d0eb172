/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "world/python.h"

#include "base/mem.h"
#include "hwmodel/embedded.h"

#include "config.h"

#include <dlfcn.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* orrery.py, then the headers: common headers in the order of their includes, then the header of each world. */
extern const struct embedded_file python_files[];

bool python_is_file(const char *path)
{
	size_t n = strlen(path);
	return n > 3 && !strcmp(path + n - 3, ".py");
}

/* ---- the library ---- */

/* Functions of CPython's stable ABI, and PyRun_SimpleString(). */
static struct {
	int (*is_initialized)(void);
	void (*initialize)(int with_signals);
	int (*run)(const char *text);
	void *(*save_thread)(void);
	int (*ensure)(void);
	void (*release)(int state);
} py;

static const struct {
	const char *name;
	void *at;
} functions[] = {
	{ "Py_IsInitialized", &py.is_initialized },
	{ "Py_InitializeEx", &py.initialize },
	{ "PyRun_SimpleString", &py.run },
	{ "PyEval_SaveThread", &py.save_thread },
	{ "PyGILState_Ensure", &py.ensure },
	{ "PyGILState_Release", &py.release },
};

#ifdef ORR_PYTHON
/* Opens $ORRERY_LIBPYTHON, else the newest version that the loader finds. RTLD_GLOBAL because modules of Python need its symbols. */
static void *open_library(struct sbuf *name)
{
	const char *given = getenv("ORRERY_LIBPYTHON");
	if (given && *given) {
		sbuf_puts(name, given);
		return dlopen(given, RTLD_NOW | RTLD_GLOBAL);
	}
	for (int minor = 19; minor >= 8; minor--) {
		sbuf_clear(name);
		sbuf_printf(name, "libpython3.%d.so.1.0", minor);
		void *library = dlopen(name->text, RTLD_NOW | RTLD_GLOBAL);
		if (library)
			return library;
	}
	sbuf_clear(name);
	return NULL;
}
#else
static void *open_library(struct sbuf *name)
{
	(void)name;
	return NULL;
}
#endif

static const char remedy[] =
#ifdef ORR_PYTHON
	"libpython3 is not found: expected version 3.8 or later (Debian: libpython3.11; else ORRERY_LIBPYTHON names the file)";
#else
	"this program was built without Python: expected a build by configure without --without-python";
#endif

bool python_find(struct sbuf *out)
{
	void *library = open_library(out);
	if (library)
		return true;
	sbuf_clear(out);
	sbuf_puts(out, remedy);
	return false;
}

/* ---- the interpreter ---- */

/* Runs text in a module of orrery: "exec" with the contents of the embedded files at their addresses. */
static int run(const char *path, const char *text, struct orr_error *err)
{
	int state = py.ensure();
	int rc = py.run(text);
	py.release(state);
	return rc ? orr_fail(err, ORR_EFAIL,
			    "%.300s: Python cannot load the interface of policies (its message is above): expected a Python with the "
			    "module "
			    "ctypes (Debian: libpython3-stdlib)",
			    path)
		  : ORR_OK;
}

static int start(const char *path, struct orr_error *err)
{
	struct sbuf name = { 0 }, text = { 0 };
	void *library = open_library(&name);
	sbuf_free(&name);
	if (!library)
		return orr_fail(err, ORR_EDEVICE, "%.300s: %s", path, remedy);
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		void *f = dlsym(library, functions[i].name);
		if (!f)
			return orr_fail(err, ORR_EDEVICE, "%.300s: the library of Python lacks %s: expected version 3.8 or later", path,
				functions[i].name);
		memcpy(functions[i].at, &f, sizeof f);
	}
	/* py.initialize() may set the locale of the environment, so the locale is restored. */
	char *locale = mem_strdup(setlocale(LC_ALL, NULL));
	py.initialize(0);
	setlocale(LC_ALL, locale);
	mem_free(locale);
	py.save_thread();
	sbuf_printf(&text,
		"import ctypes, sys, types\n"
		"orrery = sys.modules['orrery'] = types.ModuleType('orrery')\n"
		"exec(compile(ctypes.string_at(%zu, %zu), 'orrery.py', 'exec'), orrery.__dict__)\n",
		(size_t)python_files[0].text, python_files[0].n);
	int rc = run(path, text.text, err);
	sbuf_free(&text);
	return rc;
}

/* ---- a policy ---- */

/* orrery.py reads this struct, so both must have the same layout. header: name, newline, text; NULL-terminated. */
struct loaded {
	const char *path;
	char **header;
	const struct orr_policy *policy;
	char error[700];
};

int python_load(const char *path, const struct orr_policy **out, struct orr_error *err)
{
	enum { MOST = 16 };
	static bool is_started;
	char *header[MOST + 1] = { NULL }, text[80];
	struct loaded l = { .path = path, .header = header };
	*out = NULL;
	int rc = is_started ? ORR_OK : start(path, err);
	if (rc)
		return rc;
	is_started = true;
	for (size_t i = 0; i < MOST && python_files[i + 1].name; i++) {
		struct sbuf b = { 0 };
		sbuf_printf(&b, "%s\n", python_files[i + 1].name);
		sbuf_add(&b, (const char *)python_files[i + 1].text, python_files[i + 1].n);
		header[i] = sbuf_steal(&b);
	}
	snprintf(text, sizeof text, "import orrery; orrery._load(%zu)", (size_t)&l);
	rc = run(path, text, err);
	for (size_t i = 0; i < MOST; i++)
		mem_free(header[i]);
	if (!rc && !l.policy)
		rc = orr_fail(err, ORR_EINPUT, "%.300s: %.400s", path, l.error);
	*out = rc ? NULL : l.policy;
	return rc;
}
