/* fixture.h - a database with a small Table 3: rows with known means, deviations and statistics. */
#ifndef TEST_REPORT_FIXTURE_H
#define TEST_REPORT_FIXTURE_H
#include "lab/results/db.h"
#include "test.h"
#include <unistd.h>

enum { SENTENCES = 200 };

typedef struct {
    const char *group, *name, *change, *config;
    /* worse: of the 10 words per sentence, the mean number that a row gets wrong and base gets right */
    double ppl[3], worse;
    enum db_status status;
    const char *not_applicable, *same_as;
} fixture_row;

static const fixture_row fixture_rows[] = {
    {"",
     "base",
     "",
     "{\"layers\":6,\"d_model\":512,\"heads\":8,\"d_k\":64,\"d_v\":64,\"dropout\":0.1,\"steps\":100000}",
     {4.9, 5.0, 5.1},
     0,
     DB_DONE,
     NULL,
     NULL},
    {"A",
     "A/heads=1",
     "heads=1",
     "{\"layers\":6,\"d_model\":512,\"heads\":1,\"d_k\":512,\"d_v\":512,\"dropout\":0.1,\"steps\":100000}",
     {5.3, 5.3, 5.3},
     2,
     DB_DONE,
     NULL,
     NULL},
    {"A", "A/heads=8", "heads=8", "{\"heads\":8}", {0}, 0, DB_DONE, NULL, "base"},
    {"A",
     "A/heads=16",
     "heads=16",
     "{\"layers\":6,\"d_model\":512,\"heads\":16,\"d_k\":32,\"d_v\":32,\"dropout\":0.1,\"steps\":100000}",
     {4.9, NAN, 5.0},
     0,
     DB_DONE,
     NULL,
     NULL},
    {"D",
     "D/dropout=0",
     "dropout=0",
     "{\"layers\":6,\"d_model\":512,\"heads\":8,\"d_k\":64,\"d_v\":64,\"dropout\":0,\"steps\":100000}",
     {0},
     0,
     DB_FAILED,
     NULL,
     NULL},
    {"E",
     "E/position=learned",
     "position=learned",
     "{\"layers\":6,\"d_model\":512,\"heads\":8,\"d_k\":64,\"d_v\":64,\"dropout\":0.1,\"steps\":100000,"
     "\"position\":\"learned\"}",
     {NAN, NAN, NAN},
     0,
     DB_DONE,
     NULL,
     NULL},
    {"F",
     "F/position=rotary",
     "position=rotary",
     "{\"position\":\"rotary\"}",
     {0},
     0,
     DB_DONE,
     "rotary needs an even d_k, found 3",
     NULL},
};

static inline int fixture_result(db *d, const db_claim *c, const fixture_row *row, int seed, err *e)
{
    double stats[SENTENCES * 2], bleu = 0;
    rng r = rng_seed((uint64_t)seed, 7), own = rng_seed((uint64_t)seed, (uint64_t)row->name[strlen(row->name) - 1]);
    for (int i = 0; i < SENTENCES; i++) {
        double right = (double)rng_below(&r, 11) - row->worse * rng_uniform(&own) * 2;
        stats[2 * i] = right;
        stats[2 * i + 1] = 10;
        bleu += right / SENTENCES * 10;
    }
    bool diverged = !isfinite(row->ppl[seed]);
    db_result ppl = {.metric = "PPL", .direction = "min", .value = row->ppl[seed], .step = 100000};
    db_result acc = {.metric = "ACC",
                     .direction = "max",
                     .value = bleu,
                     .step = 100000,
                     .signature = "exact match",
                     .stats = {SENTENCES, 2, stats}};
    db_provenance p = DB_PROVENANCE_UNKNOWN;
    p.parameters = 65130000 + row->name[0];
    p.host = "box", p.log_path = "/nowhere.log";
    /* a run that diverged has only a perplexity, as the host writes it (lab/launch/host.c) */
    return db_attempt(d, c, &p, e) || db_put_result(d, c, &ppl, e) || (!diverged && db_put_result(d, c, &acc, e)) ? -1
                                                                                                                  : 0;
}

/* Makes experiment `name` with n_seeds of the seeds 0, 1, 2; all its runs are done, with the rows' results. */
static inline int fixture_fill(db *d, const char *name, const char *paper_table, size_t n_seeds, err *e)
{
    static const int64_t seeds[] = {0, 1, 2};
    static const char *const hashes[LENGTH(fixture_rows)] = {
        "base", "Aheads1", "base", "Aheads16", "Ddropout0", "Epositionlearned", "Fpositionrotary"};
    db_row_spec rows[LENGTH(fixture_rows)];
    for (size_t i = 0; i < LENGTH(fixture_rows); i++) {
        const fixture_row *f = &fixture_rows[i];
        rows[i] = (db_row_spec){.group = f->group,
                                .name = f->name,
                                .change = f->change,
                                .is_base = !i,
                                .same_as = f->same_as,
                                .config_hash = hashes[i],
                                .config_json = f->config,
                                .not_applicable = f->not_applicable};
    }
    db_experiment_spec x = {.name = name,
                            .note = "toy corpus",
                            .spec_ini = "",
                            .paper_table = paper_table,
                            .rows = rows,
                            .n_rows = LENGTH(rows),
                            .seeds = seeds,
                            .n_seeds = n_seeds};
    db_frozen *runs;
    size_t n;
    db_claim c;
    int found;
    if (db_freeze(d, &x, &runs, &n, e)) return -1;
    free(runs);
    while ((found = db_claim_next(d, name, NULL, "me", 1000, &c, e)) == 1) {
        const fixture_row *row = fixture_rows;
        while (strcmp(row->name, c.name)) row++;
        db_point points[] = {{"loss", 1, 9},
                             {"loss", 100, 3 + (double)c.seed / 10},
                             {"lr", 1, 1e-3},
                             {"lr", 50, NAN},
                             {"lr", 100, 1e-4}};
        int rc = row->status == DB_DONE ? fixture_result(d, &c, row, (int)c.seed, e) : 0;
        if (!rc) rc = db_points(d, &c, points, LENGTH(points), e);
        if (!rc)
            rc = db_finish(d, &c, row->status, row->status == DB_FAILED, -1,
                           row->status == DB_FAILED ? "out of memory\nat step 3" : NULL, e);
        db_claim_free(&c);
        if (rc) return -1;
    }
    return found;
}
#endif
