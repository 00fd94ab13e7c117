#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What lock/dnf.c asks of dnf and rpm: runs in a sandbox over the tools of family el, without a network.

dnf-ask records QUESTION ANSWER    which files the repositories' repomd.xml name
dnf-ask solve QUESTION ANSWER      which packages a stage adds to those before it
dnf-ask installed QUESTION ANSWER  which of these packages the base image has, and in which version
dnf-ask artifacts QUESTION ANSWER  what packages of overlays' own depend on that no stage brings
dnf-ask signed QUESTION ANSWER     which packages' signatures are not by the pinned key

QUESTION and ANSWER are JSON files. What cannot be answered for a reason that the person has to know of is
{"error": "LINES"}; anything else that goes wrong ends in a traceback and an exit code.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

NAMESPACE = "{http://linux.duke.edu/metadata/repo}"

# What dnf's solver reads; changelogs, databases and deltas are left out.
WANTED = {"primary", "filelists", "group", "group_gz", "modules", "updateinfo"}

SQLITE = b"SQLite format 3\0"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]*")  # dnf would take patterns and paths, too
KERNEL = re.compile(r"(?:/usr)?/lib/modules/([^/]+)/vmlinuz$")


class Unanswerable(Exception):
    pass


def records(question):
    answer = {}
    for name in question["repositories"]:
        path = os.path.join(question["folder"], name, "repodata", "repomd.xml")
        try:
            root = xml.etree.ElementTree.parse(path).getroot()
            found, times = [], []
            for data in root.iter(NAMESPACE + "data"):
                stamp = data.findtext(NAMESPACE + "timestamp")
                if stamp:
                    times.append(int(float(stamp)))
                if data.get("type") not in WANTED:
                    continue
                checksum = data.find(NAMESPACE + "checksum")
                if checksum.get("type") != "sha256":
                    raise Unanswerable(f"repository {name}: its index has digests of type {checksum.get('type')}, not sha256")
                found.append({
                    "path": data.find(NAMESPACE + "location").get("href"),
                    "sha256": checksum.text.strip(),
                    "size": int(data.findtext(NAMESPACE + "size") or 0),
                })
            # A revision is the time in almost all, and "1" or a word in some.
            revision = (root.findtext(NAMESPACE + "revision") or "").strip()
            if revision.isdigit() and int(revision) > 10 ** 9:
                times.append(int(revision))
        except (xml.etree.ElementTree.ParseError, AttributeError, OverflowError, TypeError, ValueError) as e:
            raise Unanswerable(f"repository {name}: its repodata/repomd.xml is no index: {e}") from e
        if not found:
            raise Unanswerable(f"repository {name}: its repodata/repomd.xml names no list of packages")
        answer[name] = {"time": max(times, default=0), "records": found}
    return {"repositories": answer}


def system(database):
    """A system of which nothing is there but what rpm knows of it; without a database, not that either."""
    import rpm

    root = "/tmp/system"
    folder = root + "/var/lib/rpm"
    if database:
        rpm.addMacro("_dbpath", folder[len(root):])
        os.makedirs(folder)
        with open(database, "rb") as f:
            sqlite = f.read(len(SQLITE)) == SQLITE
        if not sqlite:  # release 8's, in Berkeley DB: read, never written, and of its many files the one that has the headers is enough
            rpm.addMacro("_db_backend", "bdb_ro")
            rpm.setVerbosity(rpm.RPMLOG_ERR)
        shutil.copyfile(database, os.path.join(folder, "rpmdb.sqlite" if sqlite else "Packages"))
    return root


def sack(question):
    import dnf
    import dnf.exceptions

    conf = dnf.conf.Conf()  # a Base without one would look for this system's packages
    conf.installroot = system(question.get("database"))
    conf.cachedir = question["cache"]
    conf.persistdir = "/tmp/persist"
    conf.logdir = "/tmp"
    conf.reposdir = []
    conf.plugins = False
    conf.install_weak_deps = False
    conf.optional_metadata_types = ["filelists"]  # which package has a kernel in it
    conf.substitutions["arch"] = conf.substitutions["basearch"] = "x86_64"
    conf.substitutions["releasever"] = question["release"]
    conf.module_platform_id = question["platform"]
    base = dnf.Base(conf)
    for name in question["repositories"]:
        repo = dnf.repo.Repo(name, conf)
        repo.baseurl = ["file://" + os.path.join(question["folder"], name)]
        repo.module_hotfixes = False
        base.repos.add(repo)
    try:
        base.fill_sack(load_system_repo=bool(question.get("database")))
    except dnf.exceptions.Error as e:
        raise Unanswerable(f"the packages of the base image cannot be read: {e}") from e
    return base


