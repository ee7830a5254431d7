/* wandb.c - writes the transaction log of a W&B run: LevelDB's log format with CRC-32 (IEEE). Records are
 * wandb_internal.proto's Record, with the fields that wandb 0.31 writes offline. */
#include "lab/export/protobuf.h"
#include "lab/export/run_files.h"
#include <math.h>
#include <stdlib.h>
#include <zlib.h>

enum { BLOCK = 32768, HEADER = 7 };
enum { FULL = 1, FIRST = 2, MIDDLE = 3, LAST = 4 };

typedef struct {
    str *out;
    size_t start; /* where the file begins in `out` */
    int64_t records;
} logfile;

/* Appends one record, split at the ends of blocks. */
static void put(logfile *l, int field, str *message)
{
    str record = {0};
    pb_int(&record, 1, ++l->records);
    pb_message(&record, field, message);
    for (size_t done = 0; done < record.n || !done;) {
        size_t left = BLOCK - (l->out->n - l->start) % BLOCK, n = record.n - done;
        if (left < HEADER) {
            little_endian(l->out, 0, left);
            continue;
        }
        if (n > left - HEADER) n = left - HEADER;
        int type = done + n == record.n ? done ? LAST : FULL : done ? MIDDLE : FIRST;
        const unsigned char kind = (unsigned char)type;
        little_endian(l->out, crc32_z(crc32_z(0, &kind, 1), (const unsigned char *)record.s + done, n), 4);
        little_endian(l->out, n, 2);
        str_addc(l->out, (char)type);
        str_addn(l->out, record.s + done, n);
        done += n;
        if (done == record.n) break;
    }
    str_free(&record);
}

static void json_item(str *out, int field, int key_field, const char *key, const char *json)
{
    str item = {0};
    pb_text(&item, key_field, key);
    pb_text(&item, 16, json);
    pb_message(out, field, &item);
}

static void number_item(str *out, const char *key, double v)
{
    char text[32];
    json_item(out, 1, 2, key, isfinite(v) ? format_real(v, text) : "\"NaN\"");
}

/* RunRecord: run_id 1, project 3, config 4, run_group 6, display_name 8, host 13, start_time 17. */
static void put_run(logfile *l, const run_record *r, const char *id)
{
    str run = {0}, config = {0}, start = {0};
    char seed[32];
    snprintf(seed, sizeof seed, "%lld", (long long)r->run->seed);
    pb_text(&run, 1, id);
    pb_text(&run, 3, r->experiment);
    for (size_t i = 0; i < r->n_settings; i++) json_item(&config, 1, 1, r->settings[i].key, r->settings[i].value);
    json_item(&config, 1, 1, "seed", seed);
    pb_message(&run, 4, &config);
    pb_text(&run, 6, r->row);
    char *name = xprintf("%s@%s", r->row, seed);
    pb_text(&run, 8, name);
    free(name);
    pb_text(&run, 13, r->run->host);
    if (isfinite(r->run->started_at)) {
        pb_int(&start, 1, (int64_t)r->run->started_at);
        pb_int(&start, 2, (int64_t)(fmod(r->run->started_at, 1) * 1e9));
        pb_message(&run, 17, &start);
    }
    put(l, 17, &run);
}

/* Returns the next step of any curve; INT64_MAX: none. *t: its time. at[i]: the next point of curve i. */
static int64_t next_step(const run_record *r, const size_t *at, double *t)
{
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < r->n_curves; i++)
        if (at[i] < r->curves[i].n && r->curves[i].points[at[i]].step < next)
            next = r->curves[i].points[at[i]].step, *t = r->curves[i].points[at[i]].t;
    return next;
}

static void put_history(logfile *l, const run_record *r)
{
    size_t *at = xcalloc(r->n_curves + 1, sizeof *at);
    double t = NAN;
    for (int64_t step; (step = next_step(r, at, &t)) != INT64_MAX;) {
        str history = {0}, number = {0};
        for (size_t i = 0; i < r->n_curves; i++) {
            if (at[i] >= r->curves[i].n || r->curves[i].points[at[i]].step != step) continue;
            number_item(&history, r->curves[i].metric, r->curves[i].points[at[i]].value);
            at[i]++;
        }
        if (isfinite(t)) number_item(&history, "_timestamp", t);
        if (isfinite(t - r->run->started_at)) number_item(&history, "_runtime", t - r->run->started_at);
        number_item(&history, "_step", (double)step);
        pb_int(&number, 1, step);
        pb_message(&history, 2, &number);
        put(l, 2, &history);
    }
    free(at);
}

void wandb_log(const run_record *r, const char *id, str *out)
{
    logfile l = {.out = out, .start = out->n};
    str version = {0}, header = {0}, summary = {0}, ending = {0};
    str_add(out, ":W&B");
    little_endian(out, 0xBEE1, 2);
    little_endian(out, 0, 1);
    pb_text(&version, 1, "0.31.0"); /* the version of wandb that writes such records */
    pb_text(&version, 2, "0.70.0");
    pb_message(&header, 1, &version);
    put(&l, 21, &header);
    put_run(&l, r, id);
    put_history(&l, r);
    for (size_t i = 0; i < r->run->n_results; i++)
        number_item(&summary, r->run->results[i].metric, r->run->results[i].value);
    put(&l, 3, &summary);
    pb_int(&ending, 1, r->run->status == DB_DONE ? 0 : 1);
    if (isfinite(r->run->seconds)) pb_int(&ending, 2, (int64_t)r->run->seconds);
    put(&l, 18, &ending);
}
