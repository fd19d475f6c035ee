#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# examples/spark_fill.py with a worker killed, and again.
. "${srcdir:-.}/t/support/scale.sh"
module pyspark
needs java "Java"
# Two executors in processes of their own, each with one core.
export PYSPARK_PYTHON="$python" SPARK_LOCAL_IP=127.0.0.1 \
    PYSPARK_SUBMIT_ARGS="--master local-cluster[2,1,1024] pyspark-shell"

# The Python worker, the daemon that started it and the executor, a Java process.
dies later 3
on_engine "Spark fills and publishes" "$python" "$examples/spark_fill.py" "$store" "$inputs" \
    "$producer" 5
same_as_one_machine
before=$(starts)
on_engine "again, in other tasks" "$python" "$examples/spark_fill.py" "$store" "$inputs" \
    "$producer" 3
is "nothing is made" "$(starts)" "$before"
finish
