/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the import of published tables: names, shapes, FLOPs, bytes and times of each kind of row, computed by hand. */
#include "tests/tap.h"

#include "base/mem.h"
#include "calib/images.h"
#include "calib/import.h"
#include "hwmodel/cost.h"

#include <stdlib.h>
#include <unistd.h>

static char path[4200];

static const char *file_of(const char *text)
{
	const char *dir = getenv("TMPDIR");
	snprintf(path, sizeof path, "%.4000s/unit_import.%ld.csv", dir ? dir : "/tmp", (long)getpid());
	FILE *f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
	return path;
}

struct want {
	const char *family, *op, *precision, *variant, *group;
	double d[POINT_DIMS], flops, bytes, size, ranks, nodes, time_s;
};

static bool is_close(double a, double b)
{
	return fabs(a - b) <= 1e-12 * fabs(b);
}

static bool is_point(const struct point *x, const struct want *w)
{
	bool is_right = !strcmp(x->family, w->family) && !strcmp(x->op, w->op) && !strcmp(x->precision, w->precision) &&
			!strcmp(x->variant, w->variant) && !strcmp(x->group, w->group);
	for (int i = 0; i < POINT_DIMS; i++)
		is_right = is_right && x->d[i] == w->d[i];
	return is_right && is_close(x->flops, w->flops) && is_close(x->bytes, w->bytes) && x->size == w->size && x->ranks == w->ranks &&
	       x->nodes == w->nodes && is_close(x->time_s, w->time_s) && isnan(x->low_s) && isnan(x->high_s) && isnan(x->cv) && x->n == 1;
}

static void check_kind(const char *kind, const char *text, const char *select, const struct want *want, size_t n)
{
	struct points p = { 0 };
	struct orr_error err = { 0 };
	int rc = import_points(kind, file_of(text), select, &p, &err);
	ok(!rc && p.n == n, "%s: %zu rows are points%s%s", kind, p.n, rc ? ": " : "", rc ? err.text : "");
	for (size_t i = 0; i < n && i < p.n; i++)
		if (!ok(is_point(&p.v[i], &want[i]), "%s, point %zu: %s %s %s", kind, i, want[i].family, want[i].op, want[i].variant))
			printf("# %s|%s|%s|%s|%s %g %g %g %g %g %g\n", p.v[i].family, p.v[i].op, p.v[i].precision, p.v[i].variant,
				p.v[i].group, p.v[i].flops, p.v[i].bytes, p.v[i].size, p.v[i].ranks, p.v[i].nodes, p.v[i].time_s);
	points_free(&p);
}

#define CHECK(kind, text, select, ...)                                       \
	check_kind(kind, text, select, (const struct want[]){ __VA_ARGS__ }, \
		sizeof(const struct want[]){ __VA_ARGS__ } / sizeof(struct want))

#define BENCH "device,suite,precision,op,pass,m,n,k,w,h,c,batch,filters,s,r,stride_w,stride_h,out_w,out_h,time_ms\n"

