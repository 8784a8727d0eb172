/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Residual networks: He et al., CVPR 2016; wide ones: Zagoruyko and Komodakis, BMVC 2016. A repeat holds
 * the equal blocks of a stage.
 */
#include "hwmodel/modelgen/modelgen.h"

#include "base/mem.h"

#include <stdio.h>

struct resnet {
	int blocks[4];       /* number of blocks per stage; 0: no stage */
	bool is_bottleneck;  /* true: 1x1, 3x3, 1x1 with four times the channels; false: 3x3, 3x3 */
	bool strides_first;  /* v1: the stride is in the first 1x1 instead of the 3x3 */
	double width;        /* factor on the number of channels inside a block */
	bool has_projection; /* false: the shortcut pads channels with zeros (option A) */
	double classes;      /* number of classes; 1000: ImageNet's stem; 10 or 100: CIFAR's */
};

static struct act conv_norm(struct plan *p, const char *conv, const char *norm, struct act x, struct conv k)
{
	return op_norm(p, norm, op_conv(p, conv, x, k), OP_BATCHNORM);
}

/* Adds a block. base: number of channels of the stage; wide networks of basic blocks widen both convolutions. */
static struct act block(struct plan *p, const struct resnet *r, struct act x, double base, double stride)
{
	double inner = base * r->width, out = r->is_bottleneck ? 4 * base : inner;
	double first = r->strides_first || !r->is_bottleneck ? stride : 1;
	struct act y;
	if (r->is_bottleneck) {
		y = op_activation(p, "relu1", conv_norm(p, "conv1", "bn1", x, square(inner, 1, first, 0, false)), OP_RELU);
		y = conv_norm(p, "conv2", "bn2", y, square(inner, 3, stride / first, 1, false));
		y = conv_norm(p, "conv3", "bn3", op_activation(p, "relu2", y, OP_RELU), square(out, 1, 1, 0, false));
	} else {
		y = op_activation(p, "relu1", conv_norm(p, "conv1", "bn1", x, square(out, 3, first, 1, false)), OP_RELU);
		y = conv_norm(p, "conv2", "bn2", y, square(out, 3, 1, 1, false));
	}
	if (r->has_projection && x.c != out)
		conv_norm(p, "downsample", "downsample_bn", x, square(out, 1, stride, 0, false));
	return op_activation(p, r->is_bottleneck ? "relu3" : "relu2", op_add(p, "add", y), OP_RELU);
}

static struct act stage(struct plan *p, const struct resnet *r, struct act x, int s, double base)
{
	plan_prefix(p, "layer%d.0.", s + 1);
	x = block(p, r, x, base, s ? 2 : 1);
	if (r->blocks[s] > 1) {
		plan_repeat_begin(p, (uint32_t)r->blocks[s] - 1, 1, false);
		plan_prefix(p, "layer%d.#.", s + 1);
		x = block(p, r, x, base, 1);
		plan_repeat_end(p);
	}
	plan_prefix(p, "%s", "");
	return x;
}

static struct plan *resnet(const struct recipe *recipe)
{
	const struct resnet *r = recipe->how;
	bool is_imagenet = r->classes > 100;
	struct plan *p = plan_new(recipe->name, recipe->title, is_imagenet ? "224x224x3" : "32x32x3");
	struct act x = is_imagenet ? op_input(p, 3, 224, 224) : op_input(p, 3, 32, 32);
	x = conv_norm(p, "conv1", "bn1", x, is_imagenet ? square(64, 7, 2, 3, false) : square(16, 3, 1, 1, false));
	x = op_activation(p, "relu1", x, OP_RELU);
	if (is_imagenet)
		x = op_pool(p, "maxpool", x, OP_MAXPOOL, 3, 2, 1);
	for (int s = 0; s < 4 && r->blocks[s]; s++)
		x = stage(p, r, x, s, (is_imagenet ? 64 : 16) << s);
	x = op_global_pool(p, "avgpool", x);
	op_softmax(p, "softmax", op_linear(p, "fc", x, r->classes, true, 1));
	p->classifier = mem_strdup("fc");
	return p;
}

static const struct resnet r18 = { { 2, 2, 2, 2 }, false, false, 1, true, 1000 }, r34 = { { 3, 4, 6, 3 }, false, false, 1, true, 1000 },
			   r50 = { { 3, 4, 6, 3 }, true, false, 1, true, 1000 }, r50v1 = { { 3, 4, 6, 3 }, true, true, 1, true, 1000 },
			   r101 = { { 3, 4, 23, 3 }, true, false, 1, true, 1000 }, r152 = { { 3, 8, 36, 3 }, true, false, 1, true, 1000 },
			   w50 = { { 3, 4, 6, 3 }, true, false, 2, true, 1000 }, r20 = { { 3, 3, 3 }, false, false, 1, false, 10 },
			   r32 = { { 5, 5, 5 }, false, false, 1, false, 10 }, r56 = { { 9, 9, 9 }, false, false, 1, false, 10 },
			   w26c10 = { { 4, 4, 4 }, false, false, 10, true, 10 }, w26c100 = { { 4, 4, 4 }, false, false, 10, true, 100 };

const struct recipe resnets[] = {
	{ "resnet18", "ResNet-18", "torchvision; He et al., CVPR 2016", resnet, &r18 },
	{ "resnet34", "ResNet-34", "torchvision; He et al., CVPR 2016", resnet, &r34 },
	{ "resnet50", "ResNet-50 v1.5 (stride in the 3x3)", "torchvision; He et al., CVPR 2016", resnet, &r50 },
	{ "resnet50_v1", "ResNet-50 v1 (stride in the first 1x1)", "He et al., CVPR 2016", resnet, &r50v1 },
	{ "resnet101", "ResNet-101 v1.5", "torchvision; He et al., CVPR 2016", resnet, &r101 },
	{ "resnet152", "ResNet-152 v1.5", "torchvision; He et al., CVPR 2016", resnet, &r152 },
	{ "resnet20_cifar", "ResNet-20 for CIFAR-10 (shortcuts of option A)", "He et al., CVPR 2016, section 4.2", resnet, &r20 },
	{ "resnet32_cifar", "ResNet-32 for CIFAR-10 (shortcuts of option A)", "He et al., CVPR 2016, section 4.2", resnet, &r32 },
	{ "resnet56_cifar", "ResNet-56 for CIFAR-10 (shortcuts of option A)", "He et al., CVPR 2016, section 4.2", resnet, &r56 },
	{ "wrn_50_2", "Wide ResNet-50-2", "torchvision; Zagoruyko and Komodakis, BMVC 2016", resnet, &w50 },
	{ "wrn_26_10_cifar10", "WRN-26-10 for CIFAR-10 (norms after convolutions, as torchvision's ResNet)",
		"Zagoruyko and Komodakis, BMVC 2016 (their WRN-28-10 counts the shortcuts)", resnet, &w26c10 },
	{ "wrn_26_10_cifar100", "WRN-26-10 for CIFAR-100 (norms after convolutions, as torchvision's ResNet)",
		"Zagoruyko and Komodakis, BMVC 2016 (their WRN-28-10 counts the shortcuts)", resnet, &w26c100 },
	{ NULL, NULL, NULL, NULL, NULL },
};
