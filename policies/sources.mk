# Policies: one file each, listed in the folder of their world. They see the public headers alone: no other include path is given.
noinst_LIBRARIES += libpolicies.a
libpolicies_a_CPPFLAGS = -DORR_BUILTIN -I$(srcdir)/include
libpolicies_a_SOURCES =
