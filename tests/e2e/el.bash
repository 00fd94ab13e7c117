# Sourced by the tests of family el: the EL-like distribution, Debian's packages as RPMs in a signed repository.
#
#   el_programs               ends the script where a program to make it with is missing
#   el_distribution PARTS W TOOLS   of tests/fixtures/el/PARTS.json, by the tools of a file tools.json: the repository W/site/os, its key in W/key;
#                             W/log says what was done; ends the script where that fails
#   el_project PARTS          own_project with it: W is $E2E/work, the key in $RECIPES/os.asc
#   el_repository PARTS W [OPTION…]   makes the repository again, as make-el-repo takes options

el_programs() {
        local program
        for program in rpmbuild rpmsign createrepo_c gpg; do
                command -v "$program" >/dev/null || { echo "$program (sudo make deps)"; exit 77; }
        done
}

# EL_RELEASE: 8 for a distribution of bullseye's packages.
el_repository() { "$TOP/tests/fixtures/el/make-el-repo" ${EL_RELEASE:+--release "$EL_RELEASE"} "${@:3}" "$2/parts/$1.lock.json" "$CACHE" "$2/site/os" >>"$2/log" 2>&1; }

el_distribution() {
        mkdir -p "$2/parts" "$2/site"
        cp "$TOP/tests/fixtures/el/$1.json" "$3" "$2/parts/"
        "$IMGBUILD" lock "$2/parts/$1.json" --fetch --cache "$CACHE" --progress plain >"$2/log" 2>&1 && el_repository "$1" "$2" --gnupg "$2/key"
        local s=$?
        check "the distribution is made" $s
        [[ $s -eq 0 ]] || { tail -n 40 "$2/log"; exit 1; }
}

el_project() {
        el_programs
        own_project
        W=$E2E/work
        rm -rf "$W"
        mkdir -p "$W"
        el_distribution "$1" "$W" "$RECIPES/tools.json"
        cp "$W/key/key.asc" "$RECIPES/os.asc"
}
