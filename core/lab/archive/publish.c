/* publish.c - writes a folder with all that a paper's reader needs to check an experiment. */
#include "base/below.h"
#include "base/gzip.h"
#include "lab/archive/artifact.h"
#include "lab/report/page.h"
#include "lab/report/table.h"
#include "network/plugin/plugin.h"
#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    const places *at;
    bool quiet;
    const char *name;   /* the experiment's name */
    const char *folder; /* folder being written; renamed when it is complete */
    workbench w;
    arena a;
    read_experiment own; /* the experiment's runs in the database; without rows: only its recorded file exists */
    str sums, sources;   /* text of SHA256SUMS; README.md's lines on plugins */
} publishing;

/* Prints information on standard error, unless p->quiet. */
static void PRINTF_LIKE(2, 3) print_notice(const publishing *p, const char *fmt, ...)
{
    if (p->quiet) return;
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
}

/* ---- files ---- */

static int write_file(publishing *p, const char *name, const char *text, size_t n, err *e)
{
    AUTOFREE char *path = path_below(p->folder, name, e);
    char hash[65];
    int rc = path ? file_write(path, text, n, e) : -1;
    sha256_of(text, n, hash);
    str_addf(&p->sums, "%s  %s\n", hash, name);
    return rc;
}

static int write_text(publishing *p, const char *name, const str *text, err *e)
{
    return write_file(p, name, str_text(text), text->n, e);
}

/* Fails unless the folder is empty, so that no file is replaced. */
static int check_empty(const char *folder, err *e)
{
    DIR *d = opendir(folder);
    bool empty = true;
    for (struct dirent *f; d && (f = readdir(d));) empty = empty && (same(f->d_name, ".") || same(f->d_name, ".."));
    if (d) closedir(d);
    return empty ? 0 : fail(e, "%s is not empty; expected a new folder", folder);
}

/* Writes the runs that the database has, else those of the recorded file. */
static int write_runs(publishing *p, err *e)
{
    const places *at = p->at;
    CLEANUP(str_free) str text = {0};
    err none = {0};
    reader *any = reader_open_any(&at->db, e); /* reports faults of an existing database */
    if (!any) return -1;
    reader_close(any);
    reader *r = reader_open(&at->db, &none);
    int found = r ? reader_experiment(r, p->name, READ_VALUES, &p->a, &p->own, e) : 1;
    reader_close(r);
    if (found < 0) return -1;
    if (found || !same(p->own.name, p->name)) p->own = (read_experiment){0};
    AUTOFREE char *path = path_join(p->folder, ARTIFACT_RUNS), *recorded = recorded_path(at->db.recorded, p->name);
    bool own = p->own.n_rows;
    int rc = own        ? record_write(at, p->name, path, &(db_export_options){.points = RECORD_POINTS}, e)
             : recorded ? 0
                        : fail(e, "found no experiment \"%s\"; `ablate ls` lists them", p->name);
    if (!rc) rc = gzip_read(own ? path : recorded, SIZE_MAX, &text, e);
    if (!rc) rc = write_file(p, ARTIFACT_RUNS, text.s, text.n, e);
    return rc;
}

/* Writes the experiment's INI, as it was read for training. */
static int write_ini(publishing *p, err *e)
{
    AUTOFREE char *path = path_join(p->folder, ARTIFACT_RUNS), *name = xprintf("%s.ini", p->name);
    CLEANUP(str_free) str text = {0};
    int rc = file_read(path, &text, e);
    cJSON *all = rc ? NULL : cJSON_Parse(str_text(&text));
    const char *ini = cJSON_GetStringValue(
        cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(all, "experiment"), "spec_ini"));
    if (!rc) rc = ini ? write_file(p, name, ini, strlen(ini), e) : fail(e, "%s: has no INI", path);
    cJSON_Delete(all);
    return rc;
}

/* ---- sources of plugins that do not ship with the program ---- */

/* Copies a source, unless it was already copied for another plugin. */
static int write_source(const char *folder, const char *name, void *self, err *e)
{
    publishing *p = self;
    CLEANUP(str_free) str text = {0};
    AUTOFREE char *path = path_join(folder, name), *to = xprintf("plugins/%s", name), *done = xprintf("  %s\n", to);
    int rc = 0;
    if (!strstr(str_text(&p->sums), done))
        rc = file_read_regular(path, 16 << 20, &text, e) || write_file(p, to, str_text(&text), text.n, e) ? -1 : 0;
    return rc;
}

static bool is_shipped(const char *file)
{
    size_t n;
    const plugin *const *all = plugin_list(&n);
    for (size_t i = 0; i < n; i++) {
        AUTOFREE char *end = xprintf("/plugins/%s/%s.so", plugin_kind_name(all[i]->desc.kind), all[i]->desc.name);
        bool yes = plugin_is_own(all[i]) && has_suffix(file, end);
        if (yes) return true;
    }
    return false;
}

