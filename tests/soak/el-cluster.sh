#!/bin/bash
# A cluster of family el: a head and a node on an EL-like distribution of Debian's packages as RPMs, booted side by side, as e2e/70-cluster boots Debian's.
# make-el-repo lays slapd, Slurm's plugins, MariaDB, chronyd, sshd's PAM and Open MPI out as EL has them, and authselect is a double; what runs is
# Debian's Slurm 24.11, slapd, MariaDB. On the head: hpc-head, slurm-gpu, slurm-power, slurm-tmp, slurm-topology, and on both pmix, openmpi, lmod,
# cluster-ssh, profiling; on the node cluster-member and slurm-adopt. Then trees: cuda-runtime, nccl, nccl-examples, efa on doubles of NVIDIA's packages;
# efa-driver, which this kernel cannot have.
#
# SELINUX_POLICY=FOLDER  as in soak/el-disk
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/cluster.bash"
source "$TOP/tests/e2e/el.bash"
el_project el-cluster-parts
fingerprint=$(<"$W/key/fingerprint")

# recipe NAME [LINE…]: of that distribution, with these lines besides.
recipe() {
        el_recipe "$1" gawk selinux-policy-targeted libselinux-utils policycoreutils <<R
        "kernel": { "package": "kernel", "cmdline": "console=tty0 console=ttyS0,115200 no_timer_check security=selinux" },
        $(printf '%s\n        ' "${@:2}")
R
}

# What a site brings for slurm-power.
mkdir -p "$PROJECT/overlays/site-power/files/etc/slurm-power"
echo '{ "description": "Starts and stops machines" }' >"$PROJECT/overlays/site-power/overlay.json"
printf '#!/bin/sh\nlogger -t machine "$*"\n' >"$PROJECT/overlays/site-power/files/etc/slurm-power/machine"
chmod 0755 "$PROJECT/overlays/site-power/files/etc/slurm-power/machine"

common='"job-env", "cluster-ssh", "openmpi", "lmod", "profiling", "slim"'
recipe el-head '"disk": { "formats": ["qcow2"] },' \
        "\"overlays\": [\"firstboot\", \"hpc-head\", \"slurm-gpu\", \"site-power\", \"slurm-power\", \"slurm-tmp\", \"slurm-topology\", $common]"
recipe el-node '"disk": { "formats": ["qcow2"] },' "\"overlays\": [\"firstboot\", \"cluster-member\", \"rdma\", \"tuning\", \"slurm-adopt\", $common]"
for name in el-head el-node; do
        build "$name" --no-proof >"$W/build.log" 2>&1 # the boot is one
        s=$?
        check "$name builds, and every check passes" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$W/build.log"; exit 1; }
done

cat >"$E2E/cluster.json" <<'R'
{ "name": "el", "network": "10.78.0.0/24", "machines": [
  { "name": "head", "image": "el-head", "memory": "2G" },
  { "name": "node", "count": 1, "image": "el-node", "cpus": 2, "memory": "1536M" } ] }
