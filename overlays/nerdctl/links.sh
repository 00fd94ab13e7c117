#!/bin/sh
# What no package has; the packages' containerd, runc and rootlesskit stay the ones that are found.
set -eu
for program in nerdctl containerd-rootless.sh containerd-rootless-setuptool.sh bypass4netns bypass4netnsd buildctl buildkitd; do
        ln -sfn "/opt/nerdctl/bin/$program" "/usr/local/bin/$program"
done
