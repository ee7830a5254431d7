/* log.c - ablate watch RUN --log: prints the log of a run's training. */
#include "cli/results.h"
#include "lab/results/read.h"
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30 };

/* Returns the last `lines` lines of a text, all of it for 0. */
static const char *tail(const str *text, int64_t lines)
{
    const char *p = str_text(text) + text->n;
    if (!lines) return str_text(text);
    if (p > text->s && p[-1] == '\n') p--;
    for (; p > str_text(text); p--)
        if (p[-1] == '\n' && !--lines) break;
    return p;
}

static int read_run_of(const invocation *c, const char *name, arena *a, read_detail *d, err *e)
{
    CLEANUP(reader_end) reader *r = reader_open(&c->p.db, e);
    int64_t id = r ? reader_find_run(r, name, e) : -1;
    return id < 0 ? -1 : reader_run(r, id, a, d, e);
}

/* Prints text of a log with control characters escaped, because a plugin may have written it. */
static void print(const char *s, size_t n)
{
    CLEANUP(str_free) str out = {0};
    for (size_t at = 0; at < n; at++) {
        str_add_shown(&out, s + at, true);
        at += strlen(s + at);
        if (at < n) str_add(&out, "\\x00");
    }
    if (out.n) fwrite(out.s, 1, out.n, stdout);
}

/* Prints text appended to the file until the run has ended. */
static int follow(const invocation *c, const char *path, size_t from, err *e)
{
    for (bool last = false;;) {
        FILE *f = fopen(path, "rb");
        AUTOFREE char *line = NULL;
        size_t cap = 0;
        if (f && !fseek(f, (long)from, SEEK_SET))
            for (ssize_t n; (n = getline(&line, &cap, f)) > 0; from += (size_t)n) print(line, (size_t)n);
        if (f) fclose(f);
        if (fflush(stdout) || last) return 0;
        CLEANUP(arena_free) arena a = {0};
        read_detail d;
        int rc = read_run_of(c, c->word[0], &a, &d, e);
        bool other = !rc && (!d.run.log_path || !same(d.run.log_path, path));
        last = rc || other || (d.run.status != DB_RUNNING && d.run.status != DB_QUEUED);
        if (rc) return rc;
        if (!last) usleep(200000);
    }
}

int log_print(const invocation *c, int64_t lines, bool once)
{
    err e = {0};
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(str_free) str text = {0};
    read_detail d = {0};
    int rc = read_run_of(c, c->word[0], &a, &d, &e);
    if (!rc && !d.run.log_path)
        rc = fail(&e, "run %lld: found no log%s", (long long)d.run.id,
                  d.run.recorded ? ": the run was recorded elsewhere"
                  : d.n_attempts ? ""
                                 : ": the run was never started");
    bool found = !rc;
    if (!rc)
        rc = read_run_file(&d, d.run.log_path, &e) || file_read_regular(d.run.log_path, MOST_BYTES, &text, &e) ? -1 : 0;
    const char *from = rc ? "" : tail(&text, lines);
    if (!rc) print(from, (size_t)(str_text(&text) + text.n - from));
    if (!rc && !once) rc = follow(c, d.run.log_path, text.n, &e);
    if (rc && found && d.run.error) fprintf(stderr, "its last output: %s\n", d.run.error);
    return rc ? call_failed(c, &e) : 0;
}
