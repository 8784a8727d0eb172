/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery policy new: policies that compile and work, to begin with. */
#include "cli/policy_new.h"

#include "base/sbuf.h"
#include "study/registry.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char jobs_source[] = "/*\n"
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

static const char jobs_test[] = "#!/bin/sh\n"
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

static const char step_source[] =
	"/*\n"
	" * @NAME@: a step policy for orrery. It begins as data parallelism with one all-reduce after\n"
	" * the backward pass: change build().\n"
	" *\n"
	" *\tcc -shared -fPIC $(pkg-config --cflags orrery) -o @NAME@.so @NAME@.c\n"
	" *\torrery step resnet50 --cluster 4x1:v100 --policy allreduce,./@NAME@.so\n"
	" */\n"
	"#include <orrery/policy.h>\n"
	"\n"
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"\n"
	"static const struct orr_param params[] = {\n"
	"\tORR_PARAM_BOOL(\"overlap\", false, \"send the gradients of each layer while the backward pass goes on\"),\n"
	"\tORR_PARAM_END\n"
	"};\n"
	"\n"
	"/* One per run: several runs go on at once, so nothing may be static. */\n"
	"struct state {\n"
	"\tstruct orr_step_facts facts;\n"
	"\tbool does_overlap;\n"
	"\tuint32_t *gpu;    /* all of them: who averages */\n"
	"\torr_op *backward; /* the last op of each GPU's backward pass so far */\n"
	"\torr_op *update;   /* what the next iteration's forward pass waits for */\n"
	"};\n"
	"\n"
	"static void destroy(void *self)\n"
	"{\n"
	"\tstruct state *p = self;\n"
	"\tfree(p->gpu);\n"
	"\tfree(p->backward);\n"
	"\tfree(p->update);\n"
	"\tfree(p);\n"
	"}\n"
	"\n"
	"/* What is held during the whole run: the world refuses what does not fit. */\n"
	"static void hold(const struct state *p, struct orr_step *s, uint32_t gpu)\n"
	"{\n"
	"\tconst struct orr_step_facts *f = &p->facts;\n"
	"\tdouble kept = 0;\n"
	"\tfor (uint32_t l = 0; l < f->layers; l++) {\n"
	"\t\tstruct orr_layer_info layer;\n"
	"\t\torr_step_layer(s, l, &layer);\n"
	"\t\tkept += layer.saved_elems;\n"
	"\t}\n"
	"\torr_hold(s, gpu, ORR_MEMORY_WEIGHTS, f->params * f->weight_bytes, \"replica\");\n"
	"\torr_hold(s, gpu, ORR_MEMORY_GRADIENTS, f->params * f->gradient_bytes, \"replica\");\n"
	"\torr_hold(s, gpu, ORR_MEMORY_OPTIMIZER, f->params * f->optimizer_bytes, \"replica\");\n"
	"\torr_hold(s, gpu, ORR_MEMORY_ACTIVATIONS, kept * f->batch * f->activation_bytes, \"replica\");\n"
	"}\n"
	"\n"
	"static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)\n"
	"{\n"
	"\tstruct state *p = calloc(1, sizeof *p);\n"
	"\tif (!p) {\n"
	"\t\torr_fail(err, ORR_EFAIL, \"out of memory\");\n"
	"\t\treturn NULL;\n"
	"\t}\n"
	"\torr_step_facts(s, &p->facts);\n"
	"\tp->does_overlap = orr_arg_bool(args, \"overlap\");\n"
	"\tp->gpu = calloc(p->facts.gpus, sizeof *p->gpu);\n"
	"\tp->backward = calloc(p->facts.gpus, sizeof *p->backward);\n"
	"\tp->update = calloc(p->facts.gpus, sizeof *p->update);\n"
	"\tif (!p->gpu || !p->backward || !p->update) {\n"
	"\t\tdestroy(p);\n"
	"\t\torr_fail(err, ORR_EFAIL, \"out of memory\");\n"
	"\t\treturn NULL;\n"
	"\t}\n"
	"\tfor (uint32_t g = 0; g < p->facts.gpus; g++) {\n"
	"\t\tp->gpu[g] = g;\n"
	"\t\thold(p, s, g);\n"
	"\t}\n"
	"\treturn p;\n"
	"}\n"
	"\n"
	"/* Every GPU averages its gradients of layers first..first+count-1 with all others, after its backward pass so far. */\n"
	"static orr_op average(const struct state *p, struct orr_step *s, uint32_t first, uint32_t count)\n"
	"{\n"
	"\tstruct orr_group all = { p->gpu, p->facts.gpus };\n"
	"\tstruct orr_collective c = { .op = ORR_ALL_REDUCE,\n"
	"\t\t.bytes = orr_step_params(s, first, count) * p->facts.gradient_bytes,\n"
	"\t\t.first_layer = first,\n"
	"\t\t.n_layers = count };\n"
	"\tif (p->facts.gpus == 1 || c.bytes == 0)\n"
	"\t\treturn 0; /* no op; functions accept it */\n"
	"\torr_op sum = orr_collective(s, &all, &c);\n"
	"\torr_on_stream(s, sum, 1); /* one at a time */\n"
	"\torr_label(s, sum, \"all-reduce %u..%u\", first, first + count - 1);\n"
	"\tfor (uint32_t g = 0; g < p->facts.gpus; g++)\n"
	"\t\torr_after(s, sum, p->backward[g]);\n"
	"\treturn sum;\n"
	"}\n"
	"\n"
	"static void go_back(const struct state *p, struct orr_step *s, uint32_t first, uint32_t count)\n"
	"{\n"
	"\tfor (uint32_t g = 0; g < p->facts.gpus; g++) {\n"
	"\t\tdouble seconds = orr_cost(s, g, ORR_PASS_BACKWARD_DATA, first, count, p->facts.batch, 1) +\n"
	"\t\t\torr_cost(s, g, ORR_PASS_BACKWARD_WEIGHT, first, count, p->facts.batch, 1);\n"
	"\t\torr_op op = orr_compute(s, g, ORR_BACKWARD, seconds);\n"
	"\t\torr_after(s, op, p->backward[g]);\n"
	"\t\tp->backward[g] = op;\n"
	"\t}\n"
	"}\n"
	"\n"
	"/* The graph of one iteration: what is computed, what is sent, and what waits for what. */\n"
	"static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)\n"
	"{\n"
	"\tstruct state *p = self;\n"
	"\tconst struct orr_step_facts *f = &p->facts;\n"
	"\torr_op last = 0;\n"
	"\t(void)iteration, (void)err;\n"
	"\tfor (uint32_t g = 0; g < f->gpus; g++) {\n"
	"\t\tp->backward[g] = orr_compute(s, g, ORR_FORWARD, orr_cost(s, g, ORR_PASS_FORWARD, 0, f->layers, f->batch, 1));\n"
	"\t\torr_after(s, p->backward[g], p->update[g]);\n"
	"\t}\n"
	"\tif (!p->does_overlap) {\n"
	"\t\tgo_back(p, s, 0, f->layers);\n"
	"\t\tlast = average(p, s, 0, f->layers);\n"
	"\t}\n"
	"\tfor (uint32_t l = p->does_overlap ? f->layers : 0; l--;) {\n"
	"\t\tgo_back(p, s, l, 1);\n"
	"\t\torr_op sum = average(p, s, l, 1);\n"
	"\t\tlast = sum ? sum : last; /* they go in order: the last one is the end of all */\n"
	"\t}\n"
	"\tfor (uint32_t g = 0; g < f->gpus; g++) {\n"
	"\t\tp->update[g] = orr_compute(s, g, ORR_OPTIMIZER, orr_update_cost(s, g, f->params));\n"
	"\t\torr_after(s, p->update[g], p->backward[g]);\n"
	"\t\torr_after(s, p->update[g], last);\n"
	"\t}\n"
	"\treturn 0;\n"
	"}\n"
	"\n"
	"/* A line for tables. */\n"
	"static void describe(void *self, char *out, size_t size)\n"
	"{\n"
	"\tconst struct state *p = self;\n"
	"\tsnprintf(out, size, \"%u replicas%s\", p->facts.gpus, p->does_overlap ? \", overlapped\" : \"\");\n"
	"}\n"
	"\n"
	"static const struct orr_step_ops ops = { .size = sizeof ops,\n"
	"\t.create = create,\n"
	"\t.destroy = destroy,\n"
	"\t.build = build,\n"
	"\t.describe = describe };\n"
	"\n"
	"ORR_POLICY_STEP(@IDENT@, \"say in one line what it does\", params, ops);\n";

