#!/bin/bash
# imgbuild sbom: the documents keep to what the specifications of SPDX 2.3, CycloneDX 1.5, in-toto and SLSA ask for. The schemas
# are not in this repository: what they say of the parts that we write is written down here, and read by python3-jsonschema.
# Validators of the formats' own projects are asked as well where pip has installed them.
set -u
python3 -c 'import jsonschema' 2>/dev/null || { echo "python3-jsonschema is missing"; exit 77; }
rc=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "${work:?}"' EXIT
cd "$work" || exit 1
check() { if [[ $2 -eq 0 ]]; then echo "ok - $1"; else echo "not ok - $1"; rc=1; sed 's/^/# /' out 2>/dev/null; fi; }

mkdir x
cat >x/manifest.json <<'M'
{"manifest": 1, "name": "x", "imgbuild": "0.1", "identity": "aaaa", "distro": "debian", "release": "trixie", "arch": "amd64",
"epoch": 1700000000, "tools": "bbbb",
"recipe": {"name": "x", "sources": [{"path": "x.json", "sha256": "1111111111111111111111111111111111111111111111111111111111111111"}], "merged": {"name": "x"}},
"stages": [{"id": "base", "kind": "base", "digest": "cccc"}],
"packages": [{"name": "libstdc++6", "version": "1:14.2.0-19~b", "arch": "amd64", "sha256": "2222222222222222222222222222222222222222222222222222222222222222", "stage": "base", "source": "gcc-14", "source_version": "14.2.0-19"},
 {"name": "cuda", "version": "12", "arch": "amd64", "sha256": "3333333333333333333333333333333333333333333333333333333333333333", "stage": "packages:cuda", "origin": "nvidia"}],
"base_made_with": {"by": "vendor", "image": "https://example.org/vendor.qcow2", "sha256": "abababababababababababababababababababababababababababababababab"},
"image_packages": [{"name": "bash", "version": "5.2.37-2", "arch": "amd64"}],
"build_packages": [{"name": "gcc", "version": "14", "arch": "amd64", "sha256": "4444444444444444444444444444444444444444444444444444444444444444", "stage": "compile:driver/0"}],
"artifacts": [{"overlay": "enroot", "name": "enroot", "version": "4.0", "url": "https://example.org/e.tar.gz", "sha256": "5555555555555555555555555555555555555555555555555555555555555555"}],
"python": [{"environment": "/opt/ml", "name": "torch", "version": "2.6.0+cpu", "licence": "BSD-3-Clause and friends", "file": "t.whl", "sha256": "6666666666666666666666666666666666666666666666666666666666666666"},
 {"environment": "/opt/ml", "name": "pip", "version": "26.3", "file": "p.whl", "role": "installer", "sha256": "7777777777777777777777777777777777777777777777777777777777777777"}],
"compiled": [{"stage": "compile:driver/0", "path": "/usr/lib/modules/6.12/nvidia.ko", "size": 9, "sha256": "8888888888888888888888888888888888888888888888888888888888888888", "module": "nvidia", "version": "550.163.01"},
 {"stage": "compile:firstboot/0", "path": "/usr/sbin/firstbootd", "size": 9, "sha256": "9999999999999999999999999999999999999999999999999999999999999999"}],
"files": [{"name": "x.raw", "size": 4, "sha256": "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1"}]}
M
"$IMGBUILD" sbom x >out 2>&1
check "the documents are written" $?

cat >specification.py <<'P'
import json, re, sys
import jsonschema

def objects(required, **properties):
    return {"type": "object", "required": required.split(), "additionalProperties": False, "properties": properties}

def enum(words):
    return {"enum": words.split()}

