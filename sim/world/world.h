/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * world.h - the descriptor of a world, through which shared code uses it, and the table of all worlds
 *
 * A world is the folders sim/W and policies/W, the header include/orrery/W.h, a line in worlds.def and the include of
 * sim/W/sources.mk in Makefile.am. Its descriptor is the variable world_W. Verb, help, checks of scenarios, hash, database,
 * CSV, JSON, report and `policy new` follow from it. worlds.def is the only shared file that names a world.
 *
 * Invariant: a descriptor is constant. The state of one scenario is in struct scenario (world/scenario.h).
 */
#ifndef ORR_WORLD_WORLD_H
#define ORR_WORLD_WORLD_H

#include <orrery/policy.h>

#include "base/sbuf.h"
#include "hwmodel/embedded.h"
#include "results/form.h"
#include "results/grid.h"
#include "results/result.h"

struct scenario;

/* Reports progress: the completed share, 0..1. */
typedef void (*world_progress)(void *ctx, double done);

/* ---- output of a command ---- */

/* A flag of a world that is not part of the scenario: WORLD_FLAG_EXTRA, WORLD_FLAG_VERB. */
struct world_extra {
	const char *name, *value; /* value "": a flag without argument */
};

struct world_output {
	const char *db, *out_dir; /* NULL: none */
	bool json, check, quiet, fresh, no_figures;
	bool is_series;         /* the scenario is one of many: no notes on the cost of the simulation */
	bool is_shown;          /* the scenario is only shown: nothing will run */
	bool in_process;        /* plugins run in this process, as a debugger needs it */
	bool has_spans;         /* runs of the step world keep their spans */
	enum grid_format table; /* form of the printed table (GRID_TEXT) */
	int threads;            /* number of threads; 0: one per core */
	const struct world_extra *extra;
	size_t n_extras;
};

/* Returns the value of an extra flag; NULL if it was not given. */
const char *world_extra(const struct world_output *o, const char *name);
int world_threads(const struct world_output *o);

/* ---- parts of a descriptor ---- */

/* A key of the scenario whose value is an object or a list. */
struct world_object {
	const char *key;
	const struct orr_param *table; /* object: its keys; NULL: the world reads it */
	const char *doc;
	const char *schema; /* JSON Schema of an object without a table; NULL: an object of any scalars */
};

/*
 * A name that the scenario gives to an input. The run's hash covers the contents instead: it omits the name if the resolved
 * scenario has the key `hash` (NULL: always). path: "trace", or "failures.trace" within an object. Parameters that are files
 * need no entry: their hashes are under "OBJECT_files_sha256".
 */
struct world_input {
	const char *path, *hash;
};

enum world_flag_kind {
	WORLD_FLAG_KEY,      /* sets the scenario's key; "OBJECT.NAME": applied in order with --set, after a scenario file */
	WORLD_FLAG_OBJECT,   /* "OBJECT.NAME": replaces the object of a scenario file */
	WORLD_FLAG_LIST,     /* adds comma-separated names to the list at the key */
	WORLD_FLAG_SCENARIO, /* names a scenario file, like --scenario */
	WORLD_FLAG_EXTRA,    /* struct world_extra */
	WORLD_FLAG_VERB      /* a struct world_extra, only for the verb of this world */
};

struct world_flag {
	const char *name, *arg; /* arg: its name in the help; NULL: the flag has no argument and sets `value` */
	enum world_flag_kind kind;
	const char *key, *value;
	const char *doc;                   /* lines of the help text */
	void (*put_doc)(struct sbuf *out); /* writes these lines instead; may be NULL */
};

/* A function that a policy must have. */
struct world_function {
	const char *name;
	size_t offset; /* offset in the table of functions */
};
/* A flag that policies of the world may declare, with the text that `policy show` prints for such a policy. */
struct world_policy_flag {
	uint32_t flag;
	const char *doc;
};
/*
 * A second table of a world: plugins of another kind, one of which an option names ("--router NAME"). A kind is declared like a policy
 * (orrery/policy.h), with its own table of functions.
 */
struct world_table {
	const char *kind;                         /* kind of the declaration: "router" */
	const char *option;                       /* option that names a plugin of this kind: "--router" */
	const struct orr_policy *const *policies; /* built-in plugins; ends with NULL */
	size_t ops_size;                          /* size of the table of functions, bytes */
	const struct world_function *functions;   /* required functions; ends with a NULL name */
	const struct embedded_file *template;     /* templates of `policy new`: the source, its test */
	const char *example;                      /* a command that ends in "--router " */
};
#define WORLD_FUNCTION(ops, name)                 \
	{                                         \
#name, offsetof(struct ops, name) \
	}

/*
 * A condition without which a key of the scenario has no effect on a run. If the scenario sets the key to something other than
 * its default and the condition does not hold, the run gets the remark "KEY has no effect: WHY" (world/remarks.h). A key may
 * have several rows, all of which must hold; the remark names the first that does not. A row without any condition never holds.
 * If results may be equal although all conditions hold, the last row is marked is_unsure.
 */
struct world_effect {
	const char *key;    /* "jobs.checkpoint" */
	const char *why;    /* reason, such as "no job was preempted" */
	const char *metric; /* metric of the run that must be above 0 */
	const char *needs;  /* another key that must be set ("failures.mtbf"), or have one of these values
			     * ("learn.schedule=step|cosine") */
	unsigned use;       /* bits; the run must have used at least one of them: world.used() */
	bool (*holds)(const struct scenario *s, size_t i, const struct run_result *r);
	bool is_unsure; /* the key can have an effect without the condition: the remark is "KEY may have no effect: WHY" */
};

