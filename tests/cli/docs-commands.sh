#!/bin/bash
# What the documents tell people to type: each command line of ours in README.md and docs/ has a verb, options, files, steps and
# reason codes that there are. Those that need neither root, a network nor a machine are run.
set -u
cd "$TOP" || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TOP IMGBUILD BUILD work
exec python3 - <<'P'
import glob, os, re, shlex, subprocess, sys

top, imgbuild, work = os.environ["TOP"], os.environ["IMGBUILD"], os.environ["work"]
agent = f"{top}/{os.environ['BUILD']}/firstboot"
pages = ["README.md"] + sorted(p for p in glob.glob("docs/**/*.md", recursive=True)
                               if p not in ("docs/news.md", "docs/reason-codes.md"))

def said(*argv):
    return subprocess.run(argv, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout

def options_of(text):
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][a-z0-9-]*", text))

verbs = {v: options_of(said(imgbuild, v, "--help"))
         for v in re.findall(r"^  ([a-z]+) ", said(imgbuild, "--help"), re.M)}
ctl_help = said(f"{agent}/firstbootctl", "--help")
ctl_verbs, ctl_options = set(re.findall(r"^  ([a-z]+)\b", ctl_help, re.M)), options_of(ctl_help)
bench_options = options_of(said(f"{agent}/ncclbench/ncclbench", "--help")) | options_of(open("docs/man/ncclbench.1").read().replace("\\-", "-"))
steps = {os.path.basename(p)[:-5] for p in glob.glob("firstboot/steps/**/*.json", recursive=True)}
codes = set(re.findall(r"^### `([a-z0-9.-]+)`", open("docs/reason-codes.md").read(), re.M))
targets = set(re.findall(r"^([a-z][\w.-]*):", open("Makefile").read(), re.M)) | set(
    re.sub(r".PHONY:", "", " ".join(re.findall(r"^\.PHONY:.*", open("Makefile").read(), re.M))).split())
names_of_readers = ("x.json", "site.json", "site-node.json", "site")
example = re.compile(r"[A-Z]{2}|…|\.\.\.|<|\*|\$")  # stands for something

def commands(page):
    """Command lines of blocks, and what stands between backquotes in the text."""
    fenced = False
    for number, line in enumerate(open(page), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, re.split(r"\s{3,}", line.strip())[0]  # what the line is for stands in a column of its own
        else:
            for span in re.findall(r"`([^`]+)`", line):
                yield number, span

def split(line):
    """The programs of a line, each as its words. What is quoted for somebody else's shell is a word."""
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>()")
        lexer.whitespace_split, lexer.commenters = True, "#"
        words = list(lexer)
    except ValueError:
        return []
    parts = [[]]
    for word in words:
        if set(word) <= set("|&;<>()"):
            parts.append([])
        else:
            parts[-1].append(word)
    return [p for p in parts if p]

def options(words, known):
    for word in words:
        if word == "--":
            return
        if re.match(r"--?[a-zA-Z]", word) and word.split("=")[0] not in known:
            yield f"there is no option {word}"

def files(words):
    for word in words:
        if re.match(r"(images|overlays|tests|docs)/", word) and not example.search(word) and not os.path.exists(word) \
                and word.split("/")[1] not in names_of_readers:
            yield f"there is no {word}"

def judge_imgbuild(words):
    if not words or example.search(words[0]) or words[0] in ("--help", "--version"):
        return
    if words[0] not in verbs:
        yield f"there is no verb {words[0]}"
        return
    yield from options(words[1:], verbs[words[0]])
    yield from files(words[1:words.index("--")] if "--" in words else words[1:])

def judge_ctl(words):
    yield from options(words, ctl_options)
    words = [w for w in words if not w.startswith("-")]
    if not words or example.search(words[0]):
        return
    if words[0] not in ctl_verbs:
        yield f"there is no verb {words[0]}"
    elif len(words) > 1 and not example.search(words[1]):
        if words[0] in ("rerun", "log") and words[1] not in steps | {"config", "space"}:
            yield f"there is no step {words[1]}"
        if words[0] == "explain" and words[1] not in codes:
            yield f"there is no reason code {words[1]}"

def judge_make(words):
    for word in words:
        if re.fullmatch(r"[a-z][\w-]*", word) and word not in targets:
            yield f"there is no target {word}"

def judge(words):
    while words and (words[0] in ("sudo", "timeout", "env", "exec") or re.match(r"[A-Z_]+=", words[0]) or re.fullmatch(r"\d+[sm]?", words[0])):
        words = words[1:]
    if not words:
        return
    program, rest = words[0], words[1:]
    if program in ("imgbuild", "build/imgbuild"):
        yield from judge_imgbuild(rest)
    elif program == "firstbootctl":
        yield from judge_ctl(rest)
    elif program == "ncclbench":
        yield from options(rest, bench_options)
    elif program == "make" and "-C" not in rest:
        yield from judge_make(rest)
    elif program == "tests/run":
        for word in rest:
            kind, _, name = word.partition("/")
            if not word.startswith("-") and not example.search(word) and not glob.glob(f"tests/{word}*"):
                yield f"there is no test {word}"

# Verbs that only look, on what is in this repository.
runnable = re.compile(r"(imgbuild (schema|completion)|imgbuild check --node (images|node)/|firstbootctl explain [a-z]|firstbootctl completion|"
                      r"imgbuild( [a-z]+)? --(help|version))")
environment = dict(os.environ, PATH=f"{os.path.dirname(imgbuild)}:{agent}:" + os.environ["PATH"], FIRSTBOOT_ROOT=work,
                   XDG_CACHE_HOME=work, DBUS_SYSTEM_BUS_ADDRESS=f"unix:path={work}/no-bus")
failed, seen, ran = 0, 0, 0
for page in pages:
    faults = []
    for number, line in commands(page):
        for words in split(line):
            text = " ".join(words)
            if re.match(r"(sudo )?(build/)?(imgbuild|firstbootctl|ncclbench|make|tests/run)\b", text):
                seen += 1
            faults += [f"{page}:{number}: {line}: {fault}" for fault in judge(words)]
            text = re.sub(r"^(build/)?", "", text)
            if runnable.match(text) and not example.search(text):
                ran += 1
                p = subprocess.run(shlex.split(text), capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL,
                                   cwd="images/project" if page == "docs/tutorial.md" else top)
                if p.returncode != 0 or not p.stdout:
                    faults.append(f"{page}:{number}: {text} ends with {p.returncode}: {p.stderr.strip()[:200]}")
    print(f"{'not ok' if faults else 'ok'} - the commands of {page} can be typed")
    for fault in faults:
        print("#", fault)
    failed |= bool(faults)
wanted = seen >= 150 and ran >= 5
print(f"{'ok' if wanted else 'not ok'} - command lines were found, and some run")
print(f"# {seen} lines of ours, {ran} run")
sys.exit(failed or not wanted)
P
