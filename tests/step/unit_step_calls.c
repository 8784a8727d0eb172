/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of orrery/step.h: each rejects the arguments and the places of call that the header excludes, with a message
 * that names the function and the expected value, and accepts the last value that the header allows.
 *
 * The cluster has four nodes of one GPU: GPUs 0..3, hosts 4..7. The model is LeNet-5 (12 layers).
 */
#include "tests/step/step_fixture.h"
#include "tests/tap.h"

#include "base/mem.h"

#include <stdlib.h>

typedef void (*caller)(struct orr_step *s);
static caller create_now, build_now;
static const char *cluster_now = "4x1:v100";
static bool has_hook;

static void *create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)a, (void)err;
	if (create_now)
		create_now(s);
	return mem_zalloc(1, 1);
}

static int build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self, (void)k, (void)err;
	orr_compute(s, 0, ORR_FORWARD, 1);
	if (build_now)
		build_now(s);
	return ORR_OK;
}

static void hook(void *ctx, double time_s, bool is_end, uint64_t op, const struct orr_update *u, uint32_t n_updates, const uint32_t *group,
	uint32_t n_group)
{
	(void)ctx, (void)time_s, (void)is_end, (void)op, (void)u, (void)n_updates, (void)group, (void)n_group;
}

static const struct orr_param no_params[] = { ORR_PARAM_END };
static const struct orr_step_ops ops = { .create = create, .destroy = mem_free, .build = build };
static const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "test", "", "step", 0, no_params, &ops, sizeof ops };

static int run(caller c, caller b, struct step_result *r, struct orr_error *e)
{
	struct fixture *f = fixture_new(cluster_now, "star:bw=1GBps,lat=0", "lenet5", 8);
	*e = (struct orr_error){ 0 };
	*r = (struct step_result){ 0 };
	create_now = c;
	build_now = b;
	fixture_set(f, "iterations=1");
	f->config.spans = 1;
	f->config.check = true;
	f->config.hook = has_hook ? hook : NULL;
	int rc = fixture_run(f, &policy, "", r, e);
	fixture_free(f);
	return rc;
}

static void refused(caller c, caller b, const char *place, const char *message)
{
	struct step_result r;
	struct orr_error e;
	char wanted[400];
	int rc = run(c, b, &r, &e);
	snprintf(wanted, sizeof wanted, "policy test:%s %s", place, message);
	if (!ok(rc == ORR_EFAIL && !strcmp(e.text, wanted), "refused: %s", message))
		printf("# %d \"%s\"\n# for \"%s\"\n", rc, e.text, wanted);
	step_result_free(&r);
}

/* Returns the end of the iteration, or NAN if the run failed. */
static double ends(caller c, caller b)
{
	struct step_result r;
	struct orr_error e;
	double t = run(c, b, &r, &e) ? NAN : r.iteration[0].end_s;
	if (isnan(t))
		printf("# %s\n", e.text);
	step_result_free(&r);
	return t;
}

#define CALLS(name, body)                    \
	static void name(struct orr_step *s) \
	{                                    \
		body;                        \
	}
#define IN_BUILD " iteration 0:"
#define GROUP(...) (&(struct orr_group){ (uint32_t[]){ __VA_ARGS__ }, sizeof((uint32_t[]){ __VA_ARGS__ }) / 4 })
#define SUM(...) (&(struct orr_collective){ .op = ORR_ALL_REDUCE, .algorithm = ORR_RING, .bytes = 1e9, __VA_ARGS__ })
#define WORK() orr_compute(s, 1, ORR_FORWARD, 1)

/* ---- ops ---- */

CALLS(compute_early, WORK())
CALLS(mark_early, orr_mark(s))
CALLS(compute_beyond, orr_compute(s, 8, ORR_FORWARD, 1))
CALLS(compute_negative, orr_compute(s, 7, ORR_FORWARD, -1))
CALLS(compute_endless, orr_compute(s, 7, ORR_FORWARD, INFINITY))
CALLS(compute_unknown, orr_compute(s, 7, ORR_WORK_KINDS, 1))
CALLS(compute_last, orr_compute(s, 7, ORR_OTHER_WORK, 2))
CALLS(transfer_from, orr_transfer(s, 8, 0, 1))
CALLS(transfer_to, orr_transfer(s, 0, 8, 1))
CALLS(transfer_negative, orr_transfer(s, 0, 1, -1))
CALLS(transfer_last, orr_transfer(s, 7, 0, 2e9))
CALLS(transfer_empty, orr_transfer(s, 0, 0, 5e9))
CALLS(delay_negative, orr_delay(s, -1))
CALLS(delay_late, orr_delay(s, 3))

