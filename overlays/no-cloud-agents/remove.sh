#!/bin/sh
# Packages that hand a node to its provider: commands, passwords and keys, patches, metrics. What only fits the machine to its cloud (udev rules, networks,
# names of disks: WALinuxAgent-udev, amazon-ec2-net-utils, oci-utils) stays.
set -eu
agents='oracle-cloud-agent oracle.mgmt_agent osms-agent
google-guest-agent google-osconfig-agent google-compute-engine google-compute-engine-oslogin google-cloud-ops-agent
amazon-ssm-agent amazon-cloudwatch-agent ec2-instance-connect ec2-hibinit-agent
WALinuxAgent walinuxagent'
there=
for name in $agents; do
        if [ -s /var/lib/dpkg/status ]; then
                # dpkg knows of names that others only mention, as not installed.
                case $(dpkg-query --show --showformat='${db:Status-Status}' "$name" 2>/dev/null) in '' | not-installed) ;; *) there="$there $name" ;; esac
        elif rpm --query --quiet "$name" 2>/dev/null; then
                there="$there $name"
        fi
done
[ -n "$there" ] || { echo "there are none of them"; exit 0; }
echo "without:$there"
# Without plugins: that of rpm from 4.20 on, which gives packages' scripts namespaces of their own, gets none in the sandbox.
# shellcheck disable=SC2086 # a list
if [ -s /var/lib/dpkg/status ]; then dpkg --purge $there; else rpm --noplugins --erase $there; fi
