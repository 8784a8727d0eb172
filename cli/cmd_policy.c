/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery policy list|show|new */
#include "cli/cli.h"
#include "study/registry.h"

#include "cli/policy_new.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static const char help[] = "usage: orrery policy list [--kind K]\n"
			   "       orrery policy show NAME|FILE.so [--kind K]\n"
			   "       orrery policy new NAME [--kind K]\n\n"
			   "  list   the built-in policies by kind\n"
			   "  show   one policy with its parameters, their defaults and units\n"
			   "  new    writes NAME.c, a policy that compiles and works (FIFO, an all-reduce, or one\n"
			   "         pipeline that is restarted after a loss), and NAME_test.sh, which builds it as a\n"
			   "         plugin, runs it and compares it\n\n"
			   "  --kind K   jobs, step, serve or spot; two worlds may have a policy of one name, and show\n"
			   "             shows both unless it is told which\n\n"
			   "Example: a policy of your own beside two baselines\n"
			   "  orrery policy new mine\n"
			   "  cc -shared -fPIC $(pkg-config --cflags orrery) -o mine.so mine.c\n"
			   "  orrery jobs philly-like --cluster 64x8 --policy fifo,srtf,./mine.so\n";

static void list_kind(const char *kind)
{
	char name[128];
	printf("%s policies (orrery %s):\n", kind, kind);
	for (size_t i = 0; registry_builtin[i]; i++) {
		const struct orr_policy *p = registry_builtin[i];
		if (strcmp(p->kind, kind) != 0)
			continue;
		registry_display_name(p->name, name, sizeof name);
		printf("  %-22s %s%s\n", name, p->doc, p->flags & ORR_NEEDS_ORACLE ? "  [oracle]" : "");
	}
}

static int list(const char *kind)
{
	for (const char *const *k = registry_kinds; *k; k++) {
		if (kind && *k != kind)
			continue;
		if (!kind && k != registry_kinds)
			putchar('\n');
		list_kind(*k);
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
	case ORR_KIND_FILE:
		return p->choices ? "text, or a file" : "file";
	default:
		return "text";
	}
}

static void show_one(const struct registry_entry *e)
{
	printf("%s: %s\n", e->name, e->policy->doc ? e->policy->doc : "");
	const char *seen = !strcmp(e->policy->kind, "spot") ? "; sees when instances will go (oracle)" : "; sees true durations (oracle)";
	printf("kind: %s%s\n", e->policy->kind, e->policy->flags & ORR_NEEDS_ORACLE ? seen : "");
	if (e->policy->flags & ORR_WORK_CONSERVING)
		puts("claims (--check proves it): no replica is idle for which a request waits");
	if (e->policy->flags & ORR_SLO_GUARDED)
		puts("claims (--check proves it): nothing that it does makes a request late that would have been in time");
	const struct orr_param *p = e->policy->params;
	if (!p || !p->name)
		puts("no parameters");
	for (; p && p->name; p++)
		printf("  --set policy.%s.%s=%s\n      %s (%s)\n", e->name, p->name, p->def, p->doc ? p->doc : "", kind_of(p));
}

/* Each that goes by the name, unless a kind is given: two worlds may have a policy of one name. */
static int show(const char *spec, const char *kind, struct orr_error *err)
{
	struct registry_entry e, other;
	struct orr_error none = { 0 };
	int rc = registry_find(spec, kind, &e, err);
	if (rc)
		return rc;
	show_one(&e);
	for (const char *const *k = registry_kinds; !kind && !*e.plugin_hash && *k; k++)
		if (strcmp(*k, e.policy->kind) != 0 && !registry_find(spec, *k, &other, &none)) {
			putchar('\n');
			show_one(&other);
		}
	return ORR_OK;
}

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "kind", required_argument, NULL, 'k' }, { NULL, 0, NULL, 0 } };
	int opt;
	const char *kind = NULL;
	optind = 1;
	opterr = 0;
	while ((opt = getopt_long(argc, argv, ":", longs, NULL)) != -1) {
		if (opt != 'k')
			return cli_bad_option(argc, argv, opt, longs, err);
		if (!(kind = registry_kind_named(optarg)))
			return orr_fail(err, ORR_EINPUT, "--kind: expected jobs, step, serve or spot, found \"%.40s\"", optarg);
	}
	int n = argc - optind;
	const char *verb = n > 0 ? argv[optind] : "";
	if (!strcmp(verb, "list") && n == 1)
		return list(kind);
	if (!strcmp(verb, "show") && n == 2)
		return show(argv[optind + 1], kind, err);
	if (!strcmp(verb, "new") && n == 2)
		return policy_new(argv[optind + 1], kind ? kind : "jobs", err);
	return orr_fail(err, ORR_EINPUT, "policy: expected list, show NAME or new NAME; see --help");
}

const struct cli_command cmd_policy = { "policy", "list and show policies, begin a new one", help, run };
