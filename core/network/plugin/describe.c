/* describe.c - opens a plugin in a child process first, which describes it to a host that opens no plugins. */
#include "network/plugin/open.h"
#include "base/shell.h"
#include "base/below.h"
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 20, MOST_ROWS = 1000, MOST_TEXT = 1 << 16, PATIENCE = 20, COUNTS = 600 }; /* seconds */
enum { TRIED = 117 }; /* the child's exit status after success, which no constructor's exit(0) imitates */
static const uint32_t NO_TEXT = UINT32_MAX;

static int (*enter)(err *e);
void plugin_describe_in(int (*shut)(err *e)) { enter = shut; }

typedef struct {
    bool opened;
    ab_kind kind;
    uint32_t minor, claims, n_params, n_calls;
    uint64_t cfg_size;
    char sha256[65];
    char iface[sizeof((plugin *)0)->iface];
} head;

static void write_text(str *out, const char *s)
{
    uint32_t n = s ? (uint32_t)strlen(s) : NO_TEXT;
    str_addn(out, (const char *)&n, sizeof n);
    if (s) str_addn(out, s, n);
}

static void write_plugin(const plugin *p, const err *e, str *out)
{
    head h = {.opened = p != NULL};
    if (p) {
        h.kind = p->desc.kind, h.minor = p->desc.minor, h.claims = p->desc.claims, h.cfg_size = p->desc.cfg_size;
        memcpy(h.sha256, p->sha256, sizeof h.sha256);
        memcpy(h.iface, &p->iface, sizeof h.iface);
        while (p->desc.params && p->desc.params[h.n_params].name) h.n_params++;
        while (p->desc.calls && p->desc.calls[h.n_calls]) h.n_calls++;
    }
    str_addn(out, (const char *)&h, sizeof h);
    const char *const texts[] = {p ? p->desc.name : e->text, p ? p->desc.doc : NULL, p ? p->desc.paper : NULL,
                                 p ? p->desc.version : NULL};
    for (size_t i = 0; i < LENGTH(texts); i++) write_text(out, texts[i]);
    for (uint32_t i = 0; i < h.n_params; i++) {
        const ab_option *q = &p->desc.params[i];
        str_addn(out, (const char *)q, sizeof *q);
        write_text(out, q->name), write_text(out, q->choices), write_text(out, q->doc);
    }
    for (uint32_t i = 0; i < h.n_calls; i++) write_text(out, p->desc.calls[i]);
}

typedef struct {
    const char *at;
    size_t left;
    bool bad;
} input;

static void read_bytes(input *in, void *to, size_t n)
{
    in->bad = in->bad || n > in->left;
    if (in->bad) return;
    memcpy(to, in->at, n);
    in->at += n, in->left -= n;
}

static const char *read_text(input *in)
{
    uint32_t n = NO_TEXT;
    read_bytes(in, &n, sizeof n);
    in->bad = in->bad || (n != NO_TEXT && (n > MOST_TEXT || n > in->left));
    if (in->bad || n == NO_TEXT) return NULL;
    const char *text = xstrndup(in->at, n);
    in->at += n, in->left -= n;
    return text;
}

/* Reads a description from the child. The plugin lives until the program ends. */
static plugin *read_plugin(input *in, const char *full, err *e)
{
    head h;
    plugin *p = xcalloc(1, sizeof *p);
    read_bytes(in, &h, sizeof h);
    const char *name = read_text(in);
    if (!in->bad && !h.opened) return fail(e, "%s", name ? name : full), NULL;
    p->desc = (ab_plugin){.name = name, .doc = read_text(in), .paper = read_text(in), .version = read_text(in)};
    in->bad = in->bad || h.n_params > MOST_ROWS || h.n_calls > MOST_ROWS || h.kind < 1 || h.kind >= AB_KIND_COUNT ||
              !is_plain_word(name) || !p->desc.doc || h.sha256[64];
    if (in->bad) return fail(e, "%s: damaged description", full), NULL;
    p->desc.kind = h.kind, p->desc.minor = h.minor, p->desc.claims = h.claims, p->desc.cfg_size = h.cfg_size;
    memcpy(p->sha256, h.sha256, sizeof h.sha256);
    memcpy(&p->iface, h.iface, sizeof h.iface);
    ab_option *params = xcalloc(h.n_params + 1, sizeof *params);
    const char **calls = xcalloc(h.n_calls + 1, sizeof *calls);
    for (uint32_t i = 0; i < h.n_params && !in->bad; i++) {
        read_bytes(in, &params[i], sizeof params[i]);
        params[i].name = read_text(in), params[i].choices = read_text(in), params[i].doc = read_text(in);
        if (in->bad || !is_plain_word(params[i].name)) return fail(e, "%s: damaged description", full), NULL;
        if (plugin_check_param(&p->desc, &params[i], full, e)) return NULL;
    }
    for (uint32_t i = 0; i < h.n_calls && !in->bad; i++) in->bad = !is_plain_word(calls[i] = read_text(in));
    if (in->bad || in->left) return fail(e, "%s: damaged description", full), NULL;
    p->desc.params = params, p->desc.calls = h.n_calls ? calls : NULL;
    p->path = xstrdup(full), p->described = true;
    return p;
}