static const char step_test[] =
	"#!/bin/sh\n"
	"# Builds @NAME@.c as a plugin and runs it beside allreduce, with conservation laws checked.\n"
	"# As long as it is data parallelism with one all-reduce, every iteration must end when that of\n"
	"# allreduce ends which does the same.\n"
	"set -eu\n"
	"cd \"$(dirname \"$0\")\"\n"
	"orrery=${ORRERY:-orrery}\n"
	"${CC:-cc} -std=c11 -Wall -Wextra -O2 -shared -fPIC ${ORRERY_CFLAGS-$(pkg-config --cflags orrery)} \\\n"
	"  -o @NAME@.so @NAME@.c\n"
	"out=$(mktemp -d)\n"
	"trap 'rm -rf \"$out\"' EXIT\n"
	"\"$orrery\" step resnet50 --cluster 4x1:v100 --network star:bw=10Gbps --policy allreduce,./@NAME@.so --check --no-figures \\\n"
	"  --set policy.allreduce.fusion=none --set policy.allreduce.overlap=false --out \"$out\"\n"
	"paste -d, \"$out/allreduce.iterations.csv\" \"$out/@NAME@.iterations.csv\" | awk -F, '\n"
	"  NR > 1 { off = $3 / $7 - 1; if (off * off > 1e-18) exit bad = 1 } END { exit bad || NR < 2 }' &&\n"
	"  echo \"ok: same end times as allreduce\"\n";

