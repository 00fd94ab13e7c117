#!/bin/bash
# Frameworks of family el: ml-ray, ml-submitit, mpi4py and ml-horovod-tensorflow (ml-tensorflow-cpu) on an EL-like distribution of Debian's packages as RPMs,
# with PyPI's own wheels; each overlay's checks pass: Ray's cluster of one node, a submitted function, two ranks of MPI, two processes that train one model by
# tf.distribute and by Horovod, which is compiled against TensorFlow's wheel. The Python there is Debian's, 3.13, and the overlays are told so; its
# system's own is a double that says 3.9. 2 GB in the store, a quarter of an hour and more.
set -u
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/containers.bash"
source "$TOP/tests/e2e/el.bash"
el_frameworks_project el-ml-parts
el_frameworks el-ml ml-ray ml-submitit mpi4py ml-horovod-tensorflow
in_tree() { "$IMGBUILD" shell "$RECIPES/el-ml.json" --cache "$CACHE" --progress none -- sh -c "$1" 2>>"$W/log"; }

SECONDS=0
tree_checks "$RECIPES/el-ml.json" "a tree with Ray, Submitit, mpi4py, TensorFlow and Horovod is made, and every overlay's check passes"
echo "# $SECONDS s"
python3 - "$RECIPES/el-ml.lock.json" <<'P'
import json, sys
found = {e["environment"]: {w["name"]: w for w in e["wheels"]} for e in json.load(open(sys.argv[1]))["python"]}
assert set(found) == {"/opt/ml/" + n for n in ("ray", "submitit", "mpi4py", "tensorflow")}, set(found)
assert "cp313" in found["/opt/ml/tensorflow"]["tensorflow-cpu"]["file"], found
print("#", *(f"{n} {w['version']}" for e in found.values() for n, w in e.items() if n in ("ray", "submitit", "mpi4py", "tensorflow-cpu")))
P
check "their wheels are for this Python" $?
# shellcheck disable=SC2016 # the tree's own
[[ $(in_tree 'python3; for e in ray submitit mpi4py tensorflow; do readlink -f /opt/ml/$e/bin/python; done | sort -u; ls /opt/ml/tensorflow/lib64/python3.13/site-packages/horovod/__init__.py') == \
        $'/usr/bin/python3.13\n/opt/ml/tensorflow/lib64/python3.13/site-packages/horovod/__init__.py' ]]
check "all environments are of it, and Horovod is one's module" $?

# Once more in another store: the same bytes of PyPI's wheels, and of what is compiled against them.
layers() { layer_sums el-ml "$1" '^(python|compile:ml-)'; } # STORE
"$IMGBUILD" lock "$RECIPES/el-ml.json" --fetch --cache "$CACHE" --progress plain >>"$W/log" 2>&1 # of the tools, too
mkdir -p "$W/second"
cp -al "$CACHE/blobs" "$W/second/"
layers "$CACHE" >"$W/layers"
"$IMGBUILD" build "$RECIPES/el-ml.json" --cache "$W/second" --locked --offline --progress plain >>"$W/log" 2>&1
s=$?
[[ $s -eq 0 && $(wc -l <"$W/layers") -eq 5 ]] && layers "$W/second" | diff "$W/layers" - >"$W/differ"
s=$?
check "another store makes the same environments" $s
[[ $s -eq 0 ]] || { sed 's/^/# /' "$W/differ"; tail -n 5 "$W/log"; }
rm -rf "$W/second"
exit $rc
