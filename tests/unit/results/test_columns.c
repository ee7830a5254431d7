/* A record stores statistics as columns that its results share: equal columns are written once, and reading gives back
 * all columns bit for bit. */
#include "base/varint.h"
#include "fixture.h"
#include "lab/results/columns.h"
#include "lab/results/internal.h"
#include <math.h>

static err e;

enum { N = 40 };

static double random_float(rng *r) { return (double)(float)(4 * rng_uniform(r)); }

/* Makes a metric's statistics: column 0 has part * times / over, column 1 has `whole` in every row. */
static db_stats of(double *out, const double *part, double times, double over, double whole)
{
    for (size_t i = 0; i < N; i++) out[2 * i] = part[i] * times / over, out[2 * i + 1] = whole;
    return (db_stats){N, 2, out};
}

/* Checks that reading the columns gives the statistics bit for bit. */
static void check_back(const columns *c, const db_stats *s, size_t n, const size_t *number)
{
    char *text = xprintf("[%s]", str_text(&c->text));
    cJSON *list = cJSON_Parse(text);
    columns_read r;
    arena a = {0};
    CHECK(list);
    CHECK_OK(columns_open(&r, list, &e));
    CHECK_INT(r.n, c->n);
    for (size_t i = 0; i < n; i++) {
        cJSON *numbers = cJSON_CreateArray();
        db_stats back;
        for (size_t j = 0; j < s[i].width; j++) cJSON_AddItemToArray(numbers, cJSON_CreateNumber((double)*number++));
        CHECK_OK(columns_stats(&r, numbers, &a, &back, &e));
        CHECK_INT(back.n, s[i].n);
        CHECK_INT(back.width, s[i].width);
        size_t apart = 0;
        for (size_t k = 0; back.n == s[i].n && k < s[i].n * s[i].width; k++)
            apart += memcmp(&back.value[k], &s[i].value[k], sizeof(double)) != 0;
        CHECK_INT(apart, 0);
        cJSON_Delete(numbers);
    }
    columns_close(&r);
    arena_free(&a);
    cJSON_Delete(list);
    free(text);
}

static void test_shared(void)
{
    double nll[N], other[N], v[5][2 * N];
    rng r = rng_seed(1, 1);
    for (size_t i = 0; i < N; i++) nll[i] = random_float(&r), other[i] = random_float(&r);
    static const double bits = 1.4426950408889634;
    db_stats first[] = {of(v[0], nll, 1, 1, 64), of(v[1], nll, bits, 100, 64), of(v[2], nll, bits, 100, 64),
                        of(v[3], nll, 1, 100, 64)};
    columns c = {0};
    size_t *number, *again;
    columns_add(&c, first, LENGTH(first), &number);
    CHECK_INT(c.n, 4); /* columns: nats, tokens, bits, loss */
    CHECK_HAS(c.text.s, "{\"of\":0,\"times\":1.4426950408889634,\"over\":100}");
    CHECK_HAS(c.text.s, "{\"of\":0,\"over\":100}");
    CHECK_INT(number[2], number[4]);
    CHECK_INT(number[1], number[7]);
    check_back(&c, first, LENGTH(first), number);
    columns_add(&c, first, LENGTH(first), &again); /* a second run with the same numbers */
    CHECK_INT(c.n, 4);
    for (size_t k = 0; k < 8; k++) CHECK_INT(again[k], number[k]);
    free(again);
    /* second: bits of other numbers, without nats: the nats that they follow from become a column, too */
    db_stats second[] = {of(v[4], other, bits, 100, 64)};
    columns_add(&c, second, 1, &again);
    CHECK_INT(c.n, 6);
    CHECK_HAS(c.text.s, "{\"of\":4,\"times\":1.4426950408889634,\"over\":100}");
    check_back(&c, second, 1, again);
    free(again);
    columns_free(&c);
    free(number);
}

/* Columns that are multiples of one another by unknown factors; one differs in a last bit and is stored by itself. */
static void test_units(void)
{
    double x[N], v[4][2 * N];
    rng r = rng_seed(2, 1);
    for (size_t i = 0; i < N; i++) x[i] = sqrt(1 + rng_uniform(&r)); /* numbers that need all digits of a double */
    db_stats s[] = {of(v[0], x, 1, 1, 1), of(v[1], x, 3.7, 1, 1), of(v[2], x, 1, 7.3, 1), of(v[3], x, 3.7, 1, 1)};
    v[3][2 * N - 2] = nextafter(v[3][2 * N - 2], 0);
    columns c = {0};
    size_t *number;
    columns_add(&c, s, LENGTH(s), &number);
    CHECK_INT(c.n, 5);
    const char *at = c.text.s;
    size_t derived = 0;
    while ((at = strstr(at, "{\"of\":"))) derived++, at++;
    CHECK_INT(derived, 2);
    check_back(&c, s, LENGTH(s), number);
    free(number);
    columns_free(&c);
}

