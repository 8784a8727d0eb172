/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery doctor: what is compiled in, what is found, and remedies */
#include "cli/cli.h"

#include "base/mem.h"
#include "base/program.h"
#include "base/sources.h"
#include "calib/backend.h"
#include "world/python.h"

#include "config.h"
#include "paths.h"

#include <cjson/cJSON.h>

#include <dlfcn.h>
#include <getopt.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static const char help[] = "usage: orrery doctor [--json]\n\n"
			   "Shows what this program was built with and what it finds on this machine: data files, gnuplot,\n"
			   "GPUs, compilers, traces. Each missing piece is listed with its use and its remedy. Ends with code 1\n"
			   "only if a file of the program itself is missing.\n\n"
			   "  --json   the same as JSON\n\n"
			   "Example:\n"
			   "  orrery doctor\n";

struct finding {
	const char *what, *use;
	bool is_found, is_needed; /* needed: part of the program itself */
	struct sbuf text;         /* where or what; if not found: the remedy */
};

struct report {
	struct finding *item;
	size_t n, cap;
};

static struct finding *add(struct report *r, const char *what, const char *use)
{
	MEM_GROW(r->item, r->n, r->cap);
	struct finding *f = &r->item[r->n++];
	*f = (struct finding){ .what = what, .use = use };
	return f;
}

/* ---- compiled-in features ---- */

static void find_threads(struct report *r)
{
	struct finding *f = add(r, "OpenMP", "runs in parallel (-j)");
#ifdef _OPENMP
	f->is_found = true;
	sbuf_printf(&f->text, "compiled in; up to %d threads", omp_get_max_threads());
#else
	sbuf_puts(&f->text, "not compiled in: build with a compiler that has OpenMP");
#endif
}

static void find_mpi(struct report *r)
{
	struct finding *f = add(r, "MPI", "studies over several machines by mpirun");
#ifdef HAVE_MPI
	f->is_found = true;
	sbuf_puts(&f->text, "compiled in");
#else
	sbuf_puts(&f->text, "not compiled in: configure --with-mpi; --slurm and --shard need no MPI");
#endif
}

static void find_cuda(struct report *r)
{
	struct finding *f = add(r, "CUDA", "measuring GPUs (orrery calib run)");
	struct orr_error err = { 0 };
	const struct backend *b = backend_find("cuda", &err);
	f->is_found = b != NULL;
	sbuf_puts(&f->text, b ? "the module for GPUs is installed" : err.text);
}

static void find_blas(struct report *r)
{
	struct finding *f = add(r, "OpenBLAS", "measuring matrix products on this processor");
#ifdef ORR_BLAS
	static const char *const names[] = { "libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0" };
	for (size_t i = 0; i < sizeof names / sizeof *names && !f->is_found; i++) {
		void *lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		f->is_found = lib != NULL;
		if (lib)
			sbuf_puts(&f->text, names[i]);
	}
	if (!f->is_found)
		sbuf_puts(&f->text, "not found: install it (Debian: libopenblas0); without it, matrix products run on orrery's own code");
#else
	sbuf_puts(&f->text, "not compiled in: configure without --without-blas");
#endif
}

/* ---- files of the program ---- */

static void find_file(struct report *r, const char *what, const char *use, const char *file)
{
	struct finding *f = add(r, what, use);
	const char *const dirs[] = { getenv("ORRERY_DATADIR"), ORR_PKGDATADIR, ORR_SRCDIR };
	f->is_needed = true;
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs && !f->is_found; i++) {
		sbuf_clear(&f->text);
		sbuf_printf(&f->text, "%s/%s", dirs[i] ? dirs[i] : "", file);
		f->is_found = dirs[i] && *dirs[i] && !access(f->text.text, R_OK);
	}
	if (!f->is_found) {
		sbuf_clear(&f->text);
		sbuf_printf(&f->text, "not in %s: run 'make install', or set ORRERY_DATADIR to the folder that contains %s", ORR_PKGDATADIR,
			file);
	}
}

/* ---- programs and data of this machine ---- */

static void find_program(struct report *r, const char *what, const char *use, const char *remedy)
{
	struct finding *f = add(r, what, use);
	f->is_found = program_find(what, &f->text);
	if (!f->is_found) {
		sbuf_clear(&f->text);
		sbuf_printf(&f->text, "not in PATH: %s", remedy);
	}
}

