/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery calib fit, scale */
#include "cli/cmd_calib.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "base/sbuf.h"
#include "calib/fit.h"
#include "calib/images.h"
#include "calib/import.h"
#include "calib/scale.h"
#include "cli/cli.h"
#include "hwmodel/json.h"
#include "base/outfile.h"

#include <getopt.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SOURCES = 16, MAX_BESIDE = 1 << 20 };

/* ---- writing ---- */

struct device *calib_device(const struct profile *p)
{
	return strpbrk(p->device, "/.") ? NULL : device_load(p->device, NULL);
}

static int write_file(const struct profile *p, const char *path, struct orr_error *err)
{
	struct outfile f;
	int rc = outfile_open_path(&f, path, err);
	if (rc)
		return rc;
	int failed = profile_write(p, f.file, err);
	rc = outfile_close(&f, failed != 0, err);
	return failed ? failed : rc;
}

/* Appends the law that was left out, with the reason, to the profile's note. */
static void note_left_out(struct profile *p, const struct orr_error *why)
{
	const char *law = strchr(why->text, '('); /* the text after the profile's name and the law's number */
	struct sbuf s = { 0 };
	sbuf_printf(&s, "%s%sleft out: %s", p->note, *p->note ? "; " : "", law ? law : why->text);
	mem_free(p->note);
	p->note = sbuf_steal(&s);
}

/* Returns the number of laws that pass the self-check; *first is the first error. */
static size_t possible_laws(const struct profile *p, const struct device *d, struct orr_error *first)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_laws; i++)
		n += !profile_check_law(p, i, d, first->code ? NULL : first);
	return n;
}

/* Removes the laws that the self-check refuses, each with a line on standard error. If it refuses all, returns the first error. */
static int remove_impossible(struct profile *p, struct orr_error *err)
{
	struct orr_error why = { 0 };
	struct device *d = calib_device(p);
	int rc = possible_laws(p, d, &why) ? ORR_OK : orr_fail(err, why.code, "%s", why.text);
	for (size_t i = p->n_laws; !rc && i-- > 0;)
		if (profile_check_law(p, i, d, &why)) {
			fprintf(stderr, "law left out: %s\n", why.text);
			note_left_out(p, &why);
			profile_remove_law(p, i);
		}
	device_free(d);
	return rc;
}

/* Removes impossible laws and writes the profile: to standard output if path is NULL or "-", else to a file, which is replaced
 * atomically. */
static int calib_save(struct profile *p, const char *path, struct orr_error *err)
{
	int rc = remove_impossible(p, err);
	if (rc)
		return rc;
	return path && strcmp(path, "-") ? write_file(p, path, err) : profile_write(p, stdout, err);
}

/* ---- the metadata file next to the points ---- */

struct request {
	struct fit_options fit;
	const char *out, *select;
	const char *from[MAX_SOURCES];
	int n_from;
	char *beside[6]; /* texts of that file: device, backend, date, source, environment, and a note if the measurement ended early */
};

static const char *text_of(const cJSON *root, const char *key)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(root, key);
	return cJSON_IsString(v) ? v->valuestring : "";
}

/* Returns the catalogue's name contained in a full name: "NVIDIA H200" contains h200. The words of a name may be joined. */
static char *catalogue_name(const char *title)
{
	for (const char *at = title; *at;) {
		size_t n = strcspn(at, " ");
		char *word = mem_strndup(at, n);
		struct device *d = strpbrk(word, "/.") || !n ? NULL : device_load(word, NULL);
		char *name = d ? mem_strdup(d->name) : NULL;
		device_free(d);
		mem_free(word);
		if (name)
			return name;
		at += n + (at[n] == ' ');
	}
	return mem_strdup(title);
}

static void put_clocks(struct sbuf *b, const cJSON *root, const char *key)
{
	const cJSON *o = cJSON_GetObjectItemCaseSensitive(root, key), *v;
	const char *between = "";
	sbuf_printf(b, "%s: ", key);
	cJSON_ArrayForEach(v, o)
	{
		if (cJSON_IsNumber(v))
			sbuf_printf(b, "%s%s %.6g", between, v->string, v->valuedouble);
		else if (cJSON_IsString(v) && *v->valuestring)
			sbuf_printf(b, "%s%s %s", between, v->string, v->valuestring);
		else
			continue;
		between = ", ";
	}
	sbuf_putc(b, '\n');
}

