#!/bin/bash
# /etc/tuning.conf has a value for each setting, and none that the program does not know.
set -euo pipefail
known=$(sed -n 's/^\[\[ \$\([A-Z_]*\) == keep.*/\1/p' /usr/lib/tuning/tuning | sort)
has=$(sed -n 's/^\([A-Z_]*\)=[a-z0-9]* *#.*/\1/p' /etc/tuning.conf | sort)
if [[ $known != "$has" ]]; then
        echo "/etc/tuning.conf sets $(echo $has), and /usr/lib/tuning/tuning knows $(echo $known)"
        exit 1
fi
