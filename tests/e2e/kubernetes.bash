# Sourced by what wants Kubernetes' own programs (tests/fixtures/kubernetes-build) and, after head.bash and vm.bash, a control plane beside a machine.
#
#   kubernetes_compiled LOG   compiles them, or ends the script; sets $K
#   kubernetes_beside "$@"    enters the namespaces (head_enter) and starts a control plane there, which machines reach at $api; its folder is $W, and
#                             control-plane.bash is sourced

kubernetes_compiled() {
        K=$("$TOP/tests/fixtures/kubernetes-build" "$(cd "$TOP" && realpath -m "$BUILD")/kubernetes" 2>"$1") || { tail -n 20 "$1"; echo "not ok - Kubernetes is compiled"; exit 1; }
        export K
}

kubernetes_beside() {
        head_enter "$@"
        api=10.0.2.2 there=() PROJECT=$E2E/project W=$HEAD/kubernetes
        trap 'stop_all; vm_end' EXIT
        mkdir -p "$HEAD/root/etc/head" && echo "no CA" >"$HEAD/root/etc/head/ca.pem"
        source "$TOP/tests/fixtures/control-plane.bash"
        control_certificates systemd /etc/kubernetes/pki/ca.crt && control_server && control_rest && kubectl delete node control >/dev/null
        check "a control plane of Kubernetes $version runs" $? || { tail -n 3 "$W"/control/*.log; exit 1; }
}
