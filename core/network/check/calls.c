/* calls.c - calls a plugin thousands of times, under other dates and environments and in a second process: it must
 * build equal graphs, compute equal bits and leak no memory. */
#include "network/check/internal.h"
#include "network/plugin/python.h"
#include "base/shell.h"
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum {
    TRACES = 2000, /* number of traces; each calls a plugin of a layer three times or more */
    SETTLED = 100, /* number of traces after which memory may not grow any more */
    KEPT = 16,     /* a memory growth of this many bytes per trace counts as a leak */
    MUCH = 64 << 20,
    DAY = 86400
};

/* ---- equal traces ---- */

/* Mixes data into a hash, eight bytes at a time for speed. */
static uint64_t mix(uint64_t h, const void *data, size_t n)
{
    const char *p = data;
    for (; n; n -= n < 8 ? n : 8, p += 8) {
        uint64_t w = 0;
        memcpy(&w, p, n < 8 ? n : 8);
        h = (h ^ w) * 0x9E3779B97F4A7C15u;
        h ^= h >> 32;
    }
    return h;
}

static uint64_t hash_of(const node *v)
{
    uint64_t h = mix((uint64_t)v->op << 8 | v->type, v->dim, sizeof v->dim);
    h = mix(h, v->in, sizeof v->in);
    h = mix(h, &v->a, sizeof v->a);
    if (v->op == OP_CONST) h = mix(h, v->data, (size_t)node_count(v) * dtype_size(v->type));
    return h;
}

void check_hash_tape(const ab_ctx *c, uint64_t *out, int32_t n)
{
    for (int32_t i = 1; i < c->n && i < n; i++) out[i] = hash_of(&c->v[i]);
    for (const op_use *k = c->calls; k; k = k->next)
        if (k->attr && k->y.id < n) out[k->y.id] = mix(out[k->y.id], k->attr, k->attr_size);
}

static void report_difference(const ab_ctx *c, int32_t i, int trace, const pairing *w, check_result *r)
{
    char shape[64], where[512] = "";
    const node *v = &c->v[i < c->n ? i : c->n - 1];
    if (v->file) snprintf(where, sizeof where, " (made at %s:%d)", v->file, v->line);
    check_fail(r,
               "%s: call %d builds another graph than the first: %s %s%s differs. The graph may depend on arguments "
               "and settings only: is there an uninitialised array, a counter, the time, the environment, a file?",
               w->name, trace + 1, op_names[v->op], shape_text(v->dim, shape), where);
}

static struct {
    int dirt;  /* byte that fills the stack before a plugin runs */
    pid_t pid; /* the second process; 0: not started */
    int to, from;
} state; /* global, because callbacks without arguments read it */
static __attribute__((noinline)) void dirty_stack(void)
{
    char used[1 << 13];
    memset(used, state.dirt, sizeof used);
    __asm__ volatile("" : : "r"(used) : "memory"); /* keeps the compiler from removing the writes */
}

static void trace_often(const pairing *w, model *m, bool training, int n, check_result *r)
{
    model_shape shape = {.batch = 2, .src_rows = 7, .tgt_rows = 7, .src_time = 4, .tgt_time = 4};
    AUTOFREE uint64_t *first = NULL, *now = NULL;
    int32_t nodes = 0;
    size_t settled = 0;
    err e = {0};
    for (int i = 0; i < n && r->outcome != CHECK_FAIL; i++) {
        check_disguise_as((int64_t)i * (DAY + 3671), i % 4);
        mallopt(M_PERTURB, 1 + i % 255);
        state.dirt = i * 37;
        ab_ctx *c = model_loss_tape(m, &shape, training, &e);
        mallopt(M_PERTURB, 0);
        if (!c) {
            if (i)
                check_fail(r, "%s: call %d: %s", w->name, i + 1, e.text);
            else
                check_none(r, "%s", e.text);
            break;
        }
        if (!i) {
            nodes = c->n;
            first = xcalloc((size_t)nodes, sizeof *first), now = xcalloc((size_t)nodes, sizeof *now);
        }
        check_hash_tape(c, i ? now : first, nodes);
        int32_t k = 1;
        while (k < nodes && k < c->n && (!i || now[k] == first[k])) k++;
        if (k < nodes || c->n != nodes) report_difference(c, k, i, w, r);
        tape_free(c);
        size_t used = check_memory_in_use();
        if (i == SETTLED) settled = used;
        if (i > SETTLED && used > settled &&
            (used - settled > MUCH || (i == n - 1 && used - settled > (size_t)(i - SETTLED) * KEPT)))
            check_fail(r,
                       "%s: %d calls of the model keep %.3g bytes each: a plugin frees what it allocates, and need not "
                       "allocate at all (ab_const and ab_table copy)",
                       w->name, i - SETTLED, (double)(used - settled) / (i - SETTLED));
    }
    check_disguise_as(0, 0);
}