R
cat >"$E2E/commands" <<'C'
set -u
say() { echo "== $1"; }
say family; . /etc/os-release; echo $ID; rpm -q slurmctld slapd | wc -l; cut -d: -f3 /proc/1/attr/current | tr -d '\0'
say units; systemctl --failed --plain --no-legend
say services; systemctl is-active slapd mariadb munge slurmctld slurmdbd nfs-server chronyd sssd hpc-head | sort | uniq -c | xargs
say nodes; for i in $(seq 90); do [ "$(sinfo -h -N -t idle -o %N | wc -l)" = 1 ] && break; sleep 2; done; sinfo -h -N -o '%N %T'
say add; cluster user add alice --gid 9876; cluster user list
say id; id alice
say user; su - alice -c 'srun sh -c "echo \$(id -un):\$(id -g) \$(hostname) \$(stat -f -c %T /home) \$PWD"'
say home; su - alice -c 'echo shared >from-head; srun cat from-head'
say directory; ss -Hltn | awk '{ print $4 }' | grep -oE ':(389|636)$' | sort -u; ls -d /etc/openldap/slapd.d/cn=config; ps -o user= -C slapd; ls -ld /etc/ldap/slapd.d 2>&1 | grep -c cannot
say slurm; id -u slurm; srun id -u slurm; stat -c '%U %a' /var/lib/slurm /var/lib/slurm/slurmctld; ls /etc/my.cnf.d
say database; mariadb -N -e "show variables like 'innodb_lock_wait_timeout'; show variables like 'bind_address'"
say accounting; for i in $(seq 30); do [ "$(sacct -n -X -a -o State | grep -c COMPLETED)" -ge 2 ] && break; sleep 1; done; sacct -n -X -a -u alice -o User,State | sort -u | xargs
say tasks; su - alice -c "srun -n 2 -O sh -c 'echo \$RANK/\$WORLD_SIZE'" | sort
say mpi; su - alice -c 'timeout 200 srun -n 2 -O mpi-hello' | grep -E 'ring|wrong'
cat >/home/mpi <<'M'
#!/bin/bash
#SBATCH -n 2 -O -o mpi.out -e mpi.err
mpirun --map-by :OVERSUBSCRIBE mpi-hello
M
say mpirun; su - alice -c 'timeout 300 sbatch -W /home/mpi >/dev/null; grep -E "ring|wrong" mpi.out; cat mpi.err >&2'
say module; su - alice -c 'module -t avail 2>&1 | grep -c "^openmpi/[0-9]"; module load openmpi && echo $MPI_HOME'
say gres; scontrol show config | grep -E '^(GresTypes|JobContainerType|SuspendProgram) ' | sed 's/ *= */=/'
say tmp; touch /tmp/of-the-head; su - alice -c "srun sh -c 'touch /var/tmp/mine /tmp/mine; ls /tmp /var/tmp | xargs'"; srun sh -c 'ls /tmp/mine /var/tmp/mine 2>&1 | grep -c cannot'
say hosts; for i in $(seq 60); do [ "$(srun systemctl is-active cluster-ssh)" = active ] && break; sleep 1; done; grep -c cert-authority /etc/ssh/ssh_known_hosts
su - alice -c 'rm -f .ssh/known_hosts; timeout 100 ssh -o BatchMode=yes -o StrictHostKeyChecking=yes node1 hostname'; echo "without a job $?"
say adopt; su - alice -c 'timeout 200 salloc -Q -n 1 sh -c "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes node1 hostname; ssh -o BatchMode=yes node1 cat /proc/self/cgroup"' |
        sed 's,.*/\(job_\)[0-9]*\(/step_extern\)/.*,\1\2,'
srun authselect current --raw
# From within the older of two jobs: which of them it is, the other end says (callerid), not the newer.
say callerid; su - alice -c 'timeout 300 salloc -Q -n 1 sh' <<'J'
other=$(sbatch --parsable -n 1 -o /dev/null --wrap "sleep 250")
for i in $(seq 60); do [ "$(squeue -h -j "$other" -o %T)" = RUNNING ] && break; sleep 1; done
squeue -h -j "$other" -o %T
here=$(srun </dev/null ssh -n -o BatchMode=yes node1 cat /proc/self/cgroup | grep -oE 'job_[0-9]+')
[ "$here" = "job_$SLURM_JOB_ID" ] && echo its own || echo "$here, from job_$SLURM_JOB_ID, beside job_$other"
scancel "$other"
J
say time; srun sh -c 'chronyc -n sources | grep -c " 10.78.0.1 "'
say labels; ls -dZ /usr/lib/hpc-head/new-cluster /usr/lib/cluster-ssh/join /var/lib/ldap /etc/openldap/slapd.d /etc/exports.d/hpc-head.exports | cut -d: -f3 | sort
say topology; for i in $(seq 90); do [ -s /etc/slurm/topology.conf ] && break; sleep 2; done; cat /etc/slurm/topology.conf; su - alice -c 'srun hostname'
say hostfile; for i in $(seq 60); do [ -s /etc/opt/oci-hpc/hostfile.tcp ] && break; sleep 2; done; cat /etc/opt/oci-hpc/hostfile.tcp
say again; systemctl stop nfs-server slurmctld slurmdbd mariadb slapd munge; sleep 3; systemctl start mariadb munge slapd slurmdbd slurmctld nfs-server
for i in $(seq 90); do [ "$(sinfo -h -N -t idle -o %N | wc -l)" = 1 ] && break; sleep 2; done; su - alice -c 'srun id -un'
say pid; journalctl -b -u slurmdbd | grep -i 'pid *file'
say enforced; getenforce; srun getenforce
say denied; journalctl -b -o cat -g 'avc: +denied'
say denied-there; srun journalctl -b -o cat -g 'avc: +denied'
say end
C
cluster_run "$E2E/cluster.json"

