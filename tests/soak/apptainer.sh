#!/bin/bash
# Apptainer itself, in jobs on two nodes: the overlay apptainer with the package of Debian's sid, which apt reaches, in the place of the vendor's release.
# A registry's image pulled and run, a file of it on a folder that all nodes share, PMI, root inside, and what is left afterwards. Natively, as
# e2e/41-containers.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/head.bash"
tree=$E2E/project/images/containers.json

# sid's package of this machine's own mirror, its signature checked by apt.
fetch_apptainer() {
        local apt=$E2E/apt uri options
        uri=$(apt-get indextargets --format '$(LABEL)|$(REPO_URI)|$(CREATED_BY)' | awk -F'|' '$1 == "Debian" && $3 == "Packages" { print $2; exit }')
        rm -rf "$apt"
        mkdir -p "$apt"/{state/lists/partial,cache/archives/partial,parts}
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${uri:?} sid main" >"$apt/sources"
        options=(-o Dir::Etc::SourceList="$apt/sources" -o Dir::Etc::SourceParts="$apt/parts" -o Dir::State="$apt/state" -o Dir::Cache="$apt/cache"
                -o APT::Sandbox::User=root -o Acquire::Languages=none)
        apt-get "${options[@]}" update && (cd "$apt" && apt-get "${options[@]}" download apptainer) && deb=$(echo "$apt"/apptainer_*.deb) && [[ -e $deb ]]
}

if [[ -z ${HEAD_INSIDE:-} ]]; then
        users_have_namespaces
        fetch_apptainer >"$E2E/apt.log" 2>&1 || { echo "apptainer of Debian's sid, which apt does not reach here"; exit 77; }
        own_project
        version=$(dpkg-deb -f "$deb" Version)
        echo "# apptainer $version"
        # What that package calls is packages of its own, where the vendor's brings it.
        sed -i -e "s,\"version\": \"[^\"]*\",\"version\": \"$version\"," -e "s,\"debian\": \"https://github.com/apptainer/[^\"]*\",\"debian\": \"file://$deb\"," \
                -e 's/"debian": \["uidmap"/"debian": ["squashfuse", "fuse-overlayfs", "squashfs-tools", "containernetworking-plugins", "libsqlite3-0", "ca-certificates", "uidmap"/' \
                "$PROJECT/overlays/apptainer/overlay.json"
        cat >"$tree" <<'R'
{
        "name": "containers",
        "kind": "tree",
        "base": { "distro": "debian", "release": "trixie" },
        "overlays": ["slurm-node", "job-env", "apptainer"],
        "packages": ["slurmctld", "docker-registry"]
}
R
        tree_checks "$tree" "Apptainer is installed, and the tree passes every check"
fi
FOLDER_OF_ALL=/mnt/home
containers_up "$@"
check "a registry, a controller and two nodes run" $?
echo 'root:x:0:0:root:/root:/bin/sh' >"$HEAD/small/etc/passwd"
echo 'root:x:0:' >"$HEAD/small/etc/group"
push_small small >/dev/null
check "an image goes to the registry" $?
for machine in head node1 node2; do
        on "$machine" /usr/lib/scratch-folder/make 1777 /mnt/localdisk/apptainer
        echo NCCL_SOCKET_IFNAME=eth0 >"$HEAD/$machine/root/etc/nccl.conf"
done
install -d -o 20001 -g 20000 "$HEAD/of-all/alice"

run() { as_alice "PATH=/usr/local/bin:\$PATH; $*" >"$E2E/out" 2>"$E2E/err"; } # alice's command on the head
told() { check "$1" "$2"; [[ $2 -eq 0 ]] || tail -n 20 "$E2E/out" "$E2E/err" "$HEAD_LOG"/slurm*.log; }
both=$'PRETTY_NAME="A small image"\nPRETTY_NAME="A small image"\nalice\nalice'

run 'apptainer pull --no-https /mnt/home/alice/small.sif docker://127.0.0.1:5000/small:1'
[[ $? -eq 0 && -s $HEAD/of-all/alice/small.sif ]]
told "a user pulls an image of the registry into a file" $?
on head find /mnt/localdisk/apptainer/user-20001 /home/alice /tmp -path '*blobs*' -type f >"$E2E/out" 2>"$E2E/err"
[[ -s $E2E/out ]] && ! grep -qv '^/mnt/localdisk/apptainer/user-20001/cache/' "$E2E/out"
told "… whose layers are kept on the scratch volume, not in the home folder" $?
run 'srun -N 2 apptainer exec /mnt/home/alice/small.sif bash -c "id -un; grep PRETTY /etc/os-release"'
[[ $? -eq 0 && $(sort "$E2E/out") == "$both" ]]
told "a job runs it on both nodes, the user as himself" $?
run 'srun -N 2 singularity exec /mnt/home/alice/small.sif cat /etc/nccl.conf'
[[ $? -eq 0 && $(sort -u "$E2E/out") == NCCL_SOCKET_IFNAME=eth0 ]]
told "by its former name, too, with the node's file for NCCL" $?
run 'srun -N 2 --mpi=pmi2 apptainer exec /mnt/home/alice/small.sif bash -c "echo \$PMI_RANK of \$PMI_SIZE"'
[[ $? -eq 0 && $(sort "$E2E/out") == $'0 of 2\n1 of 2' ]]
told "a container's MPI finds PMI's variables" $?
run 'srun -N 2 apptainer exec --nv /mnt/home/alice/small.sif hostname'
[[ $? -eq 0 && $(sort "$E2E/out") == $'node1\nnode2' ]]
told "--nv without a GPU is a warning" $?
run 'srun -w node1 apptainer exec --fakeroot --ignore-fakeroot-command /mnt/home/alice/small.sif id -u'
[[ $? -eq 0 && $(cat "$E2E/out") == 0 ]]
told "root inside, who is the user outside" $?
run 'srun -w node2 apptainer exec docker://127.0.0.1:5000/small:1 id -un'
[[ $? -ne 0 ]] && grep -qi 'https\|http' "$E2E/err"
told "a registry without TLS is refused unless asked for" $?

# How it ends: by itself, by scancel, in an array.
run 'sbatch --parsable -w node1 -o /dev/null --wrap "apptainer exec /mnt/home/alice/small.sif sleep 971.5"'
job=$(cat "$E2E/out")
waits on node1 pgrep -f 'sleep 971\.5'
run "scancel $job"
waits on node1 sh -c '! pgrep -f "sleep 971\.5"'
told "scancel ends what is in the container" $?
run "sbatch -W --array=1-${COUNT:-40} -n 1 -o /dev/null --wrap 'srun apptainer exec /mnt/home/alice/small.sif bash -c \"exit 0\"'"
told "an array of ${COUNT:-40} jobs in containers" $?
for machine in node1 node2; do
        on "$machine" sh -c 'for i in $(seq 100); do [ -n "$(ps -u alice -o args=)" ] || break; sleep 0.2; done
                ps -u alice -o args=; grep -h squashfuse /proc/[0-9]*/mounts; find /tmp /mnt/localdisk/apptainer/*/tmp -mindepth 1 2>/dev/null'
done >"$E2E/out" 2>"$E2E/err"
[[ ! -s $E2E/out ]]
told "nothing is left: no process, no mount, no file" $?
exit $rc