/* ---- other processes ---- */

typedef struct {
    uint64_t hash; /* hashes what the plugin computes */
    char message[256];
} outcome;

static uint64_t hash_losses(const plugin *p, err *e)
{
    pairing w;
    check_result none = {0};
    uint64_t h = 0;
    if (!check_first_pairing(p, &w, &none)) fail(e, "%s", none.message);
    AUTOFREE sentences *s = xmalloc(sizeof *s);
    check_sentences(s);
    for (int training = 0; training < 2 && !e->text[0]; training++) {
        CLEANUP(model_free) model m;
        CLEANUP(pass_close) pass q = {0};
        if (check_model_open(&m, &w, &(model_kind){.compute = F64, .dropout = 0.2}, e)) break;
        if (!pass_open(&q, &m, s, training, 2, 0, e) && !pass_run(&q, 1, e)) {
            double loss = pass_loss(&q);
            h = mix(mix(h, &loss, sizeof loss), m.params.grad, training ? m.params.total * sizeof(double) : 0);
        }
    }
    return h;
}

static outcome outcome_of(const plugin *p)
{
    ab_kind kind = p->desc.kind;
    check_hash *hash = kind == AB_OPTIMIZER  ? check_hash_updates
                       : kind == AB_TASK     ? check_hash_examples
                       : kind == AB_SCHEDULE ? check_hash_rates
                                             : hash_losses;
    err e = {0};
    outcome o = {hash(p, &e), ""};
    snprintf(o.message, sizeof o.message, "%.250s", e.text);
    return o;
}

/* Copies a file to memory, because the sandbox forbids writing files. Returns the copy's descriptor, or -1 and e. */
static int copy_file(const char *from, err *e)
{
    CLEANUP(str_free) str text = {0};
    int fd = file_read(from, &text, e) ? -1 : memfd_create("plugin", 0);
    if (fd >= 0 && file_write_all(fd, text.s, text.n)) close(fd), fd = -1;
    if (fd < 0 && !e->text[0]) fail(e, "cannot copy the plugin to memory: %s", strerror(errno));
    return fd;
}

/* In a child: loads the plugin again with another address, date, folder and environment, and sends its outcome. */
static void other_life(const char *path, int to)
{
    enum { ELSEWHERE = 3 << 20 };
    outcome o = {0};
    err e = {0};
    char copy[64], *data = getenv("ABLATE_DATA");
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = 100}, NULL);
    clearenv();
    setenv("PATH", "/usr/bin:/bin", 1), setenv("TZ", "Pacific/Auckland", 1), setenv("USER", "nobody", 1);
    if (data) setenv("ABLATE_DATA", data, 1);
    mmap(NULL, ELSEWHERE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int fd = copy_file(path, &e);
    snprintf(copy, sizeof copy, "/proc/self/fd/%d", fd);
    const plugin *again = fd < 0 ? NULL : plugin_load(has_suffix(path, ".py") ? path : copy, &e);
    if (again) {
        check_disguise(again);
        check_disguise_as(200LL * DAY + 12345, 1);
        if (again->desc.kind == AB_TASK || !chdir("/"))
            o = outcome_of(again); /* a task may read files of this folder */
    }
    if (e.text[0]) snprintf(o.message, sizeof o.message, "%.250s", e.text);
    _exit(write(to, &o, sizeof o) == sizeof o ? 0 : 1);
}

