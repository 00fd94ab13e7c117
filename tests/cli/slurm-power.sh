#!/bin/bash
# The overlay slurm-power's program on doubles of scontrol and of the site's own program: who is started and stopped, how many at once, what is told
# of one that fails, and the overlay's check. A real controller has its turn in e2e/49-power.
set -u
rc=0
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; sed 's/^/# /' "$T/out" "$T/told"; rc=1; fi; }
overlay=$TOP/overlays/slurm-power
mkdir -p "$T"/{bin,lib,etc/slurm-power}
sed "s,^machine=/etc,machine=$T/etc,; s/limit=300/limit=1/" "$overlay/files/usr/lib/slurm-power/suspend" >"$T/lib/suspend"
chmod 0755 "$T/lib/suspend"
grep -q "limit=1 " "$T/lib/suspend" && grep -q "^machine=$T" "$T/lib/suspend"
check "the program is the one that this test knows" $?
for name in resume resume-failed; do cp -P "$overlay/files/usr/lib/slurm-power/$name" "$T/lib/"; done

# A list is "a,b" or "n[1-N]".
cat >"$T/bin/scontrol" <<S
#!/bin/bash
if [[ "\$1 \$2" == "show hostnames" ]]; then
        [[ \$3 != wrong ]] || exit 1
        if [[ \$3 =~ ^n\[1-([0-9]+)\]\$ ]]; then for ((i = 1; i <= BASH_REMATCH[1]; i++)); do echo n\$i; done; else tr ',' '\n' <<<"\$3"; fi
else
        printf '%s|' "\$@" >>"$T/told"; echo >>"$T/told"
fi
S
printf '#!/bin/sh\nfor last; do :; done\necho "$last" >>"%s/journal"\n' "$T" >"$T/bin/logger"
# The site's own: what each name does.
cat >"$T/etc/slurm-power/machine" <<S
#!/bin/bash
echo "\$1 \$2" >>"$T/asked"
case \$2 in
full) echo "a first line"; printf 'no \033[31mcapacity\n' >&2; exit 3 ;;
mute) exit 7 ;;
slow) sleep 5 ;;
long) printf 'x%.0s' {1..900}; exit 1 ;;
n*) touch "$T/runs/\$2"; ls "$T/runs" | wc -l >>"$T/beside"; sleep 0.2; rm "$T/runs/\$2" ;;
esac
S
chmod 0755 "$T"/bin/* "$T/etc/slurm-power/machine"
call() { # NAME NODES
        rm -rf "$T"/{asked,told,journal,beside,runs} && mkdir "$T/runs" && touch "$T/told" "$T/asked" "$T/journal"
        PATH=$T/bin:$PATH "$T/lib/$1" "${@:2}" >"$T/out" 2>&1
}

call suspend a,b
[[ $? -eq 0 && $(sort "$T/asked") == $'stop a\nstop b' && ! -s $T/told && $(grep -c ': stop: done' "$T/journal") -eq 2 ]]
check "suspend stops each node's machine, and the journal says so" $?
call resume a
[[ $? -eq 0 && $(cat "$T/asked") == "start a" && ! -s $T/told ]]
check "resume starts it" $?
call resume a,full,b
[[ $? -eq 1 && $(sort "$T/asked") == $'start a\nstart b\nstart full' && $(cat "$T/told") == $'update|NodeName=full|State=DOWN|Reason=[power] start failed: no [31mcapacity|\nupdate|NodeName=full|State=POWER_DOWN_FORCE|' ]]
check "one that does not start is down at once, with the program's last words; the others start" $?
call resume mute
[[ $? -eq 1 && $(cat "$T/told") == *'start failed: exit code 7|'* ]]
check "one that says nothing: its exit code" $?
call resume slow
[[ $? -eq 1 && $(cat "$T/told") == *'start failed: no answer within 1 s|'* ]]
check "a program that hangs is ended, and told" $?
call resume long
[[ $? -eq 1 && $(head -n 1 "$T/told" | wc -c) -lt 300 ]]
check "a reason is not longer than a line" $?
call suspend full
[[ $? -eq 1 && ! -s $T/told ]] && grep -q 'full: stop failed: ' "$T/journal"
check "one that does not stop: told in the journal, and Slurm's state of it is left alone" $?
call resume-failed a
[[ $? -eq 0 && $(cat "$T/asked") == "stop a" ]] && grep -q 'did not register in time' "$T/journal"
check "one that did not register in time is stopped" $?
call suspend 'n[1-40]'
[[ $? -eq 0 && $(sort -u "$T/asked" | wc -l) -eq 40 && $(sort -n "$T/beside" | tail -n 1) -le 16 && $(sort -n "$T/beside" | tail -n 1) -gt 1 ]]
check "forty nodes: all of them, and at most sixteen at once" $?
call suspend wrong
[[ $? -eq 1 && ! -s $T/asked ]]
check "a list that Slurm does not understand: nothing is done" $?
call resume
[[ $? -eq 2 && ! -s $T/asked ]]
check "called without nodes it says how it is called" $?
ln -s suspend "$T/lib/other" && ! call other a && [[ ! -s $T/asked ]]
check "by another name it does nothing" $?

# The check, on a tree.
mkdir -p "$T/tree" && cp -a "$overlay/files/." "$T/tree/"
sed "s,/etc/,$T/tree/etc/,g; s,\[ -x \"\$program\" \],[ -x \"$T/tree\$program\" ]," "$overlay/check-slurm-power.sh" >"$T/checks"
judge() { sh "$T/checks" >"$T/out" 2>&1; }
! judge && grep -q 'an overlay of yours brings it' "$T/out"
check "a head without the site's program is not built" $?
mkdir "$T/tree/etc/slurm-power" && cp "$T/etc/slurm-power/machine" "$T/tree/etc/slurm-power/"
if [[ $EUID -eq 0 ]]; then
        judge
        check "with it it is" $?
        chmod 0775 "$T/tree/etc/slurm-power/machine" && ! judge && grep -q "0755" "$T/out"
        check "… not if others may change what slurmctld runs" $?
        chmod 0700 "$T/tree/etc/slurm-power/machine" && ! judge
        check "… or its user cannot run it" $?
        chmod 0755 "$T/tree/etc/slurm-power/machine"
fi
rm "$T/tree/usr/lib/slurm-power/resume" && ! judge && grep -q ResumeProgram "$T/out"
check "a program that slurm.conf names and nobody brings is told" $?
exit $rc
