#!/bin/bash
# The overlay nccl-examples compiled in a tree against the tree's Open MPI, and doubles of CUDA and NCCL in place of Debian's libraries,
# which are a quarter of a gigabyte: processes of mpirun add up the numbers of all their GPUs, a wrong sum and a dead process end the job.
#
# lane: compute
# after: e2e/10
set -u
source "$TOP/tests/e2e/lib.bash"
own_project
overlay=$PROJECT/overlays/nccl-examples
mkdir -p "$overlay/source/double"
cp "$TOP/$BUILD"/tests/nccl-double/{libnccl.so.2,libcudart.so.12} "$overlay/source/double/"
sed -i 's/"requires": \["nccl", /"requires": [/; s/"libnccl2", "libcudart12", //' "$overlay/overlay.json"
sed -i "s|^make .*|& LDFLAGS=\"-L\$SRCDIR/double -Wl,-rpath,/opt/nccl-examples/source/double\"|" "$overlay/compile.sh"
grep -q 'LDFLAGS=' "$overlay/compile.sh" && ! grep -q libnccl2 "$overlay/overlay.json"
check "the overlay takes the doubles" $?
printf '{ "name": "nccl-examples", "extends": "head", "overlays": ["nccl-examples"] }\n' >"$RECIPES/nccl-examples.json"
alone build nccl-examples >"$E2E/build.log" 2>&1
s=$?
check "the three programs are compiled, and the tree passes the overlay's check" $s
[[ $s -eq 0 ]] || { tail -n 20 "$E2E/build.log"; exit 1; }

# in_tree SCRIPT: $status, and what it said in $E2E/said.
in_tree() {
        "$IMGBUILD" shell "$RECIPES/nccl-examples.json" --cache "$CACHE" --progress none -- /bin/bash -c \
                "cd /opt/nccl-examples; export HOME=/tmp OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe; $1" >"$E2E/said" 2>&1
        status=$?
}
told() { check "$1" "$2"; [[ $2 -eq 0 ]] || tail -n 6 "$E2E/said" | sed 's/^/# /'; }
says() { grep -qF -- "$1" "$E2E/said"; }

in_tree './run.sh 2'
[[ $status -eq 0 ]] && [[ $(grep -c '^Example [123]: ' "$E2E/said") -eq 3 && $(grep -c '^\[MPI Rank [01]\] Success$' "$E2E/said") -eq 4 ]] &&
        says '2 GPUs of 2 processes' && says '4 GPUs of 2 processes' && says '4 GPUs of one process'
told "run.sh: all three succeed, as the guide shows it" $?
in_tree 'mpirun -n 3 ./gpus-per-process -g 2 -n 4097'
[[ $status -eq 0 ]] && says '6 GPUs of 3 processes'
told "several GPUs a process; a host that shows each process its own takes them from the first" $?
# By their ranks: a list of programs with colons ends Debian's mpirun (Open MPI 5.0.7) by SIGSEGV where there is no topology to read.
unlike='mpirun -n 2 sh -c "exec ./gpus-per-process -g \$((OMPI_COMM_WORLD_RANK * 2 + 1)) -n 100"'
in_tree "$unlike"
[[ $status -eq 0 ]] && says '4 GPUs of 2 processes'
told "processes with unlike numbers of GPUs" $?
in_tree "NCCL_DOUBLE_UNWRITTEN=1 $unlike"
[[ $status -ne 0 ]] && says 'rank 1, GPU 1: element 0 is -1, not 10'
told "… share the host's without having one twice" $?
in_tree 'NCCL_DOUBLE_WRONG=1:5 mpirun -n 2 ./process-per-gpu -n 100'
[[ $status -ne 0 ]] && says 'process-per-gpu: rank 1, GPU 1: element 5 is' && says 'process-per-gpu: 1 elements are wrong' && says '[MPI Rank 0] Success' && says '[MPI Rank 1] wrong'
told "one wrong element on one of two: the job fails, and says where" $?
in_tree 'NCCL_DOUBLE_MISSING=3 mpirun -n 2 ./gpus-per-process -n 100'
[[ $status -ne 0 ]] && says 'gpus-per-process: 400 elements are wrong'
told "a GPU of the second process that is missing in the sum" $?
in_tree 'mpirun -n 2 sh -c "[ \$OMPI_COMM_WORLD_RANK = 1 ] || exec ./process-per-gpu -t 2; exec sleep 100"'
[[ $status -ne 0 ]] && says 'no end in the time of -t'
told "a process that never comes: the others end in their time" $?
in_tree 'mpirun -n 2 ./process-per-gpu -g 2'
[[ $status -ne 0 ]] && says 'a process has one GPU here'
told "one GPU a process is one GPU a process" $?
in_tree 'test -r source/one-process.c && test -r source/Makefile && ! command -v gcc cc'
[[ $status -eq 0 ]]
told "the sources are there, the compiler is not" $?
in_tree 'bash -lc "module load nccl-examples && command -v gpus-per-process && echo \$NCCL_EXAMPLES"'
[[ $status -eq 0 ]] && says /opt/nccl-examples/gpus-per-process
told "module load nccl-examples" $?
exit "$rc"
