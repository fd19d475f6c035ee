# SPDX-License-Identifier: BSD-2-Clause
# The attacks; README in this directory says what they are and how to add one.

torture_programs =
torture_scripts =
# How the time of `make check-long` is shared: NAME=WEIGHT; 1 for those not named.
torture_weights =

check_LIBRARIES += libtorture.a
libtorture_a_SOURCES = t/torture/faulted.c t/torture/jobs.c t/torture/owned.c \
	t/torture/torture.c t/torture/tree.c t/torture/writers.c
torture_ldadd = libtorture.a $(LDADD)

torture_tools = cachex record_io.la t/support/bad_producer t/support/mkdataset t/support/mkrecords

# ---- fds: descriptors that are closed, taken or few

torture_programs += t/torture/fds
t_torture_fds_LDADD = $(torture_ldadd)
EXTRA_t_torture_fds_DEPENDENCIES = $(torture_tools)

# ---- flips: faults in data.mdb, and all that reads and mends it

torture_programs += t/torture/flips
torture_weights += flips=2
t_torture_flips_LDADD = $(torture_ldadd)

# ---- kills: kill -9 of everything that writes

torture_programs += t/torture/kills
torture_weights += kills=3
t_torture_kills_LDADD = $(torture_ldadd)
EXTRA_t_torture_kills_DEPENDENCIES = $(torture_tools)

# ---- overlap: everything at once in one module

torture_programs += t/torture/overlap
torture_weights += overlap=2
t_torture_overlap_LDADD = $(torture_ldadd)
EXTRA_t_torture_overlap_DEPENDENCIES = cachex t/support/bad_producer

# ---- pages: pages of data.mdb that are not what was written

torture_programs += t/torture/pages
t_torture_pages_LDADD = $(torture_ldadd)

# ---- power: a loss of power while commands write

torture_programs += t/torture/power
torture_weights += power=3
t_torture_power_LDADD = $(torture_ldadd)
EXTRA_t_torture_power_DEPENDENCIES = $(torture_tools)

# ---- salvage: damage of every kind in data.mdb, and what is left of it

torture_programs += t/torture/salvage
t_torture_salvage_LDADD = $(torture_ldadd)

# ---- soak: everything at once, for long, within bounds

torture_programs += t/torture/soak
torture_weights += soak=2
t_torture_soak_LDADD = $(torture_ldadd)

# ---- threads: of one process, over one handle and several

torture_programs += t/torture/threads
t_torture_threads_LDADD = $(torture_ldadd)

# ---- syscalls, allocations: each of them fails under each command

check_LTLIBRARIES += failing.la
failing_la_SOURCES = t/torture/failing.c t/torture/failing.h
failing_la_CFLAGS = $(AM_CFLAGS) -fvisibility=default
failing_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath $(abs_builddir)
torture_programs += t/torture/allocations t/torture/syscalls
torture_weights += allocations=2 syscalls=2
t_torture_allocations_LDADD = $(torture_ldadd)
EXTRA_t_torture_allocations_DEPENDENCIES = failing.la $(torture_tools)
EXTRA_t_torture_syscalls_DEPENDENCIES = $(torture_tools)
t_torture_syscalls_LDADD = $(torture_ldadd)

# ---- s3: faults between the tool and a store on S3

torture_scripts += t/torture/s3.sh

# ---- users, space: other users' files, and full disks

torture_scripts += t/torture/space.sh t/torture/users.sh

# ---- all of them

check_PROGRAMS += $(torture_programs)
TESTS += $(torture_programs) $(torture_scripts)
EXTRA_DIST += $(wildcard $(srcdir)/t/torture/*.h) t/torture/README $(wildcard $(srcdir)/t/torture/*.supp) t/torture/check_long.sh $(torture_scripts)

# `make check-long HOURS=2`, or with ATTACKS="kills power" some of them.
check-long: all $(check_PROGRAMS) $(check_LTLIBRARIES)
	@srcdir='$(srcdir)' builddir='$(builddir)' WEIGHTS='$(torture_weights)' \
	$(SHELL) $(srcdir)/t/torture/check_long.sh '$(HOURS)' '$(ATTACKS)' \
		$(torture_programs) $(torture_scripts) -- $(engine_tests)
.PHONY: check-long
