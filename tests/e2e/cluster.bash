# Sourced after lib.bash: machines of a cluster file are booted once, and the head's own commands are the test.
#
#   cluster_run FILE    boots them and runs $E2E/commands on the head; "== NAME" begins a part of what it says
#   part NAME           what the commands said below that heading
#   says TEXT NAME EXPECTED   a check: the part is just that

cluster_run() {
        local s
        # From the project: its lock of the tools tree is the one that the images were made with.
        (cd "$PROJECT" && exec "$IMGBUILD" cluster "$1" --cache "$CACHE" --output "$OUT" --offline --progress plain --save "$E2E/save" \
                -- "$(cat "$E2E/commands")") >"$E2E/out" 2>"$E2E/log"
        s=$?
        check "all of them come up, and the commands run" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$E2E/log" "$E2E/out"; exit 1; }
}
part() { sed -n "/^== $1$/,/^== /p" "$E2E/out" | sed '/^== /d' | tr -d '\r'; }
says() { [[ $(part "$2") == "$3" ]]; local s=$?; check "$1" $s; [[ $s -eq 0 ]] || part "$2" | sed 's/^/# /'; }
