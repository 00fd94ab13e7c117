/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* A row for each cloud: how the firmware names it, and how its service is asked. */

#include <ctype.h>

#include "daemon/helper/metadata.h"
#include "daemon/helper/http.h"
#include "contract/paths.h"
#include "contract/retry.h"
#include "shared/file-util.h"
#include "shared/time-util.h"

#define TRY_USEC (3 * USEC_PER_SEC)

typedef struct Session {
        const char *base;
        char **headers;
        uint64_t deadline, seed;
        char *detail;
} Session;

static void session_done(Session *s) {
        strv_free(s->headers);
        free(s->detail);
}

/* One request, repeated with doubled pauses while the service does not answer or says 5xx or 429.
 * Returns 1 with the body for 200; 0 for 404 (*ret_body untouched); negative errno. */
static int ask(Session *s, const char *method, const char *path, char **ret_body) {
        _cleanup_free_ char *url = strf("%s%s", s->base, path);
        RetryLoop loop = RETRY_LOOP_METADATA(s->seed, s->deadline);
        uint64_t pause;
        int r;

        if (!url)
                return -ENOMEM;
        for (;;) {
                _cleanup_free_ char *body = NULL, *detail = NULL;
                uint64_t now = now_usec();
                long status = 0;

                if (now >= s->deadline)
                        return -ETIMEDOUT;
                HttpRequest q = { .method = method,
                        .url = url,
                        .headers = s->headers,
                        .timeout_usec = MIN(TRY_USEC, s->deadline - now) };

                r = http_request(&q, &status, &body, &detail);
                if (r >= 0 && status == 200) {
                        *ret_body = TAKE_PTR(body);
                        return 1;
                }
                if (r >= 0 && status == 404)
                        return 0;

                free(s->detail);
                s->detail = r < 0 ? TAKE_PTR(detail) : strf("%s answered %ld", url, status);
                if (r >= 0 && status != 429 && status < 500)
                        return -EACCES;

                if (!retry_again(&loop, now_usec(), &pause))
                        return r < 0 ? r : -EIO;
                usleep((useconds_t) pause);
        }
}

static int parse(Session *s, const char *what, const char *body, json_object **ret) {
        JsonError e = {};
        int r = json_parse(body, strlen(body), &e, ret);

        if (r == -EINVAL) {
                free(s->detail);
                s->detail = strf("%s, line %u, column %u: %s", what, e.line, e.column, e.message);
                return -EBADMSG;
        }
        return r;
}

/* Configuration may be an object or, where the provider knows only strings, JSON text. */
static int take_layer(Session *s, json_object *value, json_object **ret) {
        if (!value)
                return 0;
        if (json_object_is_type(value, json_type_string))
                return parse(s, "firstboot metadata", json_object_get_string(value), ret);
        *ret = json_object_get(value);
        return 0;
}

typedef struct Fact {
        const char *theirs, *ours;
} Fact;

static int take_facts(Config *c, json_object *o, const Fact *facts, size_t n) {
        for (size_t i = 0; i < n; i++) {
                json_object *v = json_get(o, facts[i].theirs);
                const char *text = v ? json_object_get_string(v) : NULL;

                /* GCP gives "projects/1234/zones/europe-west4-a". */
                if (text && startswith(text, "projects/") && strrchr(text, '/'))
                        text = strrchr(text, '/') + 1;
                if (text && json_set_string(c->instance, facts[i].ours, text) < 0)
                        return -ENOMEM;
        }
        return json_get_string(c->instance, "id") ? 0 : -EBADMSG;
}

#define PLACE_PART_MAX 16

/* Where the machine is in the cloud's network, outermost first, "ISLAND.BLOCK.LOCAL": whether two
 * machines have a part in common is all that is asked of it, so of long names the end will do. A
 * place of which a part is missing is none. */
static int take_place(Config *c, json_object *o, char *const *parts) {
        _cleanup_free_ char *place = strdup("");

        if (!place)
                return -ENOMEM;
        STRV_FOREACH (part, parts) {
                const char *name = strempty(json_get_string(o, *part));
                size_t n = strlen(name);
                char *longer;

                if (n == 0)
                        return 0;
                longer = strf("%s%s%s", place, *place ? "." : "",
                                n > PLACE_PART_MAX ? name + n - PLACE_PART_MAX : name);
                if (!longer)
                        return -ENOMEM;
                for (char *p = longer + strlen(place) + (*place != 0); *p; p++)
                        if (!isalnum((unsigned char) *p))
                                *p = '-';
                free(place);
                place = longer;
        }
        return json_set_string(c->instance, "fabric", place);
}

/* Only machines of OCI's RDMA network have one. That it cannot be had is no reason to fail. */
static int take_oci_place(Config *c, Session *s) {
        _cleanup_json_ json_object *host = NULL;
        _cleanup_free_ char *body = NULL;
        JsonError e;

        if (ask(s, NULL, "/opc/v2/host/", &body) <= 0 ||
                        json_parse(body, strlen(body), &e, &host) < 0)
                return 0;
        return take_place(c, json_get(host, "rdmaTopologyData"),
                        ARGV("customerHPCIslandId", "customerNetworkBlock", "customerLocalBlock"));
}

/* GCP's is JSON in an attribute, of machines that were placed together. */
static int take_gcp_place(Config *c, json_object *attributes) {
        _cleanup_json_ json_object *place = NULL;
        const char *text = json_get_string(attributes, "physical_host_topology");
        JsonError e;

        if (!text || json_parse(text, strlen(text), &e, &place) < 0)
                return 0;
        return take_place(c, place, ARGV("cluster", "block", "subblock"));
}

