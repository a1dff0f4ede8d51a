#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Counts, by Nsight Compute, what the accesses of gpu/timed/wavefronts_*.json cost on this machine's
# GPU: wavefronts, bank conflicts and instructions of shared memory.
#
#   scripts/count_wavefronts.sh LOCKWARP OUT.csv
#
# LOCKWARP: the program. OUT.csv: a line for each run of a kernel, whose name says the pattern; each
# runs more than once, as it is and clocked. Metrics that this Nsight Compute or this GPU does not
# have are left out, and named. Exit status: 0 done; 1 it failed; 2 usage; 77 no Nsight Compute.
# NCU names it (default: ncu).
set -u

if [ "$#" -ne 2 ]; then
    echo "usage: $0 LOCKWARP OUT.csv" >&2
    exit 2
fi
program=$1
out=$2
ncu=${NCU:-ncu}
if ! command -v "$ncu" >/dev/null; then
    echo "count_wavefronts.sh: no $ncu here"
    exit 77
fi
root=$(cd "$(dirname "$0")/.." && pwd) || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT

# Without their last part, which says how they are added up: .sum
wanted='
l1tex__data_pipe_lsu_wavefronts
l1tex__data_pipe_lsu_wavefronts_mem_shared
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld
l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st
l1tex__data_pipe_lsu_wavefronts_mem_shared_cmd_read
l1tex__data_pipe_lsu_wavefronts_mem_shared_cmd_write
l1tex__data_bank_conflicts_pipe_lsu_mem_shared
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld
l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st
l1tex__data_bank_reads
l1tex__data_bank_writes
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st
smsp__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ldsm
smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared
smsp__sass_l1tex_data_bank_conflicts_pipe_lsu_mem_shared_op_ldsm
smsp__inst_executed_op_shared
smsp__inst_executed_op_shared_ld
smsp__inst_executed_op_shared_st
smsp__inst_executed_op_ldsm
smsp__inst_executed_op_stsm
'

# A line of the answer begins with the metric's name. No answer: all are asked for.
"$ncu" --query-metrics >"$scratch/known" 2>"$scratch/errors"
metrics=
for metric in $wanted; do
    if grep -q l1tex__ "$scratch/known" && ! grep -qE "^ *$metric([. ]|\$)" "$scratch/known"; then
        echo "count_wavefronts.sh: no metric $metric" >&2
    else
        metrics+=${metrics:+,}$metric.sum
    fi
done
if [ -z "$metrics" ]; then
    echo "count_wavefronts.sh: Nsight Compute has none of the metrics" >&2
    exit 1
fi

# One process, and no limit: every kernel is run again for each group of metrics.
count() {  # metrics
    "$ncu" --clock-control none --target-processes all --csv --page raw --metrics "$1" \
        --kernel-name-base function --kernel-name 'regex:^(ld|st|ldmatrix|stmatrix)_' \
        --log-file "$scratch/log" --force-overwrite \
        "$program" measure --in-process --runs 1 "$root"/gpu/timed/wavefronts_*.json \
        >"$scratch/measured" 2>&1 || return 1
    grep '^"' "$scratch/log" >"$scratch/csv"
    [ "$(wc -l <"$scratch/csv")" -gt 2 ]
}

count "$metrics"
status=$?
if [ "$status" -ne 0 ] && [ -s "$scratch/log" ]; then
    # By itself each metric that is refused costs the others nothing.
    echo "count_wavefronts.sh: not all at once; one after another" >&2
    for metric in ${metrics//,/ }; do
        if count "$metric"; then
            cat "$scratch/csv" >>"$scratch/all"
        else
            echo "count_wavefronts.sh: no count of $metric" >&2
        fi
    done
    [ -s "$scratch/all" ] && mv "$scratch/all" "$scratch/csv" && status=0
fi
if [ "$status" -ne 0 ]; then
    cat "$scratch/measured" >&2
    grep -v '^"' "$scratch/log" >&2
    exit 1
fi
cp "$scratch/csv" "$out"
