#!/bin/sh
# Measures what SCALING.md is made of, and makes it. Arguments are passed on to bench_spark.py.
set -eu
cd "$(dirname "$0")"
for runtime in org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.11.0 org.apache.paimon:paimon-spark-3.5:0.9.0; do
    mvn -q -B dependency:get -Dtransitive=false -Dartifact=$runtime
done
python bench_spark.py --json results/spark.jsonl "$@"
python bench_spark.py --json results/spark-paimon.jsonl --tables paimon-100k,paimon-1m
# A driver whose executors are other processes, for its memory.
cluster='local-cluster[1,2,2048]'
python bench_spark.py --json results/spark-cluster.jsonl --master "$cluster" --repeats 1 --tasks sum,partitions "$@"
python spark_model.py results/spark.jsonl results/spark-cluster.jsonl --write
