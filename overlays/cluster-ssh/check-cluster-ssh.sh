#!/bin/bash
# No image has the authority or knows hosts. Both sides of a cluster are played here, with the image's own ssh and sshd on a pipe: a node is
# known, also with another key, and who was signed by somebody else is not.
set -euo pipefail
for path in /etc/ssh/ssh_known_hosts /srv/cluster/ssh_ca; do
        [[ ! -e $path ]] || { echo "$path is in the image: each cluster has its own"; exit 1; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p /run/sshd

host() { # FOLDER: for /etc/ssh, with a key of its own
        rm -rf "$work/${1:?}"
        mkdir -p "$work/$1/sshd_config.d"
        ssh-keygen -q -t ed25519 -N '' -f "$work/$1/ssh_host_ed25519_key"
}
join() { # FOLDER [CLUSTER]: as head, or as a node of that head's
        if (($# == 1)); then mkdir -p "$work/$1/cluster"; fi
        CLUSTER_SSH_NAME=$1 CLUSTER_SSH_ETC=$work/$1 CLUSTER_SSH_HEAD=$work/$1/cluster CLUSTER_SSH_NODE=$work/${2:-none}/cluster /usr/lib/cluster-ssh/join
}
# greets NAME FOLDER: what ssh says to the sshd of that folder. Nobody is let in; the host's key comes first.
greets() {
        local config="$work/$2/sshd_config.d/20-cluster-ssh.conf"
        [[ -e $config ]] || config=/dev/null
        ssh -F none -o "ProxyCommand=/usr/sbin/sshd -i -f $config -h $work/$2/ssh_host_ed25519_key" -o "GlobalKnownHostsFile=$work/head/ssh_known_hosts" \
                -o UserKnownHostsFile=none -o StrictHostKeyChecking=yes -o BatchMode=yes "nobody@$1" true 2>&1 || true
}
known() { [[ $(greets "$@") == *'Permission denied'* ]]; }
wrong() { echo "$1; ssh says: $(greets "${@:2}")"; exit 1; }

host head && join head
host other && join other
host node && join node head
known node node || wrong "a node's host key is not known" node node
host node && join node head
known node node || wrong "the new key of a node that is made anew is not known" node node
! known another node || wrong "a node passes for another one" another node
! known head node || wrong "a node passes for the head" head node
known head head || wrong "the head's own key is not known" head head
host node && join node other
! known node node || wrong "the host key that another cluster's head signed is taken" node node
