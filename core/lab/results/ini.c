/* ini.c - prints an INI that trains a run again. */
#include "lab/results/internal.h"
#include <cjson/cJSON.h>
#include <math.h>

static void print_settings(const cJSON *o, const char *prefix, str *out)
{
    for (const cJSON *p = o->child; p; p = p->next) {
        if (cJSON_IsObject(p)) {
            print_settings(p, p->string, out);
            continue;
        }
        if (!cJSON_IsBool(p) && !cJSON_IsNumber(p) && !cJSON_IsString(p)) continue;
        if (*prefix) str_add_shown(out, prefix, false), str_addc(out, '.');
        str_add_shown(out, p->string, false);
        str_add(out, " = ");
        char real[32];
        if (cJSON_IsBool(p))
            str_add(out, cJSON_IsTrue(p) ? "true" : "false");
        else if (cJSON_IsNumber(p) && p->valuedouble == floor(p->valuedouble) && fabs(p->valuedouble) < 9e15)
            str_addf(out, "%lld", (long long)p->valuedouble);
        else if (cJSON_IsNumber(p))
            str_add(out, format_real(p->valuedouble, real));
        else
            str_add_shown(out, p->valuestring, false);
        str_addc(out, '\n');
    }
}

int run_ini_print(sqlite3 *q, int64_t run, str *out, err *e)
{
    sqlite3_stmt *s = sql_open(q, e,
                               "SELECT x.name,v.name,r.seed,v.config_json,(SELECT git_commit FROM attempt a WHERE"
                               " a.run_id=r.id ORDER BY n DESC LIMIT 1) FROM run r JOIN variant v ON v.id=r.variant_id"
                               " JOIN experiment x ON x.id=v.experiment_id WHERE r.id=?1",
                               "i", run);
    int rc = sql_row(s, "experiment.name variant.name run.seed variant.config_json", e);
    if (rc == 0) rc = fail(e, "run %lld: not in the database; `ablate ls` lists the experiments", (long long)run);
    if (rc == 1) {
        CLEANUP(arena_free) arena a = {0};
        const char *experiment = sql_text(s, 0, &a), *row = sql_text(s, 1, &a), *commit = sql_text(s, 4, &a);
        str_addf(out, "# run %lld: row %s of experiment %s\n", (long long)run, row, experiment);
        if (commit) str_addf(out, "# commit %s\n", commit);
        str_addf(out, "[experiment]\nname = %s-run%lld\nseeds = %lld\n\n[base]\n", experiment, (long long)run,
                 (long long)sqlite3_column_int64(s, 2));
        cJSON *config = cJSON_Parse((const char *)sqlite3_column_text(s, 3));
        rc = config ? 0 : fail(e, "run %lld: its stored configuration is not valid JSON", (long long)run);
        if (config) print_settings(config, "", out);
        cJSON_Delete(config);
    }
    sqlite3_finalize(s);
    return rc;
}
