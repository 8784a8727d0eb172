/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event machine of rendezvous (policies/spot/rendezvous.h), by hand: members, timers, instances that wait, and coordinates
 *
 * The log has one entry per call: time in s, "+" ready, "-" gone or "!" timer, the instance or, at a timer, the members; then the
 * state (S stopped, G gathering, R running), the members so far and the number of waiting instances.
 */
#include "tests/spot/spot_runs.h"
#include "tests/tap.h"

#include "policies/spot/rendezvous.h"

static struct orr_error err;
static const struct orr_param no_params[] = { ORR_PARAM_END };
static const char job[] = "{\"name\":\"j\",\"source\":\"a test\",\"samples_per_step\":10,\"steps\":100,\"points\":[[1,1,1000]]}";

static struct rendezvous machine;
static uint32_t least; /* members without which the job does not run */
static bool is_eager;  /* whether a loss while members gather starts a rendezvous too */
static char told[2000];

static const char *name_of(const struct orr_spot *w, orr_inst i)
{
	static char name[32];
	return orr_inst_name(w, i, name, sizeof name);
}

static void note(const struct orr_spot *w, char what, const char *of)
{
	size_t n = strlen(told);
	snprintf(told + n, sizeof told - n, "%g%c%s %c", (double)orr_spot_now(w) / 1e9, what, of, "SGR"[machine.state]);
	for (uint32_t i = 0; i < machine.n_members; i++) {
		n = strlen(told);
		snprintf(told + n, sizeof told - n, "%s", orr_inst_is_live(w, machine.member[i]) ? name_of(w, machine.member[i]) : "?");
	}
	n = strlen(told);
	snprintf(told + n, sizeof told - n, "%u, ", machine.waiting);
}

static void *create(struct orr_spot *w, const struct orr_args *args, struct orr_error *e)
{
	(void)w, (void)args, (void)e;
	told[0] = '\0';
	machine.length_ns[RDV_GLOBAL] = 10 * ORR_SECOND;
	machine.length_ns[RDV_LOCAL] = 5 * ORR_SECOND;
	return &machine;
}

static void destroy(void *self)
{
	rdv_free(self);
	machine = (struct rendezvous){ 0 };
	is_eager = false;
}

/* Adds to the log what happened to the coordinates of a lost instance: "F" fatal, or "AT>HEIR". */
static void lose(struct orr_spot *w, orr_inst i)
{
	uint32_t at = 99;
	orr_inst heir = 0;
	enum rdv_loss loss = rdv_lose(&machine, w, i, &at, &heir);
	size_t n = strlen(told);
	if (loss == RDV_TAKEN_OVER)
		snprintf(told + n, sizeof told - n, "%u>%s%s%u ", at, name_of(w, heir), rdv_is_shadow(&machine, heir) ? "=" : "?",
			machine.shadows);
	else
		snprintf(told + n, sizeof told - n, "%s%u ", loss == RDV_FATAL ? "F" : "N", machine.shadows);
}

static void instance(void *self, struct orr_spot *w, orr_inst i, enum orr_inst_event event)
{
	(void)self;
	if (event == ORR_INST_READY) {
		if (rdv_ready(&machine, w, i))
			rdv_start(&machine, w, RDV_GLOBAL);
		note(w, '+', name_of(w, i));
	} else if (event == ORR_INST_GONE) {
		if (machine.depth && machine.version)
			lose(w, i);
		bool waited = rdv_gone(&machine, i);
		if (!machine.depth && !waited && (machine.state == RDV_RUNNING || (is_eager && machine.state == RDV_GATHERING)))
			rdv_start(&machine, w, RDV_LOCAL);
		note(w, '-', name_of(w, i));
	}
}

static void timer(void *self, struct orr_spot *w, uint64_t tag)
{
	char members[64] = "";
	(void)self;
	if (!rdv_is_timer(tag) || !rdv_fires(&machine, w, tag)) {
		note(w, '!', "");
		return;
	}
	for (uint32_t i = 0; i < machine.n_members; i++)
		strcat(members, name_of(w, machine.member[i]));
	uint32_t pipelines = machine.depth ? machine.n_members / machine.depth : 0;
	if (machine.depth)
		rdv_assign(&machine, w, pipelines);
	rdv_settle(&machine, w, machine.n_members >= least, machine.depth ? machine.n_members - pipelines * machine.depth : 0);
	note(w, '!', members);
}

static void expect(const char *what, const char *rows, const char *expected)
{
	const struct orr_spot_ops ops = { .create = create, .destroy = destroy, .instance = instance, .timer = timer };
	const struct orr_policy policy = { ORR_ABI_VERSION, sizeof policy, "script", "of a test", "spot", 0, no_params, &ops, sizeof ops };
	struct spot_runs s;
	struct run_result *r = NULL;
	if (spot_runs_open(&s, NULL, rows, job, &policy, "", "", &err)) {
		s.config.until_ns = 200 * ORR_SECOND;
		r = spot_runs_run(&s, 0, &err);
	}
	spot_runs_close(&s);
	if (!ok(r && !strcmp(told, expected), "%s", what))
		printf("# %s\n# expected: %s\n# got:      %s\n", r ? "" : err.text, expected, told);
	result_free(r);
}

