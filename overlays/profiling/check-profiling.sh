#!/bin/sh
# Nothing that is read later takes the switch back.
set -eu
last=$(cat /usr/lib/sysctl.d/*.conf /etc/sysctl.d/*.conf 2>/dev/null | sed -n 's/^kernel\.perf_event_paranoid *= *//p' | tail -n 1)
if [ "$last" != 1 ]; then
        echo "kernel.perf_event_paranoid ends as '$last': another file in /etc/sysctl.d sets it after 50-profiling.conf"
        exit 1
fi
if cat /etc/modprobe.d/*.conf /usr/lib/modprobe.d/*.conf 2>/dev/null | grep -q '^options nvidia .*RestrictProfilingToAdminUsers=1'; then
        echo "a file in modprobe.d restricts profiling to root again: remove NVreg_RestrictProfilingToAdminUsers=1"
        exit 1
fi
