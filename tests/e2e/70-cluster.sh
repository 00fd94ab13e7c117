#!/bin/bash
# A head and two nodes, as `make cluster` boots them: images/clusters/demo.json with the recipes it names. One start, in which the
# head's own commands are the test: users, jobs on both nodes, home folders, accounting, logins between nodes.
#
# lane: machine
# after: e2e/60 e2e/65
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/cluster.bash"
cluster_images

# What NVIDIA's driver shows of two GPUs, to slurmd alone.
cat >"$E2E/node.yaml" <<'Y'
#cloud-config
bootcmd:
- |
  for i in 0 1; do
          gpu=0000:0$i:00.0
          mkdir -p /run/double/driver/nvidia/gpus/$gpu /run/double/pci/nvidia/$gpu /run/systemd/system/slurmd.service.d /etc/firstboot/conf.d
          printf 'Model: \t\t NVIDIA A100-SXM4-40GB\nGPU UUID: \t GPU-%d\nBus Location: \t %s\nDevice Minor: \t %d\n' $i $gpu $i >/run/double/driver/nvidia/gpus/$gpu/information
          echo 0 >/run/double/pci/nvidia/$gpu/local_cpulist
          mknod /dev/nvidia$i c 195 $i
  done
  printf '[Service]\nBindReadOnlyPaths=/run/double/driver:/proc/driver /run/double/pci:/sys/bus/pci/drivers\n' >/run/systemd/system/slurmd.service.d/50-double.conf
  echo '{ "slurm": { "gres": "gpu:2" } }' >/etc/firstboot/conf.d/50-gpus.json
  systemctl daemon-reload
Y
sed "s,\"name\": \"node\",&\, \"user_data\": \"$E2E/node.yaml\"," "$TOP/images/clusters/demo.json" >"$E2E/cluster.json"

