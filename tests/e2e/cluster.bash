# Sourced after lib.bash: machines of a cluster file are booted once, and the head's own commands are the test.
#
#   cluster_run FILE    boots them and runs $E2E/commands on the head; "== NAME" begins a part of what it says
#   part NAME           what the commands said below that heading
#   says TEXT NAME EXPECTED   a check: the part is just that
#   unit_at_boot OVERLAY NAME   the overlay's files get NAME.service, which runs its /usr/local/sbin/NAME once at each boot
#   cluster_images            hpc-head and cluster-node as 70-cluster boots them, in a project that is theirs

cluster_run() {
        local s
        # From the project: its lock of the tools tree is the one that the images were made with.
        (cd "$PROJECT" && exec "$IMGBUILD" cluster "$1" --cache "$CACHE" --output "$OUT" --offline --progress plain --save "$E2E/save" \
                -- "$(cat "$E2E/commands")") >"$E2E/out" 2>"$E2E/log"
        s=$?
        check "all of them come up, and the commands run" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/log" "$E2E/out"; exit 1; }
}
part() { sed -n "/^== $1$/,/^== /p" "$E2E/out" | sed '/^== /d' | tr -d '\r'; }
says() { [[ $(part "$2") == "$3" ]]; local s=$?; check "$1" $s; [[ $s -eq 0 ]] || part "$2" | sed 's/^/# /'; }

unit_at_boot() { # OVERLAY NAME
        mkdir -p "$1/files/etc/systemd/system"
        cat >"$1/files/etc/systemd/system/$2.service" <<U
[Unit]
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/local/sbin/$2

[Install]
WantedBy=multi-user.target
U
}

# What is made already stays: 65-cluster-images makes them while other machines are up. Its locks count later, too.
cluster_images() {
        local name s folder=$SHARED/cluster-project
        own_project
        for name in hpc-head cluster-node; do
                [[ ! -s $folder/images/$name.lock.json ]] || cp "$folder/images/$name.lock.json" "$RECIPES/"
        done
        # The package of the overlay slurm-adopt is on the nodes from the start, its settings come last.
        mkdir "$PROJECT/overlays/adopt-package"
        echo '{ "description": "What slurm-adopt installs", "packages": { "debian": ["libpam-slurm-adopt"] } }' >"$PROJECT/overlays/adopt-package/overlay.json"
        sed -i 's/"openmpi"]/"openmpi", "adopt-package"]/' "$RECIPES/cluster-node.json"
        # GPUs are handed out and counted; the nodes have doubles of two each.
        sed -i 's/"openmpi", "slim"]/"openmpi", "slurm-gpu", "slim"]/' "$RECIPES/hpc-head.json"
        grep -q adopt-package "$RECIPES/cluster-node.json" && grep -q slurm-gpu "$RECIPES/hpc-head.json" || { echo "not ok - the recipes have their overlays"; exit 1; }
        rm -rf "$folder"
        mv "$PROJECT" "$folder"
        PROJECT=$folder RECIPES=$folder/images
        for name in hpc-head cluster-node; do
                build "$name" --no-proof >"$E2E/build.log" 2>&1 # the boot is one
                s=$?
                check "$name builds" $s
                [[ $s -eq 0 ]] || { tail -n 40 "$E2E/build.log"; exit 1; }
        done
}
