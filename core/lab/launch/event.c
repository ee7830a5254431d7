/* event.c - the event lines between worker and host. */
#include "lab/launch/event.h"
#include "base/cleanup.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int fd;
    bool broken;     /* a write failed */
    double reported; /* ticks() of the last progress */
} pipe_to_host = {.fd = -1};

void events_open(int fd)
{
    pipe_to_host.fd = fd;
    if (fd >= 0) signal(SIGPIPE, SIG_IGN);
}
bool events_broken(void) { return pipe_to_host.broken; }

/* Sends nothing after a failed write: the next line could follow half a line, or the run could end without a result. */
static void send_line(str *line)
{
    str_addc(line, '\n');
    if (pipe_to_host.fd >= 0 && !pipe_to_host.broken)
        pipe_to_host.broken = file_write_all(pipe_to_host.fd, line->s, line->n) != 0;
    str_free(line);
}

static void add_text(str *line, const char *s)
{
    str_addc(line, '\t');
    for (; s && *s; s++) {
        if (*s == '\t')
            str_add(line, "\\t");
        else if (*s == '\n')
            str_add(line, "\\n");
        else if (*s == '\\')
            str_add(line, "\\\\");
        else
            str_addc(line, *s);
    }
}
static void add_number(str *line, double x) { str_addf(line, "\t%.17g", x); }

static str begin(const char *kind)
{
    str line = {0};
    str_add(&line, kind);
    return line;
}

void event_progress(int64_t step, int64_t total, double ppl, double tokens_per_second)
{
    if (ticks() - pipe_to_host.reported < 0.3 && step != total) return;
    pipe_to_host.reported = ticks();
    str line = begin("progress");
    str_addf(&line, "\t%lld\t%lld", (long long)step, (long long)total);
    add_number(&line, ppl);
    add_number(&line, tokens_per_second);
    send_line(&line);
}

void event_point(const char *metric, int64_t step, double value)
{
    str line = begin("point");
    add_text(&line, metric);
    str_addf(&line, "\t%lld", (long long)step);
    add_number(&line, value);
    send_line(&line);
}

void event_result(const metric *m, const char *signature, double value, int64_t step, const char *how, size_t n,
                  const double *stats)
{
    str line = begin("result");
    size_t width = m->sum ? m->sum->width : 0;
    add_text(&line, m->name);
    add_text(&line, metric_direction_text(m));
    add_text(&line, m->unit);
    add_text(&line, m->sum ? m->sum->name : NULL);
    add_text(&line, signature);
    add_number(&line, value);
    str_addf(&line, "\t%lld", (long long)step);
    add_text(&line, how);
    if (!stats || !width) n = width = 0;
    str_addf(&line, "\t%zu\t%zu", n, width);
    for (size_t i = 0; i < n * width; i++) add_number(&line, stats[i]);
    send_line(&line);
}

/* Sends a line with up to two fields; leaves out a NULL field. */
static void pair(const char *kind, const char *a, const char *b)
{
    str line = begin(kind);
    if (a) add_text(&line, a);
    if (b) add_text(&line, b);
    send_line(&line);
}
void event_phase(const char *name) { pair("phase", name, NULL); }
void event_fact(const char *key, const char *value) { pair("fact", key, value); }
void event_fact_number(const char *key, double value)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", value);
    pair("fact", key, text);
}
void event_artifact(const char *kind, const char *path) { pair("artifact", kind, path); }
void event_error(const char *message) { pair("error", message, NULL); }
void event_diverged(const char *message) { pair("diverged", message, NULL); }
void event_stopped(void) { pair("stopped", NULL, NULL); }
void event_end(void) { pair("end", NULL, NULL); }
void event_idle(void) { pair("idle", NULL, NULL); }

void event_run_line(str *out, const char *folder, int64_t seed, bool fresh)
{
    str_add(out, "run");
    add_text(out, folder);
    str_addf(out, "\t%lld\t%d\n", (long long)seed, fresh);
}

void event_threads_line(str *out, int threads) { str_addf(out, "threads\t%d\n", threads); }

/* Reads without waiting; a line of a few bytes arrives whole. */
int event_threads(int fd)
{
    char text[256];
    int64_t threads = 0;
    ssize_t n = read(fd, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        if (has_prefix(line, "threads\t")) parse_int(line + strlen("threads\t"), &threads);
    }
    return threads > 0 && threads < 1 << 16 ? (int)threads : 0;
}

int event_next(FILE *from, char **folder, int64_t *seed, bool *fresh)
{
    AUTOFREE char *line = NULL;
    char *f[4];
    size_t cap = 0;
    int got = getline(&line, &cap, from) > 0;
    if (got && event_split(line, f, 4) == 4 && same(f[0], "run") && parse_int(f[2], seed))
        *folder = xstrdup(f[1]), *fresh = same(f[3], "1");
    else if (got)
        got = -1;
    return got;
}

int event_split(char *line, char **field, int max)
{
    int n = 0;
    char *to = line;
    line[strcspn(line, "\n")] = 0;
    field[n++] = to;
    for (char *s = line; *s; s++) {
        if (*s == '\t' && n < max) {
            *to++ = 0;
            field[n++] = to;
        } else if (*s == '\\' && s[1]) {
            s++;
            *to++ = *s == 't' ? '\t' : *s == 'n' ? '\n' : *s;
        } else {
            *to++ = *s;
        }
    }
    *to = 0;
    return n;
}

double *event_stats(const char *field, size_t rows, size_t width)
{
    size_t n, k = 0;
    /* a number needs at least two bytes: a digit and a tab */
    if (__builtin_mul_overflow(rows, width, &n) || !n || n > strlen(field) / 2 + 1) return NULL;
    double *v = xmalloc(n * sizeof *v);
    for (const char *at = field; k < n; k++) {
        char *end;
        v[k] = strtod(at, &end);
        if (end == at) break;
        at = end;
    }
    if (k == n) return v;
    free(v);
    return NULL;
}
