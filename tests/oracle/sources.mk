# make check-oracle
UNIT_TESTS += tests/oracle/oracle_calculon tests/oracle/oracle_chakra tests/oracle/oracle_routers tests/oracle/oracle_gavel_lp tests/oracle/oracle_sia tests/oracle/oracle_simai tests/oracle/oracle_splitwise \
	tests/oracle/oracle_vidur
SCRIPT_TESTS += tests/oracle/oracle_gavel.sh tests/oracle/oracle_helios.sh tests/oracle/oracle_pollux.sh tests/oracle/oracle_shockwave.sh tests/oracle/oracle_simgrid.sh \
	tests/oracle/oracle_tiresias.sh tests/oracle/tf2017.sh
# pipelines, prefill and decode apart
UNIT_TESTS += tests/oracle/oracle_distserve tests/oracle/oracle_vidur_stages
# jobs that share GPUs
UNIT_TESTS += tests/oracle/oracle_muri
SCRIPT_TESTS += tests/oracle/oracle_packing.sh
# pipelines with a split backward pass
SCRIPT_TESTS += tests/oracle/oracle_zero_bubble.sh
