/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery policy list|show|new */
#include "cli/cli.h"
#include "cli/policy_new.h"
#include "world/registry.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

static void put_help(struct sbuf *out)
{
	sbuf_puts(out, "usage: orrery policy list [--kind K]\n"
		       "       orrery policy show NAME|FILE.so [--kind K]\n"
		       "       orrery policy new NAME [--kind K] [--reacting]\n\n"
		       "  list   the built-in policies by kind\n"
		       "  show   one policy with its parameters, their defaults and units\n"
		       "  new    writes NAME.c, a simple policy that compiles and works, and NAME_test.sh, which\n"
		       "         builds it as a plugin, runs it and checks the result\n\n"
		       "  --kind K   the world of the policy: ");
	world_names(out, true, "");
	sbuf_printf(out,
		" (new: default %s);\n             if two worlds have policies of the same name, show prints both unless K is given\n"
		"  --reacting new, kind step: a policy that reacts to the ends of ops while an iteration runs\n\n",
		worlds[0]->name);
	sbuf_puts(out, "Example: a policy of your own beside two baselines\n"
		       "  orrery policy new mine\n"
		       "  cc -shared -fPIC $(pkg-config --cflags orrery) -o mine.so mine.c\n"
		       "  orrery jobs philly-like --cluster 64x8 --policy fifo,srtf,./mine.so\n");
}

static int list(const struct world *of)
{
	bool is_first = true;
	for (const struct world *const *w = worlds; *w; w++) {
		if (!(*w)->policies || (of && *w != of))
			continue;
		printf("%s%s policies (orrery %s):\n", is_first ? "" : "\n", (*w)->name, (*w)->name);
		is_first = false;
		for (const struct orr_policy *const *p = (*w)->policies; *p; p++) {
			char name[128];
			registry_display_name((*p)->name, name, sizeof name);
			printf("  %-22s %s%s\n", name, (*p)->doc, (*p)->flags & ORR_NEEDS_ORACLE ? "  [oracle]" : "");
		}
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
	const struct world *w = world_named(e->policy->kind);
	bool is_oracle = e->policy->flags & ORR_NEEDS_ORACLE;
	printf("kind: %s%s%s%s\n", w->name, is_oracle ? "; sees " : "", is_oracle ? w->oracle : "", is_oracle ? " (oracle)" : "");
	if (e->policy->flags & ORR_WORK_CONSERVING)
		puts("claims (--check verifies it): work-conserving: never idles a resource that has queued work");
	if (e->policy->flags & ORR_SLO_GUARDED)
		puts("claims (--check verifies it): no action makes a request miss a deadline that it would otherwise meet");
	for (const struct world_policy_flag *f = w->policy_flags; f && f->doc; f++)
		if (e->policy->flags & f->flag)
			puts(f->doc);
	const struct orr_param *p = e->policy->params;
	if (!p || !p->name)
		puts("no parameters");
	for (; p && p->name; p++)
		printf("  --set policy.%s.%s=%s\n      %s (%s)\n", e->name, p->name, p->def, p->doc ? p->doc : "", kind_of(p));
}

/* Shows all policies of that name, or only that of the given world: two worlds may have policies of the same name. */
static int show(const char *spec, const struct world *of, struct orr_error *err)
{
	struct registry_entry e, other;
	struct orr_error none = { 0 };
	int rc = registry_describe(spec, of, &e, err);
	if (rc)
		return rc;
	show_one(&e);
	for (const struct world *const *w = worlds; !of && !*e.plugin_hash && *w; w++)
		if ((*w)->policies && strcmp((*w)->name, e.policy->kind) != 0 && !registry_find(spec, *w, &other, &none)) {
			putchar('\n');
			show_one(&other);
		}
	return ORR_OK;
}

static int read_kind(const char *name, const struct world **out, struct orr_error *err)
{
	*out = world_named(name);
	if (*out && (*out)->policies)
		return ORR_OK;
	struct sbuf names = { 0 };
	world_names(&names, true, "");
	int rc = orr_fail(err, ORR_EINPUT, "--kind: expected %s, found \"%.40s\"", sbuf_text(&names), name);
	sbuf_free(&names);
	return rc;
}

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "kind", required_argument, NULL, 'k' }, { "reacting", no_argument, NULL, 'r' },
		{ NULL, 0, NULL, 0 } };
	bool is_reacting = false;
	const struct world *of = NULL;
	int opt, rc = ORR_OK;
	optind = 1;
	opterr = 0;
	while (!rc && (opt = getopt_long(argc, argv, ":", longs, NULL)) != -1)
		if (opt == 'r')
			is_reacting = true;
		else
			rc = opt == 'k' ? read_kind(optarg, &of, err) : cli_bad_option(argc, argv, opt, longs, err);
	if (rc)
		return rc;
	int n = argc - optind;
	if (is_reacting && (!n || strcmp(argv[optind], "new") != 0))
		return orr_fail(err, ORR_EINPUT, "--reacting: expected this option only in 'orrery policy new NAME --kind step'");
	const char *verb = n > 0 ? argv[optind] : "";
	if (!strcmp(verb, "list") && n == 1)
		return list(of);
	if (!strcmp(verb, "show") && n == 2)
		return show(argv[optind + 1], of, err);
	if (!strcmp(verb, "new") && n == 2)
		return policy_new(argv[optind + 1], of ? of : worlds[0], is_reacting, err);
	return orr_fail(
		err, ORR_EINPUT, "policy: expected \"list\", \"show NAME\" or \"new NAME\"; 'orrery policy --help' shows the forms");
}

const struct cli_command cmd_policy = { "policy", "list and show policies, create a new one", NULL, run, put_help };