static void test_ops(void)
{
	refused(compute_early, NULL, "", "orr_compute: called outside build(): expected a call in build()");
	refused(mark_early, NULL, "", "orr_mark: called outside build(): expected a call in build()");
	refused(NULL, compute_beyond, IN_BUILD, "orr_compute: device 8: expected 0..7");
	refused(NULL, compute_negative, IN_BUILD, "orr_compute: expected seconds of at least 0, found -1");
	refused(NULL, compute_endless, IN_BUILD, "orr_compute: expected seconds of at least 0, found inf");
	refused(NULL, compute_unknown, IN_BUILD, "orr_compute: unknown kind of work 7: expected a value of enum orr_work");
	refused(NULL, transfer_from, IN_BUILD, "orr_transfer: from: device 8: expected 0..7");
	refused(NULL, transfer_to, IN_BUILD, "orr_transfer: to: device 8: expected 0..7");
	refused(NULL, transfer_negative, IN_BUILD, "orr_transfer: expected bytes of at least 0, found -1");
	refused(NULL, delay_negative, IN_BUILD, "orr_delay: expected seconds of at least 0, found -1");
	near_to(ends(NULL, compute_last), 2, 1e-12, "the last host computes, and work of the last kind is known");
	near_to(ends(NULL, transfer_last), 2, 1e-12, "the last host sends: 2e9 bytes at 1e9 bytes/s");
	near_to(ends(NULL, transfer_empty), 1, 1e-12, "a message from a device to itself takes no time");
	near_to(ends(NULL, delay_late), 3, 1e-12, "a delay holds the end of the iteration");
}

/* ---- collectives ---- */

CALLS(sum_null, orr_collective(s, GROUP(0, 1), NULL))
CALLS(sum_no_group, orr_collective(s, NULL, SUM()))
CALLS(sum_no_devices, orr_collective(s, &(struct orr_group){ NULL, 2 }, SUM()))
CALLS(sum_empty, orr_collective(s, &(struct orr_group){ (uint32_t[]){ 0 }, 0 }, SUM()))
CALLS(sum_nine, orr_collective(s, GROUP(0, 1, 2, 3, 4, 5, 6, 7, 0), SUM()))
CALLS(sum_eight, orr_collective(s, GROUP(0, 1, 2, 3, 4, 5, 6, 7), SUM()))
CALLS(sum_beyond, orr_collective(s, GROUP(0, 8), SUM()))
CALLS(sum_negative, orr_collective(s, GROUP(0, 1), &(struct orr_collective){ .bytes = -1 }))
CALLS(sum_unknown, orr_collective(s, GROUP(0, 1), &(struct orr_collective){ .op = (enum orr_collective_op)6, .bytes = 1 }))
CALLS(sum_algorithm, orr_collective(s, GROUP(0, 1),
			     &(struct orr_collective){ .algorithm = (enum orr_collective_algorithm)(ORR_NVLS_TREE + 1), .bytes = 1 }))
CALLS(sum_root, orr_collective(s, GROUP(0, 1), &(struct orr_collective){ .op = ORR_BROADCAST, .bytes = 1, .root = 2 }))
CALLS(sum_last_root,
	orr_collective(s, GROUP(0, 1), &(struct orr_collective){ .op = ORR_BROADCAST, .algorithm = ORR_RING, .bytes = 2e9, .root = 1 }))
