# scenario books, installed with the same layout (docs/reference/books.md)
nobase_dist_pkgdata_DATA += scenarios/ako/figures.json scenarios/ako/published.csv scenarios/ako/README.md \
	scenarios/ako/ako.json scenarios/ako/servers.json scenarios/ako/both.json \
	scenarios/ako/waits.json scenarios/ako/means.json
nobase_dist_pkgdata_DATA += scenarios/experts/figures.json scenarios/experts/published.csv scenarios/experts/README.md \
	scenarios/experts/decode.json scenarios/experts/normal.json scenarios/experts/modes.json scenarios/experts/skew.json scenarios/experts/layer.json \
	scenarios/experts/kernels.json scenarios/experts/training.json
nobase_dist_pkgdata_DATA += scenarios/stanza/figures.json scenarios/stanza/published.csv scenarios/stanza/README.md \
	scenarios/stanza/parameter-server.json scenarios/stanza/colocated.json scenarios/stanza/stanza.json scenarios/stanza/overlaps.json
nobase_dist_pkgdata_DATA += scenarios/ds-sync/figures.json scenarios/ds-sync/published.csv scenarios/ds-sync/README.md \
	scenarios/ds-sync/pair.json scenarios/ds-sync/racks.json scenarios/ds-sync/contention-16.json scenarios/ds-sync/contention-32.json \
	scenarios/ds-sync/search.json scenarios/ds-sync/learn-4.json scenarios/ds-sync/learn-16.json \
	scenarios/ds-sync/tensors.json
nobase_dist_pkgdata_DATA += scenarios/training-jobs/figures.json scenarios/training-jobs/published.csv \
	scenarios/training-jobs/README.md scenarios/training-jobs/jobs.json
nobase_dist_pkgdata_DATA += scenarios/academus/figures.json scenarios/academus/published.csv scenarios/academus/README.md \
	scenarios/academus/depth.json scenarios/academus/burst.json scenarios/academus/lengths.csv scenarios/academus/pruning.json \
	scenarios/academus/buffer.json
nobase_dist_pkgdata_DATA += scenarios/irina/figures.json scenarios/irina/published.csv scenarios/irina/README.md \
	scenarios/irina/sweep.json scenarios/irina/choices.json scenarios/irina/examples.json scenarios/irina/examples-small.json \
	scenarios/irina/two-of-a.csv scenarios/irina/a-and-b.csv
nobase_dist_pkgdata_DATA += scenarios/one-clock/figures.json scenarios/one-clock/published.csv scenarios/one-clock/README.md \
	scenarios/one-clock/shared.json scenarios/one-clock/requests-alone.json scenarios/one-clock/jobs-alone.json
nobase_dist_pkgdata_DATA += scenarios/llm-serving/figures.json scenarios/llm-serving/published.csv scenarios/llm-serving/README.md \
	scenarios/llm-serving/serving.json scenarios/llm-serving/long.json
nobase_dist_pkgdata_DATA += scenarios/bamboo/figures.json scenarios/bamboo/published.csv scenarios/bamboo/README.md \
	scenarios/bamboo/alike.json scenarios/bamboo/rate.json scenarios/bamboo/replay.json scenarios/bamboo/headline.json scenarios/bamboo/day.json \
	scenarios/bamboo/strawman.json scenarios/bamboo/placement.json
nobase_dist_pkgdata_DATA += scenarios/spot-field/figures.json scenarios/spot-field/published.csv scenarios/spot-field/README.md \
	scenarios/spot-field/artifact.json scenarios/spot-field/field-gpt2.json scenarios/spot-field/field-bert.json scenarios/spot-field/field-measured.json \
	scenarios/spot-field/gpt2.json scenarios/spot-field/bert.json scenarios/spot-field/parcae.json scenarios/spot-field/late.json \
	scenarios/spot-field/workloads.json scenarios/spot-field/daly.json scenarios/spot-field/market.json scenarios/spot-field/bids.json \
	scenarios/spot-field/market.csv
nobase_dist_pkgdata_DATA += scenarios/philly/figures.json scenarios/philly/published.csv scenarios/philly/README.md \
	scenarios/philly/failing.json
nobase_dist_pkgdata_DATA += scenarios/saec/figures.json scenarios/saec/published.csv scenarios/saec/README.md scenarios/saec/table.json \
	scenarios/saec/full.json scenarios/saec/both.json scenarios/saec/codes.json scenarios/saec/server.json
nobase_dist_pkgdata_DATA += scenarios/crossbow/figures.json scenarios/crossbow/published.csv scenarios/crossbow/README.md \
	scenarios/crossbow/hardware.json scenarios/crossbow/tuned.json scenarios/crossbow/sgd.json scenarios/crossbow/sma.json
