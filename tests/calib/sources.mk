# make check-calib
UNIT_TESTS += tests/calib/unit_cpu_kernels tests/calib/unit_fit tests/calib/unit_fit_published tests/calib/unit_points \
	tests/calib/unit_sample tests/calib/unit_shapes tests/calib/unit_import tests/calib/unit_scale tests/calib/unit_sweep \
	tests/calib/unit_laws tests/calib/unit_cpu_tasks
SCRIPT_TESTS += tests/calib/calib_pinned.sh tests/calib/calib_run.sh tests/calib/cli_calib.sh tests/calib/cuda_host.sh \
	tests/calib/measure_sh.sh
libtests_a_SOURCES += tests/calib/cuda_host.h
EXTRA_DIST += tests/calib/cuda_host.cpp tests/calib/cuda_interference.cpp
# Calibrates and tests this machine. Not part of check, because other programs may be running.
EXTRA_PROGRAMS += tests/calib/machine
MACHINE_THREADS = 1
.PHONY: check-machine
check-machine: orrery$(EXEEXT) tests/calib/machine$(EXEEXT)
	./orrery$(EXEEXT) calib run --backend cpu --threads $(MACHINE_THREADS) --budget 45 --only launch,gemm,memory,update -q -o machine.csv
	./orrery$(EXEEXT) calib fit machine.csv -o machine.json
	tests/calib/machine$(EXEEXT) ./machine.json $(MACHINE_THREADS)
CLEANFILES += machine.csv machine.device.json machine.json tests/calib/machine$(EXEEXT)
