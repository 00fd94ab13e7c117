#!/bin/sh
# No unit of these agents is left: of a package by another name, or a snap.
set -eu
for unit in oracle-cloud-agent oracle-cloud-agent-updater mgmt_agent osms-agent google-guest-agent google-guest-agent-manager google-osconfig-agent \
        google-startup-scripts google-cloud-ops-agent amazon-ssm-agent amazon-cloudwatch-agent hibinit-agent waagent walinuxagent snap.oracle-cloud-agent.oracle-cloud-agent \
        snap.amazon-ssm-agent.amazon-ssm-agent; do
        for folder in /usr/lib/systemd/system /lib/systemd/system /etc/systemd/system; do
                [ -e "$folder/$unit.service" ] || continue
                case $unit in
                        snap.*) echo "$folder/$unit.service is of a snap, which only a running system removes ('snap remove'): choose an image without it" ;;
                        *) echo "$folder/$unit.service is of an agent whose package has another name: remove it by an overlay of your own (rpm --noplugins --erase, dpkg --purge)" ;;
                esac
                exit 1
        done
done
