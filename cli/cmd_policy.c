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
	sbuf_puts(out, "usage: orrery policy list [--kind K] [--router]\n"
		       "       orrery policy show NAME|FILE.so|FILE.py [--kind K] [--router]\n"
		       "       orrery policy new NAME [--kind K] [--lang L] [--reacting] [--router]\n"
		       "       orrery policy cflags\n\n"
		       "  list   the built-in policies by kind\n"
		       "  show   one policy with its parameters, their defaults and units\n"
		       "  new    writes NAME.c (or NAME.py), a simple policy that works, and NAME_test.sh, which\n"
		       "         builds it as a plugin, runs it and checks the result\n"
		       "  cflags the compiler option that finds the headers of orrery\n\n"
		       "  --kind K   the world of the policy: ");
	world_names(out, true, "");
	sbuf_printf(out,
		" (new: default %s);\n             if two worlds have policies of the same name, show prints both unless K is given\n"
		"  --lang L   new: c (default) or python\n"
		"  --reacting new, kind step: a policy that reacts to the ends of ops while an iteration runs\n\n",
		worlds[0]->name);
	sbuf_puts(out, "  --router   routers of the serving world (orrery serve --router) instead of policies\n\n");
	sbuf_puts(out, "Example: a policy of your own beside two baselines\n"
		       "  orrery policy new mine\n"
		       "  cc -shared -fPIC $(orrery policy cflags) -o mine.so mine.c\n"
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

static int list_routers(const struct world *w)
{
	const struct world_table *t = w->routers;
	printf("routers (orrery %s %s):\n", w->name, t->option);
	for (const struct orr_policy *const *p = t->policies; *p; p++) {
		char name[128];
		registry_display_name((*p)->name, name, sizeof name);
		printf("  %-22s %s\n", name, (*p)->doc);
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

static int show_router(const char *spec, const struct world *w, struct orr_error *err)
{
	struct registry_entry e;
	int rc = registry_describe_in(spec, w->routers, &e, err);
	if (rc)
		return rc;
	printf("%s: %s\nkind: router of %s\n", e.name, e.policy->doc ? e.policy->doc : "", w->name);
	const struct orr_param *p = e.policy->params;
	if (!p || !p->name)
		puts("no parameters");
	for (; p && p->name; p++)
		printf("  %s %s:%s=%s\n      %s (%s)\n", w->routers->option, *e.plugin_hash ? spec : e.name, p->name, p->def,
			p->doc ? p->doc : "", kind_of(p));
	return ORR_OK;
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

/* Returns the world with routers, of those that --kind allows; NULL: none. */
static const struct world *with_routers(const struct world *of)
{
	const struct world *const *w = worlds;
	while (*w && (!(*w)->routers || (of && *w != of)))
		w++;
	return *w;
}

/* The verbs with --router. name: NULL if none is given. */
static int run_router(const char *verb, const char *name, int n, const struct world *of, struct orr_error *err)
{
	const struct world *w = with_routers(of);
	if (!w)
		return orr_fail(err, ORR_EINPUT, "--router: expected --kind serve, found --kind %s, which has no routers", of->name);
	if (!strcmp(verb, "list") && n == 1)
		return list_routers(w);
	if (name && !strcmp(verb, "show"))
		return show_router(name, w, err);
	if (name && !strcmp(verb, "new"))
		return policy_new_router(name, w->routers, err);
	return orr_fail(err, ORR_EINPUT, "policy: expected \"list --router\", \"show NAME --router\" or \"new NAME --router\"");
}

static int print_cflags(void)
{
	struct sbuf b = { 0 };
	policy_put_cflags(&b);
	puts(sbuf_text(&b));
	sbuf_free(&b);
	return ORR_OK;
}

static int read_language(const char *name, bool *is_python, struct orr_error *err)
{
	*is_python = !strcmp(name, "python");
	return *is_python || !strcmp(name, "c") ? ORR_OK : orr_fail(err, ORR_EINPUT, "--lang: expected c or python, found \"%.40s\"", name);
}

static int run(int argc, char **argv, struct orr_error *err)
{
	static const struct option longs[] = { { "kind", required_argument, NULL, 'k' }, { "reacting", no_argument, NULL, 'r' },
		{ "router", no_argument, NULL, 'o' }, { "lang", required_argument, NULL, 'l' }, { NULL, 0, NULL, 0 } };
	bool is_reacting = false, is_router = false, is_python = false;
	const char *lang = NULL;
	const struct world *of = NULL;
	int opt, rc = ORR_OK;
	optind = 1;
	opterr = 0;
	while (!rc && (opt = getopt_long(argc, argv, ":", longs, NULL)) != -1)
		if (opt == 'r')
			is_reacting = true;
		else if (opt == 'o')
			is_router = true;
		else if (opt == 'l')
			rc = read_language(lang = optarg, &is_python, err);
		else
			rc = opt == 'k' ? read_kind(optarg, &of, err) : cli_bad_option(argc, argv, opt, longs, err);
	if (rc)
		return rc;
	int n = argc - optind;
	if (lang && (!n || strcmp(argv[optind], "new") != 0))
		return orr_fail(err, ORR_EINPUT, "--lang: expected this option only in 'orrery policy new NAME'");
	if (is_reacting && (!n || strcmp(argv[optind], "new") != 0))
		return orr_fail(err, ORR_EINPUT, "--reacting: expected this option only in 'orrery policy new NAME --kind step'");
	const char *verb = n > 0 ? argv[optind] : "";
	if (is_router && lang)
		return orr_fail(err, ORR_EINPUT, "--lang: expected no --router: routers are written in C");
	if (is_router)
		return run_router(verb, n == 2 ? argv[optind + 1] : NULL, n, of, err);
	if (!strcmp(verb, "list") && n == 1)
		return list(of);
	if (!strcmp(verb, "cflags") && n == 1)
		return print_cflags();
	if (!strcmp(verb, "show") && n == 2)
		return show(argv[optind + 1], of, err);
	if (!strcmp(verb, "new") && n == 2)
		return policy_new(argv[optind + 1], of ? of : worlds[0], is_reacting, is_python, err);
	return orr_fail(err, ORR_EINPUT,
		"policy: expected \"list\", \"show NAME\", \"new NAME\" or \"cflags\"; 'orrery policy --help' shows the forms");
}

const struct cli_command cmd_policy = { "policy", "list and show policies, create a new one", NULL, run, put_help };