nobase_dist_pkgdata_DATA += scenarios/mdf/figures.json scenarios/mdf/published.csv scenarios/mdf/README.md \
	scenarios/mdf/explore.json scenarios/mdf/memory.json scenarios/mdf/sgd.json scenarios/mdf/rungs.json \
	scenarios/mdf/logistic-never.json scenarios/mdf/logistic-satisfied.json scenarios/mdf/logistic-improving.json \
	scenarios/mdf/logistic-improving-2.json scenarios/mdf/logistic-rungs.json scenarios/mdf/mlp-never.json scenarios/mdf/mlp-satisfied.json \
	scenarios/mdf/mlp-improving.json scenarios/mdf/mlp-improving-2.json scenarios/mdf/mlp-rungs.json
nobase_dist_pkgdata_DATA += scenarios/auto-parallel/figures.json scenarios/auto-parallel/published.csv scenarios/auto-parallel/README.md \
	scenarios/auto-parallel/golden.json scenarios/auto-parallel/searches.json scenarios/auto-parallel/planners.json scenarios/auto-parallel/sites.json \
	scenarios/auto-parallel/mix.json scenarios/auto-parallel/balance.json scenarios/auto-parallel/large.json scenarios/auto-parallel/m6.json \
	scenarios/auto-parallel/compute.json scenarios/auto-parallel/selene.json scenarios/auto-parallel/vgg19.csv scenarios/auto-parallel/bert48.csv \
	scenarios/auto-parallel/gnmt16.csv scenarios/auto-parallel/xlnet36.csv scenarios/auto-parallel/amoebanet36.csv
nobase_dist_pkgdata_DATA += scenarios/dorylus/figures.json scenarios/dorylus/published.csv scenarios/dorylus/README.md \
	scenarios/dorylus/amazon.json scenarios/dorylus/friendster.json scenarios/dorylus/reddit-small.json scenarios/dorylus/reddit-large.json \
	scenarios/dorylus/gpu.json scenarios/dorylus/sweep-amazon.json scenarios/dorylus/sweep-friendster.json \
	scenarios/dorylus/tuned-amazon.json scenarios/dorylus/tuned-friendster.json scenarios/dorylus/learning.json
nobase_dist_pkgdata_DATA += scenarios/mdp/figures.json scenarios/mdp/published.csv scenarios/mdp/README.md scenarios/mdp/submodels.json \
	scenarios/mdp/whole.json scenarios/mdp/timeouts.json scenarios/mdp/load.json scenarios/mdp/load-whole.json
nobase_dist_pkgdata_DATA += scenarios/zero-bubble/figures.json scenarios/zero-bubble/published.csv scenarios/zero-bubble/README.md \
	scenarios/zero-bubble/equal.json scenarios/zero-bubble/picture.json scenarios/zero-bubble/depth.json scenarios/zero-bubble/profile.json \
	scenarios/zero-bubble/dual.json
nobase_dist_pkgdata_DATA += scenarios/long-context/figures.json scenarios/long-context/published.csv scenarios/long-context/README.md \
	scenarios/long-context/kinds.json scenarios/long-context/memory.json scenarios/long-context/layer.json
nobase_dist_pkgdata_DATA += scenarios/restarts/figures.json scenarios/restarts/published.csv scenarios/restarts/README.md \
	scenarios/restarts/recovery.json scenarios/restarts/restart.json scenarios/restarts/interval.json scenarios/restarts/formula.json
nobase_dist_pkgdata_DATA += scenarios/disaggregation/README.md scenarios/disaggregation/colocated.json \
	scenarios/disaggregation/figures.json scenarios/disaggregation/five.json scenarios/disaggregation/fleet.json \
	scenarios/disaggregation/llama-colocated.json scenarios/disaggregation/llama.json scenarios/disaggregation/opt-13b-colocated.json \
	scenarios/disaggregation/opt-13b.json scenarios/disaggregation/published.csv scenarios/disaggregation/tensor.json
nobase_dist_pkgdata_DATA += scenarios/routing/README.md scenarios/routing/chat.json scenarios/routing/figures.json \
	scenarios/routing/mooncake.json scenarios/routing/published.csv
nobase_dist_pkgdata_DATA += scenarios/speculation/README.md scenarios/speculation/drafts.json scenarios/speculation/figures.json \
	scenarios/speculation/llama-adapt.json scenarios/speculation/llama-drafts.json scenarios/speculation/llama.json \
	scenarios/speculation/plain.json scenarios/speculation/published.csv
nobase_dist_pkgdata_DATA += scenarios/schedulers/figures.json scenarios/schedulers/published.csv scenarios/schedulers/README.md \
	scenarios/schedulers/philly.json scenarios/schedulers/itp.json scenarios/schedulers/trace120.json
