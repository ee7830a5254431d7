/* import_check.c - checks a recorded file before anything is written: it may come from a stranger. */
#include "lab/results/import.h"
#include "base/cleanup.h"
#include <math.h>

/* Is it the key of a document, which may have several lines? Its control characters are escaped on reading. */
static bool is_document(const char *key)
{
    static const char *const keys[] = {"spec_ini", "argv", "build_json", "plugins_json", "analysis", "error"};
    for (size_t i = 0; key && i < LENGTH(keys); i++)
        if (same(keys[i], key)) return true;
    return false;
}

static int check_text(const char *what, const char *text, err *e)
{
    if (is_printable(text, false)) return 0;
    CLEANUP(str_free) str shown = {0};
    str_add_shown(&shown, text, false);
    const char *mark = same(what, "a key") || same(what, "an element") ? "" : "\"";
    return fail(e, "%s%.100s%s: found \"%.200s\", expected no control characters, as in an INI", mark, what, mark,
                shown.s);
}

static int check_texts(const cJSON *o, err *e)
{
    for (const cJSON *x = o->child; x; x = x->next) {
        if (x->string && check_text("a key", x->string, e)) return -1;
        if (cJSON_IsString(x) && !is_document(x->string) &&
            check_text(x->string ? x->string : "an element", x->valuestring, e))
            return -1;
        if (check_texts(x, e)) return -1;
    }
    return 0;
}

int import_time(const cJSON *o, const char *key, double *out, err *e)
{
    static const double most = 253402300799; /* the end of the year 9999, SQLite's last date */
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(o, key);
    *out = NAN;
    if (!v || cJSON_IsNull(v)) return 0;
    *out = cJSON_IsNumber(v) ? v->valuedouble : NAN;
    if (*out >= 0 && *out <= most) return 0;
    char *text = cJSON_PrintUnformatted(v);
    fail(e, "\"%s\": found %.40s, expected seconds since 1970, at most %.0f", key, text, most);
    cJSON_free(text);
    return -1;
}

static int check_variants(const cJSON *list, err *e)
{
    const cJSON *v;
    size_t bases = 0;
    cJSON_ArrayForEach(v, list)
    {
        const cJSON *base = cJSON_GetObjectItemCaseSensitive(v, "is_base"), *p;
        const char *hash = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(v, "hash"));
        static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
        if (hash && (!*hash || strlen(hash) > 64 || hash[strspn(hash, digits)]))
            return fail(e, "\"hash\": found \"%.80s\", expected a configuration's sha256", hash);
        if (base && !cJSON_IsBool(base) && !(cJSON_IsNumber(base) && (base->valueint == 0 || base->valueint == 1)))
            return fail(e, "\"is_base\": found another value, expected 0 or 1");
        bases += base && base->valueint == 1;
        cJSON_ArrayForEach(p, cJSON_GetObjectItemCaseSensitive(v, "config"))
        {
            const cJSON *q;
            cJSON_ArrayForEach(q, p) if (cJSON_IsArray(q) || cJSON_IsObject(q)) return fail(
                e, "\"config\": \"%s\": found a list or an object in the section, expected a value", p->string);
            if (cJSON_IsArray(p)) return fail(e, "\"config\": \"%s\": found a list, expected a value", p->string);
        }
    }
    return bases > 1
               ? fail(e, "found %zu variants with \"is_base\": 1, expected one: all others are compared with it", bases)
               : 0;
}

static int check_runs(const cJSON *list, err *e)
{
    const cJSON *r;
    cJSON_ArrayForEach(r, list)
    {
        const char *status = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r, "status"));
        if (same(status, "done") && !cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(r, "results")))
            return fail(e, "found a run that is done and has no results, expected at least one result");
    }
    return 0;
}

int import_check(const cJSON *root, err *e)
{
    return check_texts(root, e) || check_variants(cJSON_GetObjectItemCaseSensitive(root, "variants"), e) ||
                   check_runs(cJSON_GetObjectItemCaseSensitive(root, "runs"), e)
               ? -1
               : 0;
}
