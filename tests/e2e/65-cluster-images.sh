#!/bin/bash
# The head's and the nodes' image of 70-cluster, made while other machines are up.
#
# lane: compute
# after: e2e/10
# long: yes
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/cluster.bash"
cluster_images
exit $rc
