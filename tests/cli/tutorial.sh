#!/bin/bash
# imgbuild init: the project that it makes is whole and without faults, before anything is baked, for a checkout's program and an
# installed one; a folder with something in it stays as it is.
set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
rc=0
check() { # NAME COMMAND…
        local name=$1
        shift
        if "$@" >"$work/out" 2>&1; then echo "ok - $name"; else echo "not ok - $name"; sed 's/^/# /' "$work/out"; rc=1; fi
}
says() { grep -qF -- "$1" <<<"$said"; }
ended() { [[ $status == "$1" ]]; }
run() { said=$("$@" 2>&1); status=$?; }
same() { diff -r "$1" "$2"; }
lists() { (cd "$1" && find . -mindepth 1 | sed 's/dot-/./' | sort); }
# Without a network there is no lock; that recipe and overlays are understood shows before it is missed.
understood() { # PROGRAM PROJECT
        run "$1" plan "$2/images/site-node.json" --offline --cache "$work/cache"
        echo "$said"
        ! grep -qE 'overlay|json:([0-9]+:)? \$|unknown|no recipe' <<<"$said" && [[ $status -ne 3 ]]
}
export PATH=$TOP/$BUILD/firstboot:$PATH
hash -r

run "$IMGBUILD" init site
check "init makes a project" ended 0
check "with every file that it is to have" diff <(lists "$TOP/images/project") <(lists site)
check "of which programs can be run" test -x site/ci -a -x site/overlays/site/test-space -a ! -x site/README.md
check "and says what comes next" says 'imgbuild plan images/site-node.json'
check "nothing else is left" test "$(ls -A)" = "$(printf 'out\nsite')"
check "its recipe and overlays are understood" understood "$IMGBUILD" site
check "its node configuration has no faults" "$IMGBUILD" check --node site/node/site.json
check "its step's test passes" site/overlays/site/test-space
sed -i 's/-lt/-gt/' site/overlays/site/files/usr/local/lib/site/space
check "and fails where the step is wrong" eval '! site/overlays/site/test-space'
cp -r "$TOP/images/project/overlays/." site/overlays/

# Both CI files go through the same parts; a release signs what it lists, with a key that does not stay.
cat >pipelines <<'P'
import sys, yaml
site, which = sys.argv[1:]
if which == "github":
    steps = yaml.safe_load(open(site + "/.github/workflows/image.yml"))["jobs"]["site-node"]["steps"]
    lines = [s["run"] for s in steps if "run" in s]
else:
    jobs = yaml.safe_load(open(site + "/.gitlab-ci.yml"))
    lines = [l for stage in jobs["stages"] for l in jobs[stage]["script"]]
print("\n".join(lines))
P
mkdir -p doubles temp
printf '#!/bin/sh\n{ echo "imgbuild $*"; [ "$1" != sign ] || cat "$5"; } >>"$CALLS"\n' >doubles/imgbuild
printf '#!/bin/sh\necho "gh $*" >>"$CALLS"\n' >doubles/gh
chmod +x doubles/*
pipeline() { # WHICH: what it calls, a tag's steps included
        export CALLS=$work/calls.$1
        : >"$CALLS"
        /usr/bin/python3 pipelines site "$1" >"script.$1" && (cd site && PATH=$work/doubles:$PATH SIGNING_KEY=$work/key MINISIGN_KEY=secret \
                RUNNER_TEMP=$work/temp PULL_REQUEST=7 bash -e "$work/script.$1" >/dev/null) && grep -v '^gh' "$CALLS" | sed "s#$work/[^ ]*#KEY#" | sort -u >"calls"
        mv calls "did.$1"
}
echo secret >key
check "GitHub's file runs" pipeline github
check "and leaves no key" test -z "$(ls -A temp)"
check "GitLab's file runs" pipeline gitlab
check "and they do the same" diff did.github did.gitlab
check "which is all that there is to do" test "$(cut -d' ' -f 2 did.gitlab | tr '\n' ' ')" = 'boot build check export plan sbom sign secret '
shared() { CALLS=$work/calls PATH=$work/doubles:$PATH SIGNING_KEY=$work/key IMGBUILD_REMOTE_STORE=https://store.invalid site/ci release >/dev/null && grep -q "^imgbuild cache push images/site-node.json --key $work/key$" calls; }
check "with a remote store, a release fills it" shared
run site/ci lint plans
check "an unknown part of ci is wrong use" ended 2
check "which says the parts that there are" says 'lint, plan, build, boot, release'
rm site/plan.txt
cp -r site before

run "$IMGBUILD" init site
check "a project is not made twice in one place" ended 1
check "and why is said" says 'site is not empty'
check "nothing of it was changed" same before site
mkdir one && touch one/.hidden
run "$IMGBUILD" init one
check "a hidden file is something too" ended 1
check "and nothing is beside it" test "$(ls -A one)" = .hidden
touch file
run "$IMGBUILD" init file
check "a file is no folder" ended 1
run "$IMGBUILD" init nowhere/site
check "a folder's folder must be there" ended 1
check "and is named" says 'nowhere/site'
mkdir empty
run env -C empty "$IMGBUILD" init
check "without a name it is the current folder, where that is empty" diff <(lists "$TOP/images/project") <(lists empty)
mkdir odd && cd odd || exit 1
for name in "a b's" -dash 'x;y' $'tab\there'; do
        run env "HOME=$work" "$IMGBUILD" init -- "$name"
        [[ $name != *$'\t'* ]] || { check "a name with control characters is refused" ended 2; continue; }
        enter=$(sed -n 's/^    \(cd .*\)/\1/p' <<<"$said")
        check "the command that enters \"$name\" can be pasted" eval "($enter && test -x ci)"
done
check "and nothing else was made" test "$(find . -mindepth 1 -maxdepth 1 -type d | wc -l)" = 3
ln -s nowhere link
run "$IMGBUILD" init link
check "a link that leads nowhere is told as what it is" says 'link is there, and no folder'
run "$IMGBUILD" init ''
check "an empty name is wrong use" ended 2
cd .. || exit 1
run "$IMGBUILD" init a b
check "two folders are wrong use" ended 2

# As 'make install' lays it out.
mkdir -p prefix/bin prefix/share/imgbuild
cp "$IMGBUILD" prefix/bin/
cp -r "$TOP/images" "$TOP/overlays" "$TOP/firstboot" prefix/share/imgbuild/
run prefix/bin/imgbuild init installed
check "an installed program makes the same" same "$work/empty" installed
check "and finds its recipes and overlays beside itself" understood prefix/bin/imgbuild installed
sed -i 's/imgbuild:debian-13-cpu/imgbuild:debian-13-cpo/' installed/images/site-node.json
run prefix/bin/imgbuild plan installed/images/site-node.json --offline --cache "$work/cache"
check "a shipped recipe that there is not" ended 3
check "is told with the one that may be meant" says 'did you mean "debian-13-cpu"?'
exit $rc
