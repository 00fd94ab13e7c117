#!/bin/sh
# The links in /usr/local/bin lead to programs, and the package's containerd is the one that is found.
set -eu
fail() { echo "$1"; exit 1; }
for program in nerdctl containerd-rootless.sh containerd-rootless-setuptool.sh bypass4netns bypass4netnsd buildctl buildkitd; do
        [ -x "/usr/local/bin/$program" ] || fail "/usr/local/bin/$program leads nowhere: /opt/nerdctl/bin of this release has no such program"
done
nerdctl --version >/dev/null || fail "nerdctl does not run"
[ "$(command -v containerd)" = /usr/bin/containerd ] || fail "containerd is $(command -v containerd), not the package's"
