/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A slot serves 2^32 - 1 events. To reach its end fast, this test includes the engine and sets the generation of a record.
 */
#include "engine/engine.c"

#include "tests/tap.h"

static void do_nothing(struct engine *e, void *ctx, uint64_t subject, uint64_t arg)
{
	(void)e;
	(void)ctx;
	(void)subject;
	(void)arg;
}

int main(void)
{
	struct engine *e = eng_new();
	struct eng_event first = eng_at(e, 1, 0, do_nothing, NULL, 0, 0);
	eng_step(e);
	record_of(e, first.slot)->generation = UINT32_MAX;
	struct eng_event last = eng_at(e, 2, 0, do_nothing, NULL, 0, 0);
	ok(last.slot == first.slot && last.generation == UINT32_MAX, "a slot serves up to its last generation");
	ok(eng_step(e) && !eng_cancel(e, last), "the last event of a slot happens");
	struct eng_event next = eng_at(e, 3, 0, do_nothing, NULL, 0, 0);
	ok(next.slot != first.slot, "the slot is retired after its last generation");
	ok(!eng_cancel(e, (struct eng_event){ first.slot, 0 }) && eng_pending(e) == 1, "no handle names it");
	record_of(e, next.slot)->generation = UINT32_MAX;
	next.generation = UINT32_MAX;
	ok(eng_cancel(e, next) && !eng_step(e), "the last event of a slot may be cancelled");
	next = eng_at(e, 4, 0, do_nothing, NULL, 0, 0);
	ok(next.slot != first.slot && next.slot != last.slot + 1 && eng_step(e) && eng_now(e) == 4,
		"cancelling the last event retires the slot");
	eng_free(e);
	return done();
}
