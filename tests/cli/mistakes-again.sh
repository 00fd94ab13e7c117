#!/bin/bash
# A stranger's hour in a project of 'imgbuild init', with the programs as 'make install' leaves them: more mistakes than those of
# cli/mistakes, each with its exit code and one message that leads on.
set -u
source "$TOP/tests/fixtures/archive.bash"
source "$TOP/tests/fixtures/mistake.bash"
publish_base
cd "$T" || exit 1
export HOME=$T XDG_CACHE_HOME=$T/xdg FIRSTBOOT_ROOT=$T/node DBUS_SYSTEM_BUS_ADDRESS=unix:path=$T/no-bus
mkdir -p "$FIRSTBOOT_ROOT/etc/firstboot/conf.d"
make -s -C "$TOP" BUILD="$BUILD" install DESTDIR="$T/installed" PREFIX=/usr >install.log 2>&1
if [[ $? -eq 0 ]]; then echo "ok - the programs are installed below DESTDIR"; else echo "not ok - the programs are installed below DESTDIR"; tail -n 5 install.log; exit 1; fi
imgbuild=$T/installed/usr/bin/imgbuild
"$imgbuild" init my-site >init.log 2>&1
if [[ $? -eq 0 && -e my-site/images/site-node.json ]]; then echo "ok - an installed program makes a project"; else echo "not ok - an installed program makes a project"; cat init.log; exit 1; fi
cd my-site || exit 1
run() { mistake "$1" "$2" "$3" "$imgbuild" "${@:4}"; }
plan() { mistake "$1" "$2" "$3" "$imgbuild" plan "${4:-images/site-node.json}" --offline; }
recipe() { sed "s|$1|$2|" "$T/kept/images/site-node.json" >images/site-node.json; }
overlay() { sed "s|$1|$2|" "$T/kept/overlays/site/overlay.json" >overlays/site/overlay.json; }
step=overlays/site/files/etc/firstboot/steps.d/space.json
again() { cp -r "$T/kept/." .; }
cp -r . "$T/kept"

# --- what is named on the command line
run "a verb's help by 'help VERB'" 0 '^imgbuild build RECIPE' help build
run "help of a verb that is none" 2 "There is no verb 'biuld'; did you mean \"build\"\?" help biuld
run "a build of nothing" 2 "'imgbuild build' takes|wants|Which recipe|one recipe" build
plan "a recipe by its name alone" 3 'site-node: there is no such recipe; did you mean images/site-node.json\?' site-node
plan "a recipe without its ending" 3 'images/site-node: there is no such recipe; did you mean images/site-node.json\?' images/site-node
plan "a recipe's folder" 3 'images: is a folder, not a file' images
: >x.qcow2
run "an image in the place of a recipe" 3 "x.qcow2: is a disk image: 'imgbuild inspect' looks into one" check x.qcow2
run "a folder of overlays that is not there" 3 'there (is no overlay|are no overlays).*--overlays' plan images/site-node.json --offline --overlays nowhere
run "a schema of nothing" 2 'There is no schema of "recipie"; did you mean "recipe"\?' schema recipie
run "doctor for a verb that is none" 2 "There is no verb 'bild'; did you mean \"build\"\?" doctor bild
run "an action of cache that is none" 2 "'imgbuild cache' does not know 'purge'; it knows list, prune, verify, export, import and push" cache purge
run "a misspelt marker of boot" 3 '--until=reday waits for a line of the console that it fits; did you mean "ready"\?' boot x.qcow2 --until reday
run "a number of disks in words" 2 '--nvme' boot x.qcow2 --nvme four
run "a port without its other half" 2 '--forward' boot x.qcow2 --forward nothing
run "signing without a key" 2 'With which key\? --key=FILE, --gpg=KEY' sign out
run "a build's folder that there is not" 3 'out/site-node|There is no' verify out/site-node
run "a store below a file" 5 'x.qcow2/store' plan images/site-node.json --offline --cache x.qcow2/store
run "init where a project is" 1 'is not empty: name a folder' init .