static const char serve_source[] =
	"/*\n"
	" * @NAME@: a serving policy for orrery. It begins as FIFO over one queue, a batch of requests to each\n"
	" * idle replica: change schedule().\n"
	" *\n"
	" *\tcc -shared -fPIC $(pkg-config --cflags orrery) -o @NAME@.so @NAME@.c\n"
	" *\torrery serve TRACE --model MODEL --cluster 1x4 --policy fifo,./@NAME@.so\n"
	" */\n"
	"#include <orrery/policy.h>\n"
	"\n"
	"#include <stdlib.h>\n"
	"\n"
	"enum { MOST = 256 };\n"
	"\n"
	"static const struct orr_param params[] = {\n"
	"\tORR_PARAM_INT(\"batch\", \"1\", 1, 256, \"most requests that run together\"),\n"
	"\tORR_PARAM_END\n"
	"};\n"
	"\n"
	"/* One per run: several runs go on at once, so nothing may be static. */\n"
	"struct state {\n"
	"\tstruct orr_fifo waiting; /* of all replicas */\n"
	"\tsize_t batch;\n"
	"};\n"
	"\n"
	"static void *create(struct orr_serve *w, const struct orr_args *args, struct orr_error *err)\n"
	"{\n"
	"\tstruct orr_model_info m;\n"
	"\tfor (uint32_t i = 0; i < orr_models(w) && orr_model_get(w, i, &m); i++)\n"
	"\t\tif (m.kind != ORR_MODEL_TABLE) {\n"
	"\t\t\torr_fail(err, ORR_EINPUT, \"model %s is a language model: begin with orr_admit() and orr_iter_run()\", m.name);\n"
	"\t\t\treturn NULL;\n"
	"\t\t}\n"
	"\tstruct state *s = calloc(1, sizeof *s);\n"
	"\tif (!s) {\n"
	"\t\torr_fail(err, ORR_EFAIL, \"out of memory\");\n"
	"\t\treturn NULL;\n"
	"\t}\n"
	"\ts->batch = (size_t)orr_arg_int(args, \"batch\");\n"
	"\treturn s;\n"
	"}\n"
	"\n"
	"static void destroy(void *self)\n"
	"{\n"
	"\tfree(self);\n"
	"}\n"
	"\n"
	"/* Requests wait for whichever replica is free first. */\n"
	"static uint32_t route(void *self, struct orr_serve *w, orr_req r)\n"
	"{\n"
	"\t(void)self, (void)w, (void)r;\n"
	"\treturn ORR_NO_REPLICA;\n"
	"}\n"
	"\n"
	"static void arrive(void *self, struct orr_serve *w, orr_req r)\n"
	"{\n"
	"\tstruct state *s = self;\n"
	"\torr_fifo_push(w, &s->waiting, r);\n"
	"\tuint32_t idle = orr_replica_idle_from(w, 0);\n"
	"\tif (idle != ORR_NO_REPLICA)\n"
	"\t\torr_wake(w, idle); /* schedule() is called for it */\n"
	"}\n"
	"\n"
	"/* The first waiting request and those behind it, as long as the model is the same and its table has that size. */\n"
	"static size_t take_batch(struct state *s, struct orr_serve *w, orr_req *req)\n"
	"{\n"
	"\tuint32_t model = orr_req_model(w, s->waiting.first), samples = 0;\n"
	"\tsize_t n = 0;\n"
	"\twhile (s->waiting.n && n < s->batch && orr_req_model(w, s->waiting.first) == model) {\n"
	"\t\tsamples += orr_req_samples(w, s->waiting.first);\n"
	"\t\tif (n && !orr_model_batch_for(w, model, samples))\n"
	"\t\t\tbreak;\n"
	"\t\treq[n++] = orr_fifo_pop(w, &s->waiting);\n"
	"\t}\n"
	"\treturn n;\n"
	"}\n"
	"\n"
	"static void schedule(void *self, struct orr_serve *w, uint32_t replica)\n"
	"{\n"
	"\tstruct state *s = self;\n"
	"\torr_req req[MOST];\n"
	"\tif (!s->waiting.n || !orr_replica_is_idle(w, replica))\n"
	"\t\treturn;\n"
	"\tsize_t n = take_batch(s, w, req);\n"
	"\tstruct orr_batch batch = { .model = orr_req_model(w, req[0]), .req = req, .n = n };\n"
	"\tfor (size_t i = 0; i < n; i++) {\n"
	"\t\torr_assign(w, req[i], replica);\n"
	"\t\tbatch.samples += orr_req_samples(w, req[i]);\n"
	"\t}\n"
	"\tbatch.samples = orr_model_batch_for(w, batch.model, batch.samples); /* padded to a size that its table has */\n"
	"\torr_run_start(w, replica, &batch);\n"
	"\tif (s->waiting.n && (replica = orr_replica_idle_from(w, 0)) != ORR_NO_REPLICA)\n"
	"\t\torr_wake(w, replica);\n"
	"}\n"
	"\n"
	"static const struct orr_serve_ops ops = { .size = sizeof ops,\n"
	"\t.create = create,\n"
	"\t.destroy = destroy,\n"
	"\t.route = route,\n"
	"\t.arrive = arrive,\n"
	"\t.schedule = schedule };\n"
	"\n"
	"ORR_POLICY_SERVE(@IDENT@, \"say in one line what it does\", params, ops);\n";