CALLS(all_to_all, orr_collective(s, GROUP(0, 1), &(struct orr_collective){ .op = ORR_ALL_TO_ALL, .algorithm = ORR_DIRECT, .bytes = 4e9 }))
CALLS(sum_layers, orr_collective(s, GROUP(0, 1), SUM(.first_layer = 10, .n_layers = 3)))
CALLS(sum_last_layers, orr_collective(s, GROUP(0, 1), SUM(.first_layer = 10, .n_layers = 2)))
CALLS(sum_twice, orr_collective(s, GROUP(33, 1, 33), SUM()))
CALLS(sum_apart, orr_collective(s, GROUP(33, 1, 0, 32), SUM()))
CALLS(sum_repeated, orr_collective(s, GROUP(0, 1), SUM(.repeat = 3)))
CALLS(sum_alone, orr_collective(s, GROUP(2), SUM()))

static void test_collectives(void)
{
	refused(NULL, sum_null, IN_BUILD, "orr_collective: a pointer is NULL: expected an object");
	refused(NULL, sum_no_group, IN_BUILD, "orr_collective: a pointer is NULL: expected an object");
	refused(NULL, sum_no_devices, IN_BUILD, "orr_collective: group: a pointer is NULL: expected an object");
	refused(NULL, sum_empty, IN_BUILD, "orr_collective: the group is empty: expected at least one device");
	refused(NULL, sum_nine, IN_BUILD, "orr_collective: a group of 9: expected at most 8, the number of devices");
	refused(NULL, sum_beyond, IN_BUILD, "orr_collective: group: device 8: expected 0..7");
	refused(NULL, sum_negative, IN_BUILD, "orr_collective: expected bytes of at least 0, found -1");
	refused(NULL, sum_unknown, IN_BUILD, "orr_collective: unknown operation 6 or algorithm 0: expected values of their enums");
	refused(NULL, sum_algorithm, IN_BUILD, "orr_collective: unknown operation 0 or algorithm 10: expected values of their enums");
	refused(NULL, sum_root, IN_BUILD, "orr_collective: root 2: expected a rank of the group of 2");
	refused(NULL, sum_layers, IN_BUILD, "orr_collective: layers 10..12: expected layers below 12");
	/* Each of 8 endpoints sends 2 x 7/8 x 1e9 bytes. A GPU and the host of its node share a NIC in each direction. */
	ok(ends(NULL, sum_eight) >= 1.75, "a group of all devices is accepted");
	near_to(ends(NULL, sum_last_root), 2, 1e-12, "the last rank may be the root: 2e9 bytes to one rank");
	near_to(ends(NULL, all_to_all), 2, 1e-12, "all-to-all of two: each sends half of 4e9 bytes");
	near_to(ends(NULL, sum_last_layers), 1, 1e-12, "gradients of the last layers are accepted");
	near_to(ends(NULL, sum_repeated), 3, 1e-12, "repeat=3 takes three times as long");
	near_to(ends(NULL, sum_alone), 1, 1e-12, "a group of one sends nothing");
	cluster_now = "20x1:v100";
	refused(NULL, sum_twice, IN_BUILD, "orr_collective: device 33 is in the group twice: expected it once");
	near_to(ends(NULL, sum_apart), 1.5, 1e-12, "devices 1 and 33, 0 and 32 are different devices: 2 x 3/4 x 1e9 bytes");
	cluster_now = "4x1:v100";
}

/* ---- lanes ---- */

