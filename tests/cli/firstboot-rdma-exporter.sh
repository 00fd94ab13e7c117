#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# RDMA counters for node_exporter's textfile collector, read back by a parser of the format.
set -u
source tests/fixtures/node.bash
trap node_end EXIT
failed=
exporter=$node_build/rdma-exporter
[[ $BUILD == /* ]] && exporter=$BUILD/firstboot/rdma-exporter
sysfs() { "$TOP/tests/fixtures/rdma-sysfs" "$NODE" "$@"; }
out() { "$TOP/tests/fixtures/prometheus-text" "$file" "$@"; }
is_out() { local got; got=$(out "$1"); [[ $got == "$2" ]] || { echo "# $1 is '$got', not '$2'"; return 1; }; }
fresh() { node_end; node_new; file=$NODE/var/lib/prometheus/node-exporter/firstboot-rdma.prom; mkdir -p "${file%/*}"; }
NODE=

# The parser itself: what it must not take.
fresh
for bad in 'a{b="c} 1' 'a{b="\x"} 1' '1a 1' 'a{b-c="d"} 1' 'a x' 'a 1\na 1' '# TYPE a counter\na 1\nb 1\na{x="y"} 1' '# TYPE a number' 'a{b="c",b="d"} 1' 'a 1\n# TYPE a gauge'; do
        printf "${bad//\\x/\\\\x}\n" >"$file"
        check "the parser refuses: $bad" bash -c '! "$@" >/dev/null' - "$TOP/tests/fixtures/prometheus-text" "$file"
done
printf 'a 1' >"$file"
check "the parser refuses a last line without newline" bash -c '! "$@" >/dev/null' - "$TOP/tests/fixtures/prometheus-text" "$file"

fresh
"$exporter"
check "no RDMA device: nothing is written" test "$? $(ls -A "${file%/*}")" = "0 "
sysfs mlx5_0 mlx5_1; sysfs mlx5_2 --ports 2; sysfs rdmap3 --layer Unknown
dir=$NODE/sys/class/infiniband
echo 18446744073709551615 >"$dir/mlx5_0/ports/1/counters/port_xmit_data"
echo 42 >"$dir/mlx5_2/ports/2/hw_counters/out_of_sequence"
mkdir "$dir/mlx5_1/hw_counters"; echo 6 >"$dir/mlx5_1/hw_counters/vendor_thing"
"$exporter"
check "the file is there" test -s "$file"
check "and is right by the format" out
check "every numeric file in counters and hw_counters is in it" test "$(out 'sum(1 for k in m if k[0].startswith(("rdma_port_", "rdma_device_")) and k[0] not in ("rdma_port_active", "rdma_port_rate_bits_per_second"))')" = \
        "$(find -L "$dir" -maxdepth 5 \( -path '*/ports/*/counters/*' -o -path '*/ports/*/hw_counters/*' -o -path "$dir/*/hw_counters/*" \) -type f ! -path '*/device/*' 2>/dev/null | wc -l)"
check "a port's counter" is_out 's("rdma_port_symbol_error", device="mlx5_1", port="1")' 0.0
check "a counter of 64 bits is whole" grep -qx 'rdma_port_port_xmit_data{device="mlx5_0",port="1"} 18446744073709551615' "$file"
check "a hw_counter of a second port" is_out 's("rdma_port_hw_out_of_sequence", device="mlx5_2", port="2")' 42.0
check "a device's own hw_counter" is_out 's("rdma_device_hw_vendor_thing", device="mlx5_1")' 6.0
check "EFA's counters, whatever they are called" is_out 's("rdma_port_hw_completed_cmds", device="rdmap3", port="1")' 7.0
check "counters are counters" is_out 't["rdma_port_hw_rx_bytes"]' counter
check "lifespan is a setting, so a gauge" is_out 't["rdma_port_hw_lifespan"]' gauge
check "state and rate" is_out 's("rdma_port_active", device="mlx5_0", port="1"), s("rdma_port_rate_bits_per_second", device="mlx5_0", port="1")' '(1.0, 400000000000.0)'
echo '1: DOWN' >"$dir/mlx5_0/ports/1/state"
"$exporter"
check "a port that went down" is_out 's("rdma_port_active", device="mlx5_0", port="1")' 0.0
check "the file may be read by node_exporter's user" test "$(stat -c %a "$file")" = 644
check "nothing else is left in the folder" test "$(ls -A "${file%/*}")" = firstboot-rdma.prom

# Names that Prometheus does not allow, and values that are none.
counters=$dir/mlx5_0/ports/1/hw_counters
echo 1 >"$counters/rx.prio-0"; echo 2 >"$counters/rx.prio.0"; echo 3 >"$counters/"$'od"d\\\nname'; echo 4 >"$counters/0first"; echo 5 >"$counters/größe"
echo N/A >"$counters/not_a_number"; echo -5 >"$counters/negative"; : >"$counters/empty"
mkdir "$counters/folder"
"$exporter"
check "odd names: right by the format" out
check "names that become the same are told apart" is_out '[s("rdma_port_hw_rx_prio_0", device="mlx5_0", port="1", file=f) for f in ("rx.prio-0", "rx.prio.0")]' '[1.0, 2.0]'
check "label values are escaped" is_out '[v for k, v in m.items() if ("file", "od\"d\\\nname") in k[1]]' '[3.0]'
check "a name that begins with a digit" is_out 's("rdma_port_hw_0first", device="mlx5_0", port="1")' 4.0
check "a name beyond ASCII" is_out '[v for k, v in m.items() if ("file", "größe") in k[1]]' '[5.0]'
check "what is no number is left out and counted" is_out 's("rdma_exporter_unreadable_files")' 4.0
echo 6 >"$counters/"$'bad\xffbyte'
mv "$dir/rdmap3" "$dir/"'a"b\c'
"$exporter"
check "an odd device name" is_out 'len([k for k in m if ("device", "a" + chr(34) + "b" + chr(92) + "c") in k[1]]) > 5' True
check "bytes that are no UTF-8 are replaced" is_out '[v for k, v in m.items() if ("file", "bad?byte") in k[1]]' '[6.0]'

# Replaced in one step: a reader always sees a whole file.
(for _ in $(seq 60); do "$exporter" || exit 1; done) & writer=$!
whole=0
while kill -0 $writer 2>/dev/null; do [[ $(tail -n 1 "$file") == rdma_exporter_unreadable_files* ]] || whole=1; done
wait $writer
check "a reader never sees half a file" test "$? $whole" = "0 0"

rm -r "$dir"
"$exporter"
check "no device any more: old numbers are removed" test ! -e "$file"
fresh; sysfs mlx5_0
rm -r "${file%/*}"
"$exporter"
check "without node_exporter's folder nothing happens" test "$? $(find "$NODE" -name '*.prom')" = "0 "
mkdir -p "$NODE/metrics"
echo '{"config":{"metrics":{"directory":"/metrics"}}}' >"$NODE/run/firstboot/config.json"
"$exporter"
check "metrics.directory says where" test -s "$NODE/metrics/firstboot-rdma.prom"
"$exporter" "$NODE/here.prom"
check "or the argument" test -s "$NODE/here.prom"
"$exporter" "$NODE/nowhere/x.prom" 2>"$NODE/err"
check "what cannot be written is an error" bash -c '[[ $1 == 1 ]] && grep -q "could not be written" "$2"' - $? "$NODE/err"
"$exporter" --help 2>/dev/null
check "a wrong option exits with 2" test $? = 2

if command -v systemd-analyze >/dev/null; then
        check "the units are right" bash -c 'cd "$1" && sed "s,/usr/lib/firstboot/rdma-exporter,/bin/true," "$2/firstboot/units/firstboot-rdma-exporter.service" >firstboot-rdma-exporter.service && cp "$2/firstboot/units/firstboot-rdma-exporter.timer" . &&
                out=$(env -u FIRSTBOOT_ROOT systemd-analyze verify --man=no ./firstboot-rdma-exporter.timer ./firstboot-rdma-exporter.service 2>&1); [[ -z $(grep firstboot-rdma <<<"$out") ]] || { echo "$out"; false; }' - "$NODE" "$TOP"
fi
[[ -z $failed ]]
