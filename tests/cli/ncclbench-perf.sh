#!/bin/bash
# ncclbench as all_reduce_perf and its sisters, and nccl-tests' options.
set -u
. "$TOP/tests/cli/ncclbench.bash"
unset "${!NCCL_TESTS@}" "${!OMPI@}" "${!PMI@}"
for op in all_reduce alltoallv hypercube gather all_gather_perf_mpi; do ln -s "$bench" "$work/${op%_perf_mpi}_perf"; done
ln -s "$bench" "$work/all_reduce_perf_mpi"
perf() { timeout 180 "$work/$1" "${@:2}" "${libraries[@]}" >"$work/out" 2>"$work/err"; }

perf all_reduce_perf -b 8 -e 32 -f 2 -g 2 -n 2
check "as all_reduce_perf" $?
sed -e 's/Pid *[0-9]*/Pid/; s/on  *[^ ]* device/on HOST device/; s/(ncclbench [^)]*) //; s/^\(# Avg bus bandwidth *:\) [^ ]*/\1/' -e 's/^\( *[0-9]* *[0-9]* *float *sum *-1\).*/\1/' \
        "$work/out" >"$work/lines"
diff - "$work/lines" <<'LINES'
# nccl-tests version 2.19.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 32 step: 2(factor) warmup iters: 1 iters: 2 agg iters: 1 validation: 1 graph: 0 unalign: 0
#
# Using devices
#  Rank  0 Group  0 Pid on HOST device  0 [0000:1b:00] Double GPU 0
#  Rank  1 Group  0 Pid on HOST device  1 [0000:1c:00] Double GPU 1
#
#                                                              out-of-place                       in-place          
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong 
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)         
           8             2     float     sum      -1
          16             4     float     sum      -1
          32             8     float     sum      -1
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 
#
# Collective test concluded: all_reduce_perf
#

LINES
check "it prints nccl-tests' lines" $?

perf all_reduce_perf -b 1K -e 1K -n 1
grep -q '^# nThread 1 nGpus 1 ' "$work/out" && [[ $(grep -c '^#  Rank' "$work/out") -eq 1 ]]
check "one GPU unless -g says otherwise" $?
perf all_reduce_perf -b 1K -e 1K -n 1 -t 2 -g 2
[[ $(grep -c '^#  Rank' "$work/out") -eq 4 ]]
check "-t times -g GPUs" $?
NCCL_TESTS_DEVICE=2 perf all_reduce_perf -b 1K -e 1K -n 1 -g 2
grep -q 'Rank  0 .* device  2 ' "$work/out"
check "NCCL_TESTS_DEVICE is the first" $?
NCCL_TESTS_MIN_BW=900000 perf all_reduce_perf -b 1K -e 1K -n 1 -g 2
[[ $? -eq 1 ]] && grep -q '^# Avg bus bandwidth .* FAILED$' "$work/out" && grep -q 'FAIL nccl.slow' "$work/out"
check "NCCL_TESTS_MIN_BW is held" $?
NCCL_TESTS_SPLIT='MOD 2' perf all_reduce_perf -b 1K -e 1K
[[ $? -eq 2 ]] && grep -q 'NCCL_TESTS_SPLIT is not known' "$work/err"
check "what is not known is an error, never ignored" $?
for refused in "-D 1" "-x 0" "-x 2" "-M 1" "-o mulsum" "-V 0" "-V 129"; do
        # shellcheck disable=SC2086 # words
        perf all_reduce_perf -b 1K -e 1K $refused
        [[ $? -eq 2 && -s $work/err ]]
        check "$refused is an error" $?
done
perf all_reduce_perf -b 1K -e 1K -D 2
grep -q "error: -D: kernels of NCCL's device API are compiled by nvcc" "$work/err"
check "with the reason" $?
perf all_reduce_perf -b 1K -e 1K -n 1 -D 0 -M 0 -V 16
check "what asks for nothing is taken" $?
perf all_reduce_perf -b 1K -e 2K -f 2 -n 2 -g 2 -S 1
grep -qE '^#  .*#wrong +timestamp$' "$work/out" && grep -q '(elements) .* %Y-%m-%d %H:%M:%S$' "$work/out" &&
        [[ $(grep -cE '^ .* [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}$' "$work/out") -eq 2 ]]
