# SPDX-License-Identifier: BSD-2-Clause
# The examples for schedulers, run on them, and stores on servers of S3: not in make check, for
# they need what bootstrap check-scale installs.
scale_scripts = \
	t/scale/dask.sh t/scale/kubernetes.sh t/scale/mpi.sh t/scale/parallel.sh t/scale/ray.sh \
	t/scale/s3_rgw.sh t/scale/s3_swift.sh t/scale/slurm.sh t/scale/spark.sh
EXTRA_DIST += $(scale_scripts)

check-scale:
	$(MAKE) $(AM_MAKEFLAGS) check check_PROGRAMS=examples/producer TESTS='$(scale_scripts)'

.PHONY: check-scale
