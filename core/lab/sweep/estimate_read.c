/* estimate_read.c - the parent side: starts the child, reads its lines and prints them. */
#include "lab/sweep/estimate.h"
#include "base/shell.h"
#include "lab/report/grid.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the child ---- */

static int start(const sweep_call *c, pid_t *pid)
{
    static char name[] = "estimate";
    int ends[2];
    AUTOFREE char **args = xcalloc((size_t)c->argc + 3, sizeof *args);
    args[0] = (char *)(uintptr_t)c->p->program;
    args[1] = name;
    for (int i = 1; i < c->argc; i++) args[i + 1] = c->argv[i];
    if (pipe2(ends, O_CLOEXEC)) return -1;
    pid_t parent = getpid();
    *pid = fork();
    if (*pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(127);
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 0), dup2(ends[1], 1), dup2(nothing, 2);
        execv(c->p->program, args);
        _exit(127);
    }
    close(ends[1]);
    if (*pid > 0) return ends[0];
    close(ends[0]);
    return -1;
}

static void read_line(sweep_costs *x, char *line, size_t *cap)
{
    row_estimate r;
    char word[8];
    if (has_prefix(line, "missing\t")) x->missing = arena_strdup(&x->memory, line + strlen("missing\t"));
    if (has_prefix(line, "unknown\t")) x->unknown = arena_strdup(&x->memory, line + strlen("unknown\t"));
    size_t row;
    int used = 0;
    if (has_prefix(line, "note\t")) str_addf(&x->notes, "%s\n", line + strlen("note\t"));
    if (sscanf(line, "none\t%zu\t%n", &row, &used) == 1 && used) {
        x->refused = grow(x->refused, &x->refused_cap, x->n_refused + 1, sizeof *x->refused);
        x->refused[x->n_refused++] = (row_refused){row, arena_strdup(&x->memory, line + used)};
    }
    if (sscanf(line, "gpus\t%d\t%lf", &x->gpus, &x->gpu_free) == 2) return;
    if (sscanf(line, "busy\t%lf", &x->busy) == 1) return;
    if (sscanf(line, "%7[a-z]\t%zu\t%zu\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%lf\t%zu\t%lf\t%lf\t%lf", word, &r.row, &r.left,
               &r.parameters, &r.flops_token, &r.memory, &r.disk, &r.seconds, &r.beside, &r.search, &r.trials,
               &r.gpu_memory, &r.flops, &r.flops_search) != 14)
        return;
    if (same(word, "timed") && x->timed < x->n) { /* lines follow the order of the rows */
        x->rows[x->timed++] = r;
        return;
    }
    x->rows = grow(x->rows, cap, x->n + 1, sizeof *x->rows);
    x->rows[x->n++] = r;
}

/* The child's work as last announced. */
typedef struct {
    char what[200];
    double since, limit; /* since: ticks() at the start; limit: seconds, 0: no limit */
} doing;

static bool takes_too_long(const doing *now) { return now->limit > 0 && ticks() - now->since > now->limit; }

/* Reads the child's lines until it closes them, or until a row takes too long (false). */
static bool read_lines(int fd, sweep_costs *out, doing *now)
{
    CLEANUP(str_free) str text = {0};
    size_t cap = 0;
    char part[4096];
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, 200);
        ssize_t n = ready > 0 ? read(fd, part, sizeof part) : -1;
        if (ready > 0 && n <= 0 && errno != EINTR) break;
        if (n > 0) str_addn(&text, part, (size_t)n);
        char *line = text.s, *end;
        for (; text.n && (end = strchr(line, '\n')); line = end + 1) {
            *end = 0;
            if (sscanf(line, "doing\t%lf\t", &now->limit) == 1) {
                snprintf(now->what, sizeof now->what, "%s", strrchr(line, '\t') + 1);
                now->since = ticks();
            } else
                read_line(out, line, &cap);
        }
        if (text.n) text.n -= (size_t)(line - text.s), memmove(text.s, line, text.n + 1);
        if (takes_too_long(now)) break;
    }
    return !takes_too_long(now);
}

void estimate_sweep(const sweep_call *c, sweep_costs *out)
{
    *out = (sweep_costs){0};
    pid_t pid = -1;
    doing now = {0};
    int fd = start(c, &pid), status = 0;
    bool ends = fd < 0 || read_lines(fd, out, &now);
    if (!ends) kill(pid, SIGKILL);
    if (fd >= 0) close(fd);
    if (pid > 0) status = process_wait(pid);
    if (!ends)
        out->unknown =
            arena_printf(&out->memory, "row %s: a pass over the model did not end in %g s; does a plugin loop?",
                         now.what, now.limit);
    else if (WIFSIGNALED(status))
        out->unknown =
            arena_printf(&out->memory, "the estimating process was ended by signal %d (%s)%s%s", WTERMSIG(status),
                         strsignal(WTERMSIG(status)), *now.what ? ", at row " : "", now.what);
    else if (WEXITSTATUS(status) && !out->missing)
        out->unknown = arena_printf(&out->memory, "the estimating process ended with exit status %d%s%s",
                                    WEXITSTATUS(status), *now.what ? ", at row " : "", now.what);
    else if (!out->n && !out->missing && !out->unknown)
        out->unknown = "no row could be estimated";
}

void estimate_free(sweep_costs *x)
{
    free(x->rows);
    free(x->refused);
    str_free(&x->notes);
    arena_free(&x->memory);
    *x = (sweep_costs){0};
}

