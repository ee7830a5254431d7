/* lm_eval.c - reads files of lm-evaluation-harness: results_TIME.json with one value per task and metric, and with
 * --log_samples a samples_TASK_TIME.jsonl per task, whose metrics are per example. Metrics are named TASK/METRIC. Seeds
 * in these files draw few-shot examples; they are not seeds of training, and are left out. */
#include "lab/foreign/json.h"
#include <string.h>

static const cJSON *item(const cJSON *o, const char *key) { return cJSON_GetObjectItemCaseSensitive(o, key); }

bool is_lm_eval(const char *text)
{
    return strstr(text, "\"results\"") && (strstr(text, "\"n-shot\"") || strstr(text, "\"lm_eval_version\"") ||
                                           strstr(text, "\"model_args\"") || strstr(text, "\"task_hashes\""));
}

/* Returns TASK/acc for "acc,none", and TASK/acc (strict-match) for another filter, "acc,strict-match". */
static char *metric_name(const char *task, const char *key, const char *filter)
{
    size_t n = strcspn(key, ",");
    if (!filter) filter = key[n] ? key + n + 1 : "none";
    return same(filter, "none") ? xprintf("%s/%.*s", task, (int)n, key)
                                : xprintf("%s/%.*s (%s)", task, (int)n, key, filter);
}

int lm_eval_results(sheet *s, const char *text, const char *name, str *model, err *e)
{
    char real[32];
    cJSON *root = json_parse(text, strlen(text));
    const cJSON *results = item(root, "results"), *task, *v;
    const char *by = cJSON_GetStringValue(item(root, "model_name"));
    const char *args = cJSON_GetStringValue(item(item(root, "config"), "model_args"));
    if (!by && args) by = has_prefix(args, "pretrained=") ? args + strlen("pretrained=") : args;
    str_clear(model);
    str_addn(model, by ? by : "model", by ? strcspn(by, ",") : 5);
    int bad = cJSON_IsObject(results) ? 0 : fail(e, "%s: found no object \"results\"", name);
    s->format = "lm-eval's results";
    cJSON_ArrayForEach(task, results) cJSON_ArrayForEach(v, task)
    {
        if (bad || !cJSON_IsNumber(v) || strstr(v->string, "_stderr") || !strchr(v->string, ',')) continue;
        AUTOFREE char *metric = metric_name(task->string, v->string, NULL);
        const char *const pairs[][2] = {
            {SHEET_ROW, model->s}, {SHEET_METRIC, metric}, {SHEET_VALUE, json_cell(v, real)}};
        bad = sheet_add_pairs(s, name, 1, pairs, LENGTH(pairs), e);
    }
    cJSON_Delete(root);
    return bad;
}

typedef struct {
    sheet *s;
    const char *name, *task, *model;
} samples;

/* {"doc_id":0,"filter":"none","metrics":["acc"],"acc":1.0,...}; in versions without "metrics" every number but doc_id
 * is a metric. */
static int add_sample(void *self, const cJSON *o, size_t line, err *e)
{
    const samples *x = self;
    char id[32], real[32];
    const char *example = json_cell(item(o, "doc_id"), id), *filter = cJSON_GetStringValue(item(o, "filter"));
    const cJSON *listed = item(o, "metrics"), *v;
    int bad = 0;
    if (!example) return fail(e, "line %zu: found no \"doc_id\"", line);
    cJSON_ArrayForEach(v, o)
    {
        bool wanted = !cJSON_IsArray(listed) && strcmp(v->string, "doc_id");
        const cJSON *m;
        cJSON_ArrayForEach(m, listed) wanted = wanted || same(cJSON_GetStringValue(m), v->string);
        if (bad || !wanted || (!cJSON_IsNumber(v) && !cJSON_IsBool(v))) continue;
        AUTOFREE char *metric = metric_name(x->task, v->string, filter ? filter : "none");
        const char *const pairs[][2] = {
            {SHEET_ROW, x->model},
            {SHEET_METRIC, metric},
            {SHEET_EXAMPLE, example},
            {SHEET_VALUE, cJSON_IsBool(v) ? (cJSON_IsTrue(v) ? "1" : "0") : json_cell(v, real)}};
        bad = sheet_add_pairs(x->s, x->name, line, pairs, LENGTH(pairs), e);
    }
    return bad;
}

int lm_eval_samples(sheet *s, const char *text, size_t n, const char *name, const char *task, const char *model, err *e)
{
    samples x = {s, name, task, model};
    return json_lines_each(text, n, add_sample, &x, e) ? fail_in(e, "%s: ", name) : 0;
}
