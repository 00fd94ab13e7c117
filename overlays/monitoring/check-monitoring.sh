#!/bin/bash
# The exporter takes its options, and shows a text file from the folder that the agent writes to.
set -euo pipefail
folder=$(sed -n 's/.*collector\.textfile\.directory=\([^ "]*\).*/\1/p' /etc/default/prometheus-node-exporter)
[[ $folder == /var/lib/prometheus/node-exporter ]] || { echo "the exporter reads '$folder', the agent writes to /var/lib/prometheus/node-exporter"; exit 1; }
[[ -d $folder ]] || { echo "$folder is missing: the agent writes nothing where there is no folder"; exit 1; }
id prometheus >/dev/null || { echo "the exporter's user, prometheus, is missing"; exit 1; }
state=$(systemctl is-enabled prometheus-node-exporter.service 2>/dev/null) || true
[[ $state == enabled ]] || { echo "prometheus-node-exporter.service is $state"; exit 1; }
source /etc/default/prometheus-node-exporter
work=$(mktemp -d)
trap 'rm -rf "$work"; kill "${exporter:-0}" 2>/dev/null || true' EXIT
echo 'check_monitoring 1' >"$work/check.prom"
# The others look at a machine's /sys, which is not here.
prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.nfs ${ARGS//$folder/$work} --web.listen-address=127.0.0.1:9100 >"$work/log" 2>&1 &
exporter=$!
for ((i = 0; i < 600; i++)); do
        if { exec 3<>/dev/tcp/127.0.0.1/9100; } 2>/dev/null; then
                printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
                metrics=$(cat <&3)
                break
        fi
        kill -0 "$exporter" 2>/dev/null || break
        sleep 0.1
done
for wanted in 'check_monitoring 1' 'collector="nfs"' 'collector="mountstats"'; do
        if [[ ${metrics:-} != *"$wanted"* ]]; then
                echo "the exporter does not show $wanted: $(tail -n 1 "$work/log")"
                exit 1
        fi
done