def choose(base, modules):
    """These streams instead of the repositories' defaults; a stream that another one needs comes with it."""
    import dnf.exceptions
    import dnf.module.module_base

    modules = sorted({m.partition("/")[0] for m in modules})
    if not modules:
        return
    try:
        dnf.module.module_base.ModuleBase(base).enable(modules)
    except dnf.exceptions.MarkingErrors as e:
        if e.no_match_group_specs:
            raise Unanswerable("no repository of the recipe has a module " + ", ".join(e.no_match_group_specs)) from e
        raise Unanswerable(f"the modules {', '.join(modules)} cannot be chosen together: {e}") from e
    except dnf.exceptions.Error as e:
        raise Unanswerable(f"the modules {', '.join(modules)} cannot be chosen: {e}") from e


def of_profiles(base, specs):
    """Names of the packages that profiles (NAME:STREAM/PROFILE) stand for, of the streams' newest versions."""
    import dnf.module.module_base

    names = []
    for spec in specs:
        module, _, profile = spec.partition("/")
        found, _ = dnf.module.module_base.ModuleBase(base).get_modules(module)
        newest = max((m for m in found if base._moduleContainer.isModuleActive(m.getId())), key=lambda m: m.getVersionNum())
        chosen = newest.getProfiles(profile)
        if not chosen:
            there = ", ".join(sorted(p.getName() for p in newest.getProfiles()))
            raise Unanswerable(f"the module {module} has no profile {profile}; " + (f"it has {there}" if there else "it has none at all"))
        names += [name for p in chosen for name in p.getContent() if name not in names]
    strange = [name for name in names if not NAME.fullmatch(name)]
    if strange:
        raise Unanswerable(f"a profile of {', '.join(specs)} has something that is no package's name: {strange[0][:60]!r}")
    return names


def exactly(base, package, offered):
    """The package of the repositories that is locked, else the one that the store still has."""
    import hawkey

    for p in base.sack.query(flags=hawkey.IGNORE_EXCLUDES).available().filter(name=package["name"], arch=package["arch"]):
        if checksum(p) == package["sha256"]:
            return p
    if package["sha256"] in offered:
        return offered[package["sha256"]]
    raise Unanswerable(f"{package['name']} {package['version']} is locked, and neither the repositories nor the store have it any more: "
                       "'imgbuild lock RECIPE --update' makes the lock anew")


def checksum(p):
    import hawkey

    if not p.chksum or p.chksum[0] != hawkey.CHKSUM_SHA256:
        return None
    return p.chksum[1].hex()


def version(p):
    return f"{p.epoch}:{p.version}-{p.release}" if p.epoch else f"{p.version}-{p.release}"


def kernel(p):
    """The release of the kernel that is in this package; None: it has none."""
    for path in p.files:
        found = KERNEL.match(path)
        if found:
            return found[1]
    return None


def describe(p, files):
    """What the lock says of it; `files` are digests by path of what the store has and no repository may have any more."""
    sha256 = checksum(p) or files.get(p.location)
    if not sha256:
        raise Unanswerable(f"{p}: its repository gives no sha256, so it cannot be locked")
    o = {"name": p.name, "version": version(p), "arch": p.arch, "origin": p.repoid, "path": p.location,
         "size": p.downloadsize, "sha256": sha256}
    release = kernel(p)
    if release:
        o["kernel"] = release
    return o


def pin(base, package, files):
    """Other versions of a locked package do not count, as long as its own is there, which is a repository's rather than the store's
    file. Returns where it lies; None: nowhere. To hawkey, two of one version are equal, wherever they come from."""
    same = list(base.sack.query().available().filter(name=package["name"], arch=package["arch"]))
    wanted = [i for i, p in enumerate(same) if checksum(p) == package["sha256"]] or \
             [i for i, p in enumerate(same) if files.get(p.location) == package["sha256"]]
    if not wanted:
        return None
    base.sack.add_excludes([p for i, p in enumerate(same) if i != wanted[0]])
    return same[wanted[0]].location