says "both machines are of family el, with SELinux's policy loaded" family $'rocky\n2\ninit_t'
says "no unit of the head has failed" units ''
says "all services of a head run" services '9 active'
says "the node joins, and is idle" nodes 'node1 idle'
says "a user is added" add $'group alice has number 9876\nuser alice has number 10000, group 9876, home folder /home/alice\nalice'
says "the head knows the user" id 'uid=10000(alice) gid=9876(alice) groups=9876(alice)'
says "a job runs as the user, at home on the head's disk" user 'alice:9876 node1 nfs /home/alice'
says "a file from the head is read on the node" home shared
says "slapd listens for TLS alone, as user ldap, with its configuration in EL's folder" directory $':636\n/etc/openldap/slapd.d/cn=config\nldap\n1'
says "Slurm's user and folders are there, which no package made, with one number on both" slurm \
        $'64030\n64030\nslurm 755\nslurm 755\n60-slurmdbd.cnf\nmariadb-server.cnf'
says "MariaDB reads what slurmdbd asks for" database $'innodb_lock_wait_timeout\t900\nbind_address\t127.0.0.1'
says "the user's jobs are accounted" accounting 'alice COMPLETED'
says "each task is told who it is" tasks $'0/2\n1/2'
says "MPI by srun" mpi 'the ring of 2 is well'
says "… and by mpirun, which is in EL's folder" mpirun 'the ring of 2 is well'
says "modules: Open MPI's is there, and says EL's folder" module $'1\n/usr/lib64/openmpi'
says "GPUs, /tmp of a job's own and power saving are in Slurm's configuration" gres \
        $'GresTypes=gpu\nJobContainerType=job_container/tmpfs\nSuspendProgram=/usr/lib/slurm-power/suspend'
says "a job has /tmp and /var/tmp of its own" tmp $'/tmp: mine /var/tmp: mine\n2'
says "the node's host key is known by the head's authority, and nobody comes in without a job" hosts $'1\nwithout a job 255'
says "… with one he does, into its cgroup; authselect has a profile for it, and homes stay as the image says" adopt $'node1\njob_/step_extern\ncustom/slurm-adopt with-mkhomedir'
says "… from within one of two jobs, into that" callerid $'RUNNING\nits own'
says "the node asks the head for the time" time 1
says "programs of services and what the head made have their labels" labels $'bin_t\nbin_t\nexports_t\nslapd_db_t\nslapd_db_t'
says "topology.conf is made, and a job runs with it" topology $'SwitchName=all Switches=elsewhere\nSwitchName=elsewhere Nodes=node1\nnode1'
says "the head lists its nodes" hostfile node1
says "its services are stopped and started: a job runs" again alice
says "no daemon misses a place for its PID file" pid ''
if [[ -n ${SELINUX_POLICY:-} ]]; then
        says "SELinux is enforcing on both, by EL's own policy" enforced $'Enforcing\nEnforcing'
        not_denied head < <(part denied)
        not_denied node < <(part denied-there)
