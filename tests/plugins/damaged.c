/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plugins that orrery must refuse to load. DAMAGE, set on the compiler's command line, names the defect (tests/jobs/plugins.sh). */
#include <orrery/jobs.h>

enum { NOTHING, ABI_VERSION, POLICY_ABI, NULL_FUNCTION, NULL_OPS, OPS_SIZE, NO_NAME, KIND, SIZE };

static const struct orr_param params[] = {
#ifdef BAD_DEFAULT
	ORR_PARAM_INT("depth", "deep", 1, 9, "a number whose default is not a number"),
#endif
#ifdef BAD_CHOICE
	ORR_PARAM_CHOICE("colour", "blue", "red|green", "a choice whose default is not among its words"),
#endif
	ORR_PARAM_END
};

static void *create(struct orr_jobs *w, const struct orr_args *args, struct orr_error *err)
{
	(void)w, (void)args;
	orr_fail(err, ORR_EFAIL, "was loaded despite its damage");
	return NULL;
}

static void destroy(void *self)
{
	(void)self;
}

static void arrive(void *self, struct orr_jobs *w, orr_job j)
{
	(void)self, (void)w, (void)j;
}

static void finish(void *self, struct orr_jobs *w, orr_job j, enum orr_job_end how)
{
	(void)self, (void)w, (void)j, (void)how;
}

static void schedule(void *self, struct orr_jobs *w)
{
	(void)self, (void)w;
}

static const struct orr_jobs_ops ops = {
	.create = create, .destroy = destroy, .arrive = arrive, .finish = finish, .schedule = DAMAGE == NULL_FUNCTION ? NULL : schedule
};

static const struct orr_policy policy = { .abi_version = ORR_ABI_VERSION + (DAMAGE == POLICY_ABI),
	.size = sizeof policy,
	.name = DAMAGE == NO_NAME ? "" : "damaged",
	.doc = "must not be loaded",
	.kind = DAMAGE == KIND ? "jibs" : "jobs",
	.params = params,
	.ops = DAMAGE == NULL_OPS ? NULL : &ops,
	.ops_size = DAMAGE == OPS_SIZE ? 8 : sizeof ops };

#ifdef HIDDEN
__attribute__((visibility("hidden")))
#else
ORR_API
#endif
extern const struct orr_plugin orr_plugin;
const struct orr_plugin orr_plugin = { ORR_ABI_VERSION + (DAMAGE == ABI_VERSION), sizeof(struct orr_plugin) + (DAMAGE == SIZE), &policy };
