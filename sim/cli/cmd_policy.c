/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery policy list|show|new */
#include "cli/cli.h"
#include "cli/registry.h"

#include "base/mem.h"
#include "base/sbuf.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: orrery policy list\n"
	"       orrery policy show NAME|FILE.so\n"
	"       orrery policy new NAME [--kind jobs]\n\n"
	"  list   the built-in policies\n"
	"  show   one policy with its parameters, their defaults and units\n"
	"  new    writes NAME.c, a policy that compiles and works (FIFO to begin with), and\n"
	"         NAME_test.sh, which builds it as a plugin, runs it and compares it with fifo\n\n"
	"Example: a policy of your own beside two baselines\n"
	"  orrery policy new mine\n"
	"  cc -shared -fPIC $(pkg-config --cflags orrery) -o mine.so mine.c\n"
	"  orrery jobs philly-like --cluster 64x8 --policy fifo,srtf,./mine.so\n";

static int list(void)
{
	char name[128];
	for (size_t i = 0; registry_builtin[i]; i++) {
		const struct orr_policy *p = registry_builtin[i];
		registry_display_name(p->name, name, sizeof name);
		printf("%-22s jobs  %s%s\n", name, p->doc, p->flags & ORR_NEEDS_ORACLE ? "  [oracle]" : "");
	}
	return ORR_OK;
}

static const char *kind_of(const struct orr_param *p)
{
	switch (p->kind) {
	case ORR_KIND_BOOL:
		return "true|false";
	case ORR_KIND_INT:
		return "whole number";
	case ORR_KIND_REAL:
		return "number";
	case ORR_KIND_TIME:
		return "time";
	case ORR_KIND_CHOICE:
		return p->choices;
	case ORR_KIND_LIST:
		return "list";
	default:
		return "text";
	}
}

static int show(const char *spec, struct orr_error *err)
{
	struct registry_entry e;
	int rc = registry_find(spec, 0, &e, err);
	if (rc)
		return rc;
	printf("%s: %s\n", e.name, e.policy->doc ? e.policy->doc : "");
	printf("kind: jobs%s\n", e.policy->flags & ORR_NEEDS_ORACLE ? "; sees true durations (oracle)" : "");
	const struct orr_param *p = e.policy->params;
	if (!p || !p->name)
		puts("no parameters");
	for (; p && p->name; p++)
		printf("  --set policy.%s.%s=%s\n      %s (%s)\n", e.name, p->name, p->def, p->doc ? p->doc : "", kind_of(p));
	return ORR_OK;
}

/* ---- new ---- */

static const char source_template[] =
	"/*\n"
	" * @NAME@: a scheduling policy for orrery. It begins as FIFO: change schedule().\n"
	" *\n"
	" *\tcc -shared -fPIC $(pkg-config --cflags orrery) -o @NAME@.so @NAME@.c\n"
	" *\torrery jobs TRACE --cluster 64x8 --policy fifo,./@NAME@.so\n"
	" */\n"
	"#include <orrery/policy.h>\n\n"
	"#include <stdlib.h>\n\n"
	"static const struct orr_param params[] = {\n"
	"\tORR_PARAM_BOOL(\"skip\", false, \"let later jobs overtake one that does not fit\"),\n"
	"\tORR_PARAM_END\n"
	"};\n\n"
	"/* One per run: several runs go on at once, so nothing may be static. */\n"
	"struct state {\n"
	"\tstruct orr_queue *waiting;\n"
	"\tbool skip;\n"
	"};\n\n"
	"static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)\n"
	"{\n"
	"\tstruct state *s = calloc(1, sizeof *s);\n"
	"\tif (!s) {\n"
	"\t\torr_fail(err, ORR_EFAIL, \"out of memory\");\n"
	"\t\treturn NULL;\n"
	"\t}\n"
	"\ts->waiting = orr_queue_new(w);\n"
	"\ts->skip = orr_arg_bool(args, \"skip\");\n"
	"\treturn s;\n"
	"}\n\n"
	"static void destroy(void *self)\n"
	"{\n"
	"\torr_queue_free(((struct state *)self)->waiting);\n"
	"\tfree(self);\n"
	"}\n\n"
	"static void arrive(void *self, struct orr_jobs *w, orr_job j)\n"
	"{\n"
	"\tstruct state *s = self;\n"
	"\t/* The key decides the order: here the time of submission. */\n"
	"\torr_queue_add(s->waiting, j, orr_job_submit_ns(w, j), (int64_t)orr_job_number(w, j));\n"
	"}\n\n"
	"static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)\n"
	"{\n"
	"\t(void)self, (void)w, (void)j, (void)how;\n"
	"}\n\n"
	"static void schedule(void *self, struct orr_jobs *w)\n"
	"{\n"
	"\tstruct state *s = self;\n"
	"\tstruct orr_walk walk;\n"
	"\torr_walk_begin(s->waiting, &walk);\n"
	"\tfor (orr_job j; (j = orr_walk_next(&walk));) {\n"
	"\t\tif (orr_try_start(w, j))\n"
	"\t\t\torr_queue_remove(s->waiting, j);\n"
	"\t\telse if (s->skip)\n"
	"\t\t\torr_walk_skip_shape(&walk);\n"
	"\t\telse\n"
	"\t\t\tbreak;\n"
	"\t}\n"
	"\torr_walk_end(&walk);\n"
	"}\n\n"
	"static const struct orr_jobs_ops ops = { .size = sizeof ops,\n"
	"\t.create = create,\n"
	"\t.destroy = destroy,\n"
	"\t.arrive = arrive,\n"
	"\t.finish = finish,\n"
	"\t.schedule = schedule };\n\n"
	"ORR_POLICY_JOBS(@IDENT@, \"say in one line what it does\", params, ops);\n";