text = {"type": "string", "minLength": 1}
sha256 = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
uri = {"type": "string", "pattern": "^[a-z][a-z0-9+.-]*:[!-~]+$"}
purl = {"type": "string", "pattern": "^pkg:[a-z]+/([A-Za-z0-9._~-]+/)?([A-Za-z0-9._~-]|%[0-9A-F]{2})+(@([A-Za-z0-9.:_~-]|%[0-9A-F]{2})+)?([?][a-z]+=[^&]+(&[a-z]+=[^&]+)*)?$"}
when = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"}
uuid = {"type": "string", "pattern": "^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}

def array(items, least=0):
    return {"type": "array", "items": items, "minItems": least, "uniqueItems": True}

spdx_id = {"type": "string", "pattern": "^SPDXRef-[A-Za-z0-9.-]+$"}                            # 6.3, 7.2
spdx = objects("spdxVersion dataLicense SPDXID name documentNamespace creationInfo packages relationships",
    spdxVersion={"const": "SPDX-2.3"}, dataLicense={"const": "CC0-1.0"}, SPDXID={"const": "SPDXRef-DOCUMENT"}, name=text,
    documentNamespace={**uri, "not": {"pattern": "#"}},                                        # 6.5
    creationInfo=objects("created creators", created=when,
        creators=array({"type": "string", "pattern": "^(Tool|Organization|Person): .+"}, 1)),   # 6.8
    packages=array(objects("SPDXID name downloadLocation filesAnalyzed", SPDXID=spdx_id, name=text, versionInfo=text, packageFileName=text,
        primaryPackagePurpose=enum("APPLICATION FRAMEWORK LIBRARY CONTAINER OPERATING-SYSTEM DEVICE FIRMWARE SOURCE ARCHIVE FILE INSTALL OTHER"),
        downloadLocation={"anyOf": [{"const": "NOASSERTION"}, uri]}, filesAnalyzed={"const": False}, licenseConcluded={"const": "NOASSERTION"},
        licenseDeclared={"const": "NOASSERTION"}, copyrightText={"const": "NOASSERTION"}, licenseComments=text,
        checksums=array(objects("algorithm checksumValue", algorithm={"const": "SHA256"}, checksumValue=sha256), 1),
        externalRefs=array(objects("referenceCategory referenceType referenceLocator", referenceCategory={"const": "PACKAGE-MANAGER"},
            referenceType={"const": "purl"}, referenceLocator=purl), 1)), 1),
    relationships=array(objects("spdxElementId relationshipType relatedSpdxElement", spdxElementId=spdx_id, relatedSpdxElement=spdx_id,
        relationshipType=enum("DESCRIBES CONTAINS BUILD_DEPENDENCY_OF")), 1))

component = dict(type=enum("application framework library container platform operating-system device device-driver firmware file "
    "machine-learning-model data"), name=text, version=text, purl=purl, scope=enum("required optional excluded"),
    hashes=array(objects("alg content", alg={"const": "SHA-256"}, content=sha256), 1),
    licenses=array(objects("license", license=objects("name", name=text)), 1),
    externalReferences=array(objects("type url", type={"const": "distribution"}, url=uri), 1),
    properties=array(objects("name value", name=text, value=text), 1))
component["bom-ref"] = text
cyclonedx = objects("bomFormat specVersion serialNumber version metadata components dependencies", bomFormat={"const": "CycloneDX"},
    specVersion={"const": "1.5"}, serialNumber=uuid, version={"type": "integer", "minimum": 1},
    metadata=objects("timestamp tools component", timestamp=when,
        tools=objects("components", components=array(objects("type name", **component), 1)), component=objects("type name", **component)),
    components=array(objects("type name bom-ref", **component), 1),
    dependencies=array(objects("ref", ref=text, dependsOn=array(text)), 1))

resource = dict(name=text, uri=uri, digest=objects("sha256", sha256=sha256))
provenance = objects("_type subject predicateType predicate", _type={"const": "https://in-toto.io/Statement/v1"},
    subject=array(objects("name digest", **resource), 1), predicateType={"const": "https://slsa.dev/provenance/v1"},
    predicate=objects("buildDefinition runDetails",
        buildDefinition=objects("buildType externalParameters", buildType=uri, externalParameters={"type": "object", "required": ["recipe"]},
            internalParameters={"type": "object"}, resolvedDependencies=array(objects("digest", **resource), 1)),
        runDetails=objects("builder", builder=objects("id", id=uri, version={"type": "object", "additionalProperties": text}))))

def load(name, schema):
    with open("x/" + name, encoding="utf-8") as f:
        document = json.load(f)
    jsonschema.Draft202012Validator(schema).validate(document)
    return document

what = sys.argv[1]
if what == "spdx":
    d = load("release.spdx.json", spdx)
    ids = [p["SPDXID"] for p in d["packages"]]
    known = set(ids) | {"SPDXRef-DOCUMENT"}
    assert len(ids) == len(set(ids))
    related = {(r["relationshipType"], r["spdxElementId"], r["relatedSpdxElement"]) for r in d["relationships"]}
    assert all(a in known and b in known for _, a, b in related)
    named = {p["SPDXID"]: p["name"] for p in d["packages"]}
    assert sorted(named[b] for how, a, b in related if how == "CONTAINS" and named[a] == "x") == \
        ["/usr/sbin/firstbootd", "bash", "cuda", "enroot", "libstdc++6", "nvidia", "torch", "vendor.qcow2"]
    assert sorted(named[a] for how, a, b in related if how == "BUILD_DEPENDENCY_OF" and named[b] == "x") == ["gcc", "pip"]
elif what == "cyclonedx":
    d = load("release.cdx.json", cyclonedx)
    refs = [c["bom-ref"] for c in d["components"]]
    assert len(refs) == len(set(refs)) and "image" not in refs
    of = {c["bom-ref"]: c for c in d["components"]}
    (dependency,) = d["dependencies"]
    assert dependency["ref"] == d["metadata"]["component"]["bom-ref"]
    assert {of[r]["scope"] for r in dependency["dependsOn"]} == {"required"}
    assert sorted(c["name"] for c in d["components"] if c["scope"] == "excluded") == ["gcc", "pip"]
    kinds = {c["name"]: c["type"] for c in d["components"]}
    assert kinds["nvidia"] == "device-driver" and kinds["/usr/sbin/firstbootd"] == "file" and kinds["torch"] == "library"
elif what == "provenance":
    d = load("release.provenance.json", provenance)
    assert [(s["name"], s["digest"]["sha256"][:8]) for s in d["subject"]] == [("x.raw", "982d9e3e")]
    names = {r["name"] for r in d["predicate"]["buildDefinition"]["resolvedDependencies"]}
    assert names == {"x.json", "libstdc++6", "cuda", "enroot", "torch", "pip", "gcc", "vendor.qcow2"}, names
elif what == "seen":  # the specification above is not one that lets everything through
    for name, schema in (("spdx", spdx), ("cdx", cyclonedx), ("provenance", provenance)):
        with open(f"x/release.{name}.json", encoding="utf-8") as f:
            document = json.load(f)
        for key in list(document):
            for wrong in ({k: v for k, v in document.items() if k != key}, {**document, key: 17.5}, {**document, "more": 1}):
                assert not jsonschema.Draft202012Validator(schema).is_valid(wrong), (name, key)
elif what == "validators":
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    from spdx_tools.spdx.parser.parse_anything import parse_file
    from spdx_tools.spdx.validation.document_validator import validate_full_spdx_document
    with open("x/release.cdx.json", encoding="utf-8") as f:
        assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(f.read()) is None
    assert validate_full_spdx_document(parse_file("x/release.spdx.json")) == []
elif what == "attestation":
    import in_toto_attestation.predicates.provenance.v1.provenance_pb2 as provenance_pb
    from google.protobuf import json_format
    from in_toto_attestation.v1 import statement, statement_pb2
    with open("x/release.provenance.json", encoding="utf-8") as f:
        d = json.load(f)
    statement.Statement.copy_from_pb(json_format.ParseDict(d, statement_pb2.Statement())).validate()
    predicate = json_format.ParseDict(d["predicate"], provenance_pb.Provenance())  # an unknown key is an error
    assert predicate.run_details.builder.id == "urn:imgbuild:builder:local" and predicate.build_definition.build_type == "urn:imgbuild:build:v1" and len(predicate.build_definition.resolved_dependencies) == 8
    del d["predicateType"]
    try:
        statement.Statement.copy_from_pb(json_format.ParseDict(d, statement_pb2.Statement())).validate()
    except ValueError:
        sys.exit(0)
    sys.exit("a statement without its type passes")
P
for what in spdx cyclonedx provenance seen; do
        python3 specification.py $what >out 2>&1
        case $what in
        seen) check "what lacks a key, has one too many or a wrong one is seen" $? ;;
        *) check "$what keeps to its specification, and says what the manifest says" $? ;;
        esac
done
if python3 -c 'import cyclonedx, spdx_tools' 2>/dev/null; then
        python3 specification.py validators >out 2>&1
        check "the validators of CycloneDX and SPDX find no fault" $?
else
        echo "skip - the validators of CycloneDX and SPDX: pip install 'cyclonedx-python-lib[validation]' spdx-tools"
fi
if python3 -c 'import in_toto_attestation' 2>/dev/null; then
        python3 specification.py attestation >out 2>&1
        check "in-toto's own library reads the statement and SLSA's provenance, and finds no fault" $?
else
        echo "skip - in-toto's own library: pip install in-toto-attestation"
fi
exit $rc