static void test_all_numbers(void)
{
    double odd[] = {0, -0.0, NAN, INFINITY, -INFINITY, 5e-324, 1.7e308, -1e-300, 0.1, 3, 1e15, -7};
    double counts[] = {-3, 0, 3, 12, 1e15, 7, 7, 7, 7, 7, 7, 7}, zero[LENGTH(odd)] = {0}, one[] = {0.375};
    double large[] = {0x1p90, 3 * 0x1p88, -0x1p91}, minus[] = {0, -0.0, 1}, small[] = {0x1p-900, 3 * 0x1p-901};
    db_stats s[] = {{LENGTH(odd), 1, odd},     {LENGTH(counts), 1, counts}, {LENGTH(zero), 1, zero},  {1, 1, one},
                    {LENGTH(large), 1, large}, {LENGTH(minus), 1, minus},   {LENGTH(small), 1, small}};
    columns c = {0};
    size_t *number;
    columns_add(&c, s, LENGTH(s), &number);
    CHECK_INT(c.n, LENGTH(s));
    check_back(&c, s, LENGTH(s), number);
    free(number);
    columns_free(&c);
    str bytes = {0};
    CHECK(packed_append(counts, LENGTH(counts), &bytes));
    packed x;
    for (size_t n = 1; n < bytes.n; n++) CHECK_INT(packed_open((const unsigned char *)bytes.s, n, &x), -1);
    CHECK_OK(packed_open((const unsigned char *)bytes.s, bytes.n, &x));
    str_free(&bytes);
}

/* A packed column of n equal numbers, in a few bytes whatever n is. */
static char *equal_numbers(size_t n)
{
    str bytes = {0}, text = {0};
    str_addc(&bytes, 'p');
    varint_add(&bytes, n);
    str_addn(&bytes, "\0\0\0", 3);
    base64_encode(bytes.s, bytes.n, &text);
    str_free(&bytes);
    return text.s;
}

static void test_damaged(void)
{
    char *large = equal_numbers((1 << 27) + 1), *larger = equal_numbers((size_t)1 << 40), *three = equal_numbers(3);
    char *texts[] = {xprintf("[\"%s\"]", large), xprintf("[\"%s\"]", larger), xprintf("[\"%s\",\"dgI=\"]", three),
                     xprintf("[{\"of\":1},\"%s\",{\"of\":0}]", three)};
    const struct {
        const char *columns, *numbers, *said;
    } all[] = {{"{}", "[0]", "\"columns\": found no list"},
               {"[]", "[0]", "found a column that is none of the record's 0 \"columns\""},
               {"[\"dgI=\"]", "[]", "\"stats\": found no column"},
               {"[\"dgI=\"]", "[1]", "none of the record's 1"},
               {"[\"dgI=\"]", "[-1]", "none of the record's 1"},
               {"[\"dgI=\"]", "[0.5]", "none of the record's 1"},
               {"[\"dgI=\"]", "[\"0\"]", "none of the record's 1"},
               {"[\"d!I=\"]", "[0]", "column 0: found a text that is not base64"},
               {"[3]", "[0]", "column 0: found neither a text nor"},
               {"[\"dg==\"]", "[0]", "column 0: found 1 bytes, expected a kind"},
               {"[\"doI=\"]", "[0]", "column 0: found 2 bytes, expected a kind"},
               {"[\"eAI=\"]", "[0]", "column 0: found 2 bytes, expected a kind"},
               {"[\"dgI=\",{\"of\":0,\"times\":\"2\"}]", "[1]", "column 1: \"times\": found no number"},
               {"[\"dgI=\",{\"of\":0,\"over\":null}]", "[1]", "column 1: \"over\": found no number"},
               {"[\"dgI=\",{\"of\":2}]", "[1]", "column 1: found a column that is none"},
               {"[{\"of\":0}]", "[0]", "column 0: found neither a text nor"},
               {texts[0], "[0]", "column 0: found more than 1073741824 bytes of statistics in all"},
               {texts[1], "[0]", "column 0: found 10 bytes, expected a kind"},
               {texts[2], "[0,1]", "column 1: found 1 numbers, expected 3 as in the first column"},
               {texts[3], "[2]", "column 2: found neither a text nor"}};
    for (size_t i = 0; i < LENGTH(all); i++) {
        cJSON *list = cJSON_Parse(all[i].columns), *numbers = cJSON_Parse(all[i].numbers);
        columns_read r;
        arena a = {0};
        db_stats s;
        e.text[0] = 0;
        CHECK_INT(columns_open(&r, list, &e) ? -1 : columns_stats(&r, numbers, &a, &s, &e), -1);
        CHECK_HAS(e.text, all[i].said);
        columns_close(&r);
        arena_free(&a);
        cJSON_Delete(list);
        cJSON_Delete(numbers);
    }
    for (size_t i = 0; i < LENGTH(texts); i++) free(texts[i]);
    free(large), free(larger), free(three);
}

int main(void)
{
    test_shared();
    test_units();
    test_all_numbers();
    test_damaged();
    return test_end();
}
