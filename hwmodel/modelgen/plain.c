/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chains: AlexNet (Krizhevsky 2012, 2014), VGG (Simonyan, Zisserman 2015), LeNet-5, networks for MNIST and CIFAR. */
#include "hwmodel/modelgen/modelgen.h"

#include "base/mem.h"

#include <stdio.h>

struct conv square(double out, double k, double s, double p, bool bias)
{
	return (struct conv){ .out = out, .kh = k, .kw = k, .stride = s, .ph = p, .pw = p, .groups = 1, .bias = bias };
}

static struct act conv_relu(struct plan *p, struct act x, const char *number, struct conv k)
{
	char name[32];
	snprintf(name, sizeof name, "conv%s", number);
	x = op_conv(p, name, x, k);
	snprintf(name, sizeof name, "relu%s", number);
	return op_activation(p, name, x, OP_RELU);
}

/* Adds the fully connected layers, on the flattened channels. */
static void classifier(struct plan *p, struct act x, double classes)
{
	struct act flat = { x.c * x.h * x.w, 1, 1, x.number };
	flat = op_linear(p, "fc6", flat, 4096, true, 1);
	flat = op_activation(p, "relu6", flat, OP_RELU);
	flat = op_linear(p, "fc7", flat, 4096, true, 1);
	flat = op_activation(p, "relu7", flat, OP_RELU);
	op_softmax(p, "softmax", op_linear(p, "fc8", flat, classes, true, 1));
	p->classifier = mem_strdup("fc6");
}

static struct plan *alexnet(const struct recipe *r)
{
	struct plan *p = plan_new(r->name, r->title, "224x224x3");
	struct act x = conv_relu(p, op_input(p, 3, 224, 224), "1", square(64, 11, 4, 2, true));
	x = op_pool(p, "pool1", x, OP_MAXPOOL, 3, 2, 0);
	x = conv_relu(p, x, "2", square(192, 5, 1, 2, true));
	x = op_pool(p, "pool2", x, OP_MAXPOOL, 3, 2, 0);
	x = conv_relu(p, x, "3", square(384, 3, 1, 1, true));
	x = conv_relu(p, x, "4", square(256, 3, 1, 1, true));
	x = conv_relu(p, x, "5", square(256, 3, 1, 1, true));
	classifier(p, op_pool(p, "pool5", x, OP_MAXPOOL, 3, 2, 0), 1000);
	return p;
}

static struct conv grouped(struct conv k)
{
	k.groups = 2;
	return k;
}

static struct plan *alexnet_bvlc(const struct recipe *r)
{
	struct plan *p = plan_new(r->name, r->title, "227x227x3");
	struct act x = conv_relu(p, op_input(p, 3, 227, 227), "1", square(96, 11, 4, 0, true));
	x = op_pool(p, "pool1", op_norm(p, "norm1", x, OP_LRN), OP_MAXPOOL_CEIL, 3, 2, 0);
	x = conv_relu(p, x, "2", grouped(square(256, 5, 1, 2, true)));
	x = op_pool(p, "pool2", op_norm(p, "norm2", x, OP_LRN), OP_MAXPOOL_CEIL, 3, 2, 0);
	x = conv_relu(p, x, "3", square(384, 3, 1, 1, true));
	x = conv_relu(p, x, "4", grouped(square(384, 3, 1, 1, true)));
	x = conv_relu(p, x, "5", grouped(square(256, 3, 1, 1, true)));
	classifier(p, op_pool(p, "pool5", x, OP_MAXPOOL_CEIL, 3, 2, 0), 1000);
	return p;
}

static struct plan *vgg(const struct recipe *r)
{
	const int *convs = r->how; /* number of convolutions in each of five stages */
	struct plan *p = plan_new(r->name, r->title, "224x224x3");
	struct act x = op_input(p, 3, 224, 224);
	for (int s = 0; s < 5; s++) {
		char name[32];
		for (int i = 0; i < convs[s]; i++) {
			snprintf(name, sizeof name, "%d_%d", s + 1, i + 1);
			x = conv_relu(p, x, name, square(s < 4 ? 64 << s : 512, 3, 1, 1, true));
		}
		snprintf(name, sizeof name, "pool%d", s + 1);
		x = op_pool(p, name, x, OP_MAXPOOL, 2, 2, 0);
	}
	classifier(p, x, 1000);
	return p;
}

/* Builds the convolutions of VGG-16 on images of CIFAR, each with a norm, then one hidden layer instead of two. */
static struct plan *vgg16_cifar(const struct recipe *r)
{
	static const int convs[] = { 2, 2, 3, 3, 3 };
	struct plan *p = plan_new(r->name, r->title, "32x32x3");
	struct act x = op_input(p, 3, 32, 32);
	for (int s = 0; s < 5; s++) {
		char name[32];
		for (int i = 0; i < convs[s]; i++) {
			snprintf(name, sizeof name, "conv%d_%d", s + 1, i + 1);
			x = op_conv(p, name, x, square(s < 4 ? 64 << s : 512, 3, 1, 1, true));
			snprintf(name, sizeof name, "bn%d_%d", s + 1, i + 1);
			x = op_norm(p, name, x, OP_BATCHNORM);
			snprintf(name, sizeof name, "relu%d_%d", s + 1, i + 1);
			x = op_activation(p, name, x, OP_RELU);
		}
		snprintf(name, sizeof name, "pool%d", s + 1);
		x = op_pool(p, name, x, OP_MAXPOOL, 2, 2, 0);
	}
	x = op_norm(p, "bn6", op_linear(p, "fc6", x, 512, true, 1), OP_BATCHNORM);
	op_softmax(p, "softmax", op_linear(p, "fc7", op_activation(p, "relu6", x, OP_RELU), 100, true, 1));
	p->classifier = mem_strdup("fc6");
	return p;
}

