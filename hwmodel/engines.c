/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "hwmodel/engines.h"

double host_gpu_s(const struct served_host *h, double gpu_s, double kernels, bool has_prompts)
{
	bool is_graph = h->graphs == GRAPHS_ALL || (h->graphs == GRAPHS_DECODE && !has_prompts);
	double launch_s = is_graph ? 0 : kernels * h->kernel_s;
	return gpu_s > launch_s ? gpu_s : launch_s;
}

double host_iteration_s(const struct served_host *h, double own_s, double gpu_s, double requests, bool has_prompts)
{
	double host_s = own_s + h->fixed_s + h->request_s * requests;
	if (h->gpu_share > 0)
		host_s += gpu_s * (1 / h->gpu_share - 1);
	if (h->steps > 1 && !has_prompts)
		host_s /= h->steps;
	if (h->is_overlapped)
		return gpu_s > host_s ? gpu_s : host_s;
	return gpu_s + host_s;
}

/*
 * tests/serve/serve_published.sh repeats the fits. vLLM 0.5.3: API server 33 %, scheduling 29 %, GPU 38 % of the time. 0.6.0: the API
 * server is a separate process, and the scheduler is called every 10 steps. SGLang 0.3 is slower than 0.4 by a factor of 1.1, because only
 * 0.4 overlaps the host with the GPU.
 */
const struct served_engine *served_engine(size_t i)
{
	static const struct served_engine engines[] = { { "ideal", NULL, 1, NULL, { 0 } },
		{ "tensorrt-llm", "19 published throughputs of Llama-2 on A100 and H100, TensorRT-LLM 0.5 and 0.6.1", 6.2, NULL, { 0 } },
		{ "lmdeploy", "36 published throughputs of Llama-2 on A100, lmdeploy 0.1.0", 1.9, NULL, { 0 } },
		{ "vllm-0.5.3", NULL, 1, "vLLM's profile of 0.5.3, Llama-3 8B on H100: GPU 38 % of the time", { .gpu_share = 0.38 } },
		{ "vllm-0.6.0", NULL, 1, "vLLM's profile of 0.5.3 without the API server, scheduled every 10 steps",
			{ .gpu_share = 0.38 / (0.38 + 0.29), .steps = 10 } },
		{ "sglang-0.3", NULL, 1, "SGLang 0.4 is 1.1 times as fast by overlap", { .gpu_share = 1 / 1.1 } },
		{ "sglang-0.4", NULL, 1, "SGLang's report of 0.4: the scheduler overlaps the GPU",
			{ .gpu_share = 1 / 1.1, .is_overlapped = true } } };
	return i < sizeof engines / sizeof *engines ? &engines[i] : NULL;
}