static void check_deepbench(void)
{
	/* A 2 x 5 matrix times a 5 x 3 matrix has 30 multiply-adds (60 FLOPs) and 10 + 15 + 6 numbers. Rows are left out if they are
	 * of inference, of another precision or kernel, or without a time. */
	CHECK("deepbench",
		BENCH "NV_V100,train,Float,gemm,,2,3,5,,,,,,,,,,,,0.5\n"
		      "NV_V100,train,\"16 bit inputs, Float math\",gemm,,2,3,5,,,,,,,,,,,,0.25\n"
		      "NV_V100,inference,Float,gemm,,2,3,5,,,,,,,,,,,,0.5\n"
		      "NV_V100,train,Double,gemm,,2,3,5,,,,,,,,,,,,0.5\n"
		      "NV_V100,train,Float,gemm,,2,3,5,,,,,,,,,,,,\n"
		      "NV_V100,train,Float,gemm,,2,3,5,,,,,,,,,,,,0\n"
		      "NV_V100,train,Float,lstm,,2,3,5,,,,,,,,,,,,0.5\n",
		NULL, { "gemm", "", "fp32", "", "", { 2, 3, 5, 1 }, 60, 124, 0, 0, 0, 0.5e-3 },
		{ "gemm", "", "fp16", "", "", { 2, 3, 5, 1 }, 60, 62, 0, 0, 0, 0.25e-3 });
	/* The convolutions have 2 samples, 4 filters and 3 input channels of 6 x 8 positions. FLOPs = 2 x 2 samples x 4 filters x 3
	 * channels x taps x output positions; the input has 288 numbers. */
	CHECK("deepbench",
		BENCH "V100,train,Float,conv,fwd,,,,6,8,3,2,4,3,3,1,1,6,8,1\n"
		      "V100,train,Float,conv,bwd_data,,,,6,8,3,2,4,3,3,2,1,3,8,1\n"
		      "V100,train,Float,conv,bwd_weight,,,,6,8,3,2,4,3,3,1,2,6,4,1\n"
		      "V100,train,Float,conv,fwd,,,,6,8,3,2,4,1,1,1,1,6,8,1\n"
		      "V100,train,Float,conv,fwd,,,,6,8,3,2,4,1,1,2,2,3,4,1\n"
		      "V100,train,Float,conv,fwd,,,,6,8,3,2,4,5,5,1,1,6,8,1\n"
		      "V100,train,Float,conv,fwd,,,,6,8,3,2,4,1,3,1,1,6,8,1\n"
		      "V100,train,Float,conv,fwd,,,,6,8,3,2,4,3,1,1,1,6,8,1\n",
		"v1", { "conv", "forward", "fp32", "3x3 s1", "", { 2, 3, 8, 6, 4, 3 }, 20736, 3120, 0, 0, 0, 1e-3 },
		{ "conv", "data-gradient", "fp32", "strided", "", { 2, 3, 8, 6, 4, 3 }, 10368, 2352, 0, 0, 0, 1e-3 },
		{ "conv", "weight-gradient", "fp32", "strided", "", { 2, 3, 8, 6, 4, 3 }, 10368, 2352, 0, 0, 0, 1e-3 },
		{ "conv", "forward", "fp32", "1x1", "", { 2, 3, 8, 6, 4, 1 }, 2304, 2736, 0, 0, 0, 1e-3 },
		{ "conv", "forward", "fp32", "1x1 strided", "", { 2, 3, 8, 6, 4, 1 }, 576, 1584, 0, 0, 0, 1e-3 },
		{ "conv", "forward", "fp32", "large", "", { 2, 3, 8, 6, 4, 5 }, 57600, 3888, 0, 0, 0, 1e-3 },
		{ "conv", "forward", "fp32", "large", "", { 2, 3, 8, 6, 4, 3 }, 6912, 2832, 0, 0, 0, 1e-3 },
		{ "conv", "forward", "fp32", "large", "", { 2, 3, 8, 6, 4, 1 }, 6912, 2832, 0, 0, 0, 1e-3 });
}

#define BLOCK "device,model,tp,num_tokens,op,median_ms,n_head,n_kv_head,n_embd,n_ffn,gated\n"

