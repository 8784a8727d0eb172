# Policies: one file each, listed in the folder of their world. The include path has only the public headers.
noinst_LIBRARIES += libpolicies.a
libpolicies_a_CPPFLAGS = -DORR_BUILTIN -I$(srcdir)/include
libpolicies_a_SOURCES =