/* Writes a run's plugin: {"name":..., "sha256":..., "file":...}. Reads no file for a name that no plugin can have. */
static int write_plugin(publishing *p, const cJSON *one, err *e)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "name")),
               *hash = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "sha256")),
               *file = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(one, "file"));
    if (!is_plain_word(name) || !is_plain_word(hash) || !file)
        return print_notice(p, "left out a run's plugin, whose name is not valid\n"), 0;
    if (strstr(str_text(&p->sources), hash)) return 0;
    const char *base = path_end(file);
    bool python = has_suffix(file, ".py");
    AUTOFREE char *source = python ? xstrdup(base) : xprintf("%s.c", name),
                  *path = xprintf("%.*s%s", (int)(base - file), file, source);
    char now[65] = "";
    int rc = 0;
    if (p->own.n_rows && file_exists(path)) {
        rc = plugin_each_source(path, write_source, p, e);
        bool changed = plugin_hash(file, now, NULL) || !same(now, hash);
        str_addf(&p->sources, "- %s: plugins/%s, %s %s%s\n", name, source,
                 python ? "SHA-256 with its imports and ablate's version" : "SHA-256 of the object", hash,
                 changed ? "; **the plugin has changed since the runs, so the source may have changed too**" : "");
        if (changed) print_notice(p, "plugin %s has changed since the runs: the source may differ from theirs\n", name);
    } else if (!is_shipped(file)) {
        str_addf(&p->sources, "- %s: SHA-256 of the object %s; found no source beside the object\n", name, hash);
        print_notice(p, "plugin %s: found no %s beside %s; the folder has only the plugin's hash\n", name, source,
                     file);
    }
    return rc;
}

static int write_plugins(publishing *p, err *e)
{
    AUTOFREE char *folder = path_join(p->folder, "plugins");
    int rc = 0;
    for (size_t i = 0; i < p->own.n_rows; i++)
        for (size_t k = 0; k < p->own.rows[i].n_runs && !rc; k++) {
            const char *json = p->own.rows[i].runs[k].plugins_json;
            cJSON *all = json ? cJSON_Parse(json) : NULL;
            const cJSON *one;
            cJSON_ArrayForEach(one, all) if (!rc) rc = make_folders(folder, e) ? -1 : write_plugin(p, one, e);
            cJSON_Delete(all);
        }
    remove(folder); /* if it is empty */
    return rc;
}

/* ---- files for readers ---- */

static int write_results(publishing *p, str *shown, err *e)
{
    CLEANUP(str_free) str csv = {0}, page = {0};
    AUTOFREE char *runs = path_join(p->folder, ARTIFACT_RUNS);
    const char *name = workbench_import(&p->w, runs, &p->a, e);
    reader *r = name ? reader_open(&p->w.db, e) : NULL;
    int rc = !r || workbench_table(&p->w, name, &csv, e) || write_text(p, ARTIFACT_TABLE, &csv, e) ||
             table_print(r, name, &(table_options){0}, TABLE_TEXT, shown, e) || page_print(r, name, false, &page, e) ||
             write_text(p, "page.html", &page, e);
    reader_close(r);
    return rc ? -1 : 0;
}

static int write_readme(publishing *p, const str *table, const char *folder, err *e)
{
    CLEANUP(str_free) str out = {0};
    str_addf(&out,
             "# %s\n\nAn experiment of ablate " ABLATE_VERSION ".\n\n```\n%s```\n\n"
             "- %s.ini: the experiment, as it was run\n"
             "- " ARTIFACT_RUNS ": settings, machine, results and per-sentence statistics of every run\n"
             "- " ARTIFACT_TABLE ": the table with full precision, by `ablate table --stats full --format csv`\n"
             "- page.html: table, learning curves, cost and settings, for a browser\n"
             "- " ARTIFACT_SUMS ": hashes of these files (`sha256sum -c " ARTIFACT_SUMS "`)\n%s%s\n",
             p->name, str_text(table), p->name, p->sources.n ? "\nPlugins that are not ablate's own:\n\n" : "",
             str_text(&p->sources));
    str_addf(
        &out,
        "To check this folder, run in the folder above it:\n\n"
        "    ablate verify %s\n\n"
        "It compares all files with their hashes, computes the table from the runs again, and trains a random run\n"
        "again, with the recorded number of threads and instruction set. `--runs N` trains N runs%s.\n",
        path_end(folder), p->sources.n ? "; with `--build-plugins` also\nruns with the plugins above" : "");
    return write_text(p, "README.md", &out, e);
}

static int write_all(publishing *p, const char *folder, err *e)
{
    CLEANUP(str_free) str table = {0};
    AUTOFREE char *sums = path_join(p->folder, ARTIFACT_SUMS);
    int rc = make_folders(p->folder, e) || write_runs(p, e) || write_ini(p, e) || write_plugins(p, e) ||
             write_results(p, &table, e) || write_readme(p, &table, folder, e) ||
             file_write(sums, p->sums.s, p->sums.n, e);
    if (!rc && rename(p->folder, folder))
        rc = fail(e, "%s: cannot be renamed to %s: %s", p->folder, folder, strerror(errno));
    return rc ? -1 : 0;
}

int publish(const places *at, const char *experiment, const char *to, bool quiet, err *e)
{
    AUTOFREE char *folder = xstrdup(to);
    for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--) folder[n - 1] = 0;
    AUTOFREE char *part = xprintf("%s.%ld.part", folder, (long)getpid());
    publishing p = {.at = at, .quiet = quiet, .name = experiment, .folder = part};
    int rc = check_empty(folder, e) || workbench_open(&p.w, part, e) ? -1 : 0;
    if (!rc) rc = write_all(&p, folder, e);
    if (!rc) print_notice(&p, "%s: runs, table, page and README.md; `ablate verify %s` checks it\n", folder, folder);
    workbench_close(&p.w);
    arena_free(&p.a);
    str_free(&p.sums);
    str_free(&p.sources);
    return rc;
}