static const char serve_test[] =
	"#!/bin/sh\n"
	"# Builds @NAME@.c as a plugin and runs it beside fifo, with conservation laws checked.\n"
	"# As long as it is FIFO on one replica, every request must be completed when fifo completes it.\n"
	"set -eu\n"
	"cd \"$(dirname \"$0\")\"\n"
	"orrery=${ORRERY:-orrery}\n"
	"${CC:-cc} -std=c11 -Wall -Wextra -O2 -shared -fPIC ${ORRERY_CFLAGS-$(pkg-config --cflags orrery)} \\\n"
	"  -o @NAME@.so @NAME@.c\n"
	"out=$(mktemp -d)\n"
	"trap 'rm -rf \"$out\"' EXIT\n"
	"printf '{\"name\":\"constant\",\"source\":\"made up\",\"kind\":\"table\",\"batch\":[1],\"latency_ms\":[20]}\\n' "
	">\"$out/constant.json\"\n"
	"\"$orrery\" serve poisson:rate=40,n=500 --model \"$out/constant.json\" --cluster 1x1 --policy fifo,./@NAME@.so \\\n"
	"  --check --no-figures --out \"$out\"\n"
	"cmp \"$out/fifo.requests.csv\" \"$out/@NAME@.requests.csv\" && echo \"ok: same times as fifo\"\n";

static int check_name(const char *name, struct orr_error *err)
{
	size_t n = strlen(name);
	bool good = n > 0 && n <= 60 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_") == n && name[0] >= 'a' && name[0] <= 'z';
	return good ? ORR_OK
		    : orr_fail(err, ORR_EINPUT, "policy new: expected a name of small letters, digits, '-' and '_', found \"%.80s\"", name);
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
		rc = orr_fail(err, ORR_EINPUT, "%s: %s", path, errno == EEXIST ? "is there already; choose another name" : strerror(errno));
	else if (write(fd, b.text, b.len) != (ssize_t)b.len || fsync(fd))
		rc = orr_fail(err, ORR_EFAIL, "%s: cannot be written: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	sbuf_free(&b);
	return rc;
}

static const struct policy_beginning beginnings[] = {
	[ORR_POLICY_KIND_JOBS] = { jobs_source, jobs_test, "jobs philly-like --cluster 64x8 --policy fifo" },
	[ORR_POLICY_KIND_STEP] = { step_source, step_test, "step resnet50 --cluster 4x1:v100 --policy allreduce" },
	[ORR_POLICY_KIND_SERVE] = { serve_source, serve_test, "serve poisson:rate=40,n=500 --model MODEL --cluster 1x1 --policy fifo" },
};

static const struct policy_beginning *beginning_of(enum orr_policy_kind kind)
{
	return kind == ORR_POLICY_KIND_SPOT ? &policy_new_spot : &beginnings[kind];
}

int policy_new(const char *name, enum orr_policy_kind kind, struct orr_error *err)
{
	const struct policy_beginning *b = beginning_of(kind);
	char source[80], test[80];
	int rc = check_name(name, err);
	if (rc)
		return rc;
	snprintf(source, sizeof source, "%s.c", name);
	snprintf(test, sizeof test, "%s_test.sh", name);
	rc = write_new(source, b->source, name, 0644, err);
	if (!rc)
		rc = write_new(test, b->test, name, 0755, err);
	if (!rc)
		printf("wrote %s and %s; next:\n"
		       "  cc -shared -fPIC $(pkg-config --cflags orrery) -o %s.so %s\n"
		       "  orrery %s,./%s.so\n",
			source, test, name, source, b->example, name);
	return rc;
}
