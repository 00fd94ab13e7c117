#!/bin/bash
# The overlay tuning's program on a machine made of files: what it sets, what it leaves alone when its switch says so, and that a machine
# which has nothing of it is no failure. setpci and nvidia-smi are doubles that write down what they are asked.
set -u
rc=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out"; rc=1; fi; }
overlay=$TOP/overlays/tuning
is() { # WHAT FILE WANTED
        [[ $(cat "$T/machine/$2") == "$3" ]]
        local s=$?
        check "$1" $s
        [[ $s -eq 0 ]] || echo "# $2 is '$(cat "$T/machine/$2")'"
}
tune() { PATH=$T/bin:$PATH TUNING_ROOT=$T/machine "$overlay/files/usr/lib/tuning/tuning" >"$T/out" 2>&1; }

# Two processors with three idle states; a GPU and a network card with two interrupts below one switch, another card elsewhere.
machine() {
        local cpu device pci
        rm -rf "$T/machine" "$T/asked"
        pci=$T/machine/sys/devices/pci0000:00
        mkdir -p "$T"/machine/{etc,proc/sys/kernel,proc/sys/vm,proc/irq/{40,41},sys/bus/pci/devices,sys/kernel/iommu_groups/{0,1}}
        for cpu in 0 1; do
                mkdir -p "$T/machine/sys/devices/system/cpu/cpu$cpu"/{cpufreq,cpuidle/state{0,1,2}}
                echo schedutil >"$T/machine/sys/devices/system/cpu/cpu$cpu/cpufreq/scaling_governor"
                for n in 0 1 2; do
                        echo $((n * 100)) >"$T/machine/sys/devices/system/cpu/cpu$cpu/cpuidle/state$n/latency"
                        echo 0 >"$T/machine/sys/devices/system/cpu/cpu$cpu/cpuidle/state$n/disable"
                done
        done
        for device in 0000:00:01.0/0000:01:00.0/0000:02:00.0/0000:03:00.0 0000:00:01.0/0000:01:00.0/0000:02:01.0/0000:04:00.0 0000:00:05.0; do
                mkdir -p "$pci/$device"
                ln -s "$pci/$device" "$T/machine/sys/bus/pci/devices/${device##*/}"
        done
        for device in 0000:00:01.0 0000:00:01.0/0000:01:00.0 0000:00:01.0/0000:01:00.0/0000:02:0{0,1}.0; do
                ln -s "$pci/$device" "$T/machine/sys/bus/pci/devices/${device##*/}"
                echo 0x060400 >"$pci/$device/class"
        done
        echo 0x030200 >"$T/machine/sys/bus/pci/devices/0000:03:00.0/class"
        echo 0x020700 >"$T/machine/sys/bus/pci/devices/0000:04:00.0/class"
        echo 0x020000 >"$T/machine/sys/bus/pci/devices/0000:00:05.0/class"
        mkdir "$T/machine/sys/bus/pci/devices/0000:04:00.0/msi_irqs"
        touch "$T/machine/sys/bus/pci/devices/0000:04:00.0/msi_irqs"/{40,41}
        echo 0-1 >"$T/machine/sys/bus/pci/devices/0000:04:00.0/local_cpulist"
        echo 0-7 | tee "$T/machine/proc/irq/40/smp_affinity_list" >"$T/machine/proc/irq/41/smp_affinity_list"
        echo 1 >"$T/machine/proc/sys/kernel/numa_balancing"
        echo 0 >"$T/machine/proc/sys/vm/nr_hugepages"
        echo DMA-FQ >"$T/machine/sys/kernel/iommu_groups/0/type"
        echo identity >"$T/machine/sys/kernel/iommu_groups/1/type"
        cp "$overlay/files/etc/tuning.conf" "$T/machine/etc/"
}
mkdir "$T/bin"
# The root port has no ACS; the switch's upper side has, with nothing on; its lower sides redirect.
cat >"$T/bin/setpci" <<P
#!/bin/sh
case \$2.\$3 in
*=0000) echo "\$2 \$3" >>"$T/asked" ;;
0000:00:01.0.*) exit 1 ;;
0000:01:00.0.*) echo 0000 ;;
*) echo 001d ;;
esac
P
printf '#!/bin/sh\necho "$*" >>"%s/asked"\n' "$T" >"$T/bin/nvidia-smi"
chmod +x "$T"/bin/*

machine
tune
check "a machine is tuned" $?
cpu=sys/devices/system/cpu
is "every processor has the governor" $cpu/cpu1/cpufreq/scaling_governor performance
is "a slow idle state is off" $cpu/cpu0/cpuidle/state1/disable 1
is "… and a fast one is not" $cpu/cpu0/cpuidle/state0/disable 0
is "pages stay where a job has them" proc/sys/kernel/numa_balancing 0
is "a card's interrupts go to the processors beside it" proc/irq/41/smp_affinity_list 0-1
is "no huge pages without EFA" proc/sys/vm/nr_hugepages 0
[[ $(grep ACS "$T/asked" | sort) == $'0000:02:00.0 ECAP_ACS+6.w=0000\n0000:02:01.0 ECAP_ACS+6.w=0000' ]]
check "ACS goes off where it is on: above the GPU and above the card, each once" $?
grep -qx 'boost-slider --vboost 1' "$T/asked"
check "the driver is asked for vboost" $?
grep -q 'translates for 1 groups of devices: add iommu=pt' "$T/out"
check "an IOMMU that translates is told, with the remedy" $?

machine
mkdir -p "$T"/machine/sys/class/infiniband/rdmap0/device/driver/module/drivers/pci:efa
tune
is "EFA's huge pages are reserved" proc/sys/vm/nr_hugepages 5128

# Every switch.
machine
cp -r "$T/machine" "$T/before"
sed -i -E 's/^([A-Z_]+)=[^ ]*/\1=keep/' "$T/machine/etc/tuning.conf"
cp "$T/machine/etc/tuning.conf" "$T/before/etc/"
tune
[[ $? -eq 0 && ! -s $T/out && ! -e $T/asked ]] && diff -r --no-dereference "$T/before" "$T/machine" >>"$T/out"
check "what is switched off stays as it was" $?

machine
chmod -R a-w "$T/machine/sys/devices/system" && rm -r "$T/machine/sys/devices/system/cpu/cpu1/cpufreq" && mkdir -p "$T/machine/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"
tune
[[ $? -eq 0 ]] && grep -q 'governor performance: 1 processors, refused by 1' "$T/out"
check "what the kernel refuses is told, and no failure" $?
rm -rf "$T/machine" && mkdir -p "$T/machine/etc" && cp "$overlay/files/etc/tuning.conf" "$T/machine/etc/"
tune
[[ $? -eq 0 && ! -s $T/out ]]
check "a machine that has nothing of it: nothing is said" $?

# The overlay's check.
sed "s,/etc/tuning.conf,$T/conf,; s,/usr/lib/tuning/tuning,$overlay/files/usr/lib/tuning/tuning," "$overlay/check-tuning.sh" >"$T/check"
sed -i "s,/etc/tuning.conf,$T/conf,g" "$T/check"
cp "$overlay/files/etc/tuning.conf" "$T/conf"
bash "$T/check" >"$T/out" 2>&1
check "the overlay's check passes" $?
sed -i '/^ACS=/d' "$T/conf"
! bash "$T/check" >"$T/out" 2>&1
check "… and not without one of the switches" $?
exit $rc
