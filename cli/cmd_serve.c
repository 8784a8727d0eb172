/* SPDX-License-Identifier: GPL-3.0-or-later */
/* orrery serve */
#include "study/find_rate.h"
#include "cli/request.h"

static const char help[] =
	"usage: orrery serve TRACE --model NAME|FILE[,..] --cluster SPEC|FILE --policy A[,B..] [OPTIONS]\n"
	"       orrery serve [TRACE] --scenario FILE --policy A[,B..] [OPTIONS]\n"
	"       orrery serve TRACE .. --find-rate SLO [OPTIONS]\n\n"
	"Serves a trace of inference requests on replicas of models under each policy and compares them.\n\n"
	"  TRACE                a file (gzip and zstd too, - is standard input) or a generator of requests:\n"
	"                       poisson:rate=..,n=.. and others (orrery trace list)\n"
	"  --format F           azure-llm, mooncake, burstgpt, splitwise, vidur, requests or auto\n"
	"  --scenario FILE      a scenario below these options, which go before what it says\n"
	"  --model LIST         models as they are served: names or files (docs/served-model.schema.json)\n"
	"  --cluster C          NODESxGPUS:TYPE[:racks=N],.. or a CSV or JSON file\n"
	"  --tp N               GPUs of a tensor-parallel group; of every deployment\n"
	"  --pp N               pipeline stages; of every deployment\n"
	"  --replicas N         of every deployment (default: as many as the cluster has room for)\n"
	"  --kv-blocks N        blocks of KV cache of a replica (default: as its memory allows)\n"
	"  --placement P        of a replica's GPUs: count, consolidate, spread, best-fit, topology or fgd\n"
	"  --policy LIST        names (orrery policy list --kind serve) or plugins (./mine.so); NAME@LABEL\n"
	"                       runs one again under another label\n"
	"  --router R           auto, round-robin, random, jsq, power-of-two, least-outstanding or prefix-aware\n"
	"  --network N          over which KV caches move: star, racks, leaf-spine, fat-tree, .. with options,\n"
	"                       or a JSON file (default none: at serve.kv_Bps)\n"
	"  --device NAME        what every GPU is, whatever its type says: a name or a file\n"
	"  --profile P          laws that times of kernels go by: auto (default), none, a name or a file\n"
	"  --precision P        fp32, tf32, fp16, bf16 or fp8\n"
	"  --compress X         divide arrival times by X: 2 is twice the load\n"
	"  --slo T              a request's deadline after its arrival, where neither trace nor model has one\n"
	"  --slo-ttft T         limit of the time to the first token, for goodput\n"
	"  --slo-tpot T         limit of the time per output token, for goodput\n"
	"  --find-rate SLO      the largest rate of arrivals at which enough requests keep to the SLO:\n"
	"                       ttft=1s,tpot=100ms,e2e=30s or some of these; stores and writes nothing\n"
	"  --attainment X       with --find-rate: share of the requests that is enough (default 0.9)\n"
	"  --replications N     run N times with other random numbers: means with t-intervals (default 1)\n"
	"  --failures FILE      nodes that fail and come back: time_s,node,event\n"
	"  --prices P           USD per GPU and hour: auto (default: published on-demand prices), none or\n"
	"                       TYPE=USD,..\n"
	"  --set PATH=VALUE     change one value: serve.OPTION, policy.NAME.PARAM, failures.NAME,\n"
	"                       trace_options.NAME, or a key of the scenario (repeatable)\n" REQUEST_JOBS_HELP REQUEST_COMMON_HELP
	"\nExample: two policies of serving Llama 2 7B on an A100, then how much load the first can take:\n"
	"  orrery serve poisson:rate=2,n=500,prompt=500,output=100 --model llama2-7b --cluster 1x1:a100 \\\n"
	"    --policy vllm,sarathi\n"
	"  orrery serve poisson:rate=2,n=500,prompt=500,output=100 --model llama2-7b --cluster 1x1:a100 \\\n"
	"    --policy vllm --find-rate ttft=1s,tpot=100ms\n";

static int check(const struct request *r, struct orr_error *err)
{
	if (!r->source && !r->file)
		return orr_fail(err, ORR_EINPUT, "serve: no TRACE given (a file, or a generator such as poisson:rate=2,n=500); see --help");
	if (r->attainment && !r->find_rate)
		return orr_fail(err, ORR_EINPUT, "serve: --attainment is for --find-rate");
	if (r->find_rate && (r->output.db || r->output.out_dir))
		return orr_fail(err, ORR_EINPUT, "serve: --find-rate stores and writes nothing: leave out --db and --out");
	return ORR_OK;
}

static int run(int argc, char **argv, struct orr_error *err)
{
	struct request r;
	int rc = request_parse(argc, argv, REQUEST_SERVE | REQUEST_VERB, &r, err);
	if (!rc)
		rc = check(&r, err);
	if (!rc)
		rc = request_complete(&r, "serve", err);
	if (!rc)
		rc = r.find_rate ? find_rate(r.scenario, r.find_rate, r.attainment, &r.output, err) : study_run(r.scenario, &r.output, err);
	if (rc && r.file)
		request_name_file(&r, err);
	request_free(&r);
	return rc;
}

const struct cli_command cmd_serve = { "serve", "serve a trace of inference requests under several policies", help, run };
