#!/bin/bash
# More mistakes in a project of 'imgbuild init', of kinds that the two lists before (cli/mistakes, cli/mistakes-again) do not have: recipe,
# overlay, the node's steps and configuration, command line, environment. Each has its exit code and one message that leads on, and
# leaves nothing behind.
set -u
source "$TOP/tests/fixtures/mistake.bash"
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 1
export HOME=$T XDG_CACHE_HOME=$T/xdg
"$IMGBUILD" init kept >init.log 2>&1 || { cat init.log; exit 1; }
cp -r kept site && cd site || exit 1
r=images/site-node.json o=overlays/site/overlay.json step=overlays/site/files/etc/firstboot/steps.d/space.json
again() { rm -rf "$T/site" && cp -r "$T/kept" "$T/site" && cd "$T/site" || exit 1; }
listed() { find . ! -name out -exec ls -ld --time-style=full-iso {} + | grep -v ' \.$'; }

# run NAME CODE PATTERN ARGUMENT…: and what there was is what there is.
run() {
        local before after
        before=$(listed)
        mistake "$1" "$2" "$3" "$IMGBUILD" "${@:4}" --cache "$T/cache"
        after=$(listed)
        [[ $before == "$after" ]] || { echo "not ok - $1: nothing is left behind"; diff <(echo "$before") <(echo "$after") | sed 's/^/#   /'; failed=1; }
        rm -f out
}
plan() { run "$1" "$2" "$3" plan "${4:-$r}" --offline; again; }

# --- the recipe
sed -i 's/"overlays"/"kernel": "linux-image-amd64", "overlays"/' $r
plan "a value in the place of an object" 3 '\$.kernel: must be an object, not a string; its keys are package, cmdline, options'
sed -i 's/"overlays"/"packages": ["vim htop"], "overlays"/' $r
plan "two packages in one string" 3 '\$.packages\[0\]: "vim htop" is not a package'
sed -i 's/"overlays"/"disk": {"formats": ["qcow3"]}, "overlays"/' $r
plan "a format that there is not" 3 '\$.disk.formats\[0\]: "qcow3" is not one of .*did you mean "qcow2"\?'
sed -i 's/debian-13-cpu"/debian-13-cpu.json"/' $r
plan "a shipped recipe with its ending" 3 '\$.extends: there is no recipe .*did you mean "debian-13-cpu"\?'
sed -i '/"extends"/d; s/"name"/"base": {"distro": "debian", "release": "trixie"}, "kernel": {"package": "linux-image-amd64"}, "name"/' $r
plan "overlays of imgbuild's without a recipe of its own" 3 '"node-base" .*; imgbuild brings one: --overlays=.*/overlays beside your own, or "extends"'
plan "node configuration in the place of a recipe" 3 "node/site.json: is no recipe: .*'imgbuild check --node' takes node configuration" node/site.json

# --- the overlay
sed -i 's/"packages": {.*}/"packages": ["tmux"]/' $o
plan "packages without a family" 3 '\$.packages: must be an object, not a list; its keys are debian, el'
sed -i 's/"checks"/"artifacts": [{"name": "x", "url": "https:\/\/e.invalid\/x", "install": "package"}], "checks"/' $o
plan "an artifact without its version" 3 '\$.artifacts\[0\].version: missing: .'
mv overlays/site/files overlays/site/file
plan "a folder of files that is misnamed" 3 'overlay.json: the folder "file" beside it is copied nowhere; did you mean "files"\?'
sed -i 's/site-note.service/site-not.service/' $o
plan "a unit of the overlay's own that is misspelt" 4 'warning: .*overlay.json: \$.services.enable: .* no site-not.service; did you mean "site-note.service"\?'

# --- steps of the node, and its configuration
sed -i 's/"requires": \["host"\]/"requires": ["hots"]/' $step
plan "a step that requires a misspelt one" 3 'steps.d/space.json: requires step "hots", .*did you mean "host"\?'
sed -i 's/"requires": \["host"\]/"requires": ["space"]/' $step
plan "a step that requires itself" 3 'steps.d/space.json: step "space" waits for itself'
sed 's/"requires": \["host"\]/"requires": ["space"]/; s/space.low/other.low/' $step >"${step%space.json}other.json"
sed -i 's/"requires": \["host"\]/"requires": ["other"]/' $step
plan "steps that require each other" 3 'these steps wait for each other in a circle: other, space'
sed -i 's|lib/site/space"|lib/site/spaec"|' $step
plan "a step's program that is misspelt" 4 'warning: .*steps.d/space.json: "exec": .*did you mean /usr/local/lib/site/space\?'
sed -i 's/"space": {/"spcae": {/' $r
plan "a misspelt section of the site's own step" 3 '\$.node.spcae: unknown key; did you mean "space"\?'
sed -i 's/"space": {/"scratch": {"raid": 0}, "space": {/' $r
plan "a key that no section has" 3 '\$.node.scratch.raid: unknown key; known are mount_point, .*disks'
if [[ -e /usr/share/zoneinfo/Etc/UTC ]]; then
        sed -i 's|Europe/Berlin|Europe/Berln|' $r
        plan "a time zone that there is not is told before the build" 4 'warning: images/site-node.json: \$.node.host.timezone: .*did you mean "Europe/Berlin"\?'
else
        echo "skip - a time zone that there is not is told before the build: this machine has no tzdata"
fi

# --- the command line
plan "no lock yet, and nothing may be looked up" 4 "site-node.lock.json is not there yet, and with --offline nothing is looked up: run 'imgbuild lock "
run "a mirror without its scheme" 2 '--mirror=mirror.example: a URL, such as http://mirror.example/debian' lock $r --mirror mirror.example
run "a mirror of another scheme" 2 '--mirror=htp://mirror.example/debian: a URL' lock $r --mirror htp://mirror.example/debian
mistake "a store without a name" 2 '--cache wants a folder' "$IMGBUILD" plan $r --offline --cache ''
run "a long option with one dash" 2 'did you mean --offline\?' plan $r -offline
run "an image on a server" 3 'https://e.invalid/x.qcow2 is a URL, and an image is a file: download it first' inspect https://e.invalid/x.qcow2
run "a format of export that is misspelt" 2 '--format=vmkd: .*did you mean "vmdk"\?' export --format=vmkd x.qcow2
run "a secret without its file" 2 '--secret=token: NAME=FILE' build $r --secret token

# --- the environment
export IMGBUILD_REMOTE_STORE=ftp://e.invalid/x
run "a remote store of another scheme" 2 'IMGBUILD_REMOTE_STORE, is no URL of a remote store: https://HOST/PATH' plan $r --offline
unset IMGBUILD_REMOTE_STORE
export IMGBUILD_KEYRING=$T/none.gpg
run "a keyring that is not there" 5 'none.gpg is missing: .*Set IMGBUILD_KEYRING right' lock $r --mirror http://127.0.0.1:1/debian
unset IMGBUILD_KEYRING
if [[ $EUID -eq 0 ]]; then
        chmod 0755 "$T" && chmod -R a+rX . && chmod 000 $o && mkdir -m 0777 "$T/nobody"
        as_nobody() { mistake "$1" "$2" "$3" setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$T/nobody" "$IMGBUILD" "${@:4}"; }
        as_nobody "an overlay that may not be read" 5 'overlay.json: cannot read it: Permission denied' plan "$PWD/$r" --offline --cache "$T/nobody/c"
else
        echo "skip - an overlay that may not be read: only root can become somebody else"
fi
[[ -z $failed ]]