CALLS(no_map, orr_step_lanes(s, 2, 2, NULL))
CALLS(no_lanes, orr_step_lanes(s, 0, 2, (uint32_t[]){ 0, 1 }))
CALLS(no_positions, orr_step_lanes(s, 2, 0, (uint32_t[]){ 0, 1 }))
CALLS(five_lanes, orr_step_lanes(s, 5, 1, (uint32_t[]){ 0, 1, 2, 3, 4 }))
CALLS(lane_on_host, orr_step_lanes(s, 2, 2, (uint32_t[]){ 0, 1, 4, 3 }))
CALLS(lane_twice, orr_step_lanes(s, 2, 2, (uint32_t[]){ 0, 1, 2, 1 }))
CALLS(four_lanes, orr_step_lanes(s, 4, 1, (uint32_t[]){ 0, 1, 2, 3 }))
CALLS(three_lanes, orr_step_lanes(s, 3, 1, (uint32_t[]){ 0, 1, 2 }))
CALLS(lanes_twice, four_lanes(s); four_lanes(s))
CALLS(lane_beyond, orr_compute(s, 1, ORR_FORWARD, 1))
CALLS(groups_without_lanes, orr_collective_lanes(s, 0, 2, 1, SUM()))
CALLS(groups_of_none, orr_collective_lanes(s, 0, 0, 1, SUM()))
CALLS(groups_no_stride, orr_collective_lanes(s, 0, 2, 0, SUM()))
CALLS(groups_too_wide, orr_collective_lanes(s, 0, 2, 4, SUM()))
CALLS(groups_of_two, orr_collective_lanes(s, 0, 2, 1, SUM()))
CALLS(groups_apart, orr_collective_lanes(s, 0, 2, 2, SUM()))
CALLS(groups_of_four, orr_collective_lanes(s, 0, 4, 1, SUM()))
CALLS(groups_position, orr_collective_lanes(s, 1, 2, 1, SUM()))
CALLS(groups_root, orr_collective_lanes(s, 0, 2, 1, SUM(.root = 2)))

static void test_lanes(void)
{
	refused(no_map, NULL, "", "orr_step_lanes: the map is NULL: expected GPU numbers");
	refused(lanes_twice, NULL, "", "orr_step_lanes: called twice: expected one call");
	refused(no_lanes, NULL, "", "orr_step_lanes: 0 lanes of 2 positions: expected at most 4 GPUs, the number in the cluster");
	refused(no_positions, NULL, "", "orr_step_lanes: 2 lanes of 0 positions: expected at most 4 GPUs, the number in the cluster");
	refused(five_lanes, NULL, "", "orr_step_lanes: 5 lanes of 1 positions: expected at most 4 GPUs, the number in the cluster");
	refused(lane_on_host, NULL, "", "orr_step_lanes: lane 1, position 0: GPU 4 is unknown: expected distinct GPUs of the cluster");
	refused(lane_twice, NULL, "",
		"orr_step_lanes: lane 1, position 1: GPU 1 is in the map twice: expected distinct GPUs of the cluster");
	refused(NULL, four_lanes, IN_BUILD, "orr_step_lanes: called outside create(): expected a call in create()");
	refused(four_lanes, lane_beyond, IN_BUILD, "orr_compute: device 1: expected 0..0");
	refused(NULL, groups_without_lanes, IN_BUILD,
		"orr_collective_lanes: groups of 2 lanes at stride 1: expected a divisor of the 0 lanes");
	refused(four_lanes, groups_of_none, IN_BUILD,
		"orr_collective_lanes: groups of 0 lanes at stride 1: expected a divisor of the 4 lanes");
	refused(four_lanes, groups_no_stride, IN_BUILD,
		"orr_collective_lanes: groups of 2 lanes at stride 0: expected a divisor of the 4 lanes");
	refused(four_lanes, groups_too_wide, IN_BUILD,
		"orr_collective_lanes: groups of 2 lanes at stride 4: expected a divisor of the 4 lanes");
	refused(three_lanes, groups_of_two, IN_BUILD,
		"orr_collective_lanes: groups of 2 lanes at stride 1: expected a divisor of the 3 lanes");
	refused(four_lanes, groups_position, IN_BUILD, "orr_collective_lanes: device 1: expected 0..0");
	refused(four_lanes, groups_root, IN_BUILD, "orr_collective_lanes: root 2: expected a rank of the group of 2");
	near_to(ends(four_lanes, groups_apart), 1, 1e-12, "groups of two lanes at stride 2 fill four lanes");
	near_to(ends(four_lanes, groups_of_four), 1.5, 1e-12, "one group of all lanes");
}

/* ---- dependencies and attributes ---- */

