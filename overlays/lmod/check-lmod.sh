#!/bin/bash
# In a login shell a module file is found, changes the environment, and gives it back.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/thing"
echo 'setenv("THING_HOME", "/opt/thing")' >"$work/thing/1.2.lua"
said=$(env -i HOME=/tmp PATH=/usr/bin:/bin TERM=dumb WORK="$work" bash -lc '
        case ":$MODULEPATH:" in *:/opt/modulefiles:*) ;; *) echo "MODULEPATH is $MODULEPATH"; exit ;; esac
        module use "$WORK"; module load thing; echo "$THING_HOME $(module -t list 2>&1 | tr "\n" " ")"; module unload thing; echo "${THING_HOME-gone}"' 2>&1 | tr '\n' ' ')
if [[ $said != '/opt/thing thing/1.2  gone ' ]]; then
        echo "module does not work in a login shell: $said"
        exit 1
fi
