# sources of calib: measured points, laws fitted to them, tables of others as points
liborrery_a_SOURCES += calib/csv.c calib/csv.h calib/points.c calib/points.h
liborrery_a_SOURCES += calib/fit.c calib/fit.h calib/fit_check.c calib/fit_law.c calib/fit_nls.c calib/fit_nls.h \
	calib/fit_starts.c calib/fit_starts.h calib/images.c calib/images.h calib/import.c calib/import.h calib/scale.c calib/scale.h
# measuring: backends, sampling, sweeps
liborrery_a_SOURCES += calib/backend.h calib/backend_cpu.c calib/backend_find.c calib/backend_synthetic.c calib/cpu.h \
	calib/cpu_gemm.c calib/cpu_kernels.c calib/cpu_pair.c calib/grid.c calib/grid.h calib/rand.h calib/sample.c \
	calib/measurement.c calib/measurement.h calib/sample.h calib/sweep.c calib/sweep.h calib/synthetic.h calib/work.c calib/work.h
