/* columns.c - writes and reads the columns of a record. An element of the array is a text, the column's bytes in base64
 * (stats.c, packed.c), or {"of": NUMBER, "times": X, "over": Y}: that text's numbers times X, then divided by Y. */
#include "lab/results/columns.h"
#include "lab/results/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

struct columns_entry {
    char key[65]; /* sha256 of the column's numbers */
    bool derived;
};

typedef struct {
    double *v; /* [n] */
    size_t n, number;
    char key[65];
    bool whole;
} column;

enum { NOT_YET = -1 };

static void key_of(column *x)
{
    CLEANUP(str_free) str bytes = {0};
    stats_put_column(x->v, x->n, 1, 'd', &bytes);
    sha256_of(bytes.s, bytes.n, x->key);
}

/* Returns the key's slot in the hash table, or a free slot for it. */
static size_t slot_of(const columns *c, const char *key)
{
    size_t at = hash64(key, 64) & (c->slots - 1);
    while (c->slot[at] && !same(c->entry[c->slot[at] - 1].key, key)) at = (at + 1) & (c->slots - 1);
    return at;
}

static bool find(const columns *c, column *x)
{
    size_t found = c->slots ? c->slot[slot_of(c, x->key)] : 0;
    if (found) x->number = found - 1;
    return found;
}

static void add_value(columns *c, column *x, const char *element, bool derived)
{
    if (2 * (c->n + 1) > c->slots) {
        c->slots = c->slots ? 2 * c->slots : 64;
        free(c->slot);
        c->slot = xcalloc(c->slots, sizeof *c->slot);
        for (size_t i = 0; i < c->n; i++) c->slot[slot_of(c, c->entry[i].key)] = i + 1;
    }
    c->entry = grow(c->entry, &c->cap, c->n + 1, sizeof *c->entry);
    memcpy(c->entry[c->n].key, x->key, sizeof x->key);
    c->entry[c->n].derived = derived;
    size_t at = slot_of(c, x->key);
    x->number = c->n++;
    c->slot[at] = c->n;
    str_addf(&c->text, "%s\n", x->number ? "," : "");
    str_add(&c->text, element);
}

/* Appends the column in its shortest encoding; returns the number of bytes. */
static size_t shortest(const column *x, str *bytes)
{
    CLEANUP(str_free) str plain = {0};
    str_clear(bytes);
    stats_put_column(x->v, x->n, 1, x->whole ? 'v' : 'd', &plain);
    if (!packed_append(x->v, x->n, bytes) || plain.n <= bytes->n) {
        str_clear(bytes);
        str_addn(bytes, plain.s, plain.n);
    }
    return bytes->n;
}

static void add_text(columns *c, column *x)
{
    CLEANUP(str_free) str bytes = {0}, text = {0}, element = {0};
    shortest(x, &bytes);
    base64_encode(bytes.s, bytes.n, &text);
    str_addf(&element, "\"%s\"", str_text(&text));
    add_value(c, x, element.s, false);
}

static void add_derived(columns *c, column *x, size_t of, double times, double over)
{
    CLEANUP(str_free) str element = {0};
    str_addf(&element, "{\"of\":%zu", of);
    if (times < 1 || times > 1) json_key_real(&element, "times", times);
    if (over < 1 || over > 1) json_key_real(&element, "over", over);
    str_addc(&element, '}');
    add_value(c, x, element.s, true);
}

static double derived(double x, double times, double over) { return x * times / over; }

static bool same_bits(double a, double b) { return !memcmp(&a, &b, sizeof a); }

static bool all_follow(const column *x, const column *of, double times, double over)
{
    for (size_t i = 0; i < x->n; i++)
        if (!same_bits(derived(of->v[i], times, over), x->v[i])) return false;
    return true;
}

static double steps_away(double v, int steps)
{
    for (; steps > 0; steps--) v = nextafter(v, INFINITY);
    for (; steps < 0; steps++) v = nextafter(v, -INFINITY);
    return v;
}

enum { TRIED = 3, NEAR = 4 }; /* roundings make each quotient inexact: try neighbours */

/* Finds *factor such that x = of * factor / over or, with one_by, x = of / factor. */
static bool find_factor(const column *x, const column *of, double over, bool one_by, double *factor)
{
    size_t tried = 0;
    for (size_t i = 0; i < x->n && tried < TRIED; i++) {
        double guess = one_by ? of->v[i] / x->v[i] : x->v[i] * over / of->v[i];
        if (!isnormal(guess) || !isnormal(x->v[i])) continue;
        tried++;
        for (int k = -NEAR; k <= NEAR; k++) {
            *factor = steps_away(guess, k);
            if (all_follow(x, of, one_by ? 1 : *factor, one_by ? *factor : over)) return true;
        }
    }
    return false;
}

