/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Step policy that makes the mistake named by its parameter `how` (tests/step/plugins_step.sh). */
#include <orrery/step.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct orr_param params[] = { ORR_PARAM_TEXT("how", "", "the mistake to make"),
	ORR_PARAM_BOOL("lanes", false, "make each GPU a lane"), ORR_PARAM_END };

struct state {
	const char *how;
	struct orr_step *world;
	uint32_t gpus;
	orr_op last; /* op of the previous iteration */
};

static const uint32_t first_two[] = { 0, 1 };

static orr_op all_reduce(struct orr_step *s, uint32_t n, struct orr_collective c)
{
	return orr_collective(s, &(struct orr_group){ first_two, n }, &c);
}

/* ---- in create() ---- */

static void null_map(struct orr_step *s)
{
	orr_step_lanes(s, 2, 1, NULL);
}
static void lanes_overlap(struct orr_step *s)
{
	orr_step_lanes(s, 2, 1, (uint32_t[]){ 1, 1 });
}
static void lanes_nowhere(struct orr_step *s)
{
	orr_step_lanes(s, 2, 1, (uint32_t[]){ 1, 4000000000u });
}
static void lanes_too_many(struct orr_step *s)
{
	orr_step_lanes(s, UINT32_MAX, UINT32_MAX, first_two);
}
static void lanes_none(struct orr_step *s)
{
	orr_step_lanes(s, 0, 0, first_two);
}
static void lanes_again(struct orr_step *s)
{
	orr_step_lanes(s, 2, 1, first_two);
	orr_step_lanes(s, 2, 1, first_two);
}
static void compute_in_create(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, 1);
}
static void after_in_create(struct orr_step *s)
{
	orr_after(s, 5, 3);
}
static void group_in_create(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .bytes = 1 });
}
static void hold_nan(struct orr_step *s)
{
	orr_hold(s, 0, ORR_MEMORY_WEIGHTS, NAN, NULL);
}
static void hold_less(struct orr_step *s)
{
	orr_hold(s, 0, ORR_MEMORY_WEIGHTS, -1, "x");
}
static void hold_nowhere(struct orr_step *s)
{
	orr_hold(s, UINT32_MAX, ORR_MEMORY_WEIGHTS, 1, "x");
}
static void hold_kind(struct orr_step *s)
{
	orr_hold(s, 0, (enum orr_memory)77, 1, "x");
}
static void hold_too_much(struct orr_step *s)
{
	orr_hold(s, 0, ORR_MEMORY_WEIGHTS, 1e18, "everything");
}
static void samples_nan(struct orr_step *s)
{
	orr_step_samples(s, NAN);
}
static void samples_none(struct orr_step *s)
{
	orr_step_samples(s, 0);
}
static void refuse(struct orr_step *s)
{
	(void)s;
}
static void silent(struct orr_step *s)
{
	(void)s;
}
static void hang_in_create(struct orr_step *s)
{
	for (volatile bool yes = true; yes;)
		orr_step_uniform(s);
}

/* ---- in build() ---- */

