# sources of calib: measured points, laws fitted to them, tables of others as points
liborrery_a_SOURCES += calib/csv.c calib/csv.h calib/points.c calib/points.h
liborrery_a_SOURCES += calib/fit.c calib/fit.h calib/fit_check.c calib/fit_law.c calib/fit_nls.c calib/fit_nls.h \
	calib/fit_starts.c calib/fit_starts.h calib/import.c calib/import.h