static void open_and_exit(const char *full, int to)
{
    err e = {0};
    str out = {0};
    size_t at = 0;
    signal(SIGABRT, SIG_DFL), signal(SIGSEGV, SIG_DFL), signal(SIGBUS, SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(PATIENCE);
    const plugin *p = enter && enter(&e) ? NULL : plugin_open_file(full, &e);
    if (enter) write_plugin(p, &e, &out);
    for (ssize_t n; at < out.n && (n = write(to, out.s + at, out.n - at)) > 0;) at += (size_t)n;
    _exit(at == out.n ? TRIED : 1);
}

/* Reports a child that did not end with TRIED. */
static int expect_tried(const char *path, int status, err *e)
{
    int by = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (by == SIGALRM) return fail(e, "%s: cannot be opened: it took longer than %d s", path, PATIENCE);
    if (by)
        return fail(e,
                    "%s: cannot be opened: died by signal %d (%s) while it was opened; is the file complete, does it "
                    "have a constructor?",
                    path, by, strsignal(by));
    if (WEXITSTATUS(status) == TRIED) return 0;
    return fail(e, "%s: cannot be opened: it ends the process with exit status %d while it is opened", path,
                WEXITSTATUS(status));
}

plugin *plugin_open_tried(const char *path, const char *full, err *e)
{
    int ends[2] = {-1, -1}, status = 0;
    str said = {0};
    if (!enter && has_suffix(full, ".py")) return plugin_open_file(full, e); /* Python reports faults as exceptions */
    fflush(NULL);
    pid_t pid = pipe(ends) ? -1 : fork();
    if (pid == 0) open_and_exit(full, ends[1]);
    if (pid < 0) close(ends[0]), close(ends[1]);
    if (pid < 0) return enter ? (fail(e, "%s: %s", path, strerror(errno)), NULL) : plugin_open_file(full, e);
    close(ends[1]);
    file_read_rest(ends[0], MOST_BYTES, &said);
    close(ends[0]);
    status = process_wait(pid);
    plugin *p = NULL;
    if (!expect_tried(path, status, e))
        p = enter ? read_plugin(&(input){said.s, said.n, false}, full, e) : plugin_open_file(full, e);
    str_free(&said);
    return p;
}

double plugin_count_apart(double (*count)(void *self, err *e), void *self, err *e)
{
    struct {
        double value;
        err why;
    } said = {.value = 0};
    int ends[2];
    if (!enter) return count(self, e);
    fflush(NULL);
    if (pipe(ends)) return fail(e, "cannot start the process that counts a model's costs: %s", strerror(errno)), NAN;
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(COUNTS);
        said.value = enter(&said.why) || plugin_open_described(&said.why) ? NAN : count(self, &said.why);
        _exit(write(ends[1], &said, sizeof said) == sizeof said ? 0 : 1);
    }
    close(ends[1]);
    bool got = pid > 0 && read(ends[0], &said, sizeof said) == sizeof said;
    close(ends[0]);
    if (pid > 0) process_wait(pid);
    said.why.text[sizeof said.why.text - 1] = 0;
    if (!got) return fail(e, "the process in the sandbox that counts a model's costs ended without a result"), NAN;
    if (said.why.text[0]) fail(e, "%s", said.why.text);
    return said.value;
}
