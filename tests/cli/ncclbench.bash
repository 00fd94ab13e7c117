# Sourced by the ncclbench tests: the program on doubles of CUDA and NCCL.
cd "$TOP" || exit 1
bench=$TOP/$BUILD/firstboot/ncclbench/ncclbench
[[ $BUILD == /* ]] && bench=$BUILD/firstboot/ncclbench/ncclbench
doubles=$(realpath "$BUILD")/tests/nccl-double
libraries=(--cuda-library="$doubles/libcuda.so.1" --nccl-library="$doubles/libnccl.so.2")
export NCCLBENCH_SECRET=a-secret-for-the-tests
unset RANK WORLD_SIZE LOCAL_RANK MASTER_ADDR MASTER_PORT "${!SLURM@}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rc=0

check() { # NAME STATUS
        if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi
}

# A port that nobody listens on, below the range for outgoing connections.
free_port() {
        local p
        while :; do
                p=$((10000 + RANDOM % 20000))
                (exec 3<>"/dev/tcp/127.0.0.1/$p") 2>/dev/null || { echo $p; return; }
        done
}

# Rows of a table that are not entirely right; their number, or "none" where there is no row at all.
bad_rows() {
        awk '!/^#/ { n++; if ($9 != "0" || ($13 != "0" && $13 != "N/A")) bad++ } END { print n ? bad + 0 : "none" }' "$1"
}

# run_all N ARGUMENTS: N processes with flags; output of process I in $work/out.I, exit status in $work/rc.I.
run_all() {
        local n=$1 port i
        rm -f "$work"/out.* "$work"/rc.*
        shift
        port=$(free_port)
        for ((i = 0; i < n; i++)); do
                (
                        SLURMD_NODENAME=node$i timeout 100 "$bench" "$@" "${libraries[@]}" --rank=$i --world-size="$n" \
                                --master=127.0.0.1:"$port" >"$work/out.$i" 2>&1
                        echo $? >"$work/rc.$i"
                ) &
        done
        wait
}

# joined PORT N: waits until N connections to process 0 are made.
joined() {
        local end=$((SECONDS + 60)) port
        port=$(printf '%04X' "$1")
        while ((SECONDS < end)); do
                [[ $(awk -v p=":$port\$" '$2 ~ p && $4 == "01"' /proc/net/tcp | wc -l) -ge $2 ]] && return 0
                sleep 0.1
        done
        return 1
}
