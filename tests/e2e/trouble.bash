# Sourced by the e2e tests of what goes wrong on a booted node, after vm.bash: a fault's verdict, and the way back.

# explained CODE PATTERN: firstbootctl explain, kept by the last question, names the code and says what to do.
explained() { grep -qF "$1" "$VM/explain" && grep -qE "$2" "$VM/explain" || { echo "# explain said:"; cat "$VM/explain"; false; }; }

# recovers NAME STEP: the step, run again, brings the node back to ready. The limits are so short that a machine with much
# else to do may need more than one try.
recovers() {
        local i s
        for i in 1 2 3 4 5; do
                vm "firstbootctl rerun --wait --timeout 20min $2" >"$VM/answers" 2>&1
                s=$?
                [[ $s -eq 0 ]] && break
        done
        check "$1" $s
        [[ $s -eq 0 ]] || cat "$VM/answers"
}

# trouble_ready: a machine that is ready, for the first of the parts that a script runs; where that one is not to begin anew.
trouble_ready() {
        [[ -z ${vm_pid:-} ]] || return 0
        head_make && head_start "${HEAD_SERVICES[@]}"
        vm_fresh
        vm_config "$(node_config)"
        vm_resume && [[ $(vm_settles 900) == ready ]]
}
