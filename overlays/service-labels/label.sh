#!/bin/sh
# Programs of the agent's and of overlays' services (which are those in /etc/systemd/system) are labelled as a service's are in /usr/libexec. Below /usr/lib
# the policy takes them for libraries, and they would run with no more rights than its init has. Files in /usr/share/service-labels are overlays' own lines
# of file_contexts, for places that no policy knows; one whose type the policy has not is left out. A place that has a line keeps it: the last one would count.
set -eu
lines() {
        { [ ! -d /usr/lib/firstboot ] || echo /usr/lib/firstboot; sed -n 's,^Exec[A-Za-z]*=[-+!@:]*\(/usr/lib/[a-z0-9-]*\)/.*,\1,p' /etc/systemd/system/*.service /etc/systemd/system/*.d/*.conf 2>/dev/null; } |
                grep -vx /usr/lib/systemd | sort -u | sed 's,$,/.*	--	system_u:object_r:bin_t:s0,'
        cat /usr/share/service-labels/* 2>/dev/null || :
}
# add FILE
add() {
        lines | while read -r line; do
                type=${line##*:object_r:}
                grep -qs ":${type%%:*}:" "$contexts/file_contexts" || continue
                sed 's/[[:space:]].*//' "$1" 2>/dev/null | grep -qxF "${line%%	*}" || echo "$line" >>"$1"
        done
}
for contexts in /etc/selinux/*/contexts/files; do
        [ -d "$contexts" ] || continue
        add "$contexts/file_contexts.local"
        rm -f "$contexts/file_contexts.local.bin" # its compiled form, which would go before it
        # semanage, used on the node, writes that file anew from its own.
        policy=${contexts%/contexts/files} && policy=${policy##*/}
        [ ! -d "/var/lib/selinux/$policy/active" ] || add "/var/lib/selinux/$policy/active/file_contexts.local"
done