/* ---- words ---- */

static const char *span(double seconds, char out[32])
{
    if (isnan(seconds))
        snprintf(out, 32, "?");
    else if (seconds < 90)
        snprintf(out, 32, "%.0f s", seconds > 0 && seconds < 1 ? 1 : seconds);
    else if (seconds < 5400)
        snprintf(out, 32, "%.0f min", seconds / 60);
    else if (seconds < 172800)
        snprintf(out, 32, "%.1f hours", seconds / 3600);
    else if (seconds < 2 * 31557600.0)
        snprintf(out, 32, "%.1f days", seconds / 86400);
    else
        snprintf(out, 32, "%.1f years", seconds / 31557600);
    return out;
}

static const char *size(double bytes, char out[32])
{
    if (bytes >= 1e9)
        snprintf(out, 32, "%.1f GB", bytes / 1e9);
    else
        snprintf(out, 32, "%.0f MB", bytes / 1e6);
    return out;
}

void estimate_line(const sweep_costs *x, const size_t *n_runs, bool searches, int64_t workers, int64_t threads,
                   str *out)
{
    size_t runs = 0, trials = 0;
    double updates = 0, beside = 0, search = 0, longest = 0, memory = 0, disk = 0, gpu = 0, flops = 0;
    char text[5][32];
    for (size_t i = 0; i < x->n; i++) {
        const row_estimate *r = &x->rows[i];
        double n = (double)n_runs[r->row];
        if (!n_runs[r->row]) continue; /* a row that is not run may have unknown times */
        runs += n_runs[r->row];
        updates += r->seconds * n, beside += r->beside * n, disk += r->disk * n;
        flops += r->flops * n;
        if (searches) search += r->search, trials += r->trials, flops += r->flops_search;
        if (r->seconds + r->beside > longest) longest = r->seconds + r->beside;
        if (r->memory > memory) memory = r->memory;
        if (r->gpu_memory > gpu) gpu = r->gpu_memory;
    }
    str_addf(out, "%zu run%s: about %s on this machine%s (updates %s; data, dev perplexity, decoding and scores %s",
             runs, runs == 1 ? "" : "s", span(updates + beside + search, text[0]),
             workers > 1 ? ", one after the other" : "", span(updates, text[1]), span(beside, text[2]));
    if (trials) str_addf(out, "; %zu trials of searches %s", trials, span(search, text[3]));
    str_addc(out, ')');
    double hours = gpu > 0 ? NAN : (updates + beside + search) * (double)threads / 3600;
    if (hours > 0) str_addf(out, ", %.2g core hours", hours);
    if (flops > 0) str_addf(out, "%s%.2g FLOPs", hours > 0 ? " and " : ", ", flops);
    str_addf(out, ", %s of memory each", size(memory, text[0]));
    if (gpu > 0) str_addf(out, " and %s of GPU memory each", size(gpu, text[0]));
    str_addf(out, ", %s of disk", size(disk, text[4]));
    if (workers > 1)
        str_addf(out, "; %lld at a time about %s", (long long)workers,
                 span(fmax(longest, (updates + beside + search) / (double)workers), text[0]));
}

void estimate_searches(const sweep_costs *x, str *out)
{
    double seconds = 0;
    size_t trials = 0;
    char text[32];
    for (size_t i = 0; i < x->n; i++) seconds += x->rows[i].search, trials += x->rows[i].trials;
    if (trials) str_addf(out, "searches: %zu trials, about %s\n", trials, span(seconds, text));
}

void estimate_table(const sweep_costs *x, const spec *s, str *out)
{
    static const char *const headings[] = {"row",           "params (M)", "MFLOPs per token", "memory", "updates",
                                           "time of a run", "search"};
    char text[32];
    CLEANUP(grid_free) grid t = {0};
    bool searches = false;
    for (size_t k = 0; k < x->n; k++) searches = searches || x->rows[k].trials;
    for (size_t i = 0; i < LENGTH(headings) - !searches; i++) grid_column(&t, headings[i], i > 0);
    for (size_t i = 0; i < s->n_rows; i++) {
        const row_estimate *r = NULL;
        if (!s->rows[i].run || s->rows[i].same_as >= 0) continue;
        for (size_t k = 0; k < x->n; k++)
            if (x->rows[k].row == i) r = &x->rows[k];
        grid_row(&t, false);
        grid_set(&t, 0, "%s", s->rows[i].name);
        if (!r) {
            grid_set(&t, 1, "n/a");
            for (size_t k = 0; k < x->n_refused; k++)
                if (x->refused[k].row == i) grid_footnote(&t, "n/a %s: %s", s->rows[i].name, x->refused[k].why);
            continue;
        }
        grid_set(&t, 1, r->parameters < 1e4 ? "%.2g" : "%.2f", r->parameters / 1e6);
        grid_set(&t, 2, r->flops_token < 1e5 ? "%.2g" : "%.1f", r->flops_token / 1e6);
        grid_set(&t, 3, "%s", size(r->memory, text));
        grid_set(&t, 4, "%s", span(r->seconds, text));
        grid_set(&t, 5, "%s", span(r->seconds + r->beside, text));
        if (r->trials) grid_set(&t, 6, "%zu trials, %s", r->trials, span(r->search, text));
    }
    grid_print(&t, TABLE_TEXT, out);
}