fi
[[ -z $(ls -A /run/imgbuild/link 2>/dev/null) ]] && no_scratch && no_leftovers
check "nothing is left running, mounted or in scratch" $?

# A slurm.conf.d that names what this Slurm has not: the image is not made.
# shellcheck disable=SC2016 # the tree's own
broken() { # TEXT OVERLAY COMMAND PATTERN: what the check says in the tree that the command has changed
        "$IMGBUILD" shell "$RECIPES/el-head.json" --cache "$CACHE" --progress none -- sh -c "$3" <"$PROJECT/overlays/$2" >"$W/said" 2>&1
        grep -qE "$4" "$W/said"
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || sed 's/^/# /' "$W/said"
}
broken "a Slurm that finds no GPUs by itself: the check says which does" slurm-gpu/check-slurm-gpu.sh 'rm /usr/lib64/slurm/gpu_nvidia.so; sh -s || echo refused' 'EPEL.s 22.05 does not'
broken "a Slurm before 23.02 with a list of folders: the check says that slurmd would not start" slurm-tmp/check-slurm-tmp.sh \
        'sed -i s/Dirs/Durs/g /usr/lib64/slurm/job_container_tmpfs.so; sh -s || echo refused' 'has Dirs, which slurm.* does not know'
broken "… and the overlay leaves the list out for it" slurm-tmp/older.sh \
        'sed -i s/Dirs/Durs/g /usr/lib64/slurm/job_container_tmpfs.so; sh -s; grep -c Dirs /etc/slurm/job_container.conf' '^0$'
broken "a slapd without its schema: the head's check says so, not its first boot" hpc-head/check-head.sh 'rm /etc/openldap/schema/nis.schema; bash -s || echo refused' \
        'slapadd does not take the directory.s first entries'

# --- GPUs and clouds' networks: trees alone ------------------------------------------------------------------------------
# CUDA's runtime and headers are NVIDIA's own, from PyPI, packaged as its repository for EL has them; NCCL is a double.
have_source aws-ofi-nccl-2daf7d30.tar.xz || exit 77
wheels=$W/wheels cuda=usr/local/cuda-13.0/targets/x86_64-linux
python3 -m pip download -q --no-deps -d "$wheels" nvidia-cuda-runtime==13.0.96 nvidia-cuda-crt==13.0.88 >>"$W/log" 2>&1 || { echo "CUDA's runtime and headers, which PyPI has"; exit 77; }
mkdir -p "$W"/nvidia/{cuda-cudart-13-0,cuda-cudart-devel-13-0,cuda-crt-13-0}/files/"$cuda" "$W/nvidia/libnccl/files/usr/lib64" "$W/nvidia/cuda-cudart-13-0/files/etc/ld.so.conf.d"
for name in runtime crt; do python3 -m zipfile -e "$wheels"/nvidia_cuda_$name-*.whl "$W/$name"; done
mkdir "$W/nvidia/cuda-cudart-13-0/files/$cuda/lib" "$W/nvidia/cuda-cudart-devel-13-0/files/$cuda/lib"
cp "$W"/runtime/nvidia/cu13/lib/libcudart.so.13 "$W/nvidia/cuda-cudart-13-0/files/$cuda/lib/"
ln -s libcudart.so.13 "$W/nvidia/cuda-cudart-devel-13-0/files/$cuda/lib/libcudart.so"
cp -r "$W/runtime/nvidia/cu13/include" "$W/nvidia/cuda-cudart-devel-13-0/files/$cuda/"
cp -r "$W/crt/nvidia/cu13/include" "$W/nvidia/cuda-crt-13-0/files/$cuda/"
echo "/$cuda/lib" >"$W/nvidia/cuda-cudart-13-0/files/etc/ld.so.conf.d/988_cuda-13.conf"
cp "$TOP/$BUILD/tests/nccl-double/libnccl.so.2" "$W/nvidia/libnccl/files/usr/lib64/"
mkdir -p "$W/nvidia/libnccl/files/etc/ld.so.conf.d"
echo /usr/lib64 >"$W/nvidia/libnccl/files/etc/ld.so.conf.d/lib64.conf" # where EL's linker looks anyway
for name in cuda-cudart-13-0 cuda-cudart-devel-13-0 cuda-crt-13-0; do printf 'Package: %s\nVersion: 13.0.96-1\n' $name >"$W/nvidia/$name/control"; done
printf 'Package: libnccl\nVersion: 2.28.9-1+cuda13.0\n' >"$W/nvidia/libnccl/control"
for name in cuda-cudart-13-0 libnccl; do echo ldconfig >"$W/nvidia/$name/post"; done
# What the overlay efa fetches for Debian, and needs no more here.
for name in cudart nvcc; do tar -C "$W/crt/nvidia" -cf "$W/$name.tar" cu13; done
"$TOP/tests/fixtures/make-dnf-repo" --gnupg "$W/key" "$W/nvidia" "$W/site/cuda" >>"$W/log" 2>&1
check "NVIDIA's repository is made" $?
sed -i -e "s,\"https://developer[^\"]*\\.pub\",\"file://$W/key/key.asc\"," -e "s,\"https://developer[^\"]*\",\"file://$W/site/cuda/\"," -e "s/\"610C 7B14[^\"]*\"/\"$fingerprint\"/" \
        "$PROJECT/overlays/cuda-runtime/overlay.json"