static void check_vidur(void)
{
	/* The model has hidden width 64, 8 heads of queries, 2 heads of keys and an MLP of width 256. The rows have 10 tokens on 2
	 * devices, in fp16. */
	CHECK("vidur-mlp",
		BLOCK "a100,m,2,10,attn_pre_proj,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,attn_post_proj,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,mlp_up_proj,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,mlp_up_proj,0.5,8,2,64,256,False\n"
		      "a100,m,2,10,mlp_down_proj,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,add,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,input_layernorm,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,post_attention_layernorm,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,mlp_act,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,mlp_act,0.5,8,2,64,256,False\n"
		      "a100,m,2,10,emb,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,attn_rope,0.5,8,2,64,256,True\n"
		      "a100,m,2,10,attn_decode,0.5,8,2,64,256,True\n",
		NULL, { "gemm", "", "fp16", "", "m", { 10, 48, 64, 1 }, 61440, 8384, 0, 0, 0, 5e-4 },
		{ "gemm", "", "fp16", "", "m", { 10, 64, 32, 1 }, 40960, 6016, 0, 0, 0, 5e-4 },
		{ "gemm", "", "fp16", "", "m", { 10, 256, 64, 1 }, 327680, 39168, 0, 0, 0, 5e-4 },
		{ "gemm", "", "fp16", "", "m", { 10, 128, 64, 1 }, 163840, 20224, 0, 0, 0, 5e-4 },
		{ "gemm", "", "fp16", "", "m", { 10, 64, 128, 1 }, 163840, 20224, 0, 0, 0, 5e-4 },
		{ "memory", "residual-add", "fp16", "", "m", { 10, 64, 2 }, 0, 3840, 0, 0, 0, 5e-4 },
		{ "memory", "layer-norm", "fp16", "", "m", { 10, 64, 2 }, 0, 2560, 0, 0, 0, 5e-4 },
		{ "memory", "layer-norm", "fp16", "", "m", { 10, 64, 2 }, 0, 2560, 0, 0, 0, 5e-4 },
		{ "memory", "activation", "fp16", "", "m", { 10, 64, 2 }, 0, 7680, 0, 0, 0, 5e-4 },
		{ "memory", "activation", "fp16", "", "m", { 10, 64, 2 }, 0, 5120, 0, 0, 0, 5e-4 },
		{ "gather", "embedding", "fp16", "", "m", { 10, 64, 2 }, 0, 2560, 0, 0, 0, 5e-4 },
		{ "memory", "rope", "fp16", "", "m", { 10, 64, 2 }, 0, 1600, 0, 0, 0, 5e-4 });
	/* 6 ranks with 4 per node use two nodes. */
	CHECK("vidur-net",
		"fabric,op,ranks,gpus_per_node,bytes,median_ms\na100_dgx,all_reduce,8,4,1000000,0.25\n"
		"a100_dgx,send_recv,2,1,4096,0.02\na100_dgx,all_reduce,6,4,8,1\nh100,all_reduce,8,8,8,1\na100_dgx,scan,8,8,8,1\n",
		"a100", { "collective", "all-reduce", "", "a100_dgx", "", { 0 }, 0, 0, 1e6, 8, 2, 2.5e-4 },
		{ "collective", "send-recv", "", "a100_dgx", "", { 0 }, 0, 0, 4096, 2, 2, 2e-5 },
		{ "collective", "all-reduce", "", "a100_dgx", "", { 0 }, 0, 0, 8, 6, 2, 1e-3 });
}

static void check_others(void)
{
	/* Tests that "NVIDIA " and "NV_" before the name of a device are ignored, and so is case. Names of other vendors keep their
	 * prefix. */
	CHECK("nccl",
		"op,gpu,ranks,gpus_per_node,fabric,bytes,oop_time_us\n"
		"allreduce,NVIDIA H100 SXM,8,8,NVSwitch,1024,20\n"
		"allgather,h100,16,8,NVSwitch,1024,20\n"
		"sendrecv,NV_H100,2,0,NVSwitch,1024,20\n"
		"reducescatter,H100,8,8,NVSwitch,1024,20\n"
		"reduce_scatter,H100,8,8,NVSwitch,1024,20\n"
		"alltoall,H100,8,8,NVSwitch,1024,20\n"
		"broadcast,H100,8,8,NVSwitch,1024,20\n"
		"reduce,H100,8,8,NVSwitch,1024,20\n"
		"reduce,H100,8,8,NVSwitch,1024,\n"
		"reduce,AMD H100,8,8,NVSwitch,1024,20\n"
		"reduce,A100,8,8,NVSwitch,1024,20\n",
		"h100", { "collective", "all-reduce", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 8, 1, 2e-5 },
		{ "collective", "all-gather", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 16, 2, 2e-5 },
		{ "collective", "send-recv", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 2, 2, 2e-5 },
		{ "collective", "reduce-scatter", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 8, 1, 2e-5 },
		{ "collective", "reduce-scatter", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 8, 1, 2e-5 },
		{ "collective", "all-to-all", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 8, 1, 2e-5 },
		{ "collective", "broadcast", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 8, 1, 2e-5 },
		{ "collective", "reduce", "", "NVSwitch", "", { 0 }, 0, 0, 1024, 8, 1, 2e-5 });
	/* 1 MB at 10 GB/s takes 100 us. A rate of 0 is not a measurement. */
	CHECK("copy", "gpu,direction,host_memory,bytes,GBps\nA100,H2D,Pinned,1e6,10\nA100,D2D,,1e6,1000\nA100,D2H,Pageable,1e6,0\n", NULL,
		{ "copy", "h2d-pinned", "", "", "", { 0 }, 0, 0, 1e6, 0, 0, 1e-4 },
		{ "copy", "d2d", "", "", "", { 0 }, 0, 0, 1e6, 0, 0, 1e-6 });
	/* The product has 2 x 8 x 16 x 32 FLOPs, at 200 TFLOP/s. A peak above 1500 TFLOP/s in the table is the peak of fp8. */
	CHECK("mamf",
		"accelerator,mamf_tflops,spec_tflops,best_shape_MxNxK\nNVIDIA A100,200,312,8x16x32\nNVIDIA H100,1400,1979,8x16x32\n"
		"MI300,0,1300,8x16x32\nNVIDIA B,800,1500,8x16x32\nNVIDIA A100,200,312,8x16\n",
		NULL, { "gemm", "", "fp16", "", "mamf", { 8, 16, 32, 1 }, 8192, 1792, 0, 0, 0, 8192 / 2e14 },
		{ "gemm", "", "fp16", "", "mamf", { 8, 16, 32, 1 }, 8192, 1792, 0, 0, 0, 8192 / 8e14 });
}

