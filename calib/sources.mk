# sources of calib: measured points, laws fitted to them, tables of others as points
liborrery_a_SOURCES += calib/csv.c calib/csv.h calib/points.c calib/points.h