static bool add_in_another_unit(columns *c, column *x, const column *of)
{
    double factor;
    if (of->n != x->n) return false;
    if (find_factor(x, of, 100, false, &factor))
        add_derived(c, x, of->number, factor, 100);
    else if (find_factor(x, of, 1, false, &factor))
        add_derived(c, x, of->number, factor, 1);
    else if (find_factor(x, of, 1, true, &factor))
        add_derived(c, x, of->number, 1, factor);
    else
        return false;
    return true;
}

static int zeros_at_end(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    int n = 0;
    for (; n < 52 && !(bits >> n & 1); n++) {}
    return n;
}

/* Finds numbers such that x = number * times / 100: a ratio's first number is in hundredths (ab_task.h), and the sums
 * or counts behind it have fewer digits. Of several doubles chooses the one with the fewest digits. Returns false if
 * some number of x has none. The caller frees out->v. */
static bool before_hundredths(const column *x, double times, column *out)
{
    *out = (column){.v = xmalloc((x->n + 1) * sizeof(double)), .n = x->n, .number = (size_t)NOT_YET};
    bool all = true;
    for (size_t i = 0; i < x->n && all; i++) {
        int best = -1;
        for (int k = -NEAR; k <= NEAR; k++) {
            double v = steps_away(x->v[i] * 100 / times, k);
            if (!same_bits(derived(v, times, 100), x->v[i]) || zeros_at_end(v) <= best) continue;
            best = zeros_at_end(v), out->v[i] = v;
        }
        all = best >= 0;
    }
    out->whole = all && stats_whole(out->v, out->n, 1);
    if (all) key_of(out);
    return all;
}

static bool is_short(const column *x)
{
    CLEANUP(str_free) str bytes = {0};
    bool is = shortest(x, &bytes) <= 6 * x->n; /* bytes per number: 8 as doubles, 6.5 if in a narrow range */
    return is;
}

typedef struct {
    column *at;
    size_t n, cap;
} sources;

static void add_source(sources *s, const columns *c, const column *x)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->at[i].number == x->number) return;
    if (x->whole || c->entry[x->number].derived) return;
    s->at = grow(s->at, &s->cap, s->n + 1, sizeof *s->at);
    column copy = *x;
    copy.v = xmalloc((x->n + 1) * sizeof(double));
    memcpy(copy.v, x->v, x->n * sizeof(double));
    s->at[s->n++] = copy;
}

static const double units[] = {1, 1.4426950408889634}; /* factor of a sum: 1, or from nats to bits */

static void place_from_short(columns *c, column *x, sources *s)
{
    for (size_t k = 0; k < LENGTH(units) && x->number == (size_t)NOT_YET; k++) {
        column of;
        if (before_hundredths(x, units[k], &of) && (of.whole || is_short(&of))) {
            if (!find(c, &of)) add_text(c, &of);
            if (!c->entry[of.number].derived) { /* derived columns refer only to texts */
                add_derived(c, x, of.number, units[k], 100);
                add_source(s, c, &of);
            }
        }
        free(of.v);
    }
}

/* Finds the column among earlier ones; else adds it if it is whole or short, or derives from a short column. */
static void place_short(columns *c, column *x, sources *s)
{
    if (!find(c, x) && (x->whole || is_short(x)))
        add_text(c, x);
    else if (x->number == (size_t)NOT_YET)
        place_from_short(c, x, s);
    if (x->number != (size_t)NOT_YET) add_source(s, c, x);
}

static void place_long(columns *c, column *x, sources *s)
{
    if (x->number != (size_t)NOT_YET || find(c, x)) return;
    for (size_t i = 0; i < s->n; i++)
        if (add_in_another_unit(c, x, &s->at[i])) return;
    add_text(c, x);
    add_source(s, c, x);
}

void columns_add(columns *c, const db_stats *s, size_t n, size_t **number)
{
    size_t total = 0, k = 0;
    for (size_t i = 0; i < n; i++) total += s[i].width;
    column *all = xcalloc(total + 1, sizeof *all);
    sources from = {0};
    *number = xcalloc(total + 1, sizeof **number);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < s[i].width; j++, k++) {
            all[k] = (column){.v = xmalloc((s[i].n + 1) * sizeof(double)), .n = s[i].n, .number = (size_t)NOT_YET};
            for (size_t m = 0; m < s[i].n; m++) all[k].v[m] = s[i].value[m * s[i].width + j];
            all[k].whole = stats_whole(all[k].v, all[k].n, 1);
            key_of(&all[k]);
        }
    for (k = 0; k < total; k++) place_short(c, &all[k], &from);
    for (k = 0; k < total; k++) place_long(c, &all[k], &from);
    for (k = 0; k < total; k++) (*number)[k] = all[k].number, free(all[k].v);
    for (size_t i = 0; i < from.n; i++) free(from.at[i].v);
    free(from.at);
    free(all);
}

