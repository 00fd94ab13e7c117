#!/bin/bash
# The tutorial, gone by an ordinary user in an account that useradd has just made, with the program as 'make install' leaves it:
# the first build of an empty store, proof and all, and the first boot. The account is in an /etc of this script's own, so that
# it is gone with the script, however that ends.
#
# lane: machine
# after: e2e/10 cli unit
set -u
source "$TOP/tests/e2e/lib.bash"
project

command -v newuidmap >/dev/null || { echo "newuidmap is missing"; exit 77; }
command -v useradd >/dev/null || { echo "useradd is missing"; exit 77; }
setpriv --reuid 64321 --regid 64321 --clear-groups unshare -U true 2>/dev/null ||
        { echo "this kernel refuses user namespaces to ordinary users"; exit 77; }

U=$(mktemp -d /tmp/imgbuild-user.XXXXXX) || exit 1
mkdir "$U/etc"
# What a container's runtime mounts on single files of /etc is not in the overlay by itself.
mount -t tmpfs -o mode=0755 etc "$U/etc" && mkdir "$U"/etc/{upper,work} &&
        for f in resolv.conf hosts hostname; do [[ ! -e /etc/$f ]] || cp -L "/etc/$f" "$U/etc/upper/"; done &&
        mount -t overlay -o "lowerdir=/etc,upperdir=$U/etc/upper,workdir=$U/etc/work" etc /etc ||
        { rm -rf "${U:?}"; echo "no overlay can be mounted on /etc"; exit 77; }
user_end() { umount -l /etc "$U/etc"; rm -rf "${U:?}"; }
trap user_end EXIT
chmod 0755 "$U"

touch /etc/subuid /etc/subgid # a host that has none gives no subordinate ids
useradd --create-home --home-dir "$U/home" --shell /bin/bash imgbuild-monday && id=$(id -u imgbuild-monday) &&
        grep -q '^imgbuild-monday:' /etc/subuid && grep -q '^imgbuild-monday:' /etc/subgid
s=$?
check "useradd makes an account with subordinate ids" $s
[[ $s -eq 0 ]] || exit 1
as_user() { # COMMAND…: as after a login, with nothing of root's environment
        (cd "$U/home" && exec setpriv --reuid imgbuild-monday --regid imgbuild-monday --init-groups env -i \
                HOME="$U/home" USER=imgbuild-monday LANG=C.UTF-8 PATH="$U/bin:$U/prefix/bin:/usr/local/bin:/usr/bin:/bin" RECIPES="$U/recipes" "$@")
}

make -s -C "$TOP" BUILD="$BUILD" install PREFIX="$U/prefix" >"$E2E/log" 2>&1
s=$?
check "the program is installed" $s
[[ $s -eq 0 ]] || { tail -n 20 "$E2E/log"; exit 1; }

# What root's store has downloaded, and the locks that it was filled with. A slow machine gets time.
mkdir -p "$U/bin" "$U/recipes"
cp "$RECIPES"/{tools.json,tools.lock.json,debian-13-cpu.lock.json} "$U/recipes/"
for lock in debian-13-cpu tools; do blobs_of "$RECIPES/$lock.lock.json" "$U/home/.cache/imgbuild" copied; done
chown -R imgbuild-monday: "$U/home"
cat >"$U/bin/imgbuild" <<'E'
#!/bin/bash
verb=$1 slow=()
shift
[[ $verb != boot ]] || slow=(--timeout 900)
"${0%/bin/*}/prefix/bin/imgbuild" "$verb" --progress plain "${slow[@]}" "$@" || exit
[[ $verb == init ]] || exit 0
cp "$RECIPES"/tools*.json "$1/images/"
sed 's/"recipe": "debian-13-cpu"/"recipe": "site-node"/' "$RECIPES/debian-13-cpu.lock.json" >"$1/images/site-node.lock.json"
E
chmod +x "$U/bin/imgbuild"
# doctor speaks of the whole of a build, of disks too that this machine may not have room for: it is asked for itself.
awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$TOP/docs/tutorial.md" | grep -vx 'imgbuild doctor' >"$U/commands"

as_user imgbuild doctor build >"$E2E/doctor" 2>&1
[[ $? -eq 0 ]] && grep -q '^ok *overlayfs *mounts in a namespace' "$E2E/doctor" && grep -q '^ok *user namespaces' "$E2E/doctor"
s=$?
check "doctor: nothing is missing" $s
[[ $s -eq 0 ]] || cat "$E2E/doctor"

as_user bash -eux "$U/commands" >"$E2E/log" 2>&1
s=$?
[[ $s -eq 0 && $(grep -c '^imgbuild ' "$U/commands") -ge 6 ]]
check "every command of the tutorial does what it is there for" $?
[[ $s -eq 0 ]] || { tail -n 60 "$E2E/log"; exit 1; }
site=$U/home/my-site/out/site-node
grep -q "Making libguestfs' appliance of this user" "$E2E/log" && [[ $(stat -c %u "$site/site-node.qcow2") -eq $id ]]
check "with an appliance and an image of the user's own" $?
[[ $(OUT=$site/.. manifest site-node proved) == True ]]
check "the disk is proved" $?
grep -q 'ready reached after' "$E2E/log" && grep -q 'space .*done' "$E2E/log" && grep -qx 'Welcome to my site.' "$E2E/log"
check "the node is ready, with its own step and file" $?
[[ -z $(find "$U/home" ! -uid "$id" ! -path "$U/home/.cache/imgbuild/*" -print -quit) ]]
check "what is in the home is the user's, the store's layers aside" $?

userdel --remove imgbuild-monday >"$E2E/userdel" 2>&1
! id -u imgbuild-monday >/dev/null 2>&1 && [[ ! -e $U/home ]]
check "the account can be removed with all it made" $?
exit $rc