CALLS(waits_for_itself, orr_op a = WORK(); orr_after(s, a, a))
CALLS(waits_for_unknown, orr_op a = WORK(); orr_after(s, a, a + 1))
CALLS(waits_for_later_iteration, orr_op a = WORK(); orr_after(s, a, a + (UINT64_C(1) << 32)))
CALLS(foreign_waits, orr_op a = WORK(); orr_after(s, a + (UINT64_C(1) << 32), a))
CALLS(unknown_waits, orr_op a = WORK(); orr_after(s, a + 1, a))
CALLS(waits_for_none, orr_op a = WORK(); orr_after(s, a, 0); orr_after(s, 0, a))
CALLS(work_on_stream, orr_on_stream(s, WORK(), 1))
CALLS(work_on_its_stream, orr_on_stream(s, WORK(), 0))
CALLS(message_on_compute, orr_on_stream(s, orr_transfer(s, 0, 1, 1), 0))
CALLS(message_beyond, orr_on_stream(s, orr_transfer(s, 0, 1, 1), 8))
CALLS(message_on_last, for (int i = 0; i < 2; i++) orr_on_stream(s, orr_transfer(s, 0, (uint32_t)(1 + i), 1e9), 7))
CALLS(delay_on_stream, for (int i = 0; i < 2; i++) orr_on_stream(s, orr_delay(s, 2), 3))
CALLS(unknown_on_stream, orr_on_stream(s, WORK() + 1, 1))
CALLS(foreign_priority, orr_priority(s, WORK() + (UINT64_C(1) << 32), 1))
CALLS(co_run, orr_step_co_run(s))
CALLS(work_on_last, orr_on_stream(s, WORK(), 7))
CALLS(work_beyond, orr_on_stream(s, WORK(), 8))
CALLS(counts_negative, orr_counts(s, WORK(), -1))
CALLS(takes_beyond, orr_takes(s, WORK(), 8, 1))
CALLS(gives_negative, orr_gives(s, WORK(), 7, -1))
CALLS(label_null, orr_label(s, WORK(), NULL))
CALLS(occupies_nothing, orr_occupies(s, WORK(), 0))
CALLS(occupies_all, orr_occupies(s, WORK(), 1))
CALLS(message_occupies, orr_occupies(s, orr_transfer(s, 0, 1, 1), 0.5))
CALLS(work_carries, orr_carries(s, WORK(), 0, 1))
CALLS(carries_beyond, orr_carries(s, orr_transfer(s, 0, 1, 1), 11, 2))
CALLS(carries_last, orr_carries(s, orr_transfer(s, 0, 1, 3e9), 11, 1))
CALLS(watches, orr_watch(s, WORK()))
CALLS(cancels, orr_cancel(s, WORK()))

