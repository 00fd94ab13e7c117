#!/bin/bash
# Several recipes in one build: what they share is made once, what fails keeps no other, and what programs read is as its schema
# says.
#
# lane: compute
# after: e2e/15-stages
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/small.bash"
small_project

# recipe NAME COMMAND: like small, with a script of its own on top.
recipe() {
        mkdir -p "$W/overlays/$1"
        echo "{ \"description\": \"$1\", \"requires\": [\"small\"], \"run\": [\"run.sh\"] }" >"$W/overlays/$1/overlay.json"
        printf '#!/bin/sh\n%s\n' "$2" >"$W/overlays/$1/run.sh"
        chmod 0755 "$W/overlays/$1/run.sh"
        sed "s/\"name\": \"small\"/\"name\": \"$1\"/; s/\[\"small\"\]/[\"small\", \"$1\"]/" "$W/images/small.json" >"$W/images/$1.json"
}
many() { # RECIPE… [OPTION…]
        local arguments=() word
        for word; do [[ $word == -* ]] && arguments+=("$word") || arguments+=("$W/images/$word.json"); done
        "$IMGBUILD" build "${arguments[@]}" --cache "$CACHE" >"$W/out" 2>"$W/err"
}
tree_has() { "$IMGBUILD" shell "$W/images/$1.json" --cache "$CACHE" --progress none -- cat "/etc/small/$1" 2>>"$W/err"; }
made() { grep -c "^> .*$1\$" "$W/err"; }

# Both want a new layer for small's script, which takes a while.
printf '#!/bin/sh\nsleep 2\ndate +%%s.%%N >/etc/small/ran\n' >"$W/overlays/small/run.sh"
recipe one 'echo one >/etc/small/one'
recipe two 'echo two >/etc/small/two'
recipe three 'echo three >/etc/small/three; exit 9'
many one two --progress=plain --jobs=2
s=$?
[[ $s -eq 0 && $(made 'one run:small/0') -eq 1 && $(made 'run:small/0') -eq 1 ]] || [[ $s -eq 0 && $(made 'two run:small/0') -eq 1 && $(made 'run:small/0') -eq 1 ]]
check "two recipes are built, and the stage that they share is made once ($s)" $? || tail -n 30 "$W/err"
[[ $(tree_has one) == one && $(tree_has two) == two ]]
check "each has what is its own" $?
grep -q 'Baking 2 recipes, at most 2 at once' "$W/err" && grep -q ' one: The tree one is in the store' "$W/err" && ! grep -q 'error: .*error:' "$W/err"
check "messages say which recipe they are of" $?

many one two --progress=json --jobs=1
s=$?
[[ $s -eq 0 && $(grep -c '"recipe":"two"' "$W/out") -ge 5 ]] && grep -q 'at most 1 at once' "$W/err"
check "one after the other, told as JSON with the recipe's name" $?
"$IMGBUILD" schema progress >"$W/schema.json"
echo 'echo changed >>/etc/small/one' >>"$W/overlays/one/run.sh"
many one --progress=json
cat "$W/out" >"$W/lines"
many one three two --progress=json --jobs=3
s=$?
cat "$W/out" >>"$W/lines"
[[ $s -eq 1 && $(tree_has two) == two ]] && grep -q '1 of 3 recipes are not baked: three' "$W/err" && grep -q 'three: Stage run:three/0' "$W/err"
check "one that fails keeps no other, is named last, and gives its exit code ($s)" $? || tail -n 30 "$W/err"
if python3 -c 'import jsonschema; jsonschema.Draft202012Validator' 2>/dev/null; then
        python3 - "$W/schema.json" "$W/lines" <<'P'
import json, sys, jsonschema
v = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
lines = [json.loads(l) for l in open(sys.argv[2])]
bad = [(l, e.message) for l in lines for e in v.iter_errors(l)]
for b in bad[:5]: print("#", *b)
wrong = [{"event": "stage", "stage": "x", "state": "baked"}, {"event": "stage", "stage": "x"}, {"stage": "x", "state": "done"},
         {"event": "message", "message": "x", "level": 6, "more": 1}, {"event": "bytes", "stage": "x", "done": -1, "total": 0}]
sys.exit(bool(bad) or {l["event"] for l in lines} < {"stage", "message"} or len(lines) < 20 or any(v.is_valid(w) for w in wrong))
P
        check "each line of JSON is as 'imgbuild schema progress' says, and wrong ones are not" $?
else
        echo "skip - what an independent validator says of progress: python3-jsonschema is missing"
fi

# Interrupted in the middle of a stage: nothing of it stays, and nobody is left over. Two scripts that say the same would be one stage.
printf '#!/bin/sh\nsleep 947.25\n' >"$W/overlays/one/run.sh"
printf '#!/bin/sh\nsleep 947.25\ntrue\n' >"$W/overlays/two/run.sh"
begin() { # ends once both scripts run
        local end=$((SECONDS + 300))
        "$IMGBUILD" build "$W/images/one.json" "$W/images/two.json" --cache "$CACHE" --progress=plain --jobs=2 >"$W/out" 2>"$W/err" &
        builder=$!
        until [[ $(pgrep -fc 'sleep 947.25') -ge 2 ]]; do
                [[ $SECONDS -lt $end ]] || { echo "not ok - both scripts run at the same time"; tail -n 30 "$W/err"; exit 1; }
                sleep 0.1
        done
}
are_gone() { # within half a minute
        local end=$((SECONDS + 30))
        while pgrep -f 'sleep 947.25' >/dev/null; do [[ $SECONDS -lt $end ]] || return 1; sleep 0.1; done
}
begin
kill -TERM $builder
wait $builder
s=$?
[[ $s -eq 130 ]] && grep -q 'Interrupted' "$W/err"
check "SIGTERM ends all of them with exit code 130 ($s)" $?
are_gone
check "and nothing runs on" $?
begin
kill -KILL $builder
wait $builder 2>/dev/null
are_gone
check "kill -9 of the one that was started ends them, too" $?
exit $rc