static const char test_template[] =
	"#!/bin/sh\n"
	"# Builds @NAME@.c as a plugin and runs it beside fifo, with conservation laws checked.\n"
	"# As long as it is FIFO, every job must end when fifo ends it.\n"
	"set -eu\n"
	"cd \"$(dirname \"$0\")\"\n"
	"orrery=${ORRERY:-orrery}\n"
	"${CC:-cc} -std=c11 -Wall -Wextra -O2 -shared -fPIC ${ORRERY_CFLAGS-$(pkg-config --cflags orrery)} \\\n"
	"  -o @NAME@.so @NAME@.c\n"
	"out=$(mktemp -d)\n"
	"trap 'rm -rf \"$out\"' EXIT\n"
	"\"$orrery\" jobs tiresias-like:n=500 --cluster 8x8 --policy fifo,./@NAME@.so --check --no-figures \\\n"
	"  --out \"$out\"\n"
	"cmp \"$out/fifo.jobs.csv\" \"$out/@NAME@.jobs.csv\" && echo \"ok: same end times as fifo\"\n";

static int check_name(const char *name, struct orr_error *err)
{
	size_t n = strlen(name);
	bool good = n > 0 && n <= 60 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == n &&
		name[0] >= 'a' && name[0] <= 'z';
	return good ? ORR_OK
		    : orr_fail(err, ORR_EINPUT,
			      "policy new: expected a name of small letters, digits, '-' and '_', found \"%.80s\"", name);
}

static int write_new(const char *path, const char *template, const char *name, mode_t mode, struct orr_error *err)
{
	struct sbuf b = { 0 };
	for (const char *s = template; *s;) {
		if (!strncmp(s, "@NAME@", 6)) {
			sbuf_puts(&b, name);
			s += 6;
		} else if (!strncmp(s, "@IDENT@", 7)) {
			for (const char *c = name; *c; c++)
				sbuf_putc(&b, *c == '-' ? '_' : *c);
			s += 7;
		} else {
			sbuf_putc(&b, *s++);
		}
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, mode);
	int rc = ORR_OK;
	if (fd < 0)
		rc = orr_fail(err, ORR_EINPUT, "%s: %s", path, errno == EEXIST ? "is there already; choose another name"
									      : strerror(errno));
	else if (write(fd, b.text, b.len) != (ssize_t)b.len || fsync(fd))
		rc = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	sbuf_free(&b);
	return rc;
}

static int make_new(const char *name, struct orr_error *err)
{
	char source[80], test[80];
	int rc = check_name(name, err);
	if (rc)
		return rc;
	snprintf(source, sizeof source, "%s.c", name);
	snprintf(test, sizeof test, "%s_test.sh", name);
	rc = write_new(source, source_template, name, 0644, err);
	if (!rc)
		rc = write_new(test, test_template, name, 0755, err);
	if (!rc)
		printf("wrote %s and %s; next:\n"
		       "  cc -shared -fPIC $(pkg-config --cflags orrery) -o %s.so %s\n"
		       "  orrery jobs philly-like --cluster 64x8 --policy fifo,./%s.so\n",
			source, test, name, source, name);
	return rc;
}

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "kind", required_argument, NULL, 'k' }, { NULL, 0, NULL, 0 } };
	int opt;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt != 'k')
			return cli_bad_option(argc, argv, opt, longs, err);
		if (strcmp(optarg, "jobs"))
			return orr_fail(err, ORR_EINPUT, "--kind: expected jobs, found \"%.40s\"", optarg);
	}
	int n = argc - optind;
	const char *verb = n > 0 ? argv[optind] : "";
	if (!strcmp(verb, "list") && n == 1)
		return list();
	if (!strcmp(verb, "show") && n == 2)
		return show(argv[optind + 1], err);
	if (!strcmp(verb, "new") && n == 2)
		return make_new(argv[optind + 1], err);
	return orr_fail(err, ORR_EINPUT, "policy: expected list, show NAME or new NAME; see --help");
}

const struct cli_command cmd_policy = { "policy", "list and show policies, begin a new one", help, run };