static void test_attributes(void)
{
	refused(NULL, waits_for_itself, IN_BUILD, "orr_after: op 1 waits for op 1: expected an op created before it (no cycles)");
	refused(NULL, waits_for_unknown, IN_BUILD, "orr_after: op 1 waits for 100000003: expected an op of this or an earlier iteration");
	refused(NULL, waits_for_later_iteration, IN_BUILD,
		"orr_after: op 1 waits for 200000002: expected an op of this or an earlier iteration");
	refused(NULL, foreign_waits, IN_BUILD, "orr_after: op 200000002: expected an op of this iteration");
	refused(NULL, unknown_waits, IN_BUILD, "orr_after: op 100000003: expected an op of this iteration");
	near_to(ends(NULL, waits_for_none), 1, 1e-12, "waiting for no op changes nothing");
	refused(NULL, work_on_stream, IN_BUILD, "orr_on_stream: stream 1: expected 1..7 (compute ops: 0, without orr_step_co_run())");
	near_to(ends(NULL, work_on_its_stream), 1, 1e-12, "work may be put on stream 0");
	refused(NULL, message_on_compute, IN_BUILD, "orr_on_stream: stream 0: expected 1..7 (compute ops: 0, without orr_step_co_run())");
	refused(NULL, message_beyond, IN_BUILD, "orr_on_stream: stream 8: expected 1..7 (compute ops: 0, without orr_step_co_run())");
	near_to(ends(NULL, message_on_last), 2, 1e-12, "two messages on stream 7");
	near_to(ends(NULL, delay_on_stream), 2, 1e-12, "delays are on no stream");
	refused(NULL, unknown_on_stream, IN_BUILD, "orr_on_stream: op 100000003: expected an op of this iteration");
	refused(NULL, foreign_priority, IN_BUILD, "orr_priority: op 200000002: expected an op of this iteration");
	near_to(ends(co_run, work_on_last), 1, 1e-12, "work that may co-run on stream 7");
	refused(co_run, work_beyond, IN_BUILD, "orr_on_stream: stream 8: expected 1..7 (compute ops: 0, without orr_step_co_run())");
	refused(NULL, co_run, IN_BUILD, "orr_step_co_run: called outside create(): expected a call in create()");
	refused(NULL, counts_negative, IN_BUILD, "orr_counts: expected samples of at least 0, found -1");
	refused(NULL, takes_beyond, IN_BUILD, "orr_takes: device 8: expected 0..7");
	refused(NULL, gives_negative, IN_BUILD, "orr_gives: expected bytes of at least 0, found -1");
	refused(NULL, label_null, IN_BUILD, "orr_label: a pointer is NULL: expected an object");
	refused(NULL, occupies_nothing, IN_BUILD, "orr_occupies: op 1, share 0: expected a compute op and a share above 0, at most 1");
	refused(NULL, message_occupies, IN_BUILD, "orr_occupies: op 1, share 0.5: expected a compute op and a share above 0, at most 1");
	near_to(ends(NULL, occupies_all), 1, 1e-12, "a share of 1 is accepted");
	refused(NULL, work_carries, IN_BUILD, "orr_carries: expected a transfer, and layers below 12");
	refused(NULL, carries_beyond, IN_BUILD, "orr_carries: expected a transfer, and layers below 12");
	near_to(ends(NULL, carries_last), 3, 1e-12, "a message carries the last layer, without compression unchanged");
	refused(NULL, watches, IN_BUILD, "orr_watch: op 1: expected a policy with a function ended()");
	refused(NULL, cancels, IN_BUILD, "orr_cancel: called outside ended(): expected a call in ended()");
}

/* ---- updates ---- */

static const struct orr_update gradient = { .kind = ORR_GRADIENT };

CALLS(update_null, orr_updates(s, WORK(), NULL))
CALLS(update_of_mark, orr_updates(s, orr_mark(s), &gradient))
CALLS(update_of_delay, orr_updates(s, orr_delay(s, 1), &gradient))
CALLS(updates_mixed, orr_op a = WORK(); orr_op b = WORK(); orr_updates(s, a, &gradient); orr_updates(s, b, &gradient);
	orr_updates(s, a, &gradient))
CALLS(updates_in_turn, orr_op a = WORK(); orr_op b = WORK(); orr_updates(s, b, &gradient); orr_updates(s, b, &gradient);
	orr_updates(s, a, &gradient))

static void test_updates(void)
{
	refused(NULL, update_null, IN_BUILD, "orr_updates: a pointer is NULL: expected an object");
	near_to(ends(NULL, update_of_mark), 1, 1e-12, "without a hook updates are ignored");
	has_hook = true;
	refused(NULL, update_of_mark, IN_BUILD, "orr_updates: op 1 is a mark or a delay: expected an op on a device");
	refused(NULL, update_of_delay, IN_BUILD, "orr_updates: op 1 is a mark or a delay: expected an op on a device");
	refused(NULL, updates_mixed, IN_BUILD, "orr_updates: op out of order: expected all updates of one op before those of the next op");
	near_to(ends(NULL, updates_in_turn), 2, 1e-12, "several updates of an op, then those of another");
	has_hook = false;
}

/* ---- settings ---- */

CALLS(hold_late, orr_hold(s, 0, ORR_MEMORY_WEIGHTS, 1, NULL))
CALLS(hold_beyond, orr_hold(s, 8, ORR_MEMORY_WEIGHTS, 1, NULL))
CALLS(hold_unknown, orr_hold(s, 7, ORR_MEMORY_KINDS, 1, NULL))
CALLS(hold_negative, orr_hold(s, 7, ORR_MEMORY_BUFFERS, -1, NULL))
CALLS(hold_endless, orr_hold(s, 7, ORR_MEMORY_BUFFERS, INFINITY, NULL))
CALLS(hold_last, orr_hold(s, 7, ORR_MEMORY_BUFFERS, 1, NULL))
CALLS(samples_none, orr_step_samples(s, 0))
CALLS(samples_endless, orr_step_samples(s, INFINITY))
CALLS(samples_late, orr_step_samples(s, 1))
CALLS(period_late, orr_step_period(s, 2))
CALLS(iteration_early, orr_iteration_samples(s, 1))
CALLS(iteration_none, orr_iteration_samples(s, 0))
CALLS(iteration_endless, orr_iteration_samples(s, INFINITY))

