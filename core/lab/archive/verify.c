/* verify.c - checks an experiment's files, computes its table from its runs, and trains some runs again. */
#include "base/below.h"
#include "lab/archive/artifact.h"
#include "network/plugin/plugin.h"
#include <dirent.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- files ---- */

/* Prints files below the folder that are links or that no line of the sums names; returns how many. */
static size_t find_strays(const char *folder, const char *sums)
{
    char *const roots[] = {(char *)(uintptr_t)folder, NULL};
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL);
    size_t n = 0;
    for (FTSENT *f; tree && (f = fts_read(tree));) {
        const char *name = f->fts_path + strlen(folder);
        name += strspn(name, "/");
        if (f->fts_info == FTS_D || f->fts_info == FTS_DP || same(name, ARTIFACT_SUMS)) continue;
        AUTOFREE char *line = xprintf("  %s\n", name);
        bool link = S_ISLNK(f->fts_statp->st_mode);
        CLEANUP(str_free) str shown = {0};
        str_add_shown(&shown, f->fts_path, false);
        if (link || strchr(name, '\n') || !strstr(sums, line)) {
            printf("%s: %s\n", shown.s, link ? "is a link" : "is not in " ARTIFACT_SUMS);
            n++;
        }
    }
    if (tree) fts_close(tree);
    return n;
}

/* Checks each line "HASH  PATH" of SHA256SUMS. *files: number of lines; *bad: missing, different and unlisted files. */
static int check_sums(const char *folder, size_t *files, size_t *bad, err *e)
{
    CLEANUP(str_free) str text = {0}, all = {0};
    AUTOFREE char **lines = NULL, *sums = path_join(folder, ARTIFACT_SUMS);
    char hash[65];
    size_t n = 0;
    int rc = file_read_regular(sums, 16 << 20, &all, e) || file_lines(sums, &text, &lines, &n, e) ? -1 : 0;
    for (size_t i = 0; !rc && i < n; i++) {
        const char *name = strlen(lines[i]) > 66 ? lines[i] + 66 : "";
        AUTOFREE char *path = strncmp(*name ? lines[i] + 64 : "", "  ", 2) ? NULL : path_below(folder, name, e);
        if (!path) {
            fail(e, "expected a hash, two blanks and a file below this folder");
            rc = fail_in(e, "%s:%zu: ", sums, i + 1);
            break;
        }
        err why = {0};
        bool there = !sha256_file(path, hash, &why), equal = there && !strncmp(hash, lines[i], 64);
        if (!equal) printf("%s: %s\n", path, there ? "differs from " ARTIFACT_SUMS : why.text);
        *bad += !equal, ++*files;
    }
    if (!rc) {
        size_t strays = find_strays(folder, str_text(&all));
        *files += strays, *bad += strays;
    }
    return rc;
}

/* Builds the sources of FOLDER/plugins in the workbench; plugins are loaded only from there. */
static char *build_plugins(const workbench *w, const char *folder, err *e)
{
    AUTOFREE char *from = path_join(folder, "plugins");
    char *to = path_join(w->folder, "plugins");
    DIR *d = opendir(from);
    int rc = make_folders(to, e);
    for (struct dirent *f; d && !rc && (f = readdir(d));) {
        if (!has_suffix(f->d_name, ".c") && !has_suffix(f->d_name, ".h") && !has_suffix(f->d_name, ".py")) continue;
        CLEANUP(str_free) str text = {0};
        AUTOFREE char *source = path_below(from, f->d_name, e), *copy = path_join(to, f->d_name);
        rc = !source || file_read_regular(source, 16 << 20, &text, e) || file_write(copy, str_text(&text), text.n, e);
    }
    if (d) rewinddir(d);
    for (struct dirent *f; d && !rc && (f = readdir(d));) {
        if (!has_suffix(f->d_name, ".c")) continue;
        AUTOFREE char *copy = path_join(to, f->d_name), *so = plugin_build(copy, e);
        rc = so ? 0 : -1;
    }
    if (d) closedir(d);
    if (!rc) return to;
    free(to);
    return NULL;
}

/* ---- runs ---- */

typedef struct {
    const read_row *row;
    const read_run *run;
} candidate;

static bool wanted(const verify_options *o, const read_row *row, const read_run *run)
{
    AUTOFREE char *name = xprintf("%s@%lld", row->name, (long long)run->seed);
    bool yes = !o->only.n;
    for (size_t k = 0; k < o->only.n; k++) yes = yes || same(o->only.at[k], row->name) || same(o->only.at[k], name);
    return yes;
}