static void seconds_nan(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, NAN);
}
static void seconds_less(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, -1e-300);
}
static void seconds_infinite(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, INFINITY);
}
static void work_unknown(struct orr_step *s)
{
	orr_compute(s, 0, (enum orr_work)99, 1);
}
static void device_nowhere(struct orr_step *s)
{
	orr_compute(s, UINT32_MAX, ORR_FORWARD, 1);
}
static void bytes_nan(struct orr_step *s)
{
	orr_transfer(s, 0, 1, NAN);
}
static void transfer_nowhere(struct orr_step *s)
{
	orr_transfer(s, 0, 99, 1);
}
static void delay_nan(struct orr_step *s)
{
	orr_delay(s, NAN);
}
static void null_group(struct orr_step *s)
{
	orr_collective(s, NULL, &(struct orr_collective){ .bytes = 1 });
}
static void null_devices(struct orr_step *s)
{
	orr_collective(s, &(struct orr_group){ NULL, 2 }, &(struct orr_collective){ .bytes = 1 });
}
static void null_collective(struct orr_step *s)
{
	orr_collective(s, &(struct orr_group){ first_two, 2 }, NULL);
}
static void null_lanes_collective(struct orr_step *s)
{
	orr_collective_lanes(s, 0, 2, 1, NULL);
}
static void empty_group(struct orr_step *s)
{
	all_reduce(s, 0, (struct orr_collective){ .bytes = 1 });
}
static void huge_group(struct orr_step *s)
{
	all_reduce(s, UINT32_MAX, (struct orr_collective){ .bytes = 1 });
}
static void member_twice(struct orr_step *s)
{
	orr_collective(s, &(struct orr_group){ (uint32_t[]){ 1, 1 }, 2 }, &(struct orr_collective){ .bytes = 1 });
}
static void bytes_of_group(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .bytes = -1 });
}
static void operation(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .op = (enum orr_collective_op)9, .bytes = 1 });
}
static void algorithm(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .algorithm = (enum orr_collective_algorithm)99, .bytes = 1 });
}
static void cannot(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .op = ORR_ALL_TO_ALL, .algorithm = ORR_DOUBLE_TREE, .bytes = 1 });
}
static void root(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .op = ORR_BROADCAST, .bytes = 1, .root = 2 });
}
static void layers(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .bytes = 1, .first_layer = UINT32_MAX, .n_layers = UINT32_MAX });
}
static void islands(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .algorithm = ORR_HIERARCHICAL, .bytes = 1, .inner = 7 });
}
static void chunks(struct orr_step *s)
{
	all_reduce(s, 2, (struct orr_collective){ .algorithm = ORR_DOUBLE_TREE, .bytes = 1, .chunks = UINT32_MAX });
}
static void not_lanes(struct orr_step *s)
{
	orr_collective_lanes(s, 0, 2, 1, &(struct orr_collective){ .bytes = 1 });
}
static void lane_size(struct orr_step *s)
{
	orr_collective_lanes(s, 0, 65536, 65536, &(struct orr_collective){ .bytes = 1 });
}
static void lane_stride(struct orr_step *s)
{
	orr_collective_lanes(s, 0, 2, 0, &(struct orr_collective){ .bytes = 1 });
}
static void lane_position(struct orr_step *s)
{
	orr_compute(s, 1, ORR_FORWARD, 1);
}
static void cycle(struct orr_step *s)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, a, a);
}
static void forged(struct orr_step *s)
{
	orr_after(s, orr_compute(s, 0, ORR_FORWARD, 1), 7);
}
static void forged_zero(struct orr_step *s)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, a, a >> 32 << 32);
}
static void of_the_future(struct orr_step *s)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, a, a + (UINT64_C(1) << 32));
}
static void stream(struct orr_step *s)
{
	orr_on_stream(s, orr_transfer(s, 0, 1, 1), 8);
}
static void stream_of_work(struct orr_step *s)
{
	orr_on_stream(s, orr_transfer(s, 0, 1, 1), 0);
}
static void work_elsewhere(struct orr_step *s)
{
	orr_on_stream(s, orr_compute(s, 0, ORR_FORWARD, 1), 1);
}
static void counts_nan(struct orr_step *s)
{
	orr_counts(s, orr_compute(s, 0, ORR_FORWARD, 1), NAN);
}
static void takes_nan(struct orr_step *s)
{
	orr_takes(s, orr_compute(s, 0, ORR_FORWARD, 1), 0, NAN);
}
static void takes_nowhere(struct orr_step *s)
{
	orr_takes(s, orr_compute(s, 0, ORR_FORWARD, 1), 77, 1);
}
static void takes_too_much(struct orr_step *s)
{
	orr_takes(s, orr_compute(s, 0, ORR_FORWARD, 1), 0, 1e18);
}
static void null_label(struct orr_step *s)
{
	const char *volatile none = NULL;
	orr_label(s, orr_compute(s, 0, ORR_FORWARD, 1), none, 1);
}
static void null_update(struct orr_step *s)
{
	orr_updates(s, orr_compute(s, 0, ORR_FORWARD, 1), NULL);
}
static void carries(struct orr_step *s)
{
	orr_carries(s, orr_transfer(s, 0, 1, 1), UINT32_MAX, UINT32_MAX);
}
static void carries_work(struct orr_step *s)
{
	orr_carries(s, orr_compute(s, 0, ORR_FORWARD, 1), 0, 1);
}
static void update(struct orr_step *s, orr_op op, struct orr_update u)
{
	orr_updates(s, op, &u);
}
static orr_op message(struct orr_step *s)
{
	orr_op op = orr_transfer(s, 0, 1, 1);
	orr_on_stream(s, op, 1); /* in sequence */
	return op;
}
static void update_kind(struct orr_step *s)
{
	update(s, orr_compute(s, 0, ORR_FORWARD, 1), (struct orr_update){ .kind = (enum orr_update_kind)99 });
}
static void update_worker(struct orr_step *s)
{
	update(s, message(s), (struct orr_update){ .kind = ORR_PUSH, .worker = UINT32_MAX });
}
static void update_slice(struct orr_step *s)
{
	update(s, message(s), (struct orr_update){ .kind = ORR_SEND_SLICE, .slice = 7, .slices = 3 });
}
static void update_scale(struct orr_step *s)
{
	update(s, message(s), (struct orr_update){ .kind = ORR_SEND_SLICE, .scale = NAN });
}
static void update_place(struct orr_step *s)
{
	update(s, orr_compute(s, 0, ORR_FORWARD, 1), (struct orr_update){ .kind = ORR_SEND_SLICE });
}
static void update_mark(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, 1);
	update(s, orr_mark(s), (struct orr_update){ .kind = ORR_GRADIENT });
}
static void update_mixed(struct orr_step *s)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1), b = orr_compute(s, 1, ORR_FORWARD, 1);
	update(s, a, (struct orr_update){ .kind = ORR_GRADIENT });
	update(s, b, (struct orr_update){ .kind = ORR_GRADIENT });
	update(s, a, (struct orr_update){ .kind = ORR_LOCAL_UPDATE });
}
static void runs_ahead(struct orr_step *s)
{
	orr_transfer(s, 0, 1, 1);
}
static void update_never(struct orr_step *s)
{
	orr_compute(s, 0, ORR_FORWARD, 1);
}
static void hold_late(struct orr_step *s)
{
	orr_hold(s, 0, ORR_MEMORY_WEIGHTS, 1, "x");
}
static void samples_late(struct orr_step *s)
{
	orr_step_samples(s, 1);
}
static void period_late(struct orr_step *s)
{
	orr_step_period(s, 1);
}
static void lanes_late(struct orr_step *s)
{
	orr_step_lanes(s, 2, 1, first_two);
}
static void nothing(struct orr_step *s)
{
	(void)s;
}
static void marks(struct orr_step *s)
{
	orr_mark(s);
}
static void detached(struct orr_step *s)
{
	orr_detach(s, orr_compute(s, 0, ORR_FORWARD, 1));
}
static void quits(struct orr_step *s)
{
	(void)s;
}
static void quits_silently(struct orr_step *s)
{
	(void)s;
}
static void endless(struct orr_step *s)
{
	orr_after(s, orr_compute(s, 0, ORR_FORWARD, 1e308), orr_compute(s, 1, ORR_FORWARD, 1e308));
}
static void hang(struct orr_step *s)
{
	for (volatile bool yes = true; yes;)
		orr_step_uniform(s);
}