static void refused(const char *kind, const char *text, const char *select, const char *says)
{
	struct points p = { 0 };
	struct orr_error err = { 0 };
	int rc = import_points(kind, file_of(text), select, &p, &err);
	if (!ok(rc == ORR_EINPUT && strstr(err.text, says), "%s", says))
		printf("# said: %s\n", err.text);
	points_free(&p);
}

static void check_refusals(void)
{
	refused("copy", "gpu,direction,host_memory,bytes,GBps\nA100,H2D,Pinned,-1,10\n", NULL,
		":2: bytes: expected a number from 0 to 1e+15");
	refused("copy", "gpu,direction,host_memory,bytes,GBps\nA100,H2D,Pinned,1,\n", NULL, ":2: GBps: expected a number");
	refused("copy", "gpu,direction,bytes,GBps\nA100,H2D,1,1\n", NULL, ":1: expected a column \"host_memory\"");
	refused("copy", "gpu,direction,host_memory,bytes,GBps\nA100,H2D,Pinned,1,1\n", "h1",
		"expected a row of a supported kernel, for a device whose name begins with h1");
	refused("copy", "gpu,direction,host_memory,bytes,GBps\n", NULL, ".csv: expected a row of a supported kernel");
	refused("copy", "gpu,direction,host_memory,bytes,GBps\nA100,H2D,Pinned,1,1\nA100,H2D\n", NULL, ":3: expected 5 fields");
	refused("copies", "gpu\n", NULL, "--from copies: expected deepbench");
}

/* ---- one efficiency from images/s ---- */

static double step_s(const char *network, const struct device *device, double batch, double share)
{
	const struct cost_options o = { .precision = PRECISION_FP32, .efficiency = share };
	struct orr_error err;
	struct dnn *d = dnn_load(network, &err);
	struct cost *c = cost_new(d, device, &o, &err);
	double sum = cost_update_s(c, d->params, 0);
	for (int pass = DNN_FORWARD; pass <= DNN_BACKWARD_WEIGHT; pass++)
		sum += cost_range_s(c, 0, d->n_layers, (enum dnn_pass)pass, batch, 1, false);
	cost_free(c);
	dnn_free(d);
	return sum;
}

/* Steps are generated from products that reach a known share of the peak. The law fitted to their images/s must have the geometric
 * mean over networks. */
