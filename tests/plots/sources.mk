# make check-plots
libtests_a_SOURCES += tests/plots/fake_gnuplot.h