static size_t list_runs(const read_experiment *x, const verify_options *o, candidate *out)
{
    size_t n = 0;
    for (size_t i = 0; i < x->n_rows; i++)
        for (size_t k = 0; !x->rows[i].same_as && k < x->rows[i].n_runs; k++) {
            const read_run *run = &x->rows[i].runs[k];
            if (run->status != DB_DONE || run->foreign || !wanted(o, &x->rows[i], run)) continue;
            if (o->at_most > 0 && (run->model_of_run || !(run->seconds <= o->at_most))) continue;
            out[n++] = (candidate){&x->rows[i], run};
        }
    return n;
}

static void no_candidate(const read_experiment *x, const verify_options *o, err *e)
{
    CLEANUP(str_free) str limit = {0};
    if (o->at_most > 0) str_addf(&limit, " in at most %g s", o->at_most);
    fail(e, "%s: found no finished run that ablate trained%s%s", x->name, o->only.n ? " among the runs of --only" : "",
         str_text(&limit));
}

/* Trains `o->runs` runs again, chosen at random. Returns HOLDS or OTHER_DIGITS, or -1 and a message. */
static int retrain_some(const retraining *t, const read_experiment *x, const verify_options *o, err *e)
{
    size_t all = 0, n, done = 0, differ = 0, runs_apart = 0;
    for (size_t i = 0; i < x->n_rows; i++) all += x->rows[i].n_runs;
    AUTOFREE candidate *of = xcalloc(all + 1, sizeof *of);
    n = list_runs(x, o, of);
    rng r = rng_seed((uint64_t)o->seed, 0);
    if (!n) no_candidate(x, o, e);
    for (; n && done < (size_t)o->runs && !e->text[0]; done++) {
        size_t at = (size_t)rng_below(&r, n);
        printf("%s, seed %lld: trained in %.0f s on %s\n", of[at].row->name, (long long)of[at].run->seed,
               of[at].run->seconds, of[at].run->device ? of[at].run->device : "a device that is not recorded");
        fflush(stdout);
        size_t before = differ;
        retrain(t, of[at].run, &differ, e);
        runs_apart += differ > before;
        of[at] = of[--n];
    }
    if (e->text[0]) return -1;
    if (done) printf("retrained: %zu of %zu runs with the same digits\n", done - runs_apart, done);
    return runs_apart ? OTHER_DIGITS : HOLDS;
}

/* Checks a folder's files and its table. *holds: no fault was found. */
static int check_folder(const workbench *w, const char *folder, const char *experiment, bool *holds, err *e)
{
    CLEANUP(str_free) str now = {0}, was = {0};
    AUTOFREE char *table = path_join(folder, ARTIFACT_TABLE);
    size_t files = 0, bad = 0;
    if (check_sums(folder, &files, &bad, e)) return -1;
    printf("files: %zu of %zu match " ARTIFACT_SUMS "\n", files - bad, files);
    if (workbench_table(w, experiment, &now, e) || file_read_regular(table, 1 << 30, &was, e)) return -1;
    bool equal = same(str_text(&now), str_text(&was));
    printf("table: the runs give %s\n",
           equal ? ARTIFACT_TABLE ", digit by digit" : "another table than " ARTIFACT_TABLE);
    *holds = !bad && equal;
    return 0;
}

/* Trains runs again; returns HOLDS or OTHER_DIGITS, or -1 and a message. */
static int check_runs(const verify_options *o, const char *what, const places *p, const workbench *w,
                      const char *experiment, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_experiment x;
    AUTOFREE char *runs = db_runs_folder(&p->db), *plugins = o->build_plugins ? build_plugins(w, what, e) : NULL,
                  *sources = path_join(what, "plugins");
    CLEANUP(reader_end) reader *r = e->text[0] ? NULL : reader_open(&w->db, e);
    int rc = r ? reader_experiment(r, experiment, READ_STATS, &a, &x, e) : -1;
    retraining t = {.w = w, .program = p->program, .data_dir = p->data_dir, .runs = runs, .plugins = plugins};
    if (!rc) rc = retrain_some(&t, &x, o, e);
    if (rc < 0 && !plugins && is_folder(sources)) fail_in(e, "without --build-plugins: ");
    return rc;
}

static int verify_in(const verify_options *o, const char *what, const places *p, const workbench *w, err *e)
{
    bool folder = is_folder(what), holds = true;
    AUTOFREE char *runs = folder ? path_join(what, ARTIFACT_RUNS) : xstrdup(what);
    CLEANUP(arena_free) arena a = {0};
    const char *name = workbench_import(w, runs, &a, e);
    int rc = !name || (folder && check_folder(w, what, name, &holds, e)) ? -1 : holds ? HOLDS : FAILS;
    if (rc == HOLDS && o->runs) rc = check_runs(o, what, p, w, name, e);
    return rc;
}

int verify(const verify_options *o, const char *what, const places *p, err *e)
{
    workbench w = {0};
    int code = workbench_open(&w, NULL, e) ? -1 : verify_in(o, what, p, &w, e);
    workbench_close(&w);
    return code;
}
