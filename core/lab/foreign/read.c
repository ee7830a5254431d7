/* read.c - detects the kind of a file, and reads folders. */
#include "lab/foreign/sheet.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 20000, MOST_DEPTH = 16 };

/* Adds the file's name to its records, so that a file per run needs no columns for row and seed. */
static int add_file_name(sheet *s, size_t from, const char *path, err *e)
{
    const char *base = path_end(path), *dot = strrchr(base, '.');
    AUTOFREE char *stem = xstrndup(base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
    size_t column, end = s->n;
    int bad = sheet_column(s, SHEET_FILE, &column, e);
    for (size_t i = from; i < end && !bad; i++) {
        s->n = i + 1; /* sheet_add writes into the last record */
        sheet_add(s, column, stem);
    }
    s->n = end;
    return bad;
}

static int read_text(sheet *s, const char *path, str *text, err *e)
{
    size_t mark = byte_order_mark(str_text(text), text->n), n = text->n - mark, from = s->n;
    const char *p = str_text(text) + mark;
    size_t blank = strspn(p, " \t\r\n");
    int bad = p[blank] == '{' ? json_lines_parse(s, p, n, path, e) : csv_parse(s, p, n, path, e);
    return bad ? -1 : add_file_name(s, from, path, e);
}

/* ---- folders ---- */

typedef struct {
    char **at;
    size_t n, cap;
} paths;

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static int walk(const char *folder, paths *out, int depth, err *e)
{
    DIR *d = opendir(folder);
    if (!d) return fail(e, "%s: cannot be read", folder);
    int bad = 0;
    for (struct dirent *x; !bad && (x = readdir(d));) {
        if (x->d_name[0] == '.') continue;
        char *path = path_join(folder, x->d_name);
        if (x->d_type != DT_LNK && is_folder(path)) { /* links may form a cycle */
            if (depth < MOST_DEPTH) bad = walk(path, out, depth + 1, e);
            free(path);
            continue;
        }
        out->at = grow(out->at, &out->cap, out->n + 1, sizeof *out->at);
        out->at[out->n++] = path;
        if (out->n > MOST_FILES) bad = fail(e, "%s: found more than %d files", folder, MOST_FILES);
    }
    closedir(d);
    return bad;
}

static bool is_results(const char *path) { return has_prefix(path_end(path), "results") && has_suffix(path, ".json"); }

/* Returns the row's name: the path from `folder` to the file's folder. */
static char *run_of(const char *folder, const char *path)
{
    const char *rest = path + strlen(folder);
    while (*rest == '/') rest++;
    const char *slash = strrchr(rest, '/');
    return slash ? xstrndup(rest, (size_t)(slash - rest)) : xstrdup(path_end(folder));
}

/* Returns the task in "samples_TASK_2024-05-01T10-00-00.123456.jsonl". */
static char *task_of(const char *path)
{
    const char *task = path_end(path) + strlen("samples_"), *end = strrchr(task, '_');
    return xstrndup(task, end ? (size_t)(end - task) : strcspn(task, "."));
}

/* Do the samples belong to the results? Yes if both are in one folder and their names have the same time. */
static bool belongs(const char *samples, const char *results)
{
    size_t folder = (size_t)(path_end(results) - results);
    const char *time = strrchr(path_end(results), '_'), *own = strrchr(path_end(samples), '_');
    if ((size_t)(path_end(samples) - samples) != folder || strncmp(samples, results, folder)) return false;
    if (!time || !own) return true;
    size_t n = strlen(time) - strlen(".json");
    return !strncmp(time, own, n);
}

static int read_lm_eval(sheet *s, const paths *all, size_t i, err *e)
{
    CLEANUP(str_free) str text = {0}, model = {0};
    int bad = file_read_regular(all->at[i], MOST_FILE, &text, e);
    if (!bad && is_lm_eval(str_text(&text))) {
        bad = lm_eval_results(s, text.s, all->at[i], &model, e);
        for (size_t k = 0; k < all->n && !bad; k++) {
            const char *path = all->at[k];
            if (!has_prefix(path_end(path), "samples_") || !has_suffix(path, ".jsonl") || !belongs(path, all->at[i]))
                continue;
            AUTOFREE char *task = task_of(path);
            bad = file_read_regular(path, MOST_FILE, &text, e) ||
                  lm_eval_samples(s, str_text(&text), text.n, path, task, str_text(&model), e);
        }
    }
    return bad ? -1 : 0;
}

static bool is_events(const char *path) { return strstr(path_end(path), "tfevents") != NULL; }
static bool is_state(const char *path) { return same(path_end(path), "trainer_state.json"); }

/* Reads a file of one run: events, or a Trainer's state. */
static int read_log(sheet *s, const char *path, const char *run, err *e)
{
    CLEANUP(str_free) str text = {0};
    int bad = file_read_regular(path, MOST_FILE, &text, e);
    if (!bad) bad = (is_events(path) ? events_parse : trainer_state_parse)(s, str_text(&text), text.n, path, run, e);
    return bad ? -1 : 0;
}

/* Returns the run of RUN or RUN/checkpoint-500, and the checkpoint's step. RUN's own state is the latest. */
static char *run_of_state(const char *folder, const char *path, int64_t *step)
{
    char *run = run_of(folder, path), *slash = strrchr(run, '/'), *last = slash ? slash + 1 : run;
    bool checkpoint = has_prefix(last, "checkpoint-") && parse_int(last + strlen("checkpoint-"), step);
    if (!checkpoint) return *step = INT64_MAX, run;
    char *parent = slash ? xstrndup(run, (size_t)(slash - run)) : xstrdup(path_end(folder));
    free(run);
    return parent;
}

/* Reads a state unless the run has a later one, which repeats its history. */
static int read_last_state(sheet *s, const char *folder, const paths *all, size_t i, err *e)
{
    int64_t step, other;
    AUTOFREE char *run = run_of_state(folder, all->at[i], &step);
    bool last = true;
    for (size_t k = 0; k < all->n && last; k++) {
        AUTOFREE char *of = is_state(all->at[k]) ? run_of_state(folder, all->at[k], &other) : NULL;
        last = !same(of, run) || other <= step;
    }
    return last ? read_log(s, all->at[i], run, e) : 0;
}

static int read_folder(sheet *s, const char *folder, err *e)
{
    paths all = {0};
    size_t before = s->n;
    int bad = walk(folder, &all, 0, e);
    if (all.n) qsort(all.at, all.n, sizeof *all.at, by_name);
    for (size_t i = 0; i < all.n && !bad; i++) {
        AUTOFREE char *run = run_of(folder, all.at[i]);
        if (is_events(all.at[i])) bad = read_log(s, all.at[i], run, e);
        if (!bad && is_results(all.at[i])) bad = read_lm_eval(s, &all, i, e);
        if (!bad && is_state(all.at[i])) bad = read_last_state(s, folder, &all, i, e);
    }
    if (!bad && s->n == before)
        bad = fail(e,
                   "%s: found no scalars of TensorBoard (files named *tfevents*), no results of lm-eval "
                   "(results*.json) and no trainer_state.json",
                   folder);
    free_texts(all.at, all.n);
    return bad;
}

int sheet_read(sheet *s, const char *path, err *e)
{
    if (is_folder(path)) return read_folder(s, path, e);
    if (is_events(path)) return read_log(s, path, path_end(path), e);
    if (is_state(path)) return read_log(s, path, "run", e);
    CLEANUP(str_free) str text = {0};
    int bad = file_read_regular(path, MOST_FILE, &text, e);
    if (!bad && is_results(path) && is_lm_eval(str_text(&text))) {
        paths one = {.at = (char *[]){(char *)path}, .n = 1};
        bad = read_lm_eval(s, &one, 0, e);
    } else if (!bad)
        bad = read_text(s, path, &text, e);
    return bad ? -1 : 0;
}