def leave_out(base, added, kept):
    """What the store has and is free to move does not count beside what a repository has under that name: files go before
    repositories with dnf, whatever their versions; and vendors sign and build anew."""
    there = {(p.name, p.arch) for p in base.sack.query().available() if p.reponame != "@commandline"}
    base.sack.add_excludes([p for p in added if p.location not in kept and (p.name, p.arch) in there])


def offer(base, question, files=()):
    """What the store has: as packages, by digest, and those of `files`. dnf takes all of them at once or none."""
    paths = question["offered"]
    added = base.add_remote_rpms([*paths.values(), *files], strict=False) if paths or files else []
    by_path = {p.location: p for p in added}
    unread = [path for path in files if path not in by_path]
    if unread:
        raise Unanswerable(f"dnf cannot read {', '.join(unread)}")
    return added, {sha256: by_path[path] for sha256, path in paths.items() if path in by_path}, [by_path[path] for path in files]


def solve(question):
    import dnf
    import dnf.exceptions

    base = sack(question)
    choose(base, question["modules"])
    files = {path: sha256 for sha256, path in question["offered"].items()}
    added, offered, _ = offer(base, question)
    before = [exactly(base, p, offered) for p in question["before"]]
    kept = {pin(base, p, files) for p in question["pinned"]}
    if added:
        leave_out(base, added, kept)
    for p in before:
        base.package_install(p)
    unknown = []
    there = {p.name for p in before}
    for spec in question["packages"] + [n for n in of_profiles(base, question["profiles"]) if n not in there]:
        try:
            base.install(spec)
        except dnf.exceptions.MarkingError:
            unknown.append(spec)
    if unknown:
        raise Unanswerable("no repository of the recipe has a package " + ", ".join(unknown))
    try:
        base.resolve()
    except dnf.exceptions.DepsolveError as e:
        raise Unanswerable(str(e)) from e
    known = {(p.name, p.evr, p.arch) for p in before}
    result = list(base.transaction.install_set)
    missing = known - {(p.name, p.evr, p.arch) for p in result}
    if missing:
        raise Unanswerable("would replace what stages before it install: " + ", ".join(sorted(m[0] for m in missing)))
    return {"packages": [describe(p, files) for p in result if (p.name, p.evr, p.arch) not in known]}


def installed(question):
    """What the base image has of these packages."""
    base = sack(question)
    return {"packages": [{"name": p.name, "version": version(p)} for p in base.sack.query().installed().filter(name=question["packages"])]}


def artifacts(question):
    """What these files depend on that is not there."""
    import dnf.exceptions

    base = sack(question)
    choose(base, question["modules"])
    _, offered, files = offer(base, question, question["files"])
    for p in [exactly(base, p, offered) for p in question["before"]] + files:
        base.package_install(p)
    try:
        base.resolve()
    except dnf.exceptions.DepsolveError as e:
        raise Unanswerable(str(e)) from e
    known = {p["name"] for p in question["before"]} | {p.name for p in files}
    return {"missing": sorted({p.name for p in base.transaction.install_set} - known)}


def signed(question):
    """rpm says of each file in one line whether its signature, and no digest alone, is right."""
    wrong = []
    rpmkeys = ["rpmkeys", "--dbpath", "/tmp/keys", "--define", "_pkgverify_level signature"]
    subprocess.run(rpmkeys + ["--import", question["key"]], check=True)
    for path in question["files"]:
        done = subprocess.run(rpmkeys + ["--checksig", "--verbose", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        if done.returncode != 0:
            wrong.append({"file": path, "why": done.stdout})
    return {"wrong": wrong}


def main():
    verbs = {"records": records, "solve": solve, "installed": installed, "artifacts": artifacts, "signed": signed}
    with open(sys.argv[2], encoding="utf-8") as f:
        question = json.load(f)
    try:
        answer = verbs[sys.argv[1]](question)
    except Unanswerable as e:
        answer = {"error": str(e)}
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        json.dump(answer, f)


main()
