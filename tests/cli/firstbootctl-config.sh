#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# firstbootctl config get, set, unset: a value of the node's own, checked before it is written, and in force afterwards.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
ctl=$node_build/firstbootctl
own=/etc/firstboot/conf.d/90-firstbootctl.json

ended() { [[ $("${@:2}" >"$NODE/out" 2>&1; echo $?) == "$1" ]]; } # CODE COMMAND…
said() { grep -qF -- "$1" "$NODE/out"; }
bytes() { cat "$NODE$own" 2>/dev/null; }

node_new
echo '{"licence":{"server":"old"}}' >"$NODE/etc/firstboot/conf.d/10-site.json"
step licence '{"reads":[]}' <<<'cat "$FIRSTBOOT_ROOT/run/firstboot/config.json" >"$FIRSTBOOT_ROOT/seen"'
step space '{"reads":[]}' <<<'echo ran >>"$FIRSTBOOT_ROOT/space.runs"'
step mirror '{"reads":["licence"]}' <<<'echo ran >>"$FIRSTBOOT_ROOT/mirror.runs"'
step last '{"requires":["licence"],"reads":[]}' <<<'echo ran >>"$FIRSTBOOT_ROOT/last.runs"'
ran() { [[ $(wc -l <"$NODE/$1.runs") -eq $2 ]]; } # STEP TIMES
node_boot
check "the node is ready" node_wait ready
check "get prints a value" test "$("$ctl" config get licence.server)" = old
check "set writes a value, and with --wait returns when the node has settled" ended 0 "$ctl" config set --wait licence.server new
check "the step ran again with it" grep -q '"server": *"new"' "$NODE/seen"
check "a step that waits for it ran again, too" ran last 2
check "and one that says that it reads its section" ran mirror 2
check "one that the key does not concern did not" ran space 1
check "it is in force" test "$("$ctl" config get licence.server)" = new
check "and its layer is known" sh -c "'$ctl' config | grep -q 'licence.server.*$own'"
check "only root reads the file" test "$(stat -c %a "$NODE$own")" = 600
check "a step's own settings concern that step alone" ended 0 "$ctl" config set --wait steps.space.retries 1
check "it ran again" ran space 2
check "and no other" ran last 2
check "taken back" ended 0 "$ctl" config unset --wait steps.space.retries
before=$(bytes)
check "an unknown key is refused" ended 1 "$ctl" config set scratch.lable x
check "with what was meant" said 'did you mean "label"'
check "and that nothing was written" said 'Nothing was written'
check "a misspelt section of a site's own step is refused" ended 1 "$ctl" config set licnece.server x
check "with the one that was meant" said 'did you mean "licence"'
mkdir -p "$NODE/usr/share/zoneinfo/Etc" && touch "$NODE/usr/share/zoneinfo/Etc/UTC"
echo 'Z Etc/UTC 0 - UTC' >"$NODE/usr/share/zoneinfo/tzdata.zi"
check "a time zone that the node does not have is refused" ended 1 "$ctl" config set host.timezone Etc/UTZ
check "with what was meant" said 'host.timezone: there is no time zone "Etc/UTZ"; did you mean "Etc/UTC"?'
check "a value of the wrong type is refused" ended 1 "$ctl" config set scratch.disks four
check "with the key" said 'scratch.disks: '
check "a value that a rule refuses" ended 1 "$ctl" config set scratch.stripe_size 3K
check "the file is what it was" test "$(bytes)" = "$before"
check "a value is missing, and that is said" ended 64 "$ctl" config set scratch.disks
check "with what is taken" said 'set KEY VALUE'
for i in 1 2 3 4 5 6 7 8; do "$ctl" config set --no-rerun "licence.k$i" "$i" 2>/dev/null & done
for job in $(jobs -p); do [[ $job == "$agent_pid" || $job == "$manager_pid" || $job == "$bus_pid" ]] || wait "$job"; done
check "of admins who set values at once each gets hers" python3 -c 'import json,sys; assert set(json.load(open(sys.argv[1]))["licence"]) == {"server", *("k%d" % i for i in range(1, 9))}' "$NODE$own"
echo "$before" >"$NODE$own"
check "a number is one, and text for a text key is text" ended 0 "$ctl" config set --no-rerun scratch.disks 4
check "the file has it beside the other" python3 -c 'import json,sys; assert json.load(open(sys.argv[1])) == {"licence": {"server": "new"}, "scratch": {"disks": 4}}' "$NODE$own"
check "--no-rerun only writes" said 'rerun config'
check "what is not in force yet is not shown" ended 1 "$ctl" config get scratch.disks
check "unset takes it back" ended 0 "$ctl" config unset --no-rerun scratch.disks
check "what is not set here is an error" ended 1 "$ctl" config unset scratch.disks
check "that says where to look" said 'shows which layer gives it'
check "unset with --wait" ended 0 "$ctl" config unset --wait licence.server
check "the layer below is in force again" test "$("$ctl" config get licence.server)" = old
echo '{"licence":{"server":"last"}}' >"$NODE/etc/firstboot/conf.d/95-late.json"
check "a file that is read later is warned of" ended 0 "$ctl" config set --no-rerun licence.server new
check "by its name" said '95-late.json'
echo '{ broken' >"$NODE/etc/firstboot/conf.d/50-broken.json"
check "a file that is read before ours and is faulty keeps no value from being written" ended 0 "$ctl" config set --no-rerun licence.server new
check "it is named, with its line" said '50-broken.json:1:'
check "and what it means for the node" said 'configuration fails until'
rm "$NODE/etc/firstboot/conf.d/50-broken.json"
mkfifo "$NODE/etc/firstboot/conf.d/50-pipe.json"
check "a named pipe there is not waited for" ended 0 timeout 60 "$ctl" config set --no-rerun licence.server new
check "but named" said '50-pipe.json: it is no regular file'
rm "$NODE/etc/firstboot/conf.d/50-pipe.json"
check "a key that is not there" ended 1 "$ctl" config get licence.nothing
check "a set without a value is wrong usage" ended 64 "$ctl" config set licence.server
check "and so is a key of dots" ended 64 "$ctl" config set licence..server x
echo '{ broken' >"$NODE$own"
check "a faulty file is not written over" ended 1 "$ctl" config set licence.server new
check "but named, with its line" said "$own:1:"
node_down
rm "$NODE$own"
check "without firstbootd it is written for its next start" ended 0 "$ctl" config set licence.server new
check "and said so" said 'when it starts'
node_end
exit ${failed:-0}
