/* origin.c - start_from and teacher = EXPERIMENT/ROW@SEED: replaces a run by the file of its model, or for start_from
 * with start_step by its state at that step. */
#include "base/below.h"
#include "lab/sweep/run.h"
#include "lab/sweep/sweep.h"
#include "network/train/states.h"
#include <stdlib.h>

/* Finds the state of a step in a run's folder. If there is none, returns NULL, and e lists the steps that have one. */
static char *state_in(const char *folder, const char *run, int64_t step, err *e)
{
    int64_t at = 0;
    char *path = states_before(folder, step + 1, &at);
    if (path && at == step) return path;
    CLEANUP(str_free) str there = {0};
    states_list(folder, &there);
    if (there.n)
        fail(e, "run %s has no state of step %lld left, only of %s", run, (long long)step, str_text(&there));
    else
        fail(e, "run %s has no state left; with keep_states = N a run keeps those of its last N checkpoints", run);
    free(path);
    return NULL;
}

/* Returns the file of a run's model, or with start_step > 0 of its state at that step; the caller frees. If there is no
 * such file, returns NULL, and e lists the states that exist. */
static char *origin_file(reader *r, const char *run, int64_t start_step, err *e)
{
    CLEANUP(arena_free) arena a = {0};
    read_detail d;
    char *path = NULL;
    if (start_step <= 0 || run_file_name(run, -1) == run) return reader_model(r, run, e);
    int64_t id = reader_find_run(r, run, e);
    if (id >= 0 && !reader_run(r, id, &a, &d, e)) {
        AUTOFREE char *folder = path_folder(d.run.log_path ? d.run.log_path : "");
        path = state_in(folder, run, start_step, e);
    }
    return path;
}

static const char *const keys[] = {"start_from", "teacher"};
static const char *origin_of(const spec_row *row, const char *key)
{
    const char *text = settings_get(&row->settings, key);
    return row->run && text && *text && !file_exists(text) ? text : NULL;
}

int check_origins(const spec *s, const db_options *where, prepared *out, err *e)
{
    CLEANUP(reader_end) reader *r = NULL;
    AUTOFREE char *runs = db_runs_folder(where);
    int rc = 0;
    for (size_t k = 0; k < s->n_rows * LENGTH(keys) && !rc; k++) {
        size_t i = k / LENGTH(keys);
        const char *key = keys[k % LENGTH(keys)], *text = origin_of(&s->rows[i], key);
        bool start = same(key, "start_from");
        err why = {0};
        if (!text) continue;
        if (!r) r = reader_open_any(where, &why);
        AUTOFREE char *path = r ? origin_file(r, text, start ? s->rows[i].config.start_step : 0, &why) : NULL;
        if (!path)
            rc = fail(e, "row %s: %s = %s: found no such file and no such run: %s", s->rows[i].name, key, text,
                      why.text);
        else if (out)
            prepared_choose(out, s->rows[i].name, key, path_is_below(runs, path) ? config_unmoved(key, path) : path);
    }
    return rc;
}