/* Builds two convolutions without padding, each with a 2x2 pool, and a hidden layer of 1,024. */
static struct plan *lenet_mnist(const struct recipe *r)
{
	struct plan *p = plan_new(r->name, r->title, "28x28x1");
	struct act x = conv_relu(p, op_input(p, 1, 28, 28), "1", square(32, 5, 1, 0, true));
	x = conv_relu(p, op_pool(p, "pool1", x, OP_MAXPOOL, 2, 2, 0), "2", square(64, 5, 1, 0, true));
	x = op_pool(p, "pool2", x, OP_MAXPOOL, 2, 2, 0);
	x = op_linear(p, "fc3", (struct act){ act_elems(x), 1, 1, x.number }, 1024, true, 1);
	op_softmax(p, "softmax", op_linear(p, "fc4", op_activation(p, "relu3", x, OP_RELU), 10, true, 1));
	p->classifier = mem_strdup("fc3");
	return p;
}

static struct plan *lenet5(const struct recipe *r)
{
	struct plan *p = plan_new(r->name, r->title, "32x32x1");
	struct act x = op_conv(p, "c1", op_input(p, 1, 32, 32), square(6, 5, 1, 0, true));
	x = op_pool(p, "s2", op_activation(p, "a1", x, OP_TANH), OP_AVGPOOL, 2, 2, 0);
	x = op_conv(p, "c3", x, square(16, 5, 1, 0, true));
	x = op_pool(p, "s4", op_activation(p, "a3", x, OP_TANH), OP_AVGPOOL, 2, 2, 0);
	x = (struct act){ act_elems(x), 1, 1, x.number };
	x = op_activation(p, "a5", op_linear(p, "f5", x, 120, true, 1), OP_TANH);
	x = op_activation(p, "a6", op_linear(p, "f6", x, 84, true, 1), OP_TANH);
	op_softmax(p, "softmax", op_linear(p, "out", x, 10, true, 1));
	p->classifier = mem_strdup("f5");
	return p;
}

static struct plan *cifar10_quick(const struct recipe *r)
{
	struct plan *p = plan_new(r->name, r->title, "32x32x3");
	struct act x = op_conv(p, "conv1", op_input(p, 3, 32, 32), square(32, 5, 1, 2, true));
	x = op_activation(p, "relu1", op_pool(p, "pool1", x, OP_MAXPOOL_CEIL, 3, 2, 0), OP_RELU);
	x = op_pool(p, "pool2", conv_relu(p, x, "2", square(32, 5, 1, 2, true)), OP_AVGPOOL_CEIL, 3, 2, 0);
	x = op_pool(p, "pool3", conv_relu(p, x, "3", square(64, 5, 1, 2, true)), OP_AVGPOOL_CEIL, 3, 2, 0);
	x = op_linear(p, "ip1", (struct act){ act_elems(x), 1, 1, x.number }, 64, true, 1);
	op_softmax(p, "softmax", op_linear(p, "ip2", x, 10, true, 1));
	p->classifier = mem_strdup("ip1");
	return p;
}

static const int vgg16[] = { 2, 2, 3, 3, 3 }, vgg19[] = { 2, 2, 4, 4, 4 };

const struct recipe plain_cnns[] = {
	{ "alexnet", "AlexNet (torchvision: one tower, no LRN)", "torchvision; Krizhevsky, arXiv:1404.5997", alexnet, NULL },
	{ "alexnet_bvlc", "AlexNet (BVLC Caffe: grouped convolutions, LRN)", "BVLC Caffe bvlc_alexnet", alexnet_bvlc, NULL },
	{ "vgg16", "VGG-16", "Simonyan and Zisserman, ICLR 2015, configuration D", vgg, vgg16 },
	{ "vgg19", "VGG-19", "Simonyan and Zisserman, ICLR 2015, configuration E", vgg, vgg19 },
	{ "lenet5", "LeNet-5 (tanh, average pooling, all of C3 connected)", "LeCun et al., Proc. IEEE 86(11), 1998", lenet5, NULL },
	{ "lenet_mnist", "LeNet for MNIST (convolutions of 32 and 64, hidden layer of 1,024)", "public code of Crossbow (lsds/Crossbow)",
		lenet_mnist, NULL },
	{ "vgg16_cifar", "VGG-16 for CIFAR-100 (batch norm, one hidden layer of 512)",
		"Simonyan and Zisserman, ICLR 2015; form for CIFAR: public code", vgg16_cifar, NULL },
	{ "cifar10_quick", "CIFAR-10 quick", "BVLC Caffe examples/cifar10", cifar10_quick, NULL },
	{ NULL, NULL, NULL, NULL, NULL },
};
