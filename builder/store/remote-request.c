/* SPDX-License-Identifier: LGPL-2.1-or-later */

/* What is asked of the server of a remote store, by one curl handle, so that TLS is set up once. */

#include "store/remote-request.h"

#include "shared/file-util.h"
#include "shared/spawn.h"
#include "shared/strv.h"

#define STALL_BYTES 1024L /* a second */
#define RECORD_SECONDS_MAX 60L

typedef struct Answer {
        char *text;
        size_t size, max;
        bool too_long;
} Answer;

void remote_request_done(Remote *r) {
        /* A connection that another process opened is left as it is. */
        if (r->easy && r->asker == getpid())
                curl_easy_cleanup(r->easy);
        r->easy = NULL;
        http_hosts_done(&r->hosts);
        r->hosts = (HttpHosts) {};
}

static int on_progress(void *userdata _unused_, curl_off_t total _unused_, curl_off_t done _unused_,
                curl_off_t up_total _unused_, curl_off_t up_done _unused_) {
        return interrupt_signal() != 0;
}

/* Makes r->easy ready for one request. `error` takes curl's words. */
static int begin(Remote *r, const char *url, char *error) {
        HttpHost host;
        int e;

        if (r->easy && r->asker != getpid())
                r->easy = NULL;
        if (!r->easy) {
                http_hosts_done(&r->hosts);
                r->hosts = (HttpHosts) {};
                http_hosts_load(&r->hosts);
                r->easy = curl_easy_init();
                r->asker = getpid();
        }
        if (!r->easy)
                return -ENOMEM;
        curl_easy_reset(r->easy); /* which keeps the connection */
        e = http_hosts_find(&r->hosts, url, &host);
        if (e < 0)
                return e;
        host.s3 = r->s3;
        http_prepare(r->easy, url, &host, STALL_BYTES);
        error[0] = '\0';
        curl_easy_setopt(r->easy, CURLOPT_ERRORBUFFER, error);
        curl_easy_setopt(r->easy, CURLOPT_XFERINFOFUNCTION, on_progress);
        curl_easy_setopt(r->easy, CURLOPT_NOPROGRESS, 0L);
        return 0;
}

/* What came of a request: 0, or a negative errno, with words. *ret_answer is HTTP's. */
static int judge(const Remote *r, CURLcode code, const char *error, long *ret_answer,
                char **ret_why) {
        free(*ret_why);
        *ret_why = NULL;
        curl_easy_getinfo(r->easy, CURLINFO_RESPONSE_CODE, ret_answer);
        if (interrupt_signal())
                return -ECANCELED;
        if (code == CURLE_OK && *ret_answer >= 200 && *ret_answer < 300)
                return 0;
        if (code == CURLE_OK || code == CURLE_HTTP_RETURNED_ERROR) {
                const char *hint = "";

                if (*ret_answer == 403 && r->s3)
                        hint = " (the keys, this host's clock, or what the keys may: without s3:ListBucket it also says so of what is not there)";
                else if (r->s3 && (*ret_answer == 301 || *ret_answer == 307 || *ret_answer == 400))
                        hint = " (the bucket may be of another region than AWS_REGION says)";
                else if (*ret_answer == 401 || *ret_answer == 403)
                        hint = " (it wants a login, or another one: /etc/apt/auth.conf.d or IMGBUILD_AUTH_FILE, over https alone)";
                else if (*ret_answer == 507)
                        hint = " (it is full)";
                *ret_why = strf("the server answered %ld%s", *ret_answer, hint);
                return *ret_answer == 404 || *ret_answer == 410 ? -ENOENT : -EREMOTEIO;
        }
        *ret_why = strdup(error[0] ? error : curl_easy_strerror(code));
        return code == CURLE_OUT_OF_MEMORY ? -ENOMEM : -ENETUNREACH;
}

static size_t on_body(char *data, size_t one, size_t n, void *userdata) {
        Answer *a = userdata;
        size_t size = one * n;
        char *grown;

        if (size > a->max - a->size) {
                a->too_long = true;
                return 0;
        }
        grown = realloc(a->text, a->size + size + 1);
        if (!grown)
                return 0;
        memcpy(grown + a->size, data, size);
        a->text = grown;
        a->size += size;
        return size;
}

/* What may be gone the next moment: a connection that the server closed in the meantime, say. It is
 * asked again, once. */
static bool is_broken(CURLcode code) {
        return code == CURLE_GOT_NOTHING || code == CURLE_SEND_ERROR || code == CURLE_RECV_ERROR ||
               code == CURLE_PARTIAL_FILE;
}

static void answer_reset(Answer *a) {
        free(a->text);
        a->text = NULL;
        a->size = 0;
        a->too_long = false;
}

static CURLcode receive(Remote *r, Answer *a) {
        CURLcode code;

        curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(r->easy, CURLOPT_WRITEDATA, a);
        code = curl_easy_perform(r->easy);
        if (!is_broken(code) || interrupt_signal())
                return code;
        answer_reset(a);
        return curl_easy_perform(r->easy);
}

