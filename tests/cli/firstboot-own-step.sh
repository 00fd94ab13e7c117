#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A site's own step: its reason codes with meaning and remedy, its section of the configuration, and firstboot-get.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl
get=$node_build/firstboot-get

# own NAME JSON: a site's step, as an admin installs it; its program comes on standard input and is run by firstboot-step.
own() {
        { echo '#!/bin/bash'; echo 'result() { echo "$1" >"$FIRSTBOOT_RESULT"; }'; cat; } >"$NODE/own-$1"
        chmod +x "$NODE/own-$1"
        printf '#!/bin/sh\nexec "%s" %s\n' "$node_build/firstboot-step" "$1" >"$NODE/exec/$1"
        chmod +x "$NODE/exec/$1"
        echo "{\"exec\":[\"$NODE/own-$1\"],${2#\{}" | sed 's/,}/}/' >"$NODE/etc/firstboot/steps.d/$1.json"
}
is_empty() { [[ $(tr -d " \n" <"$NODE/said.$1") == "{}" ]]; }
said_by() { grep -qF "$1" "$NODE/said.$2"; } # TEXT NAME: what the step's program noted
explains() { "$ctl" explain "$1" 2>&1 | grep -qF "$2"; }
ended() { [[ $("${@:2}" >/dev/null 2>&1; echo $?) == "$1" ]]; }

node_new
echo '{"licence":{"server":"lic.example","ports":[27000,27001],"strict":true,"note":"a \"b\" c"},"bare":{}}' >"$NODE/etc/firstboot/conf.d/10-site.json"
own licence '{"codes":{"licence.no-answer":{"meaning":"The licence server is silent.","remedy":"Call the licence desk, ext. 4711."}}}' <<S
{ echo "section \$(cat "\$FIRSTBOOT_SECTION")"; stat -c "mode %a" "\$FIRSTBOOT_SECTION"
  echo "server \$($get .server)"; echo "second \$($get licence.ports.1)"; echo "strict \$($get .strict)"; echo "note \$($get .note)"
  echo "list \$($get .ports)"; echo "default \$($get .nothing 5)"; $get .nothing; echo "absent \$?"; } >"$NODE/said.licence" 2>&1
result '{"status":"failed","code":"licence.no-answer","message":"lic.example says nothing"}'; exit 1
S
own words '{"codes":{"words.own":{"meaning":"As the file has it.","remedy":"The file says so."}}}' <<<'result "{\"status\":\"failed\",\"code\":\"words.own\",\"message\":\"m\",\"remedy\":\"The program knows better.\"}"; exit 1'
own gone '{}' </dev/null && rm "$NODE/own-gone"
own plain '{}' </dev/null && chmod -x "$NODE/own-plain"
own lost '{}' </dev/null && sed -i '1s|.*|#!/no/such/interpreter|' "$NODE/own-lost"
own bare '{}' <<<'cat "$FIRSTBOOT_SECTION" >"$FIRSTBOOT_ROOT/said.bare"'
own lone '{}' <<<'cat "$FIRSTBOOT_SECTION" >"$FIRSTBOOT_ROOT/said.lone"; result "{\"status\":\"failed\",\"code\":\"lone.word\",\"message\":\"m\"}"; exit 1'
node_boot
check "a node whose own step fails is not ready" node_wait failed
check "the status has the code's meaning" is "o['step']['licence']['result']['meaning']" 'The licence server is silent.'
check "and its remedy" is "o['step']['licence']['result']['remedy']" 'Call the licence desk, ext. 4711.'
check "a remedy of the program's own goes first" is "o['step']['words']['result']['remedy']" 'The program knows better.'
check "a program that is not there has a code of its own" is "o['step']['gone']['result']['code']" step.not-runnable
check "with the program and the file that names it" is "o['step']['gone']['result']['message']" \
        "$NODE/own-gone, which \"exec\" in /etc/firstboot/steps.d/gone.json names, is not there"
