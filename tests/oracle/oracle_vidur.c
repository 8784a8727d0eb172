/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Comparison with Vidur (microsoft/vidur at 7d47513), which served 2,000 requests of the Azure conversation trace with its own event,
 * batching and memory code and with iteration times in closed form. Times of first tokens and completions, and numbers of restarts,
 * must be equal for every request.
 */
#include "tests/serve/llm_run.h"
#include "tests/tap.h"

extern const struct orr_policy orr_policy_serve_vllm, orr_policy_serve_sarathi;

enum { REQUESTS = 2000 };

/* Returns the larger of two errors. A missing time (NAN) counts as the largest error. */
static double worse(double worst, double got, double want)
{
	double x = fabs(got - want);
	return isnan(x) ? INFINITY : x > worst ? x : worst;
}

static void compare(const char *what, const struct reqset *requests, const struct orr_policy *policy, uint32_t blocks, const char *file,
	double restarts)
{
	struct orr_error err = { 0 };
	struct run_result *r = llm_serve(&(struct llm_run){ .requests = requests, .kv_blocks = blocks, .policy = policy }, &err);
	FILE *f = llm_oracle_file(file);
	if (!ok(r && f && r->n_requests == REQUESTS, "%s: the run ends, with all requests", what)) {
		printf("# %s\n", err.text);
		result_free(r);
		if (f)
			fclose(f);
		return;
	}
	char line[400];
	double id, first, end, again, worst_first = 0, worst_end = 0, other_restarts = 0;
	size_t rows = 0;
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, "%lf,%*f,%*f,%*f,%*f,%lf,%lf,%lf", &id, &first, &end, &again) != 4)
			continue;
		const struct request_row *q = &r->requests[(size_t)id];
		rows++;
		worst_first = worse(worst_first, q->first_token_s, first);
		worst_end = worse(worst_end, q->completed_s, end);
		other_restarts += fabs(q->preemptions - again);
	}
	fclose(f);
	printf("# %s: worst first token %.3g s, worst completion %.3g s over %zu requests, %.0f iterations\n", what, worst_first, worst_end,
		rows, llm_metric(r, "iterations"));
	ok(rows == REQUESTS && worst_first <= 1e-9, "%s: every first token within 1e-9 s", what);
	ok(worst_end <= 1e-9, "%s: every completion within 1e-9 s", what);
	ok(other_restarts == 0 && llm_metric(r, "preemptions") == restarts, "%s: %.0f restarts, of the same requests", what, restarts);
	result_free(r);
}

int main(void)
{
	struct reqset *requests = llm_vidur_requests();
	if (!requests) {
		skip("no oracles/vidur under ORRERY_DATA_PATH: the comparison with Vidur was NOT made");
		return done();
	}
	/* Vidur's memory planner gives LLaMA-3-8B on an A100 30,208 blocks. The expected numbers of restarts are Vidur's. */
	compare("vllm", requests, &orr_policy_serve_vllm, 30208, "vllm_r1_round_robin.csv", 0);
	compare("vllm, 400 blocks", requests, &orr_policy_serve_vllm, 400, "vllm_r1_round_robin_b400.csv", 396);
	compare("sarathi", requests, &orr_policy_serve_sarathi, 30208, "sarathi_r1_round_robin_c512.csv", 0);
	reqset_free(requests);
	return done();
}