/* ---- unusual but allowed ---- */

static void priorities(struct orr_step *s)
{
	orr_op a = orr_transfer(s, 0, 1, 1), b = orr_transfer(s, 0, 1, 1);
	orr_on_stream(s, a, 7);
	orr_on_stream(s, b, 7);
	orr_priority(s, a, INT32_MIN);
	orr_priority(s, b, INT32_MAX);
}
static void long_label(struct orr_step *s)
{
	static char text[100000];
	memset(text, 'x', sizeof text - 1);
	orr_label(s, orr_compute(s, 0, ORR_FORWARD, 1), "%s%%n%s", text, text);
}
static void no_ops(struct orr_step *s)
{
	orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
	orr_after(s, 0, a);
	orr_after(s, a, 0);
	orr_on_stream(s, 0, 99);
	orr_priority(s, 0, 1);
	orr_detach(s, 0);
	orr_label(s, 0, "x");
	orr_takes(s, 0, 0, 1);
	orr_carries(s, 0, 0, 1);
	orr_updates(s, 0, &(struct orr_update){ .kind = ORR_GRADIENT });
}
static void wrong_questions(struct orr_step *s)
{
	struct orr_layer_info info;
	orr_step_layer(s, UINT32_MAX, &info);
	double sum = orr_step_params(s, UINT32_MAX, UINT32_MAX) + orr_cost(s, UINT32_MAX, (enum orr_pass)9, 9, UINT32_MAX, NAN, 0) +
		     orr_update_cost(s, UINT32_MAX, 1) + orr_latency(s, UINT32_MAX, 0);
	bool is_good = sum == 0 && isinf(orr_bandwidth_now(s, 0, UINT32_MAX)) && isinf(orr_device_memory(s, UINT32_MAX)) &&
		       orr_node_of(s, UINT32_MAX) == UINT32_MAX && orr_rack_of(s, UINT32_MAX) == UINT32_MAX && info.params == 0;
	orr_compute(s, 0, ORR_FORWARD, is_good ? 1 : NAN);
}
/* A gather of one phase: the steps of 2^31 repeats exceed 32 bits. */
static void many_repeats(struct orr_step *s)
{
	static const uint32_t four[] = { 0, 1, 2, 3 };
	orr_collective(s, &(struct orr_group){ four, 4 },
		&(struct orr_collective){ .op = ORR_ALL_GATHER, .algorithm = ORR_RING, .bytes = 4, .repeat = UINT32_C(1) << 31 });
}
static void bandwidth(struct orr_step *s)
{
	orr_after(s, orr_collective_lanes(s, 0, 2, 1, &(struct orr_collective){ .bytes = 1e6 }),
		orr_compute(s, 0, ORR_FORWARD, orr_bandwidth_now(s, 3, 0) == orr_bandwidth(s, 3, 0) ? 1 : NAN));
}

