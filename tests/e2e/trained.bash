# Sourced by the tests that train: what tests/fixtures/train.py said, judged, and, for those with nodes apart (apart.bash), alice's way to it; her $home is on all of them.

alice() { node_as n1 alice "$@"; }
put() { cat >"$home/$1"; chmod 0755 "$home/$1"; chown 20001:20000 "$home/$1"; } # NAME, from standard input

# told WHAT STATUS FILE…: a check; the ends of the files say why it failed.
told() {
        check "$1" "$2"
        [[ $2 -eq 0 ]] || tail -n 25 "${@:3}" | sed 's/^/# /'
}

# interactive MODULE COMMAND: as somebody types it in salloc's shell; what it said is in $home/said. The guide's -n 4 leaves it to Slurm how many of the
# four a node gets, and Open MPI refuses a -H that wants more of one than that; --ntasks-per-node says it.
interactive() {
        alice timeout 600 salloc --partition=compute -J debug --nodes=2 --ntasks-per-node=2 --time=08:00:00 --comment="$1" bash -lc "module load $1; $2" >"$home/said" 2>&1
}

# trained FILE RANKS NODES: that many ranks on that many nodes, all with one set of weights, and a loss that fell.
trained() {
        python3 - "$@" <<'P'
import re, sys
found = re.findall(r"rank (\d+) of (\d+) on (\S+) loss (\w+) weights (\w+)", open(sys.argv[1], errors="replace").read())
ranks, nodes = int(sys.argv[2]), int(sys.argv[3])
good = sorted(int(f[0]) for f in found) == list(range(ranks)) and {f[1] for f in found} == {str(ranks)} and \
    len({f[2] for f in found}) == nodes and {f[3] for f in found} == {"falls"} and len({f[4] for f in found}) == 1
sys.exit(not good)
P
}

# first_step FILE SUBMITTED: how long that was, both in seconds since 1970.
first_step() { awk -v a="$2" '/^first step at/ { printf "# from sbatch to the first step: %.1f s\n", $4 - a }' "$1"; }

# nothing_left: of a user's program on either node, within 20 s.
nothing_left() {
        local n i
        for n in n1 n2; do
                for ((i = 0; i < 100; i++)); do [[ -z $(node_run $n pgrep -u alice -f train.py) ]] && break; sleep 0.2; done
                [[ -z $(node_run $n pgrep -u alice -f train.py) ]] || return 1
        done
}