void check_second_start(int (*shut)(err *e))
{
    int there[2], back[2];
    err e = {0};
    state.pid = -1;
    if (pipe(there) || pipe(back)) return;
    fflush(NULL);
    state.pid = fork();
    if (state.pid == 0) {
        char lives, path[4096];
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(there[1]), close(back[0]);
        ssize_t n = read(there[0], &lives, 1) == 1 ? read(there[0], path, sizeof path) : 0;
        int status = n < 1 || path[n - 1];
        for (int i = 1; !status && i <= lives; i++) {
            pid_t pid = fork();
            if (pid) {
                status = pid < 0 ? 1 : process_wait(pid);
                continue;
            }
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            python_differ(i);
            if (!shut || !shut(&e)) other_life(path, back[1]);
            _exit(1);
        }
        _exit(status != 0);
    }
    close(there[0]), close(back[1]);
    state.to = there[1], state.from = back[0];
}

void check_elsewhere(const plugin *p, const char *what, check_result *r)
{
    /* Python's hashes and addresses differ in each life. A choice between two values is equal in 8 with probability
     * 1/256; examples, which take long to make, differ in the order of more. */
    char lives = !has_suffix(p->path, ".py") ? 1 : p->desc.kind == AB_TASK ? 2 : 8;
    int status = 0;
    outcome mine = outcome_of(p), other = mine;
    if (check_disguise(p)) nanosleep(&(struct timespec){1, 100000000}, NULL); /* so that the clock differs */
    if (!state.pid) check_second_start(NULL);
    pid_t pid = state.pid;
    size_t n = strlen(p->path) + 1;
    bool got = pid > 0 && write(state.to, &lives, 1) == 1 && write(state.to, p->path, n) == (ssize_t)n;
    for (; lives && got && other.hash == mine.hash && same(other.message, mine.message); lives--)
        got = read(state.from, &other, sizeof other) == sizeof other;
    if (pid > 0) close(state.to), close(state.from);
    state.pid = 0;
    if (pid > 0) status = process_wait(pid);
    if (pid < 0)
        check_fail(r, "no second process: %s", strerror(errno));
    else if (!got)
        check_fail(r, "%s: a second process that loads the plugin ends without a result (status %d)", p->desc.name,
                   status);
    else if (mine.hash != other.hash || !same(mine.message, other.message))
        check_fail(r,
                   "%s: a second process, on another day and in another environment, has other %s%s%s: they may depend "
                   "on arguments, settings and the run's seed only, not on time, environment, addresses or files",
                   p->desc.name, what, *other.message ? ", with the error " : "", other.message);
}

void check_calls(const plugin *p, check_result *r)
{
    pairing one;
    err e = {0};
    if (!check_first_pairing(p, &one, r)) return;
    check_disguise(p);
    CLEANUP(model_free) model m;
    if (check_model_open(&m, &one, &(model_kind){.compute = F64, .dropout = 0.1}, &e)) {
        check_none(r, "%s", e.text);
        return;
    }
    model_before_plugin = dirty_stack;
    trace_often(&one, &m, false, TRACES, r);
    if (r->outcome != CHECK_FAIL) trace_often(&one, &m, true, 2 * SETTLED, r);
    model_before_plugin = NULL;
    check_note(r, "%d calls of a model, each on another day", TRACES);
}

void check_process(const plugin *p, check_result *r)
{
    pairing one;
    if (!check_first_pairing(p, &one, r)) return;
    check_elsewhere(p, "losses or gradients", r);
    check_note(r, "the same bits in a second process");
}