check "one that is not executable says so" is "o['step']['plain']['result']['message'].endswith('is not executable: chmod +x it')" True
check "and one whose interpreter is missing" is "'/no/such/interpreter' in o['step']['lost']['result']['message']" True
check "explain knows the code" explains licence.no-answer 'The licence server is silent.'
check "and says what to do" explains licence.no-answer 'What to do: Call the licence desk'
check "a code of nobody's is an error that says where codes come from" explains licence.nothing '"codes"'
check "with its exit code" ended 1 "$ctl" explain licence.nothing
"$ctl" explain >"$NODE/explain" 2>&1
check "explain of the node has the meaning" grep -qF 'The licence server is silent.' "$NODE/explain"
check "and the program's remedy" grep -qF 'What to do: The program knows better.' "$NODE/explain"
check "a code without a text says so" grep -qF 'of a step of your site' "$NODE/explain"
check "a step has its section as a file" said_by 'section {' licence
check "with what the configuration says" said_by '"lic.example"' licence
check "which only root reads" said_by 'mode 600' licence
check "a step without keys has an empty one" is_empty bare
check "and so has one without a section" is_empty lone
check "firstboot-get reads a key of the section" said_by 'server lic.example' licence
check "a list's member by a whole key" said_by 'second 27001' licence
check "true as a word" said_by 'strict true' licence
check "text without quotes" said_by 'note a "b" c' licence
check "a list as JSON" said_by 'list [27000,27001]' licence
check "what is not there is the default" said_by 'default 5' licence
check "and without one an error" said_by 'absent 1' licence
check "that names the key" said_by 'no key "licence.nothing"' licence
check "outside of a step there is no own section" ended 64 env FIRSTBOOT_CONFIG="$NODE/run/firstboot/config.json" "$get" .server
check "a whole key is read there too" test "$("$get" licence.server)" = lic.example
check "a configuration that is not there is said" ended 2 env FIRSTBOOT_CONFIG="$NODE/nowhere" "$get" licence.server
check "no key is wrong use" ended 64 "$get"
check "the log of a step that is none is refused" ended 1 "$ctl" log nosuch
check "with the names of those that are" sh -c "'$ctl' log nosuch 2>&1 | grep -q 'licence, lone'"
node_end

# What the tree lacks is found before a node boots: firstboot-helper check, which a build runs in the finished tree.
faults_of() { "$node_build/firstboot-helper" check 2>&1; }
node_new
mkdir -p "$NODE/usr/share/zoneinfo/Etc"; touch "$NODE/usr/share/zoneinfo/Etc/UTC"
echo '{"host":{"timezone":"Etc/UTC"}}' >"$NODE/etc/firstboot/node.json"
own good '{}' <<<true
check "a program and a time zone that are there are no fault" test -z "$(faults_of)"
echo '{"host":{"timezone":"Mars/Olympus"}}' >"$NODE/etc/firstboot/node.json"
echo '{"exec":["/nowhere/program"]}' >"$NODE/etc/firstboot/steps.d/gone.json"
echo '{"exec":["program"]}' >"$NODE/etc/firstboot/steps.d/relative.json"
chmod -x "$NODE/own-good"
errors=$(faults_of)
named() { check "$1" grep -qF "$2" <<<"$errors"; }
named "a program that is missing is one" 'gone.json: exec: /nowhere/program: No such file or directory'
named "one that nobody may run too" 'own-good is not a program that can be run'
named "one without a path too" 'relative.json: exec: program must be a path that begins with /'
named "a time zone that is none too" '/etc/firstboot/node.json: host.timezone: there is no time zone "Mars/Olympus"'
check "with exit code 1" ended 1 "$node_build/firstboot-helper" check
node_end

# A table with faults: the node does not start on it.
node_new
step a '{"codes":{"b.c":{"meaning":"m","remedy":"r"},"a.d":{"meaning":"m"},"a.e":{"meaning":"m","remedy":"r","remdy":"r"},"a.f":"text","a.g h":{"meaning":"m","remedy":"r"}}}' <<<true
step scratch '{"codes":{"scratch.lvm":{"meaning":"m","remedy":"r"}}}' <<<true
step list '{"codes":["list.a"]}' <<<true
node_boot
check "a faulty table of codes is a fault of the step file" node_wait failed
errors=$(node_json 'o["message"] + str(o.get("errors"))')
fault() { check "$1" grep -qF "$2" <<<"$errors"; }
fault "a code of another step" "codes.b.c: a code is the step's name"
fault "a code without a remedy" 'codes.a.d: must have "meaning"'
fault "a key that is none" 'codes.a.e: knows "meaning" and "remedy" alone'
fault "text for an entry" 'codes.a.f: must be an object'
fault "a code with a blank" "codes.a.g h: a code is the step's name"
fault "a code of firstboot's own" 'codes.scratch.lvm: firstboot has this code already'
fault "a list of codes" '"codes" must be an object'
[[ -z $failed ]]