/* Describes the device and software of the measurement, for the reader of the profile. */
static void put_run(struct sbuf *b, const cJSON *root)
{
	static const struct {
		const char *key, *what;
		double scale;
	} kept[] = { { "drift", "drift_percent", 100 }, { "worst_drift", "worst_drift_percent", 100 }, { "seconds", "seconds", 1 },
		{ "points_measured", "points_measured", 1 }, { "points_imprecise", "points_imprecise", 1 } };
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(root, kept[i].key);
		if (cJSON_IsNumber(v))
			sbuf_printf(b, "%s: %.3g\n", kept[i].what, kept[i].scale * v->valuedouble);
	}
	const cJSON *details = cJSON_GetObjectItemCaseSensitive(root, "details"), *v;
	cJSON_ArrayForEach(v, details) if (cJSON_IsString(v) && *v->valuestring) sbuf_printf(b, "%s: %s\n", v->string, v->valuestring);
}

/* Takes all texts from the first of several files, and only the faults from the others. */
static void take_texts(const cJSON *root, bool has_run, struct request *r)
{
	struct sbuf b = { 0 };
	r->beside[0] = catalogue_name(text_of(root, "device"));
	r->beside[1] = mem_strdup(text_of(root, "backend"));
	r->beside[2] = mem_strdup(text_of(root, "date"));
	sbuf_printf(&b, "orrery calib run on %s", text_of(root, "device"));
	r->beside[3] = sbuf_steal(&b);
	sbuf_printf(&b, "device: %s\narchitecture: %s\nsoftware: %s\nthrottle: %s\nwarnings: ", text_of(root, "device"),
		text_of(root, "architecture"), text_of(root, "software"), text_of(root, "throttle"));
	for (const char *c = text_of(root, "warnings"); *c; c++)
		sbuf_putc(&b, *c == '\n' ? ' ' : *c);
	sbuf_putc(&b, '\n');
	put_clocks(&b, root, "clocks_before");
	put_clocks(&b, root, "clocks_after");
	if (has_run)
		put_run(&b, root);
	r->beside[4] = sbuf_steal(&b);
}

static void take_beside(const cJSON *root, struct request *r)
{
	const char *ended = text_of(root, "ended");
	if (!r->beside[0])
		take_texts(root, strcmp(ended, "in progress") != 0, r);
	if (*ended && strcmp(ended, "complete") != 0 && !r->beside[5]) {
		struct sbuf b = { 0 };
		sbuf_printf(&b, "the measurement is not complete (%s): its drift is unknown", ended);
		r->beside[5] = sbuf_steal(&b);
	}
	const char **const wanted[] = { &r->fit.device, &r->fit.backend, &r->fit.date, &r->fit.source, &r->fit.environment, &r->fit.note };
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!*wanted[i])
			*wanted[i] = r->beside[i];
	r->fit.is_measured_here = true;
	r->fit.is_unstable |= cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(root, "is_stable"));
}

/* Reads POINTS.device.json, which calib run writes next to POINTS.csv. */
static int read_beside(const char *points, struct request *r, struct orr_error *err)
{
	struct sbuf path = { 0 };
	size_t n = strlen(points), size;
	sbuf_add(&path, points, n > 4 && !strcmp(points + n - 4, ".csv") ? n - 4 : n);
	sbuf_puts(&path, ".device.json");
	int rc = ORR_OK;
	if (!access(path.text, R_OK)) {
		char *text = bytes_read_file(path.text, MAX_BESIDE, &size, NULL, err);
		cJSON *root = text ? json_parse(path.text, text, size, err) : NULL;
		rc = root ? ORR_OK : ORR_EINPUT;
		if (root)
			take_beside(root, r);
		cJSON_Delete(root);
		mem_free(text);
	}
	sbuf_free(&path);
	return rc;
}

/* ---- fit ---- */

static int parse_fit(int argc, char **argv, struct request *r, struct orr_error *err)
{
	static const struct option longs[] = { { "from", required_argument, NULL, 'f' }, { "select", required_argument, NULL, 's' },
		{ "device", required_argument, NULL, 'd' }, { "name", required_argument, NULL, 'n' },
		{ "source", required_argument, NULL, 'S' }, { "date", required_argument, NULL, 'D' },
		{ "note", required_argument, NULL, 'N' }, { "no-points", no_argument, NULL, 'p' },
		{ "output", required_argument, NULL, 'o' }, { NULL, 0, NULL, 0 } };
	int opt;
	r->fit.keep_points = true;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":o:", longs, NULL)) != -1) {
		switch (opt) {
		case 'f':
			if (r->n_from == MAX_SOURCES)
				return orr_fail(err, ORR_EINPUT, "calib fit: --from: expected at most %d tables", MAX_SOURCES);
			r->from[r->n_from++] = optarg;
			break;
		case 's':
			r->select = optarg;
			break;
		case 'd':
			r->fit.device = optarg;
			break;
		case 'n':
			r->fit.name = optarg;
			break;
		case 'S':
			r->fit.source = optarg;
			break;
		case 'D':
			r->fit.date = optarg;
			break;
		case 'N':
			r->fit.note = optarg;
			break;
		case 'p':
			r->fit.keep_points = false;
			break;
		case 'o':
			r->out = optarg;
			break;
		default:
			return cli_bad_option(argc, argv, opt, longs, err);
		}
	}
	if (optind >= argc || (r->n_from && argc - optind != r->n_from))
		return orr_fail(err, ORR_EINPUT,
			r->n_from ? "calib fit: expected one TABLE.csv after each --from KIND"
				  : "calib fit: expected the name of a file POINTS.csv; 'orrery calib --help' shows the forms");
	return ORR_OK;
}

