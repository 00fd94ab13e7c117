#!/bin/bash
# One kind of mistake has one exit code in all verbs, as imgbuild(1) says: verbs times mistakes.
set -u
rc=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# ends CODE VERB [ARGUMENT…]
ends() {
        local want=$1 status
        shift
        timeout 120 "$IMGBUILD" "$@" >out 2>&1 </dev/null
        status=$?
        [[ $status -eq $want ]] && return 0
        echo "# imgbuild $*: exit code $status, expected $want: $(tail -n 1 out)"
        return 1
}

# kind NAME: reads "CODE ARGUMENT…" lines from standard input.
kind() {
        local wrong=0 code line
        while read -r code line; do
                # shellcheck disable=SC2086
                ends "$code" $line || wrong=1
        done
        if [[ $wrong -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi
}

# With these verbs a recipe or an image is the first argument.
recipe_verbs=(build plan lock check shell)
image_verbs=(inspect boot "export --format=raw")
stored_verbs=("${recipe_verbs[@]/%/ good.json}" "boot good.raw" "export --format=vhd good.raw" "cache list")
all_verbs=("${recipe_verbs[@]}" inspect boot diff export apply sbom sign verify cache doctor schema completion)

: >empty
mkdir folder
echo words >text
truncate -s 1M good.raw other.raw
for disk in good.raw other.raw; do printf 'label: gpt\nstart=64, size=64\n' | sfdisk -q "$disk"; done
echo '{"name": "good", "base": {"distro": "debian", "release": "trixie"}, "kernel": {"package": "linux-image-amd64"}}' >good.json

each() { local v; for v in "${@:3}"; do echo "$1 $v $2"; done; }

each 2 --nonsense "${all_verbs[@]}" | kind "an unknown option"
each 2 --progress=loud "${all_verbs[@]}" | kind "a wrong value of an option"
each 2 "" build plan lock check shell inspect boot diff sbom sign verify apply "apply good.raw" export "export good.raw" "export --format=raw" schema completion | kind "arguments too few"
each 2 "" "build $(seq -s " " 65)" "plan a b" "lock a b" "check a b" "inspect a b" "boot a b" "diff a b c" "verify a b" "export --format=raw a b" "apply a b c" "schema recipe node" \
        "cache list prune" | kind "arguments too many"
each 2 "" nonsense "cache nonsense" "doctor nonsense" "schema nonsense" "completion nonsense" "export --format=nonsense good.raw" | kind "an unknown word"
{ each 3 "missing --cache=cache" "${recipe_verbs[@]}" "${image_verbs[@]}"; echo 3 diff missing other.raw; echo 3 verify missing; echo 3 apply --raw -o new missing good.raw; } | kind "what is missing"
{ each 3 "empty --cache=cache" "${recipe_verbs[@]}" "${image_verbs[@]}"; echo 3 diff empty other.raw; echo 3 verify empty; echo 3 apply --raw -o new empty good.raw; } | kind "what is empty"
{ each 3 "folder --cache=cache" "${recipe_verbs[@]}" "${image_verbs[@]}"; echo 3 diff folder other.raw; echo 3 verify folder; echo 3 sign folder --gpg=a; } | kind "a folder"
{ each 3 "text --cache=cache" "${recipe_verbs[@]}" "${image_verbs[@]}"; echo 3 diff text other.raw; echo 3 apply --raw -o new text good.raw; } | kind "what is not what it should be"
each 5 --cache=text/store "${stored_verbs[@]}" | kind "no place for the store"
kind "a shell without a terminal, or another word" <<<$'2 build --on-error=shell good.json\n2 build --on-error=nonsense good.json'
kind "an output in the way" <<<"1 export --format=raw --output=other.raw --cache=cache good.raw"
kind "an output that cannot be one" <<'E'
2 export --format=raw --output=folder --cache=cache good.raw
2 export --format=raw --force --output=good.raw --cache=cache good.raw
E

# What cannot be written is no success, and what is printed lands in no file of ours.
wrong=0
for arguments in --help "plan --help" "cache list --cache=store" "cache list --json --cache=store" "schema recipe" \
        "check --rules" "completion bash"; do
        # shellcheck disable=SC2086
        timeout 120 "$IMGBUILD" $arguments >/dev/full 2>out </dev/null
        [[ $? -eq 1 ]] && grep -q 'Not all of the output could be written' out || { echo "# $arguments on a full disk: $(tail -n 1 out)"; wrong=1; }
        # shellcheck disable=SC2086
        timeout 120 "$IMGBUILD" $arguments >&- 2>out </dev/null
        [[ $? -eq 1 ]] && grep -q 'Not all of the output could be written' out || { echo "# $arguments with a closed output: $(tail -n 1 out)"; wrong=1; }
done
if [[ $wrong -eq 0 ]]; then echo "ok - an output that cannot be written"; else echo "not ok - an output that cannot be written"; rc=1; fi
timeout 120 "$IMGBUILD" cache list --cache=store <&- >&- 2>&-
if ! grep -rq 'MADE BY' store; then echo "ok - what is printed to a closed output lands in no file"; else echo "not ok - what is printed to a closed output lands in no file"; rc=1; fi
grep -q 'The verb comes first' <<<"$("$IMGBUILD" --verbose plan good.json 2>&1)" && echo "ok - an option before the verb is told where it belongs" ||
        { echo "not ok - an option before the verb is told where it belongs"; rc=1; }

# Root reads everything; an ordinary user's verbs but these ask for a user namespace first.
if [[ $EUID -eq 0 ]]; then
        chmod 755 .
        chmod 000 good.json good.raw
        as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env HOME=/nonexistent "$IMGBUILD" "$@" >out 2>&1; }
        mkdir -m 777 nobody
        as_nobody plan "$work/good.json" --cache "$work/nobody/cache"; recipe=$?
        as_nobody inspect "$work/good.raw"; image=$?
        chmod 644 good.json
        setpriv --reuid=65534 --regid=65534 --clear-groups env -u HOME -u XDG_CACHE_HOME "$IMGBUILD" plan good.json >out 2>&1
        home=$(getent passwd 65534 | cut -d: -f6)
        if grep -qF "$home/.cache/imgbuild" out; then echo "ok - without HOME the home folder is the user database's"; else
                echo "not ok - without HOME the home folder is the user database's: $(tail -n 1 out)"; rc=1; fi
        [[ $recipe -eq 5 && $image -eq 5 ]]
        if [[ $? -eq 0 ]]; then echo "ok - what may not be read"; else echo "not ok - what may not be read: $recipe $image"; rc=1; fi
fi
exit $rc
