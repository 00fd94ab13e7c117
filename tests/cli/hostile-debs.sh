#!/bin/bash
# Packages among artifacts that are broken on purpose, and repositories that go back in time: told by name, and no lock is left.
set -u
source "$TOP/tests/fixtures/archive.bash"
publish_base
recipe r '"overlays": ["hostile"]'
sound() { # NAME [VERSION]: a sound control archive, as $T/control-NAME
        mkdir -p "$T/c"
        printf 'Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: N <n@example.invalid>\nDescription: x\n' "$1" "${2:-1}" >"$T/c/control"
        tar -C "$T/c" -czf "$T/control-$1" ./control
}
members() { # FILE PYTHON: a tar of what the lines add
        python3 - "$T/$1" "$2" <<'E'
import io, sys, tarfile
t = tarfile.open(sys.argv[1], "w:gz")
def add(name, kind=tarfile.REGTYPE, to="", text=b"x\n"):
    i = tarfile.TarInfo(name); i.type = kind; i.linkname = to
    i.size = len(text) if kind == tarfile.REGTYPE else 0
    t.addfile(i, io.BytesIO(text))
exec(sys.argv[2])
t.close()
E
}
deb() { # NAME CONTROL DATA: served as NAME.deb
        (cd "$T" && rm -f "$1.deb" && echo 2.0 >debian-binary && cp "$2" control.tar.gz && cp "$3" data.tar.gz &&
                ar qS "$SITE/$1.deb" debian-binary control.tar.gz data.tar.gz 2>/dev/null)
}
artifact() {
        overlay hostile "{ \"description\": \"means harm\", \"artifacts\": [{ \"name\": \"$1\", \"version\": \"1\", \"install\": \"package\",
                \"url\": \"$URL/$1.deb\" }] }"
}
refused() { # NAME WHAT
        artifact "$1"
        run lock "$T/images/r.json"
        check "$2" bash -c "test $rc -eq 3 -a ! -e '$T/images/r.lock.json' && grep -q 'Artifact $1 of overlay hostile is no Debian package' '$T/out'"
}

members empty ''
sound sound
deb sound "$T/control-sound" "$T/empty"
artifact sound
run lock "$T/images/r.json"
check "a sound package among artifacts is locked" test "$rc" = 0 -a -e "$T/images/r.lock.json"
rm -f "$T/images/r.lock.json"
head -c 40 "$T/control-sound" >"$T/control-half"
deb half "$T/control-half" "$T/empty"
refused half "half a control archive"
members control-none 'add("./postinst")'
deb none "$T/control-none" "$T/empty"
refused none "a control archive without control"
members control-text 'add("./control", text=b"\0\xff not a stanza at all")'
deb text "$T/control-text" "$T/empty"
refused text "a control file that is none"
members control-pipe 'add("./control", tarfile.FIFOTYPE)'
deb pipe "$T/control-pipe" "$T/empty"
refused pipe "a control file that is a pipe"
members control-link 'add("./control", tarfile.SYMTYPE, "/etc/passwd")'
deb link "$T/control-link" "$T/empty"
refused link "a control file that is a link to the host's"
members control-twice 'a=b"Package: a\nVersion: 1\nArchitecture: all\n"; add("./control", text=a); add("./control", text=a.replace(b"a\n", b"b\n", 1))'
deb twice "$T/control-twice" "$T/empty"
refused twice "two control files"
members control-bomb 'add("./control", text=b"Package: a\nVersion: 1\nArchitecture: all\nDescription: x\n" + b" x" * (40 << 20))'
deb bomb "$T/control-bomb" "$T/empty"
refused bomb "a control file of 80 MB"
echo 'this is no package' >"$SITE/noise.deb"
refused noise "a file that is no archive"
printf '!<arch>\ndebian-binary   0           0     0     100644  99999999  `\n2.0\n' >"$SITE/member.deb"
refused member "a member that is longer than its archive"
: >"$SITE/empty.deb"
refused empty "an empty file"

# The repository of yesterday, signed by its own key: what it has lost since is back again.
recipe r '"packages": ["tool"]'
cp -r "$SITE/debian" "$T/yesterday"
package tool 1.1 'Depends: libtool (>= 1)'
publish trixie --date='Fri, 07 Nov 2025 10:00:00 +0000'
run lock "$T/images/r.json"
check "today's index has the mended version" test "$rc $(version tool)" = "0 1.1"
rm -rf "$SITE/debian"
mv "$T/yesterday" "$SITE/debian"
cp "$T/images/r.lock.json" "$T/before"
run lock "$T/images/r.json" --update
check "an old index that is served again takes nothing back" bash -c "test $rc -eq 4 && cmp '$T/before' '$T/images/r.lock.json' && grep -q 'older' '$T/out'"
