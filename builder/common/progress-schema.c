/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What --progress=json tells, as JSON Schema: one line of it. tests/e2e/15-many.sh holds real lines
 * to it. */

#include "common/progress.h"

static const char schema[] =
                "{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\","
                "\"title\": \"A line of imgbuild --progress=json\","
                "\"type\": \"object\","
                "\"required\": [\"event\"],"
                "\"properties\": {\"event\": {\"type\": \"string\"}},"
                "\"$defs\": {"
                "  \"recipe\": {\"type\": \"string\","
                "    \"description\": \"Where several recipes are baked: the name of this one.\"},"
                "  \"usec\": {\"type\": \"integer\", \"minimum\": 0},"
                "  \"bytes\": {\"type\": \"integer\", \"minimum\": 0}},"
                "\"oneOf\": ["
                "{\"description\": \"A part of the work, such as a stage, is in another state.\","
                "  \"required\": [\"stage\", \"state\"], \"additionalProperties\": false,"
                "  \"properties\": {"
                "    \"event\": {\"const\": \"stage\"}, \"stage\": {\"type\": \"string\"},"
                "    \"recipe\": {\"$ref\": \"#/$defs/recipe\"},"
                "    \"state\": {\"enum\": [\"waiting\", \"running\", \"cached\", \"done\", \"failed\"]},"
                "    \"usec\": {\"$ref\": \"#/$defs/usec\","
                "      \"description\": \"How long it took, in µs; with done and failed.\"}}},"
                "{\"description\": \"How much of a download is there, twice a second.\","
                "  \"required\": [\"stage\", \"done\", \"total\"], \"additionalProperties\": false,"
                "  \"properties\": {"
                "    \"event\": {\"const\": \"bytes\"}, \"stage\": {\"type\": \"string\"},"
                "    \"recipe\": {\"$ref\": \"#/$defs/recipe\"},"
                "    \"done\": {\"$ref\": \"#/$defs/bytes\"},"
                "    \"total\": {\"$ref\": \"#/$defs/bytes\", \"description\": \"0: not known.\"}}},"
                "{\"description\": \"What is on standard error, too.\","
                "  \"required\": [\"message\", \"level\"], \"additionalProperties\": false,"
                "  \"properties\": {"
                "    \"event\": {\"const\": \"message\"}, \"message\": {\"type\": \"string\"},"
                "    \"level\": {\"type\": \"integer\", \"minimum\": 0, \"maximum\": 7,"
                "      \"description\": \"syslog(3): 3 an error, 4 a warning, 6 a message.\"}}},"
                "{\"description\": \"A boot came to another phase.\","
                "  \"required\": [\"phase\", \"usec\"], \"additionalProperties\": false,"
                "  \"properties\": {"
                "    \"event\": {\"const\": \"boot.phase\"}, \"phase\": {\"type\": \"string\"},"
                "    \"usec\": {\"$ref\": \"#/$defs/usec\", \"description\": \"After power-on, in µs.\"}}},"
                "{\"description\": \"What the guest's systemd says of a unit.\","
                "  \"required\": [\"unit\", \"state\", \"usec\"], \"additionalProperties\": false,"
                "  \"properties\": {"
                "    \"event\": {\"const\": \"boot.unit\"}, \"unit\": {\"type\": \"string\"},"
                "    \"state\": {\"enum\":"
                "      [\"starting\", \"started\", \"failed\", \"restarting\", \"stopped\"]},"
                "    \"usec\": {\"$ref\": \"#/$defs/usec\"}}},"
                "{\"description\": \"How a boot ended: what boot.json has, docs/boot.md.\","
                "  \"required\": [\"result\"],"
                "  \"properties\": {\"event\": {\"const\": \"boot.result\"}}}"
                "]}";

int progress_json_schema(json_object **ret) {
        JsonError error;

        return json_parse(schema, strlen(schema), &error, ret);
}
