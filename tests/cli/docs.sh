#!/bin/bash
# Every option of every verb is in its manual page, and every page renders without a warning.
set -u
cd "$TOP"
rc=0
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; fi; }

verbs=$("$IMGBUILD" --help | sed -n 's/^  \([a-z]*\) .*/\1/p')
[[ -n $verbs ]]
check "help lists verbs" $?

for verb in $verbs; do
        page=docs/man/imgbuild-$verb.1
        bad=0
        text=$(sed 's/\\-/-/g; s/\\f.//g' "$page" 2>/dev/null) || { echo "# no $page"; bad=1; }
        options=$("$IMGBUILD" "$verb" --help | grep -oE '(^|[ ,])--[a-z-]+' | tr -d ' ,' | sort -u)
        [[ -n $options ]] || { echo "# imgbuild $verb --help names no options"; bad=1; }
        for o in $options; do
                grep -qF -e "$o" <<<"$text" || { echo "# $o is not in $page"; bad=1; }
        done
        check "imgbuild-$verb.1 has every option" $bad
        # Those of the verb's own; the common ones are in imgbuild(1).
        shown=$("$IMGBUILD" "$verb" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -e '--[a-z-]+' | grep -vxE -e '--(cache|overlays|mirror|offline|remote-store|remote-store-key|progress|jobs|verbose|help)')
        written=$(sed 's/\\-/-/g; s/\\f.//g' "$page" 2>/dev/null | grep -A 1 -E '^\.T[PQ]' | grep -oE -e '--[a-z-]+' | grep -vxE -e '--(cache|overlays|mirror|offline|remote-store|remote-store-key|progress|jobs|verbose|help)')
        [[ $(uniq <<<"$shown") == "$(uniq <<<"$written")" ]]
        check "and in the order of --help" $?
done

# The reference of reason codes is printed by a program, and committed as it is printed.
difference=$(diff "$TOP/docs/reason-codes.md" <("$TOP/$BUILD/firstboot/firstboot-codes" markdown))
[[ -z $difference ]]
check "docs/reason-codes.md is what firstboot-codes prints (make docs/reason-codes.md)" $?
[[ -n $difference ]] && head -20 <<<"# $difference"
difference=$(diff <(sed -n '/^| Key | Type/,/^$/{/^|/p}' "$TOP/docs/node-config.md") <("$TOP/$BUILD/firstboot/firstboot-codes" keys))
[[ -z $difference ]]
check "all keys of docs/node-config.md are what firstboot-codes prints (firstboot-codes keys)" $?
[[ -n $difference ]] && head -20 <<<"# $difference"

verbs=$("$TOP/$BUILD/firstboot/firstbootctl" --help | sed -n 's/^  \([a-z]\+\) .*/\1/p')
options=$("$TOP/$BUILD/firstboot/firstbootctl" --help | grep -oE -e '--[a-z-]+' | sort -u)
text=$(sed 's/\\-/-/g; s/\\f.//g' docs/man/firstbootctl.1)
bad=0
[[ -n $verbs && -n $options ]] || bad=1
for verb in $verbs; do
        grep -qE "^\.BR? \"?$verb\b" <<<"$text" || { echo "# $verb is not in firstbootctl.1"; bad=1; }
done
for o in $options; do
        grep -qF -e "$o" <<<"$text" || { echo "# $o is not in firstbootctl.1"; bad=1; }
done
check "firstbootctl.1 has every verb and option" $bad

# A link in a document leads to a file that is there, and to a heading of it.
dead=$(python3 - <<'P'
import glob, os, re
pages = glob.glob("docs/**/*.md", recursive=True) + ["README.md"]
def anchors(page):
    titles = re.findall(r"^#+ (.*)$", open(page).read(), re.M)
    return {re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", t).strip().lower()).replace(" ", "-") for t in titles}
for page in pages:
    for link in re.findall(r"\]\(([^)\s]+)\)", open(page).read()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        if not os.path.exists(to) or anchor and to.endswith(".md") and anchor not in anchors(to):
            print(page, link)
P
)
[[ -z $dead ]]
check "no link in the documents is dead" $?
[[ -z $dead ]] || sed 's/^/# /' <<<"$dead"

if command -v man >/dev/null; then
        for page in docs/man/*.[1-8]; do
                warnings=$(LC_ALL=C.UTF-8 MANWIDTH=100 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | grep -v 'cannot adjust line')
                [[ -z $warnings ]]
                check "$page renders" $?
                [[ -n $warnings ]] && echo "# $warnings"
        done
else
        echo "skip - manual pages render: man-db is missing"
fi
exit $rc
