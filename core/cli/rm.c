/* rm.c - ablate rm: removes runs from the database, and their files. */
#include "base/below.h"
#include "cli/options.h"
#include "lab/results/read.h"
#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const char *experiment;
    bool older, undo, keep_files, dry_run, yes;
} rm_options;

typedef struct {
    int64_t *id;
    const char **lines; /* "run 5  toy/A/heads=1 seed 0, done" */
    size_t n;
    const char **folder; /* [n_folders] folders of runs, of all attempts and generations */
    size_t n_folders, id_cap, lines_cap, folder_cap;
    size_t elsewhere; /* folders that stay, because they are not below `own` */
    size_t missing;   /* runs whose folder does not exist */
    char *own;        /* the folder of this database's runs, resolved; NULL: no such folder */
    int64_t bytes;
    arena memory;
} removal;

/* ---- files ---- */

static int64_t bytes_below(const char *folder)
{
    FTS *tree = fts_open((char *const[]){(char *)(uintptr_t)folder, NULL}, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int64_t bytes = 0;
    for (FTSENT *x; tree && (x = fts_read(tree));) bytes += x->fts_info == FTS_F ? x->fts_statp->st_size : 0;
    if (tree) fts_close(tree);
    return bytes;
}

static int remove_file(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static void add_folder(removal *m, const char *path)
{
    if (!m->own || !path_is_below(m->own, path)) {
        m->elsewhere++;
        return;
    }
    for (size_t i = 0; i < m->n_folders; i++)
        if (same(m->folder[i], path)) return;
    m->folder = grow(m->folder, &m->folder_cap, m->n_folders + 1, sizeof *m->folder);
    m->folder[m->n_folders++] = arena_strdup(&m->memory, path);
    m->bytes += bytes_below(path);
}

/* A run's log is in its folder .../CONFIG-sSEED-gGENERATION, next to config.json. Earlier generations are sibling
 * folders. */
static void add_files(removal *m, const read_detail *d)
{
    char part[64];
    AUTOFREE char *folder = path_folder(d->run.log_path ? d->run.log_path : "");
    snprintf(part, sizeof part, "-s%lld-g", (long long)d->run.seed);
    char *name = strrchr(folder, '/'), *at = name ? strstr(name, part) : NULL;
    m->missing += at && !is_folder(folder);
    if (!at || !is_folder(folder)) return;
    AUTOFREE char *prefix = xstrndup(name + 1, (size_t)(at - name - 1) + strlen(part)),
                  *parent = xstrndup(folder, (size_t)(name - folder));
    DIR *dir = opendir(parent);
    for (struct dirent *x; dir && (x = readdir(dir));) {
        AUTOFREE char *path = path_join(parent, x->d_name), *config = path_join(path, "config.json");
        if (has_prefix(x->d_name, prefix) && file_exists(config)) add_folder(m, path);
    }
    if (dir) closedir(dir);
}

/* ---- selection ---- */

static int add_run(removal *m, reader *r, int64_t id, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_detail d;
    for (size_t i = 0; i < m->n; i++)
        if (m->id[i] == id) return 0;
    if (reader_run(r, id, &a, &d, e)) return -1;
    if (d.run.status == DB_RUNNING)
        return fail(e, "run %lld (%s/%s, seed %lld) is running; stop it first", (long long)id, d.experiment, d.row,
                    (long long)d.run.seed);
    m->id = grow(m->id, &m->id_cap, m->n + 1, sizeof *m->id);
    m->lines = grow(m->lines, &m->lines_cap, m->n + 1, sizeof *m->lines);
    m->id[m->n] = id;
    m->lines[m->n++] = arena_printf(&m->memory, "run %lld  %s/%s seed %lld, %s", (long long)id, d.experiment, d.row,
                                    (long long)d.run.seed, db_status_text(d.run.status));
    add_files(m, &d);
    return 0;
}

static int find_runs(removal *m, const invocation *c, const rm_options *o, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    CLEANUP(reader_end) reader *r = reader_open(&c->p.db, e);
    int rc = r ? 0 : -1;
    int64_t *ids, number;
    size_t n = 0;
    for (size_t i = 0; i < c->n_words && !rc; i++) { /* resolve all names before removing anything */
        if (!parse_int(c->word[i], &number) && !strchr(c->word[i], '/')) /* a name must be complete */
            rc = fail(e, "found run \"%s\", expected its number, EXPERIMENT/ROW or EXPERIMENT/ROW@SEED", c->word[i]);
        else
            rc = reader_find_runs(r, c->word[i], &a, &ids, &n, e);
        for (size_t k = 0; k < n && !rc; k++) rc = add_run(m, r, ids[k], e);
    }
    if (!rc && o->experiment) rc = reader_all_runs(r, o->experiment, o->older, &a, &ids, &n, e);
    for (size_t k = 0; k < n && !rc && o->experiment; k++) rc = add_run(m, r, ids[k], e);
    return rc;
}

static void print_removal(const removal *m, const rm_options *o)
{
    enum { SHOWN = 20 };
    for (size_t i = 0; i < m->n && i < SHOWN; i++) fprintf(stderr, "  %s\n", m->lines[i]);
    if (m->n > SHOWN) fprintf(stderr, "  and %zu more\n", m->n - SHOWN);
    if (o->experiment && !o->older) fprintf(stderr, "  the experiment %s itself\n", o->experiment);
    for (size_t i = 0; i < m->n_folders && i < SHOWN && !o->keep_files; i++) fprintf(stderr, "  %s/\n", m->folder[i]);
    if (m->n_folders > SHOWN && !o->keep_files) fprintf(stderr, "  and %zu more folders\n", m->n_folders - SHOWN);
    if (m->elsewhere && !o->keep_files)
        fprintf(stderr, "  %zu folder%s outside this database's folder of runs stay%s\n", m->elsewhere,
                m->elsewhere == 1 ? "" : "s", m->elsewhere == 1 ? "s" : "");
    if (m->missing && !o->keep_files)
        fprintf(stderr, "  found no files of %zu run%s\n", m->missing, m->missing == 1 ? "" : "s");
}

static bool agreed(void)
{
    char answer[16] = "";
    fputs("Remove them? [y/N] ", stderr);
    return fgets(answer, sizeof answer, stdin) && (*answer == 'y' || *answer == 'Y');
}

static int remove_all(const removal *m, const invocation *c, const rm_options *o, err *e)
{
    db *d = db_open(&c->p.db, e);
    int rc = d ? db_remove(d, m->id, m->n, o->older ? NULL : o->experiment, e) : -1;
    db_close(d);
    for (size_t i = 0; i < m->n_folders && !rc && !o->keep_files; i++)
        if (nftw(m->folder[i], remove_file, 16, FTW_DEPTH | FTW_PHYS))
            rc = fail(e, "%s: cannot remove: %s", m->folder[i], strerror(errno));
    return rc;
}

/* Shows the older runs of an experiment again. */
static int undo(const invocation *c, const char *experiment)
{
    err e = {0};
    size_t rows = 0;
    int rc = file_exists(c->p.db.path) ? 0 : fail(&e, "no database at %s", c->p.db.path);
    db *d = rc ? NULL : db_open(&c->p.db, &e);
    rc = d ? db_restore(d, experiment, &rows, &e) : -1;
    db_close(d);
    if (rc) return call_failed(c, &e);
    if (rows)
        call_say(c, "%zu older row%s shown again, as ROW~1, ROW~2 ...: `ablate table %s`\n", rows,
                 rows == 1 ? " is" : "s are", experiment);
    else
        call_say(c, "%s has no older runs\n", experiment);
    return 0;
}

static int rm(const invocation *c, void *options)
{
    const rm_options *o = options;
    err e = {0};
    removal m = {0};
    int code = 0;
    if (!c->n_words == !o->experiment)
        return call_usage(c, "%s",
                          c->n_words ? "expected runs or --experiment, not both"
                                     : "expected a run; `ablate ls EXPERIMENT` lists them");
    if (o->older && !o->experiment) return call_usage(c, "--older needs --experiment NAME");
    if (o->undo && (!o->experiment || o->older))
        return call_usage(c, "--undo needs --experiment NAME, without --older");
    if (o->undo) return undo(c, o->experiment);
    bool ask = !o->dry_run && !o->yes;
    if (ask && !(isatty(0) && isatty(2)))
        return call_usage(c, "there is no terminal to ask on: expected --yes, or --dry-run");
    m.own = db_own_folder(&c->p.db);
    int rc = find_runs(&m, c, o, &e);
    ask = ask && !rc;
    char files[96] = "; their files stay";
    if (!o->keep_files)
        snprintf(files, sizeof files, " and %.1f MB of files in %zu folder%s", (double)m.bytes / 1e6, m.n_folders,
                 m.n_folders == 1 ? "" : "s");
    if (!rc && (c->verbosity >= 0 || ask || o->dry_run)) {
        fprintf(stderr, "%s %zu run%s%s:\n",
                o->dry_run ? "would remove"
                : ask      ? "to be removed:"
                           : "removing",
                m.n, m.n == 1 ? "" : "s", files);
        print_removal(&m, o);
    }
    if (!rc && ask && !agreed()) {
        fputs("nothing was removed\n", stderr);
        code = 1;
    } else if (!rc && !o->dry_run) {
        rc = remove_all(&m, c, o, &e);
    }
    free(m.own);
    free(m.id);
    free((void *)m.lines);
    free((void *)m.folder);
    arena_free(&m.memory);
    return rc ? call_failed(c, &e) : code;
}

static const option options[] = {
    {"--experiment", "NAME", "remove an experiment with all its runs, older ones too", OPTION_TEXT,
     offsetof(rm_options, experiment), .choices = CHOICES_EXPERIMENTS},
    {"--older", NULL, "with --experiment: only the older runs, which the table leaves out", OPTION_FLAG,
     offsetof(rm_options, older)},
    {"--undo", NULL, "with --experiment: show its older runs again, as rows ROW~1, ROW~2 ..., and remove nothing",
     OPTION_FLAG, offsetof(rm_options, undo)},
    {"--keep-files", NULL, "keep checkpoints, models, outputs and logs", OPTION_FLAG, offsetof(rm_options, keep_files)},
    {"--dry-run", NULL, "list what would be removed, and remove nothing", OPTION_FLAG, offsetof(rm_options, dry_run)},
    {"--yes -y", NULL, "do not ask for confirmation", OPTION_FLAG, offsetof(rm_options, yes)},
    OPTION_DATABASE,
    {0}};
const command rm_command = {
    .name = "rm",
    .part = FOR_RESULTS,
    .does = "remove runs and their files",
    .about = "RUN: its number, EXPERIMENT/ROW (all seeds of the row) or EXPERIMENT/ROW@SEED. Running runs cannot be "
             "removed. When settings of a row change, its earlier runs stay as older runs, which the table leaves out "
             "until --undo shows them; the next run hides them again. `ablate ls EXPERIMENT --older` lists them.",
    .arguments = "[RUN]...",
    .choices = CHOICES_RUNS,
    .options = options,
    .size = sizeof(rm_options),
    .run = rm,
    .example = "ablate rm quick/base@1 --dry-run"};