cat >"$E2E/commands" <<'C'
set -u
say() { echo "== $1"; }
say units; systemctl --failed --plain --no-legend
say nodes; for i in $(seq 60); do [ "$(sinfo -h -N -t idle -o %N | wc -l)" = 2 ] && break; sleep 1; done; sinfo -h -N -o '%N %T'
say add; cluster user add alice --gid 9876; cluster user list; cluster user add alice; echo "again $?"; cluster user add Alice; echo "bad $?"
say id; id alice
say srun; srun -N 2 hostname | sort
say user; su - alice -c 'srun -N 2 sh -c "echo \$(id -un):\$(id -g) \$(hostname) \$(stat -f -c %T /home)"' | sort
say home; su - alice -c 'echo shared >from-head; srun -w node2 cat from-head'
say ssh; su - alice -c 'ssh node1 ssh node2 hostname'
say mtu; ping -c 1 -q -M do -s 8900 node1 >/dev/null && echo jumbo
say accounting; for i in $(seq 20); do [ "$(sacct -n -X -a -o State | grep -c COMPLETED)" -ge 3 ] && break; sleep 1; done; sacct -a -X -o User,JobID,NNodes,State,Elapsed
say batch; su - alice -c 'sbatch -W -N 2 -o out.%j -e err.%j --wrap "srun hostname" >/dev/null; sort out.*'
say env; su - alice -c 'srun -N 2 sh -c "test \$MASTER_ADDR = \$(hostname) && first=first; echo \$RANK/\$WORLD_SIZE \${first:-not}"' | sort
cat >/home/mpi <<'M'
#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=1 -o mpi.out -e mpi.err
srun mpi-hello
mpirun mpi-hello
srun --mpi=pmi2 bash -c 'echo "cmd=init pmi_version=2 pmi_subversion=0" >&$PMI_FD; read -r -u $PMI_FD answer; echo "$PMI_RANK of $PMI_SIZE $answer"'
M
say mpi; su - alice -c 'timeout 200 sbatch -W /home/mpi >/dev/null; sed "s/^task . of 2 on/task of 2 on/" mpi.out | sort'
# The commands of docs/clusters/audit.md.
say mpilist; srun --mpi=list 2>&1 | grep -owE 'pmi2|pmix' | sort -u
say mpiuser; su - alice -c 'timeout 100 srun -N 2 mpi-hello' | sed 's/^task . of/task of/' | sort
say told; su - alice -c "srun -N 2 env | grep -E 'RANK|MASTER|TF_CONFIG'" | grep -E '^(RANK|MASTER_ADDR|TF_CONFIG)=' | sort | sed 's/"node.:[0-9]*"/H/g; s/=node.$/=node/'
say authority; grep cert-authority /etc/ssh/ssh_known_hosts | cut -d ' ' -f 1,3
say gres; sinfo -h -N -o '%N %G'; su - alice -c "srun --gpus-per-node=1 sh -c 'echo \$CUDA_VISIBLE_DEVICES'"; sacctmgr show tres | awk '$1 == "gres" && $2 == "gpu" { print $1 "/" $2 }'
for i in $(seq 20); do sacct -a -X -n -o AllocTRES%60 | grep -q gres/gpu=1 && break; sleep 1; done; sacct -a -X -n -o AllocTRES%60 | grep -o gres/gpu=1
say quick; srun -N 2 bash -c 'time firstbootctl check --quick && echo well'; su - alice -c 'srun -w node1 firstbootctl check --quick' 2>/dev/null; echo "a user $?"
# A job that would outlive itself.
say leaves; su - alice -c 'srun -w node1 bash -c "(setsid sleep 4321 & nohup sleep 4322 & loginctl enable-linger; systemd-run --user sleep 4323; echo sleep 4324 | at now; echo \"* * * * * sleep 4325\" | crontab -) >/dev/null 2>&1; sleep 1; pgrep -c -u alice sleep"'
srun -w node1 sh -c 'sleep 2; pgrep -af "sleep 432[0-9]"; ls -A /var/lib/systemd/linger /var/spool/cron/crontabs 2>/dev/null | grep alice; echo over'
say hosts; systemctl is-active cluster-ssh >/dev/null || systemctl status cluster-ssh
for i in $(seq 60); do [ "$(srun -N 2 systemctl is-active cluster-ssh | grep -c "^active")" = 2 ] && break; sleep 1; done
for h in head node1 node2; do su - alice -c "rm -f .ssh/known_hosts; ssh -o StrictHostKeyChecking=yes $h hostname"; done
say anew; srun -w node1 sh -c 'rm /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key; systemctl restart cluster-ssh'
su - alice -c 'ssh -o StrictHostKeyChecking=yes node1 hostname; ssh node2 ssh -o StrictHostKeyChecking=yes node1 hostname; test -e .ssh/known_hosts || echo no list of his own'
say hostfile; for i in $(seq 120); do [ "$(wc -l </etc/opt/oci-hpc/hostfile.tcp 2>/dev/null)" = 2 ] && break; sleep 1; done; cat /etc/opt/oci-hpc/hostfile.tcp
say health; scontrol show config | grep HealthCheck | sed 's/ *= */=/'
# The head's services are away in the middle of a job, which writes to the user's home folder all the time.
say away; cat >/home/writes <<'W'
#!/bin/bash
for ((i = 0; i < 80; i++)); do echo $i >>written.$(hostname); sleep 0.2; done
echo $(hostname) $(wc -l <written.$(hostname))
W
job=$(su - alice -c 'sbatch --parsable -N 2 -o away.out -e away.err --wrap "srun bash /home/writes"')
for i in $(seq 60); do [ -s /home/alice/written.node1 ] && [ -s /home/alice/written.node2 ] && break; sleep 1; done
systemctl stop nfs-server slurmctld slurmdbd mariadb slapd munge; sleep 5; systemctl start mariadb munge slapd slurmdbd slurmctld nfs-server
for i in $(seq 180); do [ "$(wc -l </home/alice/away.out)" = 2 ] && break; sleep 1; done
sort /home/alice/away.out
for i in $(seq 60); do sacct -n -X -j $job -o State | grep -q COMPLETED && break; sleep 1; done; sacct -n -X -j $job -o State,NNodes | xargs
su - alice -c 'srun -N 2 id -un'
# A step that ends while no controller answers says so a minute later (docs/clusters/jobs.md).
# For sinfo -t, a node that is completing is idle.
for i in $(seq 120); do [ "$(sinfo -h -N -o %T | xargs)" = 'idle idle' ] && break; sleep 1; done; sinfo -h -N -o %T; echo "# the nodes are free $i s later" >&2
say munge; systemctl stop munge; systemctl start munge; systemctl is-active slurmctld slurmdbd; srun -N 2 hostname | sort
say time; srun -N 2 sh -c 'chronyc -n sources | grep -c " 10.77.0.1 "'
say pid; journalctl -b -u slurmdbd -u slurmctld | grep -i 'pid *file'
C
{
        echo "say adopt; cat >/home/pam-adopt.sh <<'A'"
        cat "$TOP/overlays/slurm-adopt/pam-adopt.sh"
        printf 'A\ncat >/home/slurm-adopt.conf <<"A"\n'
        cat "$TOP/overlays/slurm-adopt/files/etc/security/slurm-adopt.conf"
        cat <<'C'
A
srun -w node2 sh -c 'cp /home/slurm-adopt.conf /etc/security/ && sh /home/pam-adopt.sh && echo set up'
su - alice -c 'timeout 100 ssh -o BatchMode=yes node2 hostname'; echo "without a job $?"
su - alice -c 'timeout 200 salloc -Q -w node2 -n 1 sh -c "ssh -o BatchMode=yes node2 hostname; ssh -o BatchMode=yes node2 cat /proc/self/cgroup"' |
        sed 's,.*/\(job_\)[0-9]*\(/step_extern\)/.*,\1\2,'
su - alice -c 'ssh -o BatchMode=yes node1 hostname'
say end
C
} >>"$E2E/commands"
cluster_run "$E2E/cluster.json"