void columns_free(columns *c)
{
    str_free(&c->text);
    free(c->entry);
    free(c->slot);
    *c = (columns){0};
}

/* ---- reading ---- */

static const size_t MOST_RESTORED = 1 << 30;

int columns_open(columns_read *c, const cJSON *list, err *e)
{
    *c = (columns_read){.left = MOST_RESTORED};
    if (list && !cJSON_IsArray(list)) return fail(e, "\"columns\": found no list, expected one");
    const cJSON *x;
    c->at = xcalloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *c->at);
    cJSON_ArrayForEach(x, list) c->at[c->n++] = x;
    return 0;
}

void columns_close(columns_read *c)
{
    free(c->at);
    *c = (columns_read){0};
}

/* Reads the number of a column: an item of an array of such numbers, or "of". */
static int read_number(const columns_read *c, const cJSON *x, size_t *out, err *e)
{
    double v = cJSON_IsNumber(x) ? x->valuedouble : NAN;
    if (!(v >= 0 && v < (double)c->n) || v != floor(v))
        return fail(e, "found a column that is none of the record's %zu \"columns\"", c->n);
    *out = (size_t)v;
    return 0;
}

/* Returns the number of values in a column's bytes; 0: no values, or the bytes are cut short. */
static size_t count_numbers(const unsigned char *p, size_t size)
{
    size_t n = 0;
    if (size < 2) return 0;
    packed x;
    if (*p == 'p') return packed_open(p, size, &x) ? 0 : x.n;
    if (*p == 'd') return (size - 1) % 8 ? 0 : (size - 1) / 8;
    if (*p != 'v' || p[size - 1] > 127) return 0;
    for (size_t i = 1; i < size; i++) n += p[i] < 128;
    return n;
}

static int factor_of(const cJSON *x, const char *key, double *out, err *e)
{
    const cJSON *v = cJSON_GetObjectItemCaseSensitive(x, key);
    *out = !v ? 1 : cJSON_IsNumber(v) ? v->valuedouble : NAN;
    return isfinite(*out) ? 0 : fail(e, "\"%s\": found no number, expected one", key);
}

/* Decodes the text of column i, or the text from which it is derived. */
static int bytes_of(const columns_read *c, size_t i, str *bytes, double *times, double *over, err *e)
{
    const cJSON *x = c->at[i];
    *times = *over = 1;
    if (cJSON_IsObject(x)) {
        size_t of = 0;
        if (read_number(c, cJSON_GetObjectItemCaseSensitive(x, "of"), &of, e) || factor_of(x, "times", times, e) ||
            factor_of(x, "over", over, e))
            return -1;
        x = c->at[of];
    }
    if (!cJSON_IsString(x)) return fail(e, "found neither a text nor a column that is derived from a text");
    return base64_decode(x->valuestring, bytes) ? fail(e, "found a text that is not base64") : 0;
}

static int read_column(columns_read *c, size_t i, size_t j, arena *a, db_stats *out, err *e)
{
    CLEANUP(str_free) str bytes = {0};
    double times, over;
    int rc = bytes_of(c, i, &bytes, &times, &over, e);
    const unsigned char *p = (const unsigned char *)str_text(&bytes);
    size_t n = rc ? 0 : count_numbers(p, bytes.n);
    if (!rc && !n) rc = fail(e, "found %zu bytes, expected a kind (v, d or p) and complete numbers", bytes.n);
    if (!rc && j && n != out->n) rc = fail(e, "found %zu numbers, expected %zu as in the first column", n, out->n);
    if (!rc && !j) {
        size_t size = n * out->width * sizeof(double);
        if (size > c->left) rc = fail(e, "found more than %zu bytes of statistics in all", MOST_RESTORED);
        if (!rc) c->left -= size, out->n = n, out->value = arena_alloc(a, size);
    }
    packed x;
    if (!rc && *p == 'p')
        packed_open(p, bytes.n, &x), packed_get(&x, out->value + j, out->width);
    else if (!rc && !stats_get_column(p, p + bytes.n, n, out->width, out->value + j))
        rc = fail(e, "found a damaged number");
    for (size_t k = 0; k < n && !rc && cJSON_IsObject(c->at[i]); k++) {
        double *v = &out->value[k * out->width + j];
        *v = derived(*v, times, over);
    }
    return rc ? fail_in(e, "column %zu: ", i) : 0;
}

int columns_stats(columns_read *c, const cJSON *numbers, arena *a, db_stats *out, err *e)
{
    const cJSON *x;
    size_t i, j = 0;
    *out = (db_stats){.width = (size_t)cJSON_GetArraySize(numbers)};
    if (!out->width) return fail(e, "\"stats\": found no column, expected at least one");
    cJSON_ArrayForEach(x, numbers)
    {
        if (read_number(c, x, &i, e) || read_column(c, i, j++, a, out, e)) return -1;
    }
    return 0;
}
