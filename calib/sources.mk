# measurements of kernels and the laws fitted to them
# Bottom first: a file calls only files before it (tests/house/order.sh).
liborrery_a_SOURCES += calib/csv.c calib/work.c calib/cpu_pair.c calib/sample.c calib/fit_nls.c calib/cpu_gemm.c \
	calib/cpu_kernels.c calib/points.c calib/grid.c calib/fit_starts.c calib/backend_cpu.c calib/backend_synthetic.c \
	calib/import.c calib/backend_find.c calib/measurement.c calib/sweep.c calib/fit_law.c \
	calib/fit_check.c calib/fit.c calib/images.c calib/scale.c
liborrery_a_SOURCES += calib/backend.h calib/cpu.h calib/csv.h calib/fit.h calib/fit_nls.h calib/fit_starts.h calib/gemm_inner.h \
	calib/grid.h calib/images.h calib/import.h calib/measurement.h calib/points.h calib/rand.h calib/sample.h \
	calib/scale.h calib/sweep.h calib/synthetic.h calib/work.h
# measurement: backends, sampling, sweeps
# The GPU module, by nvcc. Only attention.cu and kernels.cu contain device code, compiled once per architecture.
CUDA_OBJECTS = calib/cuda/attention.o calib/cuda/backend.o calib/cuda/collective.o calib/cuda/conv.o calib/cuda/gemm.o calib/cuda/interference.o \
	calib/cuda/kernels.o calib/cuda/libraries.o calib/cuda/simple.o calib/cuda/together.o calib/cuda/work.o
EXTRA_DIST += calib/cuda/attention.cu calib/cuda/backend.cu calib/cuda/collective.cu calib/cuda/conv.cu calib/cuda/gemm.cu \
	calib/cuda/interference.cu calib/cuda/kernels.cu calib/cuda/libraries.cu calib/cuda/libraries.h calib/cuda/module.h calib/cuda/simple.cu calib/cuda/together.cu
SUFFIXES = .cu .o
NVCC_HOST = $(NVCC) -std=c++17 -O2 -Xcompiler -fPIC,-fvisibility=hidden,-Wall -I$(srcdir)/include -I$(srcdir) $(NVCC_CPPFLAGS)
.cu.o:
	$(AM_V_GEN)$(MKDIR_P) calib/cuda && $(NVCC_HOST) -x c++ -c -o $@ $<
calib/cuda/kernels.o: calib/cuda/kernels.cu
	$(AM_V_GEN)$(MKDIR_P) calib/cuda && $(NVCC_HOST) $(NVCC_GENCODE) -c -o $@ $(srcdir)/calib/cuda/kernels.cu
calib/cuda/attention.o: calib/cuda/attention.cu
	$(AM_V_GEN)$(MKDIR_P) calib/cuda && $(NVCC_HOST) $(NVCC_GENCODE) -c -o $@ $(srcdir)/calib/cuda/attention.cu
calib/cuda/work.o: calib/work.c
	$(AM_V_GEN)$(MKDIR_P) calib/cuda && $(CC) -std=c11 -O2 -fPIC -fvisibility=hidden -I$(srcdir)/include -I$(srcdir) -c -o $@ \
	$(srcdir)/calib/work.c
$(CUDA_OBJECTS): base/hash.h calib/backend.h calib/work.h calib/cuda/libraries.h calib/cuda/module.h
orr_calib_cuda.so: $(CUDA_OBJECTS)
	$(AM_V_GEN)$(NVCC) -shared -Xcompiler -fPIC -cudart static -Xlinker --exclude-libs=ALL -o $@ $(CUDA_OBJECTS) -ldl
CLEANFILES += calib/cuda/*.o orr_calib_cuda.so
if CUDA
modulesdir = $(pkglibdir)
modules_DATA = orr_calib_cuda.so
endif
EXTRA_DIST += calib/measure.c calib/measure.sh