check "-S: the time of day behind each line" $?
NCCL_DOUBLE_USEC=20000 perf all_reduce_perf -b 1K -e 1K -n 4 -g 2 -C 1
grep -q '(elements)\|cputime' "$work/out" && [[ $(grep -c ' cputime ' "$work/out") -eq 1 ]] &&
        awk '/^ / { n++; bad += !($6 < 20000 && $8 < 0.001) } END { exit !(n == 1 && bad == 0) }' "$work/out"
check "-C: what starting an operation takes, beside the operation's bandwidth" $?
perf all_reduce_perf -b 1K -e 4K -f 4 -n 2 -g 2 -u 3
[[ $? -eq 0 ]] && grep -q ' unalign: 3$' "$work/out" && grep -q '^# Out of bounds values : 0 OK$' "$work/out"
check "-u: from an element of the buffers on" $?
for d in int8 half double; do
        perf all_gather_perf -b 1K -e 1K -n 1 -g 2 -u 5 -d "$d"
        [[ $? -eq 0 ]] && grep -q '^# Out of bounds values : 0 OK$' "$work/out"
        check "… of type $d" $?
done
timeout 180 "$bench" -b 1K -e 1K -n 1 -g 2 -u 3 --corrupt 1:7 "${libraries[@]}" >"$work/out" 2>&1
[[ $? -eq 1 ]] && grep -q 'rank 1, element 7 is' "$work/out"
check "… and all of it is checked" $?
NCCL_DOUBLE_HANG=stream perf all_reduce_perf -b 1K -e 1K -g 2 -T 1
[[ $? -eq 1 ]] && grep -q 'FAIL nccl.timeout' "$work/out"
check "-T is a limit there too" $?

# mpirun -np 2 all_reduce_perf_mpi, as it is in job scripts: no secret is set.
export PMIX_NAMESPACE=$RANDOM$$
for i in 0 1; do
        (unset NCCLBENCH_SECRET; OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=$i OMPI_COMM_WORLD_LOCAL_SIZE=2 \
                timeout 180 "$work/all_reduce_perf_mpi" -b 1K -e 1K -n 2 -g 2 "${libraries[@]}" >"$work/out.$i" 2>"$work/err.$i") &
done
wait
[[ $(grep -c '^#  Rank' "$work/out.0") -eq 4 && ! -s $work/out.1 ]] && grep -q 'all_reduce_perf_mpi' "$work/out.0"
check "under mpirun the processes are one run" $?
grep -q 'Without NCCLBENCH_SECRET' "$work/err.0"
check "which says that nobody proves who it is" $?

option() { # NAME ARGUMENTS…
        timeout 180 "$bench" -b 1K -e 4K -f 4 "${@:2}" "${libraries[@]}" >"$work/out" 2>&1 && [[ $(bad_rows "$work/out") == 0 ]]
        check "$1" $?
}
option "-m groups operations" -m 4 -n 3
option "-z 1, -z 2 and -z 3 wait" -z 1 -n 3
option "-z 2" -z 2 -n 3
option "-z 3" -z 3 -n 3
option "-G replays a graph" -G 3 -n 3
option "-R 1 registers" -R 1 -n 2
option "-R 2 registers symmetrically" -R 2 -n 2
option "-y 1 runs on the default stream" -y 1 -n 3
option "-p 1" -p 1 -n 2
option "-N 3 goes through the sizes three times" -N 3 -n 2
[[ $(grep -cv '^#' "$work/out") -eq 6 ]]
check "as its rows show" $?
option "-r all takes each root" -r all -n 1 broadcast
[[ $(grep -v '^#' "$work/out" | awk '{ print $5 }' | sort -u | tr '\n' ' ') == "0 1 2 3 " ]]
check "as its rows show" $?
timeout 180 "$bench" -b 1K -e 1K -I 1 -n 9 -K 2 --json "${libraries[@]}" >"$work/json" &&
        python3 -c 'import json,sys; c=json.load(open(sys.argv[1]))["rows"][0]["out_of_place"]; assert c["time_us"] > 0' "$work/json"
check "-I times each iteration" $?
for bad in "-G 2 -z 3" "-G 2 -y 1" "-G 2 -I 1" "-K 20" "hypercube -m 2"; do
        # shellcheck disable=SC2086 # words
        timeout 120 "$bench" $bad "${libraries[@]}" >/dev/null 2>&1
        [[ $? -eq 2 ]]
        check "contradiction: $bad" $?
done
CUDA_DOUBLE_DEVICES=3 perf hypercube_perf -b 1K -e 1K -g 3
[[ $? -eq 1 ]] && grep -q 'power of two' "$work/out"
check "hypercube over three ranks is an error" $?
exit $rc
