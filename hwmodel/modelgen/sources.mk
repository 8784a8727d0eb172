# models of networks: the generator of the catalogue, and the embedded catalogue
noinst_PROGRAMS += hwmodel/modelgen/modelgen
hwmodel_modelgen_modelgen_SOURCES = hwmodel/modelgen/graphs.c hwmodel/modelgen/inception.c hwmodel/modelgen/modelgen.c hwmodel/modelgen/modelgen.h \
	hwmodel/modelgen/plain.c hwmodel/modelgen/recommenders.c hwmodel/modelgen/resnet.c hwmodel/modelgen/transformers.c \
	hwmodel/modelgen/translators.c hwmodel/modelgen/write.c
MODEL_FILES = \
	hwmodel/models/alexnet.json hwmodel/models/alexnet_bvlc.json hwmodel/models/vgg16.json \
	hwmodel/models/vgg19.json hwmodel/models/lenet5.json hwmodel/models/lenet_mnist.json \
	hwmodel/models/vgg16_cifar.json hwmodel/models/cifar10_quick.json \
	hwmodel/models/resnet18.json hwmodel/models/resnet34.json hwmodel/models/resnet50.json \
	hwmodel/models/resnet50_v1.json hwmodel/models/resnet101.json hwmodel/models/resnet152.json \
	hwmodel/models/resnet20_cifar.json hwmodel/models/resnet32_cifar.json hwmodel/models/resnet56_cifar.json hwmodel/models/wrn_50_2.json \
	hwmodel/models/wrn_26_10_cifar10.json hwmodel/models/wrn_26_10_cifar100.json hwmodel/models/inception_v3.json \
	hwmodel/models/inception_v3_aux.json hwmodel/models/googlenet.json hwmodel/models/bert_base_s128.json \
	hwmodel/models/bert_base_s512.json hwmodel/models/bert_large_s128.json hwmodel/models/bert_large_s512.json \
	hwmodel/models/bert_large_pretrain_s128.json hwmodel/models/bert_large_pretrain_s512.json hwmodel/models/bert_large_qa_s384.json \
	hwmodel/models/gpt2_117m.json hwmodel/models/gpt2_345m.json hwmodel/models/gpt2_1p5b.json \
	hwmodel/models/gpt3_6p7b.json hwmodel/models/gpt3_13b.json hwmodel/models/gpt3_175b.json \
	hwmodel/models/llama2_7b.json hwmodel/models/llama2_13b.json hwmodel/models/llama2_70b.json \
	hwmodel/models/llama3_8b.json hwmodel/models/llama3_70b.json hwmodel/models/llama3p1_405b.json hwmodel/models/llama3p2_1b.json hwmodel/models/llama3p2_3b.json \
	hwmodel/models/mistral_7b.json hwmodel/models/phi4.json hwmodel/models/phi4_mini.json \
	hwmodel/models/deepseek_v3.json hwmodel/models/kimi_k2.json hwmodel/models/mixtral_8x7b.json hwmodel/models/mixtral_8x22b.json \
	hwmodel/models/qwen3_30b_a3b.json hwmodel/models/qwen3_235b_a22b.json hwmodel/models/qwen3_coder_480b.json \
	hwmodel/models/vit_b16.json hwmodel/models/deit_s16.json hwmodel/models/deit_b16_distilled.json \
	hwmodel/models/transformer_base.json hwmodel/models/transformer_big.json hwmodel/models/gnmt_v2.json \
	hwmodel/models/gnmt_16.json hwmodel/models/dlrm_criteo_nvidia.json hwmodel/models/dlrm_rm_small.json \
	hwmodel/models/deepfm_criteo.json hwmodel/models/gcn_reddit_small.json hwmodel/models/gat_reddit_small.json \
	hwmodel/models/gcn_reddit_large.json hwmodel/models/gcn_amazon.json hwmodel/models/gat_amazon.json \
	hwmodel/models/gcn_friendster.json
nobase_dist_pkgdata_DATA += $(MODEL_FILES)
EXTRA_DIST += hwmodel/embed.sh
CLEANFILES += hwmodel/models_data.c hwmodel/models_data.c.tmp
hwmodel/models_data.c: $(MODEL_FILES) hwmodel/embed.sh hwmodel/modelgen/sources.mk
	$(AM_V_GEN)$(MKDIR_P) hwmodel && (cd $(srcdir) && $(SHELL) hwmodel/embed.sh hwmodel/embedded.h embedded_file \
	embedded_models $(MODEL_FILES)) >$@.tmp && mv $@.tmp $@

# Rewrites hwmodel/models/*.json from the architectures.
.PHONY: models
models: hwmodel/modelgen/modelgen$(EXEEXT)
	./hwmodel/modelgen/modelgen$(EXEEXT) $(srcdir)/hwmodel/models
