/* json_lines.c - reads one JSON object a line, as training scripts log them. */
#include "lab/foreign/json.h"
#include <math.h>
#include <string.h>

/* Copies the text with quotes around NaN and Infinity, which Python writes and JSON lacks. */
static void add_quotes(str *out, const char *text, size_t n)
{
    static const char *const names[] = {"NaN", "-Infinity", "Infinity"};
    bool quoted = false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\\' && quoted && i + 1 < n) {
            str_addn(out, text + i++, 2);
            continue;
        }
        quoted ^= text[i] == '"';
        size_t w = 0;
        while (w < LENGTH(names) && (quoted || strncmp(text + i, names[w], strlen(names[w])))) w++;
        if (w == LENGTH(names)) {
            str_addc(out, text[i]);
            continue;
        }
        str_addf(out, "\"%s\"", names[w]);
        i += strlen(names[w]) - 1;
    }
}

cJSON *json_parse(const char *text, size_t n)
{
    CLEANUP(str_free) str json = {0};
    add_quotes(&json, text, n);
    return cJSON_ParseWithLength(str_text(&json), json.n);
}

const char *json_cell(const cJSON *v, char real[32])
{
    if (cJSON_IsString(v)) return v->valuestring;
    if (cJSON_IsNumber(v)) return isfinite(v->valuedouble) ? format_real(v->valuedouble, real) : "NaN";
    if (cJSON_IsBool(v)) return cJSON_IsTrue(v) ? "true" : "false";
    return NULL;
}

/* Adds an object's values to the record, without lists: a value is one number or word. */
static int add_object(sheet *s, const cJSON *o, const char *prefix, err *e)
{
    const cJSON *v;
    char real[32];
    int bad = 0;
    cJSON_ArrayForEach(v, o)
    {
        AUTOFREE char *key = *prefix ? xprintf("%s.%s", prefix, v->string) : xstrdup(v->string);
        const char *cell = json_cell(v, real);
        if (!bad && cJSON_IsObject(v)) bad = add_object(s, v, key, e);
        if (!bad && cell) bad = sheet_add_named(s, key, cell, e);
    }
    return bad;
}

/* Reads entries such as {"loss": 0.5, "learning_rate": 1e-4, "epoch": 1.0, "step": 500}. */
int trainer_state_parse(sheet *s, const char *text, size_t n, const char *name, const char *row, err *e)
{
    cJSON *root = json_parse(text, n);
    const cJSON *log = cJSON_GetObjectItemCaseSensitive(root, "log_history"), *entry;
    int bad = cJSON_IsArray(log) ? 0 : fail(e, "found no list \"log_history\", expected a Trainer's state");
    size_t number = 0;
    s->format = "transformers' trainer_state.json";
    cJSON_ArrayForEach(entry, log) if (!bad) bad =
        sheet_start(s, name, ++number, e) || sheet_add_named(s, SHEET_ROW, row, e) || add_object(s, entry, "", e);
    cJSON_Delete(root);
    return bad ? fail_in(e, "%s: ", name) : 0;
}

int json_lines_each(const char *text, size_t n, int (*f)(void *self, const cJSON *o, size_t line, err *e), void *self,
                    err *e)
{
    int bad = 0;
    const char *end = text + n;
    for (size_t line = 1; text < end && !bad; line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        size_t length = (size_t)((stop ? stop : end) - text);
        size_t blank = strspn(text, " \t\r");
        if (blank < length) {
            cJSON *o = json_parse(text, length);
            if (!cJSON_IsObject(o))
                bad = fail(e, "line %zu: found %s, expected one JSON object a line", line,
                           o ? "another JSON value" : "no valid JSON");
            else
                bad = f(self, o, line, e);
            cJSON_Delete(o);
        }
        text += length + (stop != NULL);
    }
    return bad;
}

typedef struct {
    sheet *s;
    const char *name;
} into;

static int add_line(void *self, const cJSON *o, size_t line, err *e)
{
    const into *x = self;
    return sheet_start(x->s, x->name, line, e) || add_object(x->s, o, "", e) ? -1 : 0;
}

int json_lines_parse(sheet *s, const char *text, size_t n, const char *name, err *e)
{
    into x = {s, name};
    size_t before = s->n;
    s->format = "JSON lines";
    int bad = json_lines_each(text, n, add_line, &x, e);
    if (!bad && s->n == before) bad = fail(e, "found no records");
    return bad ? fail_in(e, "%s: ", name) : 0;
}