/* In full before long, for it is small: a server that drips is none. */
int remote_get(Remote *r, const char *url, size_t max, char **ret, size_t *ret_size,
                char **ret_why) {
        char error[CURL_ERROR_SIZE];
        Answer a = { .max = max };
        long answer = 0;
        int e;

        e = begin(r, url, error);
        if (e < 0)
                return e;
        curl_easy_setopt(r->easy, CURLOPT_TIMEOUT, RECORD_SECONDS_MAX);
        e = judge(r, receive(r, &a), error, &answer, ret_why);
        if (a.too_long) {
                free(*ret_why);
                *ret_why = strf("its record is longer than %zu bytes", max);
                e = -EBADMSG;
        }
        if (e == 0 && !a.text)
                a.text = calloc(1, 1);
        if (e < 0 || !a.text) {
                answer_reset(&a);
                return e < 0 ? e : -ENOMEM;
        }
        a.text[a.size] = '\0';
        *ret = a.text;
        *ret_size = a.size;
        return 0;
}

int remote_has(Remote *r, const char *url, uint64_t size, char **ret_why) {
        char error[CURL_ERROR_SIZE];
        curl_off_t length = -1;
        long answer = 0;
        CURLcode code;
        int e;

        e = begin(r, url, error);
        if (e < 0)
                return e;
        curl_easy_setopt(r->easy, CURLOPT_NOBODY, 1L);
        code = curl_easy_perform(r->easy);
        if (is_broken(code) && !interrupt_signal())
                code = curl_easy_perform(r->easy);
        e = judge(r, code, error, &answer, ret_why);
        if (e == -ENOENT)
                return 0;
        if (e < 0)
                return e;
        curl_easy_getinfo(r->easy, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
        return length == (curl_off_t) size;
}

/* --- writing ---------------------------------------------------------------------------------- */

static size_t on_read(char *buffer, size_t one, size_t n, void *userdata) {
        RemoteBody *b = userdata;
        size_t size = (size_t) MIN((uint64_t) (one * n), b->size - b->done);

        if (b->text)
                memcpy(buffer, b->text + b->done, size);
        else if (size > 0 && read_all_at(b->fd, buffer, size, b->done) < 0)
                return CURL_READFUNC_ABORT;
        b->done += size;
        if (b->ctx)
                progress_bytes(b->ctx->progress, b->stage, b->done, b->size);
        return size;
}

/* A server that asks who is there gets the body once more. */
static int on_seek(void *userdata, curl_off_t offset, int origin) {
        RemoteBody *b = userdata;

        if (origin != SEEK_SET || offset < 0 || (uint64_t) offset > b->size)
                return CURL_SEEKFUNC_CANTSEEK;
        b->done = (uint64_t) offset;
        return CURL_SEEKFUNC_OK;
}

/* What a server says in return is nobody's business. */
static size_t on_reply(char *data _unused_, size_t one, size_t n, void *userdata _unused_) {
        return one * n;
}

static int put_once(
                Remote *r, const char *url, RemoteBody *body, long *ret_answer, char **ret_why) {
        char error[CURL_ERROR_SIZE];
        int e = begin(r, url, error);
        CURLcode code;

        if (e < 0)
                return e;
        curl_easy_setopt(r->easy, CURLOPT_UPLOAD, 1L);
        curl_easy_setopt(r->easy, CURLOPT_INFILESIZE_LARGE, (curl_off_t) body->size);
        curl_easy_setopt(r->easy, CURLOPT_READFUNCTION, on_read);
        curl_easy_setopt(r->easy, CURLOPT_READDATA, body);
        curl_easy_setopt(r->easy, CURLOPT_SEEKFUNCTION, on_seek);
        curl_easy_setopt(r->easy, CURLOPT_SEEKDATA, body);
        curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, on_reply);
        curl_easy_setopt(r->easy, CURLOPT_FOLLOWLOCATION, 0L);
        body->done = 0;
        code = curl_easy_perform(r->easy);
        if (is_broken(code) && !interrupt_signal()) {
                body->done = 0;
                code = curl_easy_perform(r->easy);
        }
        return judge(r, code, error, ret_answer, ret_why);
}

/* MKCOL of each folder between the store's URL and the file: WebDAV wants them made one by one. One
 * that is there, or a server without WebDAV, answers with an error that says nothing new. */
static int make_folders(Remote *r, const char *url) {
        size_t n = strlen(r->url) + 1;

        for (const char *slash; (slash = strchr(url + n, '/')); n = (size_t) (slash + 1 - url)) {
                _cleanup_free_ char *folder = strndup(url, (size_t) (slash + 1 - url));
                char error[CURL_ERROR_SIZE];
                int e = folder ? begin(r, folder, error) : -ENOMEM;

                if (e < 0)
                        return e;
                curl_easy_setopt(r->easy, CURLOPT_CUSTOMREQUEST, "MKCOL");
                curl_easy_setopt(r->easy, CURLOPT_WRITEFUNCTION, on_reply);
                curl_easy_setopt(r->easy, CURLOPT_FOLLOWLOCATION, 0L);
                (void) curl_easy_perform(r->easy);
                if (interrupt_signal())
                        return -ECANCELED;
        }
        return 0;
}

int remote_put(Remote *r, const char *url, RemoteBody *body, char **ret_why) {
        long answer = 0;
        int e = put_once(r, url, body, &answer, ret_why);

        /* WebDAV says 409; nginx has a 500 for a folder that is not there. */
        if (e < 0 && !r->s3 && (answer == 404 || answer == 409 || answer == 500)) {
                e = make_folders(r, url);
                if (e < 0)
                        return e;
                e = put_once(r, url, body, &answer, ret_why);
        }
        return e == -ENOENT ? -EREMOTEIO : e;
}