static void find_python(struct report *r)
{
	struct finding *f = add(r, "libpython3", "policies in Python");
	f->is_found = python_find(&f->text);
}

static void find_traces(struct report *r)
{
	struct finding *f = add(r, "real traces", "scenario books and tests that replay them");
	static const char *const names[] = { "ORRERY_TRACE_PATH", "ORRERY_DATA_PATH" };
	for (size_t i = 0; i < 2; i++) {
		const char *dir = getenv(names[i]);
		if (!dir || !*dir)
			continue;
		bool is_there = !access(dir, R_OK | X_OK);
		sbuf_printf(&f->text, "%s%s=%s%s", f->text.len ? "; " : "", names[i], dir, is_there ? "" : " (cannot be read)");
		f->is_found |= is_there;
	}
	if (!f->text.len)
		sbuf_puts(&f->text,
			"ORRERY_TRACE_PATH and ORRERY_DATA_PATH are not set; 'orrery trace get' downloads traces; generators need none");
}

static void examine(struct report *r)
{
	find_threads(r);
	find_mpi(r);
	find_cuda(r);
	find_blas(r);
	find_file(r, "figure templates", "figures", "plots/style.gp");
	find_file(r, "scenario books", "orrery figures", "scenarios/ako/figures.json");
	find_file(r, "device files", "devices to copy and edit", "hwmodel/devices/v100.json");
	find_program(r, "gnuplot", "figures", "install it (Debian: gnuplot-nox), or use --no-figures");
	find_program(r, "cc", "plugins in C", "install a C compiler (Debian: gcc)");
	find_program(r, "pkg-config", "the compiler options of plugins", "install it (Debian: pkg-config), or use orrery policy cflags");
	find_program(r, "curl", "orrery trace get", "install it (Debian: curl)");
	find_program(r, "sbatch", "orrery sweep --slurm", "no Slurm on this machine; -j and --shard need none");
	find_python(r);
	find_traces(r);
}

/* ---- output ---- */

static void put_text(const struct report *r)
{
	printf("%s (sources %.12s), SQLite %s\n\n", PACKAGE_STRING, sources_hash, sqlite3_libversion());
	for (size_t i = 0; i < r->n; i++) {
		const struct finding *f = &r->item[i];
		printf("%-8s %-17s %s\n%26s for: %s\n",
			f->is_found    ? "ok"
			: f->is_needed ? "MISSING"
				       : "none",
			f->what, f->text.text, "", f->use);
	}
}

static void put_json(const struct report *r)
{
	cJSON *o = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(o, "findings");
	cJSON_AddStringToObject(o, "version", PACKAGE_VERSION);
	cJSON_AddStringToObject(o, "sources", sources_hash);
	cJSON_AddStringToObject(o, "sqlite", sqlite3_libversion());
	for (size_t i = 0; i < r->n; i++) {
		const struct finding *f = &r->item[i];
		cJSON *x = cJSON_CreateObject();
		cJSON_AddStringToObject(x, "what", f->what);
		cJSON_AddBoolToObject(x, "found", f->is_found);
		cJSON_AddBoolToObject(x, "needed", f->is_needed);
		cJSON_AddStringToObject(x, "for", f->use);
		cJSON_AddStringToObject(x, f->is_found ? "value" : "remedy", f->text.text);
		cJSON_AddItemToArray(list, x);
	}
	cli_put_json(o);
	cJSON_Delete(o);
}

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "json", no_argument, NULL, 'j' }, { NULL, 0, NULL, 0 } };
	struct report r = { 0 };
	bool as_json = false;
	int opt, rc = ORR_OK;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt != 'j')
			return cli_bad_option(argc, argv, opt, longs, err);
		as_json = true;
	}
	if (argc != optind)
		return orr_fail(err, ORR_EINPUT, "doctor: expected no argument, found \"%.60s\"", argv[optind]);
	examine(&r);
	(as_json ? put_json : put_text)(&r);
	for (size_t i = 0; i < r.n; i++) {
		const struct finding *f = &r.item[i];
		if (!rc && f->is_needed && !f->is_found)
			rc = orr_fail(err, ORR_EFAIL, "doctor: %s: %s", f->what, f->text.text);
	}
	for (size_t i = 0; i < r.n; i++)
		sbuf_free(&r.item[i].text);
	mem_free(r.item);
	return rc;
}

const struct cli_command cmd_doctor = { "doctor", "what is compiled in and installed, and what to do about missing pieces", help, run,
	NULL };