static int fetch_oci(Config *c, Session *s, json_object **ret_layer) {
        static const Fact facts[] = {
                { "id", "id" },
                { "shape", "shape" },
                { "region", "region" },
                { "availabilityDomain", "zone" },
                { "hostname", "hostname" },
        };
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *body = NULL;
        int r;

        r = strv_extend(&s->headers, "Authorization: Bearer Oracle");
        if (r < 0)
                return r;
        r = ask(s, NULL, "/opc/v2/instance/", &body);
        if (r <= 0)
                return r == 0 ? -EBADMSG : r;
        r = parse(s, "OCI metadata", body, &o);
        if (r < 0)
                return r;
        r = take_facts(c, o, facts, ELEMENTSOF(facts));
        if (r < 0)
                return r;
        r = take_oci_place(c, s);
        if (r < 0)
                return r;
        return take_layer(s, json_get(json_get(o, "metadata"), "firstboot"), ret_layer);
}

static int fetch_aws(Config *c, Session *s, json_object **ret_layer) {
        static const Fact facts[] = {
                { "instanceId", "id" },
                { "instanceType", "shape" },
                { "region", "region" },
                { "availabilityZone", "zone" },
        };
        _cleanup_free_ char *token = NULL, *document = NULL, *tag = NULL;
        _cleanup_json_ json_object *o = NULL;
        int r;

        r = strv_extend(&s->headers, "X-aws-ec2-metadata-token-ttl-seconds: 300");
        if (r < 0)
                return r;
        r = ask(s, "PUT", "/latest/api/token", &token);
        if (r <= 0)
                return r == 0 ? -EBADMSG : r;
        s->headers = strv_free(s->headers);
        r = strv_extendf(&s->headers, "X-aws-ec2-metadata-token: %s", token);
        if (r < 0)
                return r;
        r = ask(s, NULL, "/latest/dynamic/instance-identity/document", &document);
        if (r <= 0)
                return r == 0 ? -EBADMSG : r;
        r = parse(s, "AWS identity document", document, &o);
        if (r < 0)
                return r;
        r = take_facts(c, o, facts, ELEMENTSOF(facts));
        if (r < 0)
                return r;
        r = ask(s, NULL, "/latest/meta-data/tags/instance/firstboot", &tag);
        return r <= 0 ? r : parse(s, "AWS tag firstboot", tag, ret_layer);
}

static int fetch_gcp(Config *c, Session *s, json_object **ret_layer) {
        static const Fact facts[] = {
                { "id", "id" },
                { "machineType", "shape" },
                { "zone", "zone" },
                { "hostname", "hostname" },
        };
        _cleanup_json_ json_object *o = NULL;
        _cleanup_free_ char *body = NULL;
        int r;

        r = strv_extend(&s->headers, "Metadata-Flavor: Google");
        if (r < 0)
                return r;
        r = ask(s, NULL, "/computeMetadata/v1/instance/?recursive=true", &body);
        if (r <= 0)
                return r == 0 ? -EBADMSG : r;
        r = parse(s, "GCP metadata", body, &o);
        if (r < 0)
                return r;
        r = take_facts(c, o, facts, ELEMENTSOF(facts));
        if (r < 0)
                return r;
        r = take_gcp_place(c, json_get(o, "attributes"));
        if (r < 0)
                return r;
        return take_layer(s, json_get(json_get(o, "attributes"), "firstboot"), ret_layer);
}

typedef struct Provider {
        const char *name;
        const char *dmi_file, *dmi_text; /* how the firmware names it */
        int (*fetch)(Config *c, Session *s, json_object **ret_layer);
} Provider;

static const Provider providers[] = {
        { "oci", "chassis_asset_tag", "OracleCloud.com", fetch_oci },
        { "aws", "sys_vendor", "Amazon EC2", fetch_aws },
        { "gcp", "product_name", "Google Compute Engine", fetch_gcp },
};

const char *metadata_detect(void) {
        for (size_t i = 0; i < ELEMENTSOF(providers); i++) {
                _cleanup_free_ char *path = fb_pathf("/sys/class/dmi/id/%s", providers[i].dmi_file),
                                    *text = NULL;

                if (path && read_line_file(path, &text) >= 0 && streq(text, providers[i].dmi_text))
                        return providers[i].name;
        }
        return NULL;
}

int metadata_fetch(Config *c, const char *provider, uint64_t timeout_usec, uint64_t seed,
                json_object **ret_layer, char **ret_detail) {
        const char *base = secure_getenv("FIRSTBOOT_METADATA_URL");
        _cleanup_(session_done) Session s = {
                .base = base ? base : "http://169.254.169.254",
                .deadline = now_usec() + timeout_usec,
                .seed = seed,
        };
        _cleanup_json_ json_object *layer = NULL;
        int r = -ENOENT;

        for (size_t i = 0; i < ELEMENTSOF(providers); i++)
                if (streq(providers[i].name, provider))
                        r = providers[i].fetch(c, &s, &layer);
        if (r < 0) {
                *ret_detail = s.detail ? TAKE_PTR(s.detail) : strdup(strerror(-r));
                return r;
        }
        if (json_set_string(c->instance, "cloud", provider) < 0)
                return -ENOMEM;
        *ret_layer = TAKE_PTR(layer);
        return 0;
}
