#!/bin/bash
# The command job-env outside of Slurm, and the check of its overlay, which has to notice when it is broken. Real jobs are in e2e/47.
set -u
rc=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
overlay=$TOP/overlays/job-env
# expect NAME EXIT-CODE TEXT COMMAND…
expect() {
        local name=$1 code=$2 text=$3 s=0
        shift 3
        "$@" >"$T/out" 2>&1 || s=$?
        [[ $s -eq $code ]] && { [[ -z $text ]] || grep -qF -- "$text" "$T/out"; } && { echo "ok - $name"; return; }
        echo "not ok - $name (exit code $s)"
        sed 's/^/# /' "$T/out"
        rc=1
}
job_env() { env -i PATH="$PATH" "$@"; }
task() { # VARIABLE… COMMAND: a task of a job
        job_env SLURM_JOB_ID=7 SLURM_STEP_ID=0 SLURM_STEP_NODELIST='a[1-2]' SLURM_STEP_TASKS_PER_NODE='1(x2)' SLURM_PROCID=1 SLURM_LOCALID=0 SLURM_NODEID=1 "$@"
}
J=$overlay/files/usr/bin/job-env
expect "outside of a job" 1 "this is no Slurm job (SLURM_JOB_ID is not set): use it in a script for sbatch" job_env "$J"
expect "… nor a host file" 1 "this is no Slurm job" job_env "$J" --hostfile "$T/hosts"
expect "an unknown option" 2 "unknown: '--nonsense'; 'job-env --help' shows how" job_env "$J" --nonsense
expect "an empty list" 2 "wants one list" job_env "$J" --expand ''
expect "a list that is none" 1 "is no list of hosts" job_env "$J" --expand 'a[1-'
expect "a range that holds no numbers" 1 "is no list of hosts" job_env "$J" --expand 'a[1-x]'
expect "a host file where none can be" 1 "cannot write '$T/none/hosts'" task "$J" --hostfile "$T/none/hosts"
expect "hosts and tasks that do not fit" 1 "Slurm names 2 hosts ('a[1-2]') and tasks for 1 ('2')" task SLURM_STEP_TASKS_PER_NODE=2 "$J"
expect "a heterogeneous job" 1 "set the variables by hand" task SLURM_HET_SIZE=2 "$J"
expect "tasks laid out by a file that is not there" 1 "set MASTER_ADDR by hand" task SLURM_DISTRIBUTION=arbitrary "$J"
expect "a task is told nothing, and not ended, where Slurm says what cannot be read" 0 "" task SLURM_STEP_NODELIST='a[' "$J" --task 7.0
expect "no variable is set for TensorFlow that the kernel would refuse" 0 "WORLD_SIZE=20000" task SLURM_STEP_NODELIST='a[001-500]' SLURM_STEP_TASKS_PER_NODE='40(x500)' "$J"
! grep -q TF_CONFIG "$T/out"
s=$?
[[ $s -eq 0 ]] && echo "ok - … it is left out" || { echo "not ok - … it is left out"; rc=1; }

# Line ends in what a user has set are no lines of ours.
expect "variables of a user's that hold lines" 0 "RANK=1" task X=$'a\nRANK=99' MASTER_PORT=$'1\nWORLD_SIZE=7' JOB_ENV_MASTER=$'b\nLD_PRELOAD=c' "$J" --task 7.0
[[ $(grep -cE '^(RANK|WORLD_SIZE|LD_PRELOAD)=' "$T/out") -eq 2 && $(grep -c '^WORLD_SIZE=2$' "$T/out") -eq 1 ]]
s=$?
[[ $s -eq 0 ]] && echo "ok - … make no lines of the plugin's" || { echo "not ok - … make no lines of the plugin's"; cat "$T/out"; rc=1; }

missing=$("$J" --help | grep -oE -e '--[a-z]+' | sort -u | while read -r option; do
        sed 's/\\-/-/g' "$overlay/files/usr/share/man/man1/job-env.1" | grep -qF -e "$option" || echo "$option"
done)
[[ -z $missing ]] && echo "ok - every option is in the manual page" || { echo "not ok - every option is in the manual page: $missing"; rc=1; }
if command -v man >/dev/null; then
        expect "the manual page renders" 0 "MASTER_PORT" env LC_ALL=C.UTF-8 man --warnings -E UTF-8 -l "$overlay/files/usr/share/man/man1/job-env.1"
        ! grep -q 'job-env.1:[0-9]*: warning' "$T/out" || { echo "not ok - … without a warning"; grep warning "$T/out"; rc=1; }
fi

# The overlay's check, where it needs no Slurm: the line's place, and what a task is told. e2e/47 has the whole tree.
mkdir "$T/bin" && printf '#!/bin/sh\necho usage\n' >"$T/bin/srun" && chmod +x "$T/bin/srun"
tree() {
        cp "$J" "$T/job-env"
        printf 'optional spank_job_env.so\nrequired spank_pyxis.so\n' >"$T/plugstack.conf"
        sed "s,/etc/slurm/plugstack.conf,$T/plugstack.conf,g; s,/usr/bin/job-env,$T/job-env,g" "$overlay/check-job-env.sh" >"$T/check"
}
checks() { PATH=$T/bin:$PATH bash "$T/check"; }
tree
expect "the check passes a whole tree" 0 "" checks
printf 'required spank_pyxis.so\noptional spank_job_env.so\n' >"$T/plugstack.conf"
expect "… not one whose plugin comes after Pyxis" 1 "inside of the container" checks
tree
sed -i 's/RANK "\$SLURM_PROCID"/RANK "$SLURM_LOCALID"/' "$T/job-env"
expect "… not one that mistakes a rank" 1 "says for a task of a job" checks
tree
printf '#!/bin/sh\necho "srun: error: spank: Plugin file not found" >&2\n' >"$T/bin/srun"
expect "… not one whose plugin Slurm does not load" 1 "Slurm does not load spank_job_env.so" checks

# The run script's line comes first, once, whatever was there.
sed "s,/etc/slurm,$T/slurm,g" "$overlay/plugstack.sh" >"$T/plugstack.sh"
sh "$T/plugstack.sh" && echo 'required spank_pyxis.so' >>"$T/slurm/plugstack.conf" && sh "$T/plugstack.sh"
[[ $(cat "$T/slurm/plugstack.conf") == $'optional spank_job_env.so\nrequired spank_pyxis.so' ]] && echo "ok - its line is the first of plugstack.conf, once" ||
        { echo "not ok - its line is the first of plugstack.conf, once"; sed 's/^/# /' "$T/slurm/plugstack.conf"; rc=1; }
exit $rc