static int read_sources(int argc, char **argv, struct request *r, struct points *p, struct orr_error *err)
{
	int rc = ORR_OK;
	for (int i = optind; !rc && i < argc; i++) {
		struct points more = { 0 };
		if (r->n_from) {
			rc = import_points(r->from[i - optind], argv[i], r->select, p, err);
			continue;
		}
		rc = points_read(argv[i], &more, err);
		for (size_t k = 0; !rc && k < more.n; k++)
			points_add(p, &more.v[k]);
		points_free(&more);
		if (!rc)
			rc = read_beside(argv[i], r, err);
	}
	return rc;
}

int calib_fit(int argc, char **argv, struct orr_error *err)
{
	struct request r = { 0 };
	struct points p = { 0 };
	struct profile *profile = NULL;
	int rc = parse_fit(argc, argv, &r, err);
	bool is_images = r.n_from == 1 && !strcmp(r.from[0], "images"); /* fits rates of whole networks instead of kernels */
	if (!rc && !is_images)
		rc = read_sources(argc, argv, &r, &p, err);
	if (!rc) {
		profile = is_images ? images_profile(argv[optind], r.select, &r.fit, err) : fit_profile(&p, &r.fit, err);
		rc = profile ? calib_save(profile, r.out, err) : ORR_EINPUT;
	}
	if (!rc && r.out && strcmp(r.out, "-"))
		printf("%zu points, %zu laws: %s\n", is_images ? profile->law[0].points : p.n, profile->n_laws, r.out);
	profile_free(profile);
	points_free(&p);
	for (size_t i = 0; i < 6; i++)
		mem_free(r.beside[i]);
	return rc;
}

/* ---- scale ---- */

static int load_known(const char *names, struct scale_check *c, struct orr_error *err)
{
	const char *comma = strchr(names, ',');
	if (!comma)
		return orr_fail(err, ORR_EINPUT,
			"calib scale: --known: expected the names of two profiles separated by a comma, such as p100,v100");
	char *first = mem_strndup(names, (size_t)(comma - names));
	c->a = profile_load(first, err);
	mem_free(first);
	c->b = c->a ? profile_load(comma + 1, err) : NULL;
	c->device_a = c->b ? device_load(c->a->device, err) : NULL;
	c->device_b = c->device_a ? device_load(c->b->device, err) : NULL;
	return c->device_b ? ORR_OK : ORR_EINPUT;
}

static void free_known(struct scale_check *c)
{
	profile_free((struct profile *)(uintptr_t)c->a);
	profile_free((struct profile *)(uintptr_t)c->b);
	device_free((struct device *)(uintptr_t)c->device_a);
	device_free((struct device *)(uintptr_t)c->device_b);
}

static int scale(const char *name, const char *to_name, const char *known, const char *out, struct orr_error *err)
{
	struct scale_check check = { 0 };
	struct profile *p = profile_load(name, err), *scaled = NULL;
	struct device *from = p ? device_load(p->device, err) : NULL, *to = from ? device_load(to_name, err) : NULL;
	bool is_known = strcmp(known, "none") != 0;
	int rc = !to ? ORR_EINPUT : is_known ? load_known(known, &check, err) : ORR_OK;
	if (!rc) {
		scaled = scale_profile(p, from, to, is_known ? &check : NULL, err);
		rc = scaled ? calib_save(scaled, out, err) : ORR_EINPUT;
	}
	if (!rc && out && strcmp(out, "-"))
		printf("%zu laws, not measured: %s\n", scaled->n_laws, out);
	profile_free(scaled);
	profile_free(p);
	device_free(from);
	device_free(to);
	free_known(&check);
	return rc;
}

int calib_scale(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "to", required_argument, NULL, 't' }, { "known", required_argument, NULL, 'k' },
		{ "output", required_argument, NULL, 'o' }, { NULL, 0, NULL, 0 } };
	const char *to = NULL, *known = "p100,v100", *out = NULL;
	int opt;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":o:", longs, NULL)) != -1) {
		if (opt == 't')
			to = optarg;
		else if (opt == 'k')
			known = optarg;
		else if (opt == 'o')
			out = optarg;
		else
			return cli_bad_option(argc, argv, opt, longs, err);
	}
	if (argc - optind != 1 || !to)
		return orr_fail(
			err, ORR_EINPUT, "calib scale: expected the name of a profile and --to GPU; 'orrery calib --help' shows the forms");
	return scale(argv[optind], to, known, out, err);
}