static void test_settings(void)
{
	refused(NULL, hold_late, IN_BUILD,
		"orr_hold: called outside create(): expected a call in create(), or orr_takes() and orr_gives() in build()");
	refused(hold_beyond, NULL, "", "orr_hold: device 8, kind 0, 1 bytes: expected a device below 8 and at least 0 bytes");
	refused(hold_unknown, NULL, "", "orr_hold: device 7, kind 5, 1 bytes: expected a device below 8 and at least 0 bytes");
	refused(hold_negative, NULL, "", "orr_hold: device 7, kind 4, -1 bytes: expected a device below 8 and at least 0 bytes");
	refused(hold_endless, NULL, "", "orr_hold: device 7, kind 4, inf bytes: expected a device below 8 and at least 0 bytes");
	near_to(ends(hold_last, NULL), 1, 1e-12, "the last host holds buffers");
	refused(samples_none, NULL, "", "orr_step_samples: expected a number above 0, found 0");
	refused(samples_endless, NULL, "", "orr_step_samples: expected a number above 0, found inf");
	refused(NULL, samples_late, IN_BUILD, "orr_step_samples: called outside create(): expected a call in create()");
	refused(NULL, period_late, IN_BUILD, "orr_step_period: called outside create(): expected a call in create()");
	refused(iteration_early, NULL, "", "orr_iteration_samples: called outside build(): expected a call in build()");
	refused(NULL, iteration_none, IN_BUILD, "orr_iteration_samples: expected a number above 0, found 0");
	refused(NULL, iteration_endless, IN_BUILD, "orr_iteration_samples: expected a number above 0, found inf");
}

/* ---- policies that fail ---- */

static struct orr_error said;
static int returned;

static void *fails_to_create(struct orr_step *s, const struct orr_args *a, struct orr_error *err)
{
	(void)s, (void)a;
	*err = said;
	return NULL;
}

static int fails_to_build(void *self, struct orr_step *s, uint64_t k, struct orr_error *err)
{
	(void)self;
	orr_compute(s, 0, ORR_FORWARD, 1);
	if (k)
		*err = said;
	return k ? returned : ORR_OK;
}

static void fails(const struct orr_step_ops *o, int code, const char *message, const char *what)
{
	struct fixture *f = fixture_new(cluster_now, "star", "lenet5", 8);
	struct orr_policy p = policy;
	struct step_result r = { 0 };
	struct orr_error e = { 0 };
	create_now = NULL;
	p.ops = o;
	ok(fixture_run(f, &p, "", &r, &e) == code && !strcmp(e.text, message), "%s: %s", what, e.text);
	fixture_free(f);
}

static void test_failures(void)
{
	const struct orr_step_ops no_create = { .create = fails_to_create, .destroy = mem_free, .build = build };
	const struct orr_step_ops no_build = { .create = create, .destroy = mem_free, .build = fails_to_build };
	said = (struct orr_error){ 0 };
	returned = 7;
	fails(&no_create, ORR_EFAIL, "policy test: create() failed without a message: expected a message in *err", "create() returns NULL");
	fails(&no_build, ORR_EFAIL, "policy test: iteration 1: build() returned 7 without a message: expected a message in *err",
		"build() returns a code");
	orr_fail(&said, ORR_EINPUT, "the model is too small");
	returned = 0;
	fails(&no_create, ORR_EINPUT, "policy test: the model is too small", "create() says why");
	fails(&no_build, ORR_EINPUT, "policy test: iteration 1: the model is too small", "build() says why");
}

int main(void)
{
	test_ops();
	test_collectives();
	test_lanes();
	test_attributes();
	test_updates();
	test_settings();
	test_failures();
	return done();
}
