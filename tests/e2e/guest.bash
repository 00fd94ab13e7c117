# Sourced: boots an image of this suite once, asks the guest over ssh what it is, and checks that.

# boot_image NAME ALLOWED-FAILURES [MORE-QUESTIONS [OPTION…]]: runs the questions in the guest, and then this shell text; facts lie in
# $E2E/NAME.facts. The options are imgbuild boot's. $user_data_more, where it is set, goes to the end of the seed's cloud-config.
boot_image() {
        local image=$OUT/$1/$1.qcow2 allowed=() unit sum port knocking more=${3-} options=("${@:4}")
        booted=$1
        for unit in $2; do allowed+=("--allow-failed=$unit"); done
        rm -rf "$E2E/$1.boot" "$E2E/$1.facts"
        make_key
        sum=$(sha256sum <"$image")
        cat >"$E2E/user-data" <<E
#cloud-config
hostname: node-e2e
ssh_authorized_keys:
  - $(cat "$KEY.pub")
${user_data_more-}
E
        # The command in the guest goes in by a key of boot's own. That the seed's key opens it too is tried from outside, and the
        # command waits for what it writes.
        port=$(free_port)
        (until ssh -q -p "$port" -i "$KEY" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
                -o ConnectTimeout=60 -o BatchMode=yes debian@127.0.0.1 'id -un >/tmp/seed-key' </dev/null; do sleep 1; done) 2>/dev/null &
        knocking=$!
        # From the project, whose lock of the tools tree is the one that the image was made with.
        (cd "$PROJECT" && exec "$IMGBUILD" boot "$image" --cache "$CACHE" --progress plain --nvme 4 --disk-size 20G --strict "${allowed[@]}" --forward "$port:22" \
                --until multi-user --timeout 900 --save "$E2E/$1.boot" --user-data "$E2E/user-data" "${options[@]}" -- sh -c '
                echo "os=$(. /etc/os-release; echo $ID-$VERSION_ID)"
                echo "hostname=$(hostname)"
                echo "kernel=$(uname -r)"
                echo "root=$(df -B1 --output=size / | tail -n 1 | tr -d " ")"
                echo "nvme=$(ls -d /sys/class/nvme/nvme* | wc -l)"
                echo "machine_id=$(wc -c </etc/machine-id)"
                echo "hostkeys=$(ls /etc/ssh/ssh_host_*_key | wc -l)"
                echo "state=$(systemctl is-system-running)"
                echo "failed=$(systemctl list-units --failed --plain --no-legend | cut -d" " -f1 | tr "\n" " ")"
                echo "slurmd=$(systemctl is-enabled slurmd 2>/dev/null)"
                echo "nouveau=$(grep -c ^nouveau /proc/modules)"
                echo "nvidia=$(/usr/sbin/modinfo -F version nvidia 2>/dev/null)"
                echo "vermagic=$(/usr/sbin/modinfo -F vermagic nvidia 2>/dev/null | cut -d" " -f1)"
                echo "compilers=$(ls /usr/bin/*gcc* /usr/bin/cc /usr/src/linux-headers* /usr/sbin/dkms 2>/dev/null | wc -l)"
                echo "held=$(apt-mark showhold | tr "\n" " ")"
                echo "sources=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null | grep -cE "^(deb|URIs)")"
                for i in $(seq 600); do [ -s /tmp/seed-key ] && break; sleep 0.2; done
                echo "login=$(cat /tmp/seed-key)"
                '"$more") >"$E2E/$1.facts" 2>"$E2E/$1.boot.log"
        local s=$?
        kill $knocking 2>/dev/null
        check "$1 boots under OVMF to multi-user, and its units are well" $s
        if [[ $s -ne 0 ]]; then
                tail -n 60 "$E2E/$1.boot.log"
                tail -n 40 "$E2E/$1.boot/console.log" 2>/dev/null
                return 1
        fi
        [[ $(sha256sum <"$image") == "$sum" ]]
        check "booting does not change the image" $?
        [[ -s $E2E/$1.boot/console.log && -s $E2E/$1.boot/journal.log ]]
        check "console and journal are saved" $?
}

fact() { sed -n "s/^$1=//p" "$E2E/$booted.facts" | tail -n 1; }

seen_in_guest() {
        check "ssh lets the seed's key in" "$([[ $(fact login) == debian ]]; echo $?)"
        check "its boot had settled when the command ran" "$([[ $(fact state) == running || $(fact state) == degraded ]]; echo $?)"
        check "the guest is Debian 13" "$([[ $(fact os) == debian-13 ]]; echo $?)"
        check "the seed named it" "$([[ $(fact hostname) == node-e2e ]]; echo $?)"
        check "it runs the manifest's kernel" "$([[ $(fact kernel) == "$(manifest "$booted" kernel)" ]]; echo $?)"
        check "root has grown to the 20 GiB disk" "$([[ $(fact root) -gt 18000000000 ]]; echo $?)"
        check "it has an identity of its own now" "$([[ $(fact machine_id) == 33 && $(fact hostkeys) -ge 1 ]]; echo $?)"
        check "cloud-init wrote apt's sources" "$([[ $(fact sources) -ge 1 ]]; echo $?)"
        check "slurmd waits for ready" "$([[ $(fact slurmd) != enabled ]]; echo $?)"
        check "no compiler, headers or dkms in it" "$([[ $(fact compilers) == 0 ]]; echo $?)"
        check "the kernel packages are held" "$([[ $(fact held) == *linux-image-* ]]; echo $?)"
}