/* ---- members and timers ---- */

static void members(void)
{
	least = 2;
	expect("members gather, run, wait and are replaced",
		"0,add,a\n0,add,b\n4000,add,c\n20000,add,d\n30000,remove,d\n40000,add,e\n50000,remove,a\n60000,remove,b\n62000,remove,c\n"
		"80000,add,f\n",
		"0+a Ga0, 0+b Gab0, 4+c Gabc0, 10!abc R0, 20+d R1, 30-d R0, 40+e R1, 50-a Gbce1, 55!bce R0, 60-b Gce0, 62-c G?e0, "
		"65! Ge0, 70!e S0, 80+f Gef0, 90!ef R0, ");
	least = 1;
	machine.keeps_waiting = true;
	expect("a loss of a waiting instance may leave the count", "0,add,a\n20000,add,b\n30000,remove,b\n",
		"0+a Ga0, 10!a R0, 20+b R1, 30-b R1, ");
	/* The rendezvous of 22 s replaces that of 20 s, whose timer is cancelled. */
	is_eager = true;
	expect("a new rendezvous cancels the timer", "0,add,a\n0,add,b\n0,add,c\n20000,remove,a\n22000,remove,b\n",
		"0+a Ga0, 0+b Gab0, 0+c Gabc0, 10!abc R0, 20-a Gbc0, 22-b Gc0, 27!c R0, ");
	is_eager = true;
	machine.keeps_timers = true;
	expect("with keeps_timers the second timer finds no member, and the machine stops",
		"0,add,a\n0,add,b\n0,add,c\n20000,remove,a\n22000,remove,b\n",
		"0+a Ga0, 0+b Gab0, 0+c Gabc0, 10!abc R0, 20-a Gbc0, 22-b Gc0, 25!c R0, 27! S0, ");
	expect("if all members are lost, the machine stops", "0,add,a\n4000,remove,a\n30000,add,b\n",
		"0+a Ga0, 4-a G?0, 10! G0, 20! S0, 30+b Gb0, 40!b R0, ");
}

/* ---- coordinates ---- */

static void coordinates(void)
{
	least = 1;
	/* a 0, b 1, c 2 and d 3, and e waits. a takes over b's stage; d, the last stage of c's pipeline, takes over c's. */
	machine.depth = 2;
	expect("the holder of the stage before takes over; the first stage's is the last stage's",
		"0,add,a\n0,add,b\n0,add,c\n0,add,d\n0,add,e\n20000,remove,b\n30000,remove,c\n40000,remove,e\n50000,remove,a\n"
		"60000,remove,d\n",
		"0+a Ga0, 0+b Gab0, 0+c Gabc0, 0+d Gabcd0, 0+e Gabcde0, 10!abcde R1, 1>a=1 20-b R1, 2>d=2 30-c R1, N2 40-e R0, F1 50-a "
		"R0, F0 60-d R0, ");
	machine.depth = 3;
	expect("a holder of two stages takes over no third one, and its own loss is fatal",
		"0,add,a\n0,add,b\n0,add,c\n20000,remove,b\n30000,remove,c\n40000,remove,a\n",
		"0+a Ga0, 0+b Gab0, 0+c Gabc0, 10!abc R0, 1>a=1 20-b R0, F1 30-c R0, F0 40-a R0, ");
	/* After the loss of a, which held the stages of a and b, no holder of the stage before c's is live. */
	static const char orphan[] = "0,add,a\n0,add,b\n0,add,c\n20000,remove,b\n30000,remove,a\n40000,remove,c\n";
	machine.depth = 3;
	expect("without a live holder of the stage before, a loss is fatal", orphan,
		"0+a Ga0, 0+b Gab0, 0+c Gabc0, 10!abc R0, 1>a=1 20-b R0, F0 30-a R0, F0 40-c R0, ");
	machine.depth = 3;
	machine.ignores_orphans = true;
	expect("with ignores_orphans, such a loss has no effect", orphan,
		"0+a Ga0, 0+b Gab0, 0+c Gabc0, 10!abc R0, 1>a=1 20-b R0, F0 30-a R0, N0 40-c R0, ");
	machine.depth = 1;
	expect("a pipeline of one stage has no other holder", "0,add,a\n0,add,b\n20000,remove,a\n",
		"0+a Ga0, 0+b Gab0, 10!ab R0, F0 20-a R0, ");
	machine.depth = 3;
	expect("too few members for a pipeline have no coordinates", "0,add,a\n0,add,b\n20000,remove,a\n",
		"0+a Ga0, 0+b Gab0, 10!ab R2, N0 20-a R1, ");
}

int main(void)
{
	members();
	coordinates();
	return done();
}