static void check_images(void)
{
	static const struct {
		const char *model, *network;
		double batch, share;
	} rows[] = { { "ResNet-50", "resnet50_v1", 64, 0.4 }, { "ResNet-50", "resnet50_v1", 32, 0.4 }, { "VGG16", "vgg16", 64, 0.5 } };
	struct orr_error err = { 0 };
	struct device *device = device_load("k80", &err);
	char text[2000] = "gpu,model,batch_per_gpu,gpus,data,images_per_s\nK80,ResNet-50,64,2,synthetic,1\nK80,ResNet-50,64,1,real,1\n"
			  "K80,LeNet,64,1,synthetic,1\nP100,VGG16,64,1,synthetic,1\n";
	for (size_t i = 0; i < 3; i++)
		snprintf(text + strlen(text), sizeof text - strlen(text), "K80,%s,%.0f,1,synthetic,%.17g\n", rows[i].model, rows[i].batch,
			rows[i].batch / step_s(rows[i].network, device, rows[i].batch, rows[i].share));
	const struct fit_options o = { .device = "k80", .name = "mine" };
	struct profile *p = images_profile(file_of(text), "k80", &o, &err);
	ok(p && p->n_laws == 2, "images/s give laws of convolutions and of products%s%s", p ? "" : ": ", p ? "" : err.text);
	double share = sqrt(0.4 * 0.5), error = log(0.5 / 0.4) / 2;
	for (size_t i = 0; p && i < p->n_laws; i++) {
		const struct law *l = &p->law[i];
		same_text(l->family, i ? "gemm" : "conv", "family of the law");
		near_to(l->param[1] / device->peak_flops[PRECISION_FP32], share, 1e-9, "share of the peak: geometric mean over networks");
		/* The standard error of the mean of two logarithms is half of their distance; sigma is the spread over the four
		 * networks of the table. */
		near_to(sqrt(l->covariance[1][1]), error, 1e-9, "the standard error of the share over networks");
		near_to(l->sigma, 2 * error, 1e-9, "the spread of networks");
		ok(l->param[0] == 0 && isinf(l->param[2]) && l->param[3] == 1 && l->points == 3 && l->held_out == 3,
			"one term, tested on each network by the others");
		ok(l->held_out_median > l->median_error && l->median_error > 0.02 && l->held_out_p90 > l->p90_error,
			"errors of networks left out are larger");
		bool has_range = false;
		for (int k = 0; k < LAW_FEATURES; k++)
			has_range = has_range || !isnan(l->from[k]) || !isnan(l->to[k]);
		ok(!has_range, "the law applies to all shapes");
	}
	profile_free(p);
	snprintf(text, sizeof text, "gpu,model,batch_per_gpu,gpus,data,images_per_s\nK80,VGG16,64,1,synthetic,%.17g\n",
		64 / step_s("vgg16", device, 64, 0.5));
	p = images_profile(file_of(text), NULL, &o, &err);
	ok(p && isnan(p->law[0].held_out_median) && p->law[0].held_out == 0 && p->law[0].covariance[1][1] == 0 &&
			p->law[0].mean_error < 1e-9,
		"one network alone is not tested on others");
	profile_free(p);
	static const char *const bad[][2] = { { "gpu,model,batch_per_gpu,gpus,data,images_per_s\nK80,VGG16,0,1,synthetic,5\n",
						      ":2: batch_per_gpu: expected a number from 1" },
		{ "gpu,model,batch_per_gpu,gpus,data,images_per_s\nK80,VGG16,64,1,synthetic,\n", ":2: images_per_s: expected" },
		{ "gpu,model,batch_per_gpu,gpus,data,images_per_s\nK80,VGG16,64,2,synthetic,5\n", "expected a row with one GPU" },
		{ "gpu,model,gpus,data,images_per_s\n", "expected a column \"batch_per_gpu\"" } };
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		p = images_profile(file_of(bad[i][0]), NULL, &o, &err);
		ok(!p && strstr(err.text, bad[i][1]), "images: %s", bad[i][1]);
		profile_free(p);
	}
	ok(!images_profile(path, NULL, &(struct fit_options){ .name = "x" }, &err) && strstr(err.text, "--device NAME"),
		"expected --device NAME");
	device_free(device);
}

int main(void)
{
	check_deepbench();
	check_vidur();
	check_others();
	check_refusals();
	check_images();
	unlink(path);
	return done();
}
