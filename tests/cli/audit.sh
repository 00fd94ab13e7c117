#!/bin/bash
# docs/clusters/audit.md: each command of its table stands in a test that its last column names. What is in CAPITALS stands for a word; what a test needs
# to get at a node of its own, quotes and the node's folder, does not count.
set -u
cd "$TOP" || exit 1
exec python3 - <<'P'
import glob, re, sys

def plain(text):
    return re.sub(r"""["'\\]|\$NODE(?=/)|\bhead_run """, "", text)

rows = [re.split(r"(?<!\\) \| ", line.strip().strip("|").strip()) for line in open("docs/clusters/audit.md") if line.startswith("| ")][1:]
bad = 0
for question, command, _, shown in rows:
    commands, named = re.findall(r"`([^`]+)`", command.replace("\\|", "|")), re.split(r", ", shown)
    scripts = {n: glob.glob(f"tests/{n}.sh") or glob.glob(f"tests/{n}-*.sh") for n in named}
    texts = [plain(open(p).read()) for ps in scripts.values() for p in ps]
    faults = [f"there is no test {n}" for n, ps in scripts.items() if len(ps) != 1]
    if not commands:
        faults.append("it has no command")
    for c in commands:
        pattern = re.sub(r"(?<![A-Za-z_$|])[A-Z]{3,}(_[A-Z]+)*(?![A-Za-z_|])", r"\\S+", re.escape(plain(c)))
        if not any(re.search(pattern, t) for t in texts):
            faults.append(f"{shown} does not run: {c}")
    print(("not ok - " if faults else "ok - ") + question.lstrip("… "))
    for f in faults:
        print(f"# {f}")
    bad += bool(faults)
print("ok - the table is read" if len(rows) >= 15 else "not ok - the table is read")
sys.exit(bad > 0 or len(rows) < 15)
P
