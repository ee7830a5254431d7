/* retrain.c - trains a recorded run again, as exactly as this machine can, and compares its results. */
#include "base/below.h"
#include "base/shell.h"
#include "lab/archive/artifact.h"
#include "lab/config/spec.h"
#include "network/model/model.h"
#include "network/settings/config.h"
#include "network/settings/plugin_files.h"
#include "tensor/cpu/cpu.h"
#include <ctype.h>
#include <fcntl.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

computed how_computed(const char *device)
{
    computed c = {0};
    const char *at = device ? strstr(device, " thread") : NULL;
    if (!at) return c;
    const char *number = at;
    while (number > device && number[-1] >= '0' && number[-1] <= '9') number--;
    c.cpu = number < at, c.threads = strtoll(number, NULL, 10);
    const char *isa = strstr(at, ", ");
    if (isa) snprintf(c.isa, sizeof c.isa, "%s", isa + 2);
    return c;
}

/* ---- the run as an INI; its settings come from others, so each is checked ---- */

static bool is_key(const char *key) /* words joined by dots; a range of layers has a - */
{
    for (const char *p = key; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_.-", *p)) return false;
    return *key && *key != '-';
}

/* Returns a plugin's name, without folder and ending. NULL and e: not a valid name, or a file that is not there. */
static const char *plugin_word(const retraining *t, const setting *s, arena *a, err *e)
{
    const char *name = path_end(s->value);
    size_t n = strlen(name) - plugin_suffix(name);
    char *word = arena_strndup(a, name, n);
    ab_kind kind = same(s->key, "attention") ? AB_ATTENTION : model_plugin_kind(s->key);
    if (is_plain_word(word) && name[n] && !t->plugins && !plugin_find(kind, word, NULL))
        return fail(e, "found %s, a file that no record carries; publish the experiment to verify it", name), NULL;
    if (is_plain_word(word)) return word;
    fail(e, "found an invalid plugin name, expected letters, digits and _");
    return NULL;
}

/* Replaces record.c's $ABLATE_DATA in files joined by +. NULL and e: a file is outside data_dir. */
static const char *data_value(const char *value, const char *data_dir, arena *a, err *e)
{
    static const char folder[] = "$ABLATE_DATA/";
    CLEANUP(str_free) str out = {0};
    for (const char *part = value; !e->text[0]; part++) {
        size_t n = strcspn(part, "+");
        const char *text = arena_strndup(a, part, n), *name = text;
        bool data = has_prefix(text, folder);
        name += data ? strlen(folder) : has_prefix(text, "./") ? 2 : 0;
        AUTOFREE char *path = path_below(data_dir, name, e);
        str_add(&out, data && path ? path : text);
        if (!*(part += n)) break;
        str_addc(&out, '+');
    }
    value = arena_strdup(a, str_text(&out));
    return e->text[0] ? NULL : value;
}

static const char *own_value(const retraining *t, const setting *s, const char *data_dir, arena *a, err *e)
{
    const char *value = s->value;
    if (!is_key(s->key)) fail(e, "found an invalid key");
    if (has_prefix(value, "tune(")) fail(e, "found a search");
    for (const char *p = value; *p; p++)
        if ((unsigned char)*p < ' ' || *p == '"') fail(e, "found a quote or a control character");
    if (e->text[0]) return NULL;
    if (config_plugin_kind(s->key)) return plugin_word(t, s, a, e);
    return strchr(value, '/') ? data_value(value, data_dir, a, e) : value;
}

static int write_run_ini(const retraining *t, int64_t run, const char *path, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    settings set = {0};
    read_detail d;
    CLEANUP(str_free) str ini = {0};
    AUTOFREE char *data_dir = realpath(t->data_dir, NULL); /* tasks look for a relative path below data_dir */
    CLEANUP(reader_end) reader *r = reader_open(&t->w->db, e);
    int rc = !r || reader_run(r, run, &a, &d, e) || config_from_json(d.config_json, &set, &a, e) ? -1 : 0;
    if (!rc) str_addf(&ini, "[experiment]\nname = retrained\nseeds = %lld\n[base]\n", (long long)d.run.seed);
    for (size_t i = 0; !rc && i < set.n; i++) {
        const setting *s = &set.at[i];
        if (same(s->key, "plugin_path") || same(s->key, "seed")) continue; /* --build-plugins alone adds folders */
        const char *value = own_value(t, s, data_dir ? data_dir : t->data_dir, &a, e);
        if (value)
            spec_write_setting(&ini, s->key, config_names_run(s->key) ? run_file_below(t->runs, value, &a) : value);
        else
            rc = fail_in(e, "the run's settings, %.40s: ", is_key(s->key) ? s->key : "a key");
    }
    if (!rc) rc = file_write(path, str_text(&ini), ini.n, e);
    return rc;
}

/* ---- training: the program's own `run`, in the workbench ---- */

/* Waits for the process. If it fails, e quotes the last line of its log. */
static int wait_for(pid_t pid, const char *log, err *e)
{
    int status = process_wait(pid);
    if (status < 0) return fail(e, "cannot wait for the training process: %s", strerror(errno));
    if (!status) return 0;
    if (WIFSIGNALED(status)) return fail(e, "training ended by signal %d", WTERMSIG(status));
    CLEANUP(str_free) str text = {0}, why = {0};
    if (!file_read(log, &text, NULL) && text.s) {
        char *line = trim(text.s), *last = strrchr(line, '\n');
        str_add_shown(&why, last ? last + 1 : line, false);
    }
    return fail(e, "training failed (exit code %d): %s", WEXITSTATUS(status), str_text(&why));
}

static int train(const retraining *t, const computed *how, const char *ini, const char *db, err *e)
{
    AUTOFREE char *log = path_join(t->w->folder, "retrain.log"), *folders = xprintf("plugin_path=%s", t->plugins);
    char threads[32] = "1";
    const char *args[20] = {t->program, "run", ini, "--db", db, "--progress", "none", "--device"};
    size_t n = 8;
    args[n++] = how->cpu ? "cpu" : "auto";
    if (how->cpu) snprintf(threads, sizeof threads, "%lld", (long long)how->threads);
    if (how->cpu) args[n++] = "--threads", args[n++] = threads;
    if (t->plugins) args[n++] = "-s", args[n++] = folders;
    fflush(NULL);
    pid_t pid = fork();
    if (!pid) {
        workbench_lend(t->w);
        int out = open(log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (out < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
        setenv("ABLATE_HOME", t->w->folder, 1);
        setenv("ABLATE_DATA", t->data_dir, 1);
        unsetenv("ABLATE_DB");
        if (how->isa[0]) setenv("ABLATE_ISA", how->isa, 1);
        execv(t->program, (char *const *)args);
        _exit(127);
    }
    return pid < 0 ? fail(e, "cannot start a process: %s", strerror(errno)) : wait_for(pid, log, e);
}

/* ---- results ---- */

int digits_shared(double a, double b)
{
    if (a == b || !isfinite(a) || !isfinite(b)) return a == b ? 17 : 0;
    double apart = fabs(a - b) / fmax(fabs(a), fabs(b));
    return apart >= 1 ? 0 : (int)floor(-log10(apart));
}

static size_t sentences_apart(const db_stats *a, const db_stats *b)
{
    size_t apart = 0;
    for (size_t j = 0; j < a->n; j++)
        apart += memcmp(a->value + j * a->width, b->value + j * a->width, a->width * sizeof *a->value) != 0;
    return apart;
}

/* Prints the recorded and the new value of a metric; returns false if they differ. */
static bool compare_result(const read_result *was, const read_result *is)
{
    char a[32], b[32];
    printf("    %-16s %-20s ", was->metric, isfinite(was->value) ? format_real(was->value, a) : "diverged");
    if (!is) return printf("not measured by training\n"), true;
    if (was->value == is->value || (!isfinite(was->value) && !isfinite(is->value))) {
        printf("the same");
    } else {
        printf("now %s: %d digits agree", isfinite(is->value) ? format_real(is->value, b) : "diverged",
               digits_shared(was->value, is->value));
    }
    bool stats = was->stats.n && was->stats.n == is->stats.n && was->stats.width == is->stats.width;
    size_t apart = stats ? sentences_apart(&was->stats, &is->stats) : 0;
    if (stats && apart) printf(", %zu of %zu sentences differ", apart, was->stats.n);
    if (stats && !apart) printf(", in all %zu sentences", was->stats.n);
    putchar('\n');
    return !apart && (was->value == is->value || (!isfinite(was->value) && !isfinite(is->value)));
}

static int compare_runs(const read_run *was, const db_options *db, double seconds, size_t *differ, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_experiment x;
    CLEANUP(reader_end) reader *r = reader_open(db, e);
    int rc = r ? reader_experiment(r, NULL, READ_STATS, &a, &x, e) : -1;
    if (!rc && (!x.n_rows || !x.rows[0].n_runs)) rc = fail(e, "training left no run");
    if (!rc) printf("    trained in %.0f s\n", seconds);
    for (size_t i = 0; !rc && i < was->n_results; i++) {
        if (was->results[i].signature && has_prefix(was->results[i].signature, "command: ")) { /* stored by rate.c */
            printf("    %s: not compared, since another program computed this metric (%s)\n", was->results[i].metric,
                   was->results[i].signature);
            continue;
        }
        const read_result *is = read_result_of(&x.rows[0].runs[0], was->results[i].metric);
        *differ += !compare_result(&was->results[i], is);
    }
    return rc ? -1 : 0;
}

int retrain(const retraining *t, const read_run *was, size_t *differ, err *e)
{
    computed how = how_computed(was->device);
    if (how.isa[0] && cpu_use(how.isa, NULL)) {
        printf("    this processor does not support %s: trained with its own instruction set, so digits may differ\n",
               how.isa);
        how.isa[0] = 0;
    }
    AUTOFREE char *ini = path_join(t->w->folder, "retrain.ini"), *db = path_join(t->w->folder, "retrain.db");
    double start = ticks();
    int rc = write_run_ini(t, was->id, ini, e);
    unlink(db);
    if (!rc) rc = train(t, &how, ini, db, e);
    if (!rc) rc = compare_runs(was, &(db_options){.path = db}, ticks() - start, differ, e);
    return rc;
}
