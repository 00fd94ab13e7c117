#!/bin/bash
# The identity step against real directories, without a machine: slapd in its sandbox, the step's own program here, and
# doubles of systemd and of sssd's cache, which knows everybody. What the directory itself says has to count.
#
# after: e2e/50
set -u
source "$TOP/tests/fixtures/node.bash"
source "$TOP/tests/e2e/lib.bash"
source "$TOP/tests/e2e/head.bash"
if [[ -z ${HEAD_INSIDE:-} ]]; then
        head_tree
        # A bench that nobody runs rots: the programs that it calls, and how, are the agent's of today.
        AGENTS=3 "$TOP/tests/bench/fleet/real" >"$E2E/fleet.log" 2>&1 && [[ $(grep -c ' 3 of 3 answered' "$E2E/fleet.log") -eq 4 ]]
        s=$?
        check "three agents' probes, as make bench asks them 200 times, are answered" $s
        [[ $s -eq 0 ]] || sed 's/^/# /' "$E2E/fleet.log"
        export fleet_rc=$rc
fi
head_enter "$@"
more=()
ends() { kill -KILL "${more[@]}" 2>/dev/null; node_end; head_stop ldap; }
trap ends EXIT

head_make && head_start ldap
check "slapd answers" $?
[[ $rc -eq 0 ]] || exit 1
rc=${fleet_rc:-0}