/* How runs of a world answer SIGINT: between begin() and end() a signal makes is_interrupted() true instead of ending the program. */
struct world_interrupt {
	void (*begin)(void), (*end)(void);
	bool (*is_interrupted)(void);
};

/* ---- the descriptor ---- */

struct world {
	const char *name; /* name, also of the verb, the folder, the kind of policy, and the key of its options */
	const char *doc;  /* one line */

	/* Policies. A world of parts does not have its own policies: an entry names one policy of each part, "fifo+vllm". */
	const struct orr_policy *const *policies; /* built-in policies; ends with NULL */
	size_t ops_size;
	const struct world_function *functions;       /* functions; ends with a NULL name */
	const struct world_policy_flag *policy_flags; /* flags; ends with a NULL doc; may be NULL */
	const struct world_table *routers;            /* second table; NULL: none */
	const char *oracle;                           /* data visible to a policy that declares ORR_NEEDS_ORACLE */
	const struct embedded_file *template;         /* templates of `policy new`: the source, its test */
	const char *example;                          /* a command that ends in a list of policies */
	const char *const *parts; /* names of the worlds whose scenarios are objects in a scenario of this world; ends with NULL */

	/* Scenario. Keys that every world has are scenario_keys (world/scenario.h). */
	const struct orr_param *keys;       /* scalar keys; the verb's argument is the value of the first */
	const struct world_object *objects; /* objects; ends with a NULL key */
	const struct orr_param *options;    /* parameters of the object at the key `name`; NULL: none */
	const char *const *shown;           /* keys that `scenario show` adds, accepted and ignored; ends with NULL */
	const struct world_input *inputs;   /* inputs; ends with a NULL path */

	/* Verb. usage NULL: the world has no verb. */
	const char *usage, *about;      /* first lines of the help; description of the verb */
	const char *source_key;         /* key that replaces the argument if it is set; NULL: none */
	const char *source;             /* name of the verb's argument, "TRACE" */
	const char *source_hint;        /* text for a message: "a file, or a generator such as philly-like" */
	const char *source_doc;         /* lines of the help text */
	const struct world_flag *flags; /* flags; ends with a NULL name */
	const char *examples;

	/* Form of the files and tables of its runs. */
	struct report_form form;

	/* Reads inputs and fills in s->resolved (without policies) and s->state. On an error close() is called too. Remarks go to
	 * standard error unless s->output->quiet. */
	int (*open)(struct scenario *s, struct orr_error *err);
	/* Returns whether the scenario, whose keys are read, needs a cluster. NULL: yes if the world has such a key. */
	bool (*needs_cluster)(const struct scenario *s);
	/*
	 * Returns the default policy for a scenario that names none, after its keys are read; NULL: the scenario must name one.
	 * May be NULL.
	 */
	const char *(*default_policy)(const struct scenario *s);
	/* Returns whether replications of the open scenario differ even if its policies draw no random numbers. NULL: they differ. */
	bool (*is_random)(const struct scenario *s);
	/* Returns the size of a run of the open scenario, to which its length is about proportional, such as the number of jobs; 0:
	 * unknown. May be NULL. */
	double (*size)(const struct scenario *s);
	/* Runs replication k of policy i; threads run different ones in parallel. Only metrics and accounts are used if k > 0.
	 * progress may be NULL. The result already has its labels. */
	int (*run)(
		struct scenario *s, size_t i, uint32_t k, struct run_result *r, world_progress progress, void *ctx, struct orr_error *err);
	/* Data of the state, beyond the result, of a run in a separate process (world/isolate.h): give() appends the data of run i, and
	 * take() adds them to the state here, in any thread; false: the bytes are damaged. NULL: plugins of this world run in this
	 * process. */
	void (*give)(const struct scenario *s, size_t i, struct sbuf *out);
	bool (*take)(struct scenario *s, size_t i, const char *bytes, size_t n);
	/* Loads the plugins of run i into this process, a child. NULL: registry_find() for the policy. */
	int (*load)(struct scenario *s, size_t i, struct orr_error *err);
	const struct world_interrupt *interrupt; /* how runs of this world handle SIGINT; NULL: SIGINT ends the program */
	const struct world_effect *effects;      /* effects; may be NULL; ends with a NULL key */
	/* Returns the bits for the column `use` of the effects, over all replications of run i. May be NULL. */
	unsigned (*used)(const struct scenario *s, size_t i);
	/* Adds assumptions and remarks (world/remarks.h) to run i, which is complete, before it is stored. May be NULL. */
	void (*note)(const struct scenario *s, size_t i, struct run_result *r);
	/* Called when run i was read from the database. May be NULL. */
	void (*reused)(struct scenario *s, size_t i, const struct run_result *r);
	/* Called when all runs have ended: adds results that are not stored (differences to the first run), remarks, files. runs:
	 * those without an error, in the order of policies (scenario_policy_of()); at least one. May be NULL. */
	int (*finish)(struct scenario *s, struct run_result *const *runs, size_t n, struct orr_error *err);
	void (*close)(struct scenario *s);
	/*
	 * Runs instead of the usual runs if flags of the verb request it, and then sets *did. out: text for standard output.
	 * May be NULL.
	 */
	int (*instead)(struct scenario *s, struct sbuf *out, bool *did, struct orr_error *err);
};

/* All worlds in the order of worlds.def, the default first; ends with NULL. */
extern const struct world *const worlds[];
const struct world *world_named(const char *name); /* NULL: none */
/* Appends "jobs, step or spot" for all worlds, or for those that have their own policies. */
void world_names(struct sbuf *out, bool with_policies, const char *quote);
/* Returns the flag of that name; NULL: none. */
const struct world_flag *world_flag(const struct world *w, const char *name);

#endif
