# a world added by a test
orrinclude_HEADERS += include/orrery/toy.h
liborrery_a_SOURCES += sim/toy/descriptor.c
include policies/toy/sources.mk
