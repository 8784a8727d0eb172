# make check-oracle
UNIT_TESTS += tests/oracle/oracle_calculon tests/oracle/oracle_gavel_lp tests/oracle/oracle_simai tests/oracle/oracle_splitwise \
	tests/oracle/oracle_vidur
SCRIPT_TESTS += tests/oracle/oracle_gavel.sh tests/oracle/oracle_helios.sh tests/oracle/oracle_simgrid.sh \
	tests/oracle/oracle_tiresias.sh tests/oracle/tf2017.sh