says "no unit of the head has failed" units ''
says "both nodes are idle" nodes $'node1 idle\nnode2 idle'
says "a user is added once, under a sound name" add $'group alice has number 9876\nuser alice has number 10000, group 9876, home folder /home/alice\nalice\nagain 1\nbad 2'
says "the head knows the user" id 'uid=10000(alice) gid=9876(alice) groups=9876(alice)'
says "srun on both nodes" srun $'node1\nnode2'
says "… as the user, at home on the head's disk" user $'alice:9876 node1 nfs\nalice:9876 node2 nfs'
says "a file from the head is read on a node" home shared
says "from node to node without a password" ssh node2
says "frames of 9000 bytes" mtu jumbo
says "a batch job" batch $'node1\nnode2'
says "each task is told who it is, and who the first" env $'0/2 first\n1/2 not'
says "MPI over both nodes by srun and by mpirun, and PMI-2 answers" mpi "$(printf '%s\n' '0 of 2 cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0' \
        '1 of 2 cmd=response_to_init rc=0 pmi_version=2 pmi_subversion=0' 'task of 2 on node1' 'task of 2 on node1' 'task of 2 on node2' 'task of 2 on node2' 'the ring of 2 is well' \
        'the ring of 2 is well')"
says "every host's key is known beforehand" hosts $'head\nnode1\nnode2'
says "… also that of a node that was made anew" anew $'node1\nnode1\nno list of his own'
says "the head lists its nodes" hostfile $'node1\nnode2'
says "HealthCheckProgram is the agent's" health $'HealthCheckInterval=300 sec\nHealthCheckNodeState=CYCLE,ANY\nHealthCheckProgram=/usr/lib/firstboot/slurm-health-check'
says "srun knows PMIx and PMI-2" mpilist $'pmi2\npmix'
says "MPI over both nodes, for a user who has set nothing" mpiuser $'task of 2 on node1\ntask of 2 on node2\nthe ring of 2 is well'
says "srun tells its tasks" told "$(printf '%s\n' MASTER_ADDR=node MASTER_ADDR=node RANK=0 RANK=1 \
        'TF_CONFIG={"cluster": {"worker": [H, H]}, "task": {"type": "worker", "index": 0}}' 'TF_CONFIG={"cluster": {"worker": [H, H]}, "task": {"type": "worker", "index": 1}}')"
says "host keys are known by the head's authority" authority '@cert-authority ssh-ed25519'
says "GPUs are handed out and accounted" gres $'node1 gpu:2(S:0)\nnode2 gpu:2(S:0)\n0\ngres/gpu\ngres/gpu=1'
says "nothing of a job outlives it: neither what it put aside, nor by systemd, at or cron" leaves $'2\nover'
says "a node's check passes for root, and a user is told that it wants root" quick $'well\nwell\na user 3'
says "the head's services are away in mid-job: every line is written, the job is complete and accounted, the next one runs, the nodes are free" away \
        $'node1 80\nnode2 80\nCOMPLETED 2\nalice\nalice\nidle\nidle'
says "munge stopped and started: the controller is still there" munge $'active\nactive\nnode1\nnode2'
says "nodes ask the head for the time" time $'1\n1'
says "no daemon misses a place for its PID file" pid ''
part accounting | grep -qE '^ *alice +[0-9]+ +2 +COMPLETED +00:'
check "sacct has the user's job on two nodes" $?
grep -q '^\* node2' "$E2E/log" && [[ -s $E2E/save/node2/boot.json ]]
check "progress and logs of each machine" $?
says "with slurm-adopt nobody comes in without a job, with one he does, into its cgroup" adopt $'set up\nwithout a job 255\nnode2\njob_/step_extern\nnode1'
[[ -z $(ls -A /run/imgbuild/link 2>/dev/null) ]] && no_scratch && no_leftovers
check "nothing is left running, mounted or in scratch" $?
exit $rc