# also PORT LINES [CERTIFICATE]: another slapd with the same entries, ldaps:// on PORT, and these lines in its configuration.
also() {
        local etc=$HEAD/root/etc/head db=$HEAD/root/var/lib/head-ldap
        cp -r "$db" "$db-$1"
        { sed "/^database/,\$d; s/head\.pem/${3:-head}.pem/" "$etc/slapd.conf"
                [[ $2 == *referral* ]] && echo "$2" || printf 'database mdb\nsuffix dc=example,dc=org\ndirectory /var/lib/head-ldap-%s\n%s\n' "$1" "$2"; } >"$etc/slapd-$1.conf"
        head_bwrap -- slapd -d stats -f "/etc/head/slapd-$1.conf" -h "ldaps://:$1/" >"$HEAD_LOG/slapd-$1.log" 2>&1 &
        more+=($!)
        for _ in $(seq 1200); do (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0; sleep 0.1; done
        tail "$HEAD_LOG/slapd-$1.log"
        return 1
}
head_run sh -euc 'cd /etc/head
openssl x509 -req -in head.csr -CA ca.pem -CAkey ca.key -CAcreateserial -not_before 20200101000000Z -not_after 20210101000000Z -extfile san -out expired.pem' \
        2>"$HEAD_LOG/expired.log"
also 1636 '' expired
check "one with an expired certificate" $?
also 2636 'require authc
rootdn cn=reader,dc=example,dc=org
rootpw hard-to-guess'
check "one that wants to know who asks" $?
also 3636 'referral ldap://10.0.2.2/'
check "one that refers to the first" $?
also 4636 'referral ldap://10.0.2.2:9/'
check "one that refers to nowhere" $?

node_new
bus_start
manager_start
mkdir -p "$NODE"/{bin,usr/sbin,etc/pam.d}
touch "$NODE/usr/sbin/sssd"; chmod +x "$NODE/usr/sbin/sssd"
echo 'session optional pam_mkhomedir.so' >"$NODE/etc/pam.d/common-session"
printf 'passwd: files\ngroup: files\nshadow: files\n' >"$NODE/etc/nsswitch.conf"
cp "$HEAD/root/etc/head/"{ca,other-ca}.pem "$NODE/etc/"
cat >"$NODE/bin/getent" <<'C'
#!/bin/sh
[ "$4" != stranger ] && [ ! -e "$FIRSTBOOT_ROOT/no-cache" ] || exit 2
[ "$3" != passwd ] && echo 'crew:*:20000:' || echo 'alice:*:20001:20000:Alice:/home/alice:/bin/bash'
C
printf '#!/bin/sh\n' >"$NODE/bin/sss_cache"
chmod +x "$NODE"/bin/*

# says NAME KEYS VERDICT [WORDS]: the step with these keys of the identity section, its status and code, and what it says.
says() {
        local got s
        python3 - "$2" >"$NODE/run/firstboot/config.json" <<'P'
import json, sys
identity = {"uri": ["ldaps://10.0.2.2"], "base": "dc=example,dc=org", "ca_file": "/etc/ca.pem", "probe_user": "alice", "probe_group": "crew",
            "starttls": True, "ssh_keys": True, "mkhomedir": True, "give_up": "100ms", **json.loads("{%s}" % sys.argv[1])}
print(json.dumps({"config": {"identity": identity}, "instance": {"id": "i"}}))
P
        PATH=$NODE/bin:$PATH timeout 180 "$node_build/firstboot-step" identity >>"$NODE/agent.log" 2>&1
        got=$(python3 -c 'import json, sys; o = json.load(open(sys.argv[1])); print(o["status"], o.get("code", ""), o["message"])' \
                "$NODE/run/firstboot/results/identity.json")
        [[ $got == "$3 "* && $got == *"${4:-}"* ]]
        s=$?
        [[ $s -eq 0 ]] || echo "# $got"
        check "$1" $s
}
says "ldaps:// proves user and group" '' done 'alice found in ldaps://10.0.2.2'
says "so does StartTLS" '"uri": ["ldap://10.0.2.2"]' done 'alice found in ldap://10.0.2.2'
grep -q 'STARTTLS' "$HEAD_LOG/ldap.log"
check "slapd saw StartTLS" $?
says "a directory that wants TLS gets no question without" '"uri": ["ldap://10.0.2.2"], "starttls": false, "allow_plain": true' \
        'degraded identity.cache-only' 'Confidentiality required'
says "an expired certificate" '"uri": ["ldaps://10.0.2.2:1636"]' 'degraded identity.cache-only' 'certificate has expired'
says "another CA" '"ca_file": "/etc/other-ca.pem"' 'degraded identity.cache-only' 'certificate'
says "another CA, after StartTLS" '"uri": ["ldap://10.0.2.2"], "ca_file": "/etc/other-ca.pem"' 'degraded identity.cache-only' 'certificate'
says "another host's name" '"uri": ["ldaps://127.0.0.1"]' 'degraded identity.cache-only' 'IP address mismatch'
says "an anonymous question is refused" '"uri": ["ldaps://10.0.2.2:2636"]' 'degraded identity.cache-only' 'authentication required'
who='"uri": ["ldaps://10.0.2.2:2636"], "bind_dn": "cn=reader,dc=example,dc=org"'
says "the bind account is used" "$who, \"bind_password\": \"hard-to-guess\"" done
says "a wrong password" "$who, \"bind_password\": \"wrong\"" 'degraded identity.cache-only' 'Invalid credentials'
says "no password is not taken for anonymous" "$who" 'degraded identity.cache-only' 'unwilling'
says "one of two servers down" '"uri": ["ldaps://10.0.2.2:9", "ldaps://10.0.2.2"]' done 'found in ldaps://10.0.2.2'
n=$(grep -c STARTTLS "$HEAD_LOG/ldap.log")
says "a referral is followed" '"uri": ["ldaps://10.0.2.2:3636"], "starttls": false' done
[[ $(grep -c STARTTLS "$HEAD_LOG/ldap.log") -gt $n ]]
check "over TLS, as the first server was asked" $?
says "a referral to nowhere" '"uri": ["ldaps://10.0.2.2:4636"]' 'degraded identity.cache-only' 'refers to another server'
says "a base that is not there" '"base": "ou=gone,dc=example,dc=org"' 'failed identity.no-user' 'the search base is not there'
says "a user who is no pattern" '"probe_user": "al*"' 'failed identity.no-user'
says "a user whom sssd has not" '"probe_user": "stranger"' 'failed identity.no-user' 'no such entry'

# The directory changes, the cache does not.
LDAPTLS_CACERT=/etc/head/ca.pem head_run ldapmodify -x -H ldaps://10.0.2.2:2636 -D cn=reader,dc=example,dc=org -w hard-to-guess \
        >>"$HEAD_LOG/modify.log" 2>&1 <<'L'
dn: uid=alice,ou=people,dc=example,dc=org
changetype: modify
replace: uidNumber
uidNumber: 30001
L
says "another number in the directory" "$who, \"bind_password\": \"hard-to-guess\"" 'failed identity.stale' '20001, ldaps://10.0.2.2:2636 with 30001'
LDAPTLS_CACERT=/etc/head/ca.pem head_run ldapdelete -x -H ldaps://10.0.2.2:2636 -D cn=reader,dc=example,dc=org -w hard-to-guess \
        uid=alice,ou=people,dc=example,dc=org >>"$HEAD_LOG/modify.log" 2>&1
says "a user whom the directory threw out" "$who, \"bind_password\": \"hard-to-guess\"" 'failed identity.no-user' "sssd knows of users is its cache's"
head_pause ldap
says "a directory that answers nothing" '' 'degraded identity.cache-only' 'then says nothing'
head_continue ldap

touch "$NODE/no-cache"
says "without a cache, an expired certificate fails" '"uri": ["ldaps://10.0.2.2:1636"]' 'failed identity.certificate' 'has expired'
says "so does a refused bind" "$who, \"bind_password\": \"wrong\"" 'failed identity.bind'
says "and a referral to nowhere" '"uri": ["ldaps://10.0.2.2:4636"]' 'failed identity.search'
says "an sssd that does not find whom the directory has" '' 'failed identity.no-user' 'but sssd does not find him'
! grep -rqs hard-to-guess "$NODE/agent.log" "$NODE/run/firstboot/results"
check "the password is in no log" $?
exit $rc