sed -i -e "s,\"https://github.com/aws/[^\"]*\",\"file://$(realpath "$SOURCES")/aws-ofi-nccl-\${version}.tar.xz\"," \
        -e "s,\"https://developer[^\"]*/cuda_\(cudart\|nvcc\)-[^\"]*\",\"file://$W/\1.tar\"," "$PROJECT/overlays/efa/overlay.json"
check "overlays name what is here" $?

recipe el-mpi '"overlays": ["openmpi", "lmod", "nccl-examples", "efa", "slim"]'
tree_checks "$RECIPES/el-mpi.json" "cuda-runtime, nccl, nccl-examples and efa: the tree is made, and every check passes"
in_tree() { "$IMGBUILD" shell "$RECIPES/$1.json" --cache "$CACHE" --progress none -- bash -c "$2" 2>&1; }
in_tree el-mpi 'ldd /opt/nccl-examples/one-process | grep -oE "libcudart.so.[0-9]+ => .*/lib/|libnccl.so.2 => [^ ]*"; ls /opt/modulefiles/{cuda,nccl,openmpi} | xargs; command -v mpirun; readlink /usr/bin/mpirun' >"$W/said"
[[ $(<"$W/said") == "libnccl.so.2 => /lib64/libnccl.so.2"$'\n'"libcudart.so.13 => /$cuda/lib/"$'\n'* ]] || [[ $(grep -c "libnccl.so.2 => .*/lib64/\|libcudart.so.13 => /$cuda/lib/" "$W/said") -eq 2 ]]
s=$?
check "… the examples have NVIDIA's runtime of EL, by its own name" $s
grep -q '13.0.96.lua .*2.28.9.lua' "$W/said" && grep -qx /usr/lib64/openmpi/bin/mpirun "$W/said"
s=$((s + $?))
check "… module files have the versions of RPMs, and mpirun is found without a module" $s
[[ $s -eq 0 ]] || sed 's/^/# /' "$W/said"

recipe el-efa '"overlays": ["efa-driver"]'
"$IMGBUILD" check "$RECIPES/el-efa.json" --cache "$CACHE" --progress plain >"$W/said" 2>&1
[[ $? -ne 0 ]] && grep -q "without CONFIG_INFINIBAND_EFA, and this distribution has no source of it to compile" "$W/said"
s=$?
check "efa-driver with a kernel that is without it (Debian's, here): the build says so" $s
[[ $s -eq 0 ]] || tail -n 10 "$W/said"
exit $rc
