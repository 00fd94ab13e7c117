#!/bin/sh
# Enterprise Linux: the project's own release gets the name, unit, user and folder that Debian's package has.
set -eu
[ ! -x /usr/bin/prometheus-node-exporter ] || exit 0
ln -s /opt/node_exporter/bin/node_exporter /usr/bin/prometheus-node-exporter
mkdir -p /usr/lib/sysusers.d
echo 'u prometheus - "Prometheus" /var/lib/prometheus' >/usr/lib/sysusers.d/prometheus-node-exporter.conf
systemd-sysusers prometheus-node-exporter.conf
cp /usr/lib/monitoring/prometheus-node-exporter.service /usr/lib/systemd/system/
# What is written there is root's: the agent's figures, Slurm's.
mkdir -p /var/lib/prometheus/node-exporter