# --- what is written into the files
recipe 'imgbuild:debian-13-cpu' debian-13-cpu
plan "a shipped recipe extended without its prefix" 3 '\$.extends: there is no recipe images/debian-13-cpu.json; imgbuild brings one of that name: "imgbuild:debian-13-cpu"'
again
overlay '"tmux"' '"tmux" "tree"'
plan "a comma that is missing" 3 'overlays/site/overlay.json:[0-9]+:[0-9]+: '
again
sed -i 's/"packages": {.*}/"packages": "tmux"/' overlays/site/overlay.json
plan "one package where lists are wanted" 3 'overlays/site/overlay.json:[0-9]+: \$.packages: must be'
again
mv overlays/site/overlay.json overlays/site/overlay.jsn
plan "an overlay's file misnamed" 3 'overlays/site'
again; rm -f overlays/site/overlay.jsn
sed -i 's/"exec"/"exce"/' "$step"
plan "a misspelt key of a step's file" 3 'steps.d/space.json: .*exce.*did you mean "exec"\?'
again
chmod -x overlays/site/files/usr/local/lib/site/space
plan "a step's program that is not executable" 3 'steps.d/space.json: "exec": files/usr/local/lib/site/space of the overlay is not executable; chmod \+x it'
again
sed -i 's/"meaning"/"meening"/' "$step"
plan "a misspelt key of a step's reason code" 3 'steps.d/space.json: codes.space.*"meaning"'
again
mv "$step" "${step%/*}/Free_Space.json"
plan "a step's file with a name that none can have" 3 "steps.d/Free_Space.json: a step's name is made of a-z, 0-9 and '-'"
rm "${step%/*}/Free_Space.json"; again
printf '{ "exec": ["/usr/local/lib/site/space"], }\n' >"$step"
plan "a comma too many in a step's file" 3 'steps.d/space.json:1:[0-9]+: comma before the closing }'
again
sed -i 's/"free_mib": 64/"free_mib": "64 MiB/' images/site-node.json
plan "a quote that is missing" 3 'images/site-node.json:[0-9]+:[0-9]+: string is not closed on its line'
again
sed -i 's/"name": "site-node"/"name": "site"/' images/site-node.json
plan "a recipe renamed inside alone" 3 '"site" differs from the file.s name; write "site-node"'
again
printf '{ "scratch": { "disks": 4, } }\n' >node/site.json
run "a comma too many in a node configuration" 3 'node/site.json:1:[0-9]+: comma before the closing }' check --node node/site.json
run "a folder of node configuration" 3 'node: is a folder: name the files in it' check --node node
printf 'scratch:\n  disks: 4\n' >node/site.yaml
run "a node configuration in YAML" 3 'node/site.yaml: its first line must be #cloud-config' check --node node/site.yaml
again

# --- the same by an ordinary user: the same exit codes and words
source "$TOP/tests/fixtures/user.bash"
if [[ $EUID -ne 0 ]] || ! user_begin; then
        echo "skip - an ordinary user is told the same: ${why:-only root can become one}"
else
        trap 'user_end; archive_cleanup' EXIT
        chmod 0755 "$T" && chmod -R a+rX "$T/installed"
        sed -i 's/"exec"/"exce"/' "$step"
        printf '{ "scratch": { "lable": "x" } }\n' >node/site.json
        sed 's/"tmux"/"tmux" "tree"/' overlays/site/overlay.json >overlays/torn.json
        cp -r . "$U/home/my-site" && chown -R 64321:64321 "$U/home/my-site"
        cd "$U/home/my-site" || exit 1
        while read -r line; do
                # shellcheck disable=SC2086
                HOME=$T/xdg timeout 120 "$imgbuild" $line >"$T/root.out" 2>&1 </dev/null
                root=$?
                # shellcheck disable=SC2086
                as_user timeout 120 env XDG_CACHE_HOME="$U/home/xdg" "$imgbuild" $line >"$T/user.out" 2>&1 </dev/null
                user=$?
                if [[ $root -eq $user && $root -ne 0 ]] && cmp -s "$T/root.out" "$T/user.out"; then
                        echo "ok - an ordinary user is told the same: $line"
                else
                        echo "not ok - an ordinary user is told the same: $line"
                        echo "# exit codes $root and $user"
                        diff "$T/root.out" "$T/user.out" | sed 's/^/#   /'
                        failed=1
                fi
        done <<'E'
plan images/site-node.json --offline
plan site-node --offline
plan images --offline
plan overlays/torn.json --offline
check --node node/site.json
check x.qcow2
build
cache purge
doctor bild
schema recipie
init .
verify out/site-node
E
fi
[[ -z $failed ]]
