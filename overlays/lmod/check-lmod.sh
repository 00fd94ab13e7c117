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

# `module avail` tells the truth: whatever it lists is loaded, and the folders that it puts into PATH are there.
for name in $(cd /opt/modulefiles && find . -name '*.lua' | sed 's|^\./||; s|\.lua$||' | sort); do
        said=$(env -i HOME=/tmp PATH=/usr/bin:/bin TERM=dumb MODULE="$name" bash -lc '
                module -t avail "$MODULE" 2>&1 | grep -qxF "$MODULE" || { echo "module avail does not list it"; exit; }
                before=:$PATH: && module load "$MODULE" || { echo "it is not loaded"; exit; }
                IFS=:; for folder in $PATH; do [ -d "$folder" ] || case $before in *":$folder:"*) ;; *) echo "it puts $folder into PATH, which is not there" ;; esac; done' 2>&1)
        [[ -z $said ]] || { echo "/opt/modulefiles/$name.lua: $said"; exit 1; }
done
for config in /opt/*/*/pyvenv.cfg; do
        [[ ! -e $config ]] || grep -qsrF "\"${config%/pyvenv.cfg}/bin\"" /opt/modulefiles ||
                { echo "${config%/pyvenv.cfg} has no module: no file below /opt/modulefiles puts its bin into PATH"; exit 1; }
done

# `python` is one environment's: loading a second takes the first away, and tells so.
said=$(env -i HOME=/tmp PATH=/usr/bin:/bin TERM=dumb bash -lc '
        for name in $(module -t avail 2>&1 | grep -v "[:/]\$"); do module load "$name" 2>/dev/null; done
        IFS=:; for folder in $PATH; do [ ! -e "$folder/../pyvenv.cfg" ] || printf "%s " "$folder"; done')
[[ $(wc -w <<<"$said") -le 1 ]] ||
        { echo "modules of several Python environments are loaded at once, and python is the first one's alone: $said; give each family(\"python_environment\")"; exit 1; }
