# make check-plots
UNIT_TESTS += tests/plots/unit_album tests/plots/unit_figure_data tests/plots/unit_figure_files
libtests_a_SOURCES += tests/plots/fake_gnuplot.h
