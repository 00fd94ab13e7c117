#!/bin/bash
# debian-13-gpu-enroot, built by 40-enroot-image.sh with doubles of the vendor's packages, booted where there is no GPU to drive: a
# double of the driver's /proc tells of two, and the toolkit's double describes for containers (CDI) what it is told. The network
# card becomes an RDMA device (soft-RoCE), and the rdma step has it carry data by the image's own ib_write_bw.
#
# lane: machine
# after: e2e/40 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/guest.bash"
project
image=debian-13-gpu-enroot
[[ -e $OUT/$image/manifest.json ]] || { echo "not ok - there is $image to boot (e2e/40-enroot-image.sh builds it)"; exit 1; }

cat >"$E2E/gpu" <<'E'
d=/proc/driver/nvidia/gpus/0000:0$1:00.0
mkdir -p "$d" && printf 'Model: \t\t double\nDevice Minor: \t %s\n' "$1" >"$d/information"
E
cat >"$E2E/double.service" <<E
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/mount -t tmpfs double /proc/driver
ExecStart=/usr/bin/sh -c 'echo $(base64 -w0 "$E2E/gpu") | base64 -d >/run/gpu; for i in 0 1; do sh /run/gpu \$\$i; done; echo double >/proc/driver/nvidia/version'
E
printf '[Unit]\nRequires=double.service\nAfter=double.service\n' >"$E2E/double.conf"

# Which GPUs are described; and a third one, which the driver takes later. NVMe controllers are what this machine can bind: the rule
# that says when to describe anew is tried with their names.
cdi='
cdi() { sed -n "s/^  - name: \"\(.*\)\"/\1/p" /run/cdi/nvidia.yaml | tr "\n" " "; }
echo "cdi=$(cdi)"
echo "cdi_all=$(sed -n "/name: \"all\"/,/^[^ ]/s/.*path: //p" /run/cdi/nvidia.yaml | tr "\n" " ")"
echo "cdi_at_boot=$(systemctl show -P Result nvidia-cdi-refresh.service) $(systemctl show -P ConditionResult nvidia-cdi-refresh.service)"
nvme=$(basename "$(readlink -f /sys/class/nvme/nvme3/device)")
mkdir -p /run/udev/rules.d
sed "s/\"0x10de\"/\"$(cat /sys/bus/pci/devices/$nvme/vendor)\"/; s/DRIVER==\"nvidia\"/DRIVER==\"nvme\"/" /etc/udev/rules.d/61-nvidia-cdi.rules \
        >/run/udev/rules.d/62-double.rules
udevadm control --reload
sh /run/gpu 2
echo "cdi_before=$(cdi)"
echo $nvme >/sys/bus/pci/drivers/nvme/unbind
echo $nvme >/sys/bus/pci/drivers/nvme/bind
for i in $(seq 600); do [ "$(cdi)" = "0 1 2 all " ] && break; sleep 0.2; done
echo "cdi_after=$(cdi)"
'

# The rdma step in a root of its own, beside the agent's: it sees the machine, and its verdict is nobody else's.
roce='
r=/run/roce
mkdir -p $r/etc $r/run/firstboot/results
for d in sys proc usr dev var; do ln -s /$d $r/$d; done
step() { # NAME KEYS
        printf "{\"config\":{\"rdma\":{\"devices\":[\"rxe0\"],\"traffic\":\"required\",\"give_up\":\"30s\"%s}},\"instance\":{}}" "$2" >$r/run/firstboot/config.json
        rm -f $r/run/firstboot/results/rdma.json
        FIRSTBOOT_ROOT=$r /usr/lib/firstboot/firstboot-step rdma >$r/log 2>&1
        echo "$1=$(tr -d "\n\t " <$r/run/firstboot/results/rdma.json)"
        sed "s/^/$1_log=/" $r/log
}
modprobe ib_core netns_mode=0; echo "netns=$(rdma system show)"
nic=$(ip -o -4 route show default | sed "s/.* dev \([^ ]*\).*/\1/")
modprobe rdma_rxe && rdma link add rxe0 type rxe netdev "$nic" && echo "rxe=$(cat /sys/class/infiniband/rxe0/ports/1/state)"
step roce ",\"traffic_percent\":1"
chmod a-x /usr/bin/ib_write_bw; step roce_none; chmod a+x /usr/bin/ib_write_bw
# The kernel tells the counters over netlink what it tells in files; hidden, they are told all the same, by the unit too.
files=$(readlink -f /sys/class/infiniband/rxe0)/ports/1/hw_counters
counters() { sed -n "s/^rdma_port_hw_\([a-z_]*\){.*} /\1 /p" "$1" | grep -v lifespan | sort; }
/usr/lib/firstboot/rdma-exporter /run/told.prom
(cd $files && grep -H . * | tr : " ") | grep -v lifespan | sort >/run/files
echo "told=$(wc -l </run/files) $(counters /run/told.prom | cmp - /run/files && echo same)"
mount -t tmpfs none $files
mkdir -p /var/lib/prometheus/node-exporter
systemctl start firstboot-rdma-exporter.service
echo "told_hidden=$(counters /var/lib/prometheus/node-exporter/firstboot-rdma.prom | cmp - /run/files && echo same)"
umount $files
# A device in another namespace than who looks: the exporter is in one, the device where it was made.
ip netns add gpu-test
echo "moved=$(rdma dev set rxe0 netns gpu-test 2>&1 | tail -n 1)"
echo "hidden=$(ip netns exec gpu-test ls /sys/class/infiniband | wc -l)"
ip netns exec gpu-test /usr/lib/firstboot/rdma-exporter /run/away.prom
echo "away=$(sed -n "s/^rdma_port_hw_sent_pkts//p" /run/away.prom)"
'

