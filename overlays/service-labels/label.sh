#!/bin/sh
# Programs of the agent's and of overlays' services (which are those in /etc/systemd/system) are labelled as a service's are in /usr/libexec. Below /usr/lib
# the policy takes them for libraries, and they would run with no more rights than its init has.
set -eu
folders=$({ [ ! -d /usr/lib/firstboot ] || echo /usr/lib/firstboot; sed -n 's,^Exec[A-Za-z]*=[-+!@:]*\(/usr/lib/[a-z0-9-]*\)/.*,\1,p' /etc/systemd/system/*.service /etc/systemd/system/*.d/*.conf 2>/dev/null; } |
        grep -vx /usr/lib/systemd | sort -u)
for contexts in /etc/selinux/*/contexts/files; do
        [ -d "$contexts" ] || continue
        for folder in $folders; do
                line="$folder/.*	--	system_u:object_r:bin_t:s0"
                grep -qsxF "$line" "$contexts/file_contexts.local" || echo "$line" >>"$contexts/file_contexts.local"
        done
        rm -f "$contexts/file_contexts.local.bin" # its compiled form, which would go before it
done
