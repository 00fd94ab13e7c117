#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# lane: compute
# A thousand nodes that boot at the same moment, simulated on the agent's own retry code, while all servers go away for half an
# hour; `tests/bench/run fleet` does it with ten thousand.
set -u
fleet=$TOP/$BUILD/tests/bench/fleet/fleet
FIRSTBOOT_ROOT=$(mktemp -d)
export FIRSTBOOT_ROOT
trap 'rm -rf "$FIRSTBOOT_ROOT"' EXIT
mkdir -p "$FIRSTBOOT_ROOT/usr/lib/firstboot/steps.d"
cp firstboot/steps/*/*.json "$FIRSTBOOT_ROOT/usr/lib/firstboot/steps.d/"
rc=0
# check NAME COMMAND…: what it printed follows where it fails.
check() {
        local said
        if said=$("${@:2}"); then echo "ok - $1"; else echo "not ok - $1"; echo "$said"; rc=1; fi
}
refused() { ! "$@"; }

check "an outage in the middle of the boot heals, and no server is rushed afterwards" "$fleet" --nodes 1000 --outage-from 15
check "so does one that was there before" "$fleet" --nodes 1000
check "so does one of two hours" "$fleet" --nodes 1000 --outage-from 15 --outage 120
check "with every node believing to be the same one, servers are rushed" refused "$fleet" --nodes 1000 --outage-from 15 --same-seed
check "also after an outage that was there before" refused "$fleet" --nodes 1000 --same-seed
check "the curve is SVG" "$fleet" --nodes 1000 --outage-from 15 --svg "$FIRSTBOOT_ROOT/curve.svg"
check "that is well-formed" xmllint --noout "$FIRSTBOOT_ROOT/curve.svg"
# Without slow retries nobody is left to heal.
sed -i 's/"retries": 2/"retries": 2, "slow_retry": false/' "$FIRSTBOOT_ROOT/usr/lib/firstboot/steps.d/identity.json"
check "without slow retries nodes stay behind" refused "$fleet" --nodes 1000 --outage-from 15
exit $rc