#define WRONG(name)         \
	{                   \
#name, name \
	}
static const struct wrong {
	const char *how;
	void (*make)(struct orr_step *s);
} in_create[] = { WRONG(null_map), WRONG(lanes_overlap), WRONG(lanes_nowhere), WRONG(lanes_too_many), WRONG(lanes_none), WRONG(lanes_again),
	WRONG(compute_in_create), WRONG(after_in_create), WRONG(group_in_create), WRONG(hold_nan), WRONG(hold_less), WRONG(hold_nowhere),
	WRONG(hold_kind), WRONG(hold_too_much), WRONG(samples_nan), WRONG(samples_none), WRONG(refuse), WRONG(silent),
	WRONG(hang_in_create), { NULL, NULL } };
static const struct wrong in_build[] = { WRONG(seconds_nan), WRONG(seconds_less), WRONG(seconds_infinite), WRONG(work_unknown),
	WRONG(device_nowhere), WRONG(bytes_nan), WRONG(transfer_nowhere), WRONG(delay_nan), WRONG(null_group), WRONG(null_devices),
	WRONG(null_collective), WRONG(null_lanes_collective), WRONG(empty_group), WRONG(huge_group), WRONG(member_twice),
	WRONG(bytes_of_group), WRONG(operation), WRONG(algorithm), WRONG(cannot), WRONG(root), WRONG(layers), WRONG(islands), WRONG(chunks),
	WRONG(not_lanes), WRONG(lane_size), WRONG(lane_stride), WRONG(lane_position), WRONG(cycle), WRONG(forged), WRONG(forged_zero),
	WRONG(of_the_future), WRONG(stream), WRONG(stream_of_work), WRONG(work_elsewhere), WRONG(counts_nan), WRONG(takes_nan),
	WRONG(takes_nowhere), WRONG(takes_too_much), WRONG(null_label), WRONG(null_update), WRONG(carries), WRONG(carries_work),
	WRONG(update_kind), WRONG(update_worker), WRONG(update_slice), WRONG(update_scale), WRONG(update_place), WRONG(update_mark),
	WRONG(update_mixed), WRONG(update_never), WRONG(runs_ahead), WRONG(hold_late), WRONG(samples_late), WRONG(period_late),
	WRONG(lanes_late), WRONG(nothing), WRONG(marks), WRONG(detached), WRONG(quits), WRONG(quits_silently), WRONG(endless), WRONG(hang),
	WRONG(priorities), WRONG(long_label), WRONG(no_ops), WRONG(wrong_questions), WRONG(many_repeats), WRONG(bandwidth),
	{ NULL, NULL } };