# Units that need a GPU may fail where there is none, and the gpu step must.
boot_image $image 'nvidia-* firstboot@gpu.service' "$cdi$roce" --load-credential "systemd.extra-unit.double.service:$E2E/double.service" \
        --load-credential "systemd.unit-dropin.nvidia-cdi-refresh.service:$E2E/double.conf" || exit 1
seen_in_guest
check "modinfo's version is the manifest's" "$([[ $(fact nvidia) == "$(manifest $image versions.driver)" ]]; echo $?)"
check "the module is built for the running kernel" "$([[ $(fact vermagic) == "$(fact kernel)" ]]; echo $?)"
check "nouveau is not loaded" "$([[ $(fact nouveau) == 0 ]]; echo $?)"
check "at boot, containers get a description of the two GPUs that are there" "$([[ $(fact cdi) == "0 1 all " && $(fact cdi_at_boot) == "success yes" ]]; echo $?)"
check "… each with its device, and one name for both" "$([[ $(fact cdi_all) == "/dev/nvidia0 /dev/nvidia1 " ]]; echo $?)"
check "a GPU that the driver takes later is described by itself" "$([[ $(fact cdi_before) == "0 1 all " && $(fact cdi_after) == "0 1 2 all " ]]; echo $?)"
check "soft-RoCE on the network card is an RDMA port" "$([[ $(fact rxe) == "4: ACTIVE" ]]; echo $?)"
check "the rdma step has it carry data from itself to itself: done" "$([[ $(fact roce) == *'"status":"done"'* && $(fact roce) == *'"program":"ib_write_bw","gbps":'* ]]; echo $?)"
check "… by ib_write_bw, which listens to this machine alone" "$(grep -q '^roce_log=.*ib_write_bw -d rxe0 -i 1 .* 127.0.0.1$' "$E2E/$booted.facts"; echo $?)"
check "an image without the program where traffic is required: rdma.no-test" "$([[ $(fact roce_none) == *'"code":"rdma.no-test"'* ]]; echo $?)"
check "its hardware's counters come from the kernel's answer, equal to its files" "$([[ $(fact told) =~ ^[1-9][0-9]*\ same$ ]]; echo $?)"
check "… where no file can be read, too, in the exporter's unit" "$([[ $(fact told_hidden) == same ]]; echo $?)"
check "ib_core gives each device to one network namespace" "$([[ $(fact netns) == *"netns exclusive"* && $(fact hidden) == 0 ]]; echo $?)"
check "… soft-RoCE stays in its own, as the kernel says" "$([[ $(fact moved) == *"not supported"* ]]; echo $?)"
check "… and the exporter in another one follows the kernel's own device there" "$([[ $(fact away) =~ ^\{device=\"rxe0\",port=\"1\",netns=\"net:\[[0-9]+\]\"\}\ [1-9][0-9]*$ ]]; echo $?)"
[[ $rc -eq 0 ]] || grep -E '^(cdi|rxe|roce|told|netns|moved|hidden|away)' "$E2E/$booted.facts"

exit $rc