static bool make(const struct wrong *w, const char *how, struct orr_step *s)
{
	while (w->how && strcmp(w->how, how) != 0)
		w++;
	if (w->how)
		w->make(s);
	return w->how != NULL;
}

static void *create(struct orr_step *s, const struct orr_args *args, struct orr_error *err)
{
	static const uint32_t map[] = { 0, 1, 2, 3 };
	const char *how = orr_arg_text(args, "how");
	struct orr_step_facts facts;
	orr_step_facts(s, &facts);
	if (orr_arg_bool(args, "lanes"))
		orr_step_lanes(s, 4, 1, map);
	make(in_create, how, s);
	if (!strcmp(how, "refuse"))
		orr_fail(err, ORR_EINPUT, "how: refuses to work on %u GPUs", facts.gpus);
	if (!strcmp(how, "refuse") || !strcmp(how, "silent"))
		return NULL;
	struct state *x = calloc(1, sizeof *x);
	if (!x)
		return NULL;
	x->how = how;
	x->world = s;
	x->gpus = facts.gpus;
	return x;
}

static void destroy(void *self)
{
	struct state *x = self;
	if (!strcmp(x->how, "late")) {
		orr_compute(x->world, 0, ORR_FORWARD, 1);
		orr_after(x->world, x->last, x->last);
		orr_hold(x->world, 0, ORR_MEMORY_WEIGHTS, 1e30, "late");
		orr_step_lanes(x->world, 2, 1, first_two);
	}
	for (volatile bool yes = !strcmp(x->how, "hang_in_destroy"); yes;)
		;
	free(x);
}

static int build(void *self, struct orr_step *s, uint64_t iteration, struct orr_error *err)
{
	struct state *x = self;
	if (!strcmp(x->how, "quits"))
		return orr_fail(err, ORR_EFAIL, "had enough of it in iteration %u", (unsigned)iteration);
	if (!strcmp(x->how, "quits_silently"))
		return 1;
	if (!strcmp(x->how, "stale_index")) { /* an op of the previous iteration, with the index of another op */
		orr_op a = orr_compute(s, 0, ORR_FORWARD, 1);
		orr_after(s, a, x->last ? x->last + 100000 : 0);
		x->last = a;
		return 0;
	}
	if (!make(in_build, x->how, s))
		x->last = orr_compute(s, 0, ORR_FORWARD, 1);
	return 0;
}

static void describe(void *self, char *out, size_t size)
{
	const struct state *x = self;
	memset(out, 'x', size); /* without a terminating NUL */
	for (volatile bool yes = !strcmp(x->how, "hang_in_describe"); yes;)
		;
}

static const struct orr_step_ops ops = { .create = create, .destroy = destroy, .build = build, .describe = describe };

ORR_POLICY_STEP(step_hostile, "makes one mistake", params, ops);
