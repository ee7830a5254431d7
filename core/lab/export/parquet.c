/* parquet.c - writes a table as Apache Parquet (github.com/apache/parquet-format): "PAR1", pages, and the footer in
 * Thrift's compact protocol. A column chunk is one data page of version 1; text has a dictionary page before it. */
#include "base/varint.h"
#include "lab/export/frame.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS_IN_GROUP = 1 << 20 };
enum { TYPE_INT64 = 2, TYPE_DOUBLE = 5, TYPE_BYTE_ARRAY = 6 };
enum { PLAIN = 0, RLE = 3, RLE_DICTIONARY = 8 };
enum { DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { OPTIONAL = 1, UTF8 = 0 };

/* ---- Thrift's compact protocol ---- */

enum { T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 };

/* Appends the header of field `id`, which follows field *last of the same structure. */
static void field(str *out, int *last, int id, int type)
{
    str_addc(out, (char)((id - *last) << 4 | type));
    *last = id;
}
static void field_int(str *out, int *last, int id, int type, int64_t v)
{
    field(out, last, id, type);
    varint_add(out, zigzag(v));
}
static void binary(str *out, const char *text)
{
    varint_add(out, strlen(text));
    str_add(out, text);
}
static void list(str *out, size_t n, int type)
{
    str_addc(out, (char)((n < 15 ? n : 15) << 4 | (size_t)type));
    if (n >= 15) varint_add(out, n);
}
static void end(str *out) { str_addc(out, 0); }

/* ---- pages ---- */

static void little(str *out, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) str_addc(out, (char)(v >> 8 * i));
}

/* Appends runs of equal values, each `bytes` wide: the hybrid encoding without its bit-packed form. */
static void runs(str *out, const uint32_t *v, size_t n, size_t bytes)
{
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && v[k] == v[i];) k++;
        varint_add(out, (uint64_t)(k - i) << 1);
        little(out, v[i], bytes);
    }
}

static bool there(const frame_column *c, size_t i)
{
    return c->type == FRAME_WHOLE ? !c->missing[i] : c->type == FRAME_REAL ? !isnan(c->real[i]) : c->text[i] != NULL;
}

/* Appends a page with its header. */
static void page(str *out, int type, const str *body, size_t values, int encoding)
{
    int last = 0, inner = 0;
    field_int(out, &last, 1, T_I32, type);
    field_int(out, &last, 2, T_I32, (int64_t)body->n);
    field_int(out, &last, 3, T_I32, (int64_t)body->n);
    field(out, &last, type == DATA_PAGE ? 5 : 7, T_STRUCT);
    field_int(out, &inner, 1, T_I32, (int64_t)values);
    field_int(out, &inner, 2, T_I32, encoding);
    if (type == DATA_PAGE) {
        field_int(out, &inner, 3, T_I32, RLE);
        field_int(out, &inner, 4, T_I32, RLE);
    }
    end(out);
    end(out);
    str_addn(out, str_text(body), body->n);
}

/* Numbers the distinct texts in order of appearance; returns their count. */
static uint32_t number_texts(const char **text, size_t n, uint32_t *index, const char **distinct)
{
    size_t size = 64, mask;
    uint32_t count = 0;
    while (size < 2 * n) size *= 2;
    uint32_t *table = xcalloc(size, sizeof *table); /* index + 1 */
    mask = size - 1;
    for (size_t i = 0; i < n; i++) {
        size_t at = (size_t)hash64(text[i], strlen(text[i])) & mask;
        while (table[at] && strcmp(distinct[table[at] - 1], text[i])) at = (at + 1) & mask;
        if (!table[at]) distinct[count] = text[i], table[at] = ++count;
        index[i] = table[at] - 1;
    }
    free(table);
    return count;
}

/* Appends the dictionary page, and to `body` the indices of the values that are not missing. */
static void put_texts(const frame_column *c, size_t from, size_t n, str *out, str *body)
{
    const char **text = xmalloc((n + 1) * sizeof *text), **distinct = xmalloc((n + 1) * sizeof *distinct);
    uint32_t *index = xmalloc((n + 1) * sizeof *index);
    size_t count = 0;
    str dictionary = {0};
    for (size_t i = from; i < from + n; i++)
        if (c->text[i]) text[count++] = c->text[i];
    uint32_t different = number_texts(text, count, index, distinct);
    for (uint32_t i = 0; i < different; i++) {
        little(&dictionary, strlen(distinct[i]), 4);
        str_add(&dictionary, distinct[i]);
    }
    page(out, DICTIONARY_PAGE, &dictionary, different, PLAIN);
    int bits = 1;
    while (different > 1u << bits) bits++;
    str_addc(body, (char)bits);
    runs(body, index, count, (size_t)(bits + 7) / 8);
    str_free(&dictionary);
    free(text), free(distinct), free(index);
}

typedef struct {
    size_t dictionary, data, end; /* offsets in the file; dictionary: 0 for none */
    size_t values;
} chunk;

static chunk put_column(const frame_column *c, size_t from, size_t n, str *out)
{
    chunk k = {.values = n};
    str body = {0}, levels = {0};
    uint32_t *defined = xmalloc((n + 1) * sizeof *defined);
    for (size_t i = 0; i < n; i++) defined[i] = there(c, from + i);
    runs(&levels, defined, n, 1);
    little(&body, levels.n, 4);
    str_addn(&body, str_text(&levels), levels.n);
    if (c->type == FRAME_TEXT) k.dictionary = out->n, put_texts(c, from, n, out, &body);
    for (size_t i = from; i < from + n && c->type != FRAME_TEXT; i++) {
        uint64_t bits;
        if (!there(c, i)) continue;
        if (c->type == FRAME_REAL) memcpy(&bits, &c->real[i], 8);
        little(&body, c->type == FRAME_REAL ? bits : (uint64_t)c->whole[i], 8);
    }
    k.data = out->n;
    page(out, DATA_PAGE, &body, n, c->type == FRAME_TEXT ? RLE_DICTIONARY : PLAIN);
    k.end = out->n;
    free(defined);
    str_free(&levels), str_free(&body);
    return k;
}

/* ---- the footer ---- */

static int type_of(const frame_column *c)
{
    return c->type == FRAME_WHOLE ? TYPE_INT64 : c->type == FRAME_REAL ? TYPE_DOUBLE : TYPE_BYTE_ARRAY;
}

static void put_schema(const frame *f, str *out)
{
    int last = 0;
    list(out, f->n_columns + 1, T_STRUCT);
    field(out, &last, 4, T_BINARY);
    binary(out, "schema");
    field_int(out, &last, 5, T_I32, (int64_t)f->n_columns);
    end(out);
    for (size_t j = 0; j < f->n_columns; j++) {
        last = 0;
        field_int(out, &last, 1, T_I32, type_of(&f->columns[j]));
        field_int(out, &last, 3, T_I32, OPTIONAL);
        field(out, &last, 4, T_BINARY);
        binary(out, f->columns[j].name);
        if (f->columns[j].type == FRAME_TEXT) field_int(out, &last, 6, T_I32, UTF8);
        end(out);
    }
}

static void put_chunk(const frame_column *c, const chunk *k, str *out)
{
    int last = 0, inner = 0;
    bool text = c->type == FRAME_TEXT;
    size_t start = text ? k->dictionary : k->data;
    field_int(out, &last, 2, T_I64, (int64_t)start);
    field(out, &last, 3, T_STRUCT);
    field_int(out, &inner, 1, T_I32, type_of(c));
    field(out, &inner, 2, T_LIST);
    list(out, text ? 3 : 2, T_I32);
    varint_add(out, zigzag(PLAIN));
    varint_add(out, zigzag(RLE));
    if (text) varint_add(out, zigzag(RLE_DICTIONARY));
    field(out, &inner, 3, T_LIST);
    list(out, 1, T_BINARY);
    binary(out, c->name);
    field_int(out, &inner, 4, T_I32, 0); /* uncompressed */
    field_int(out, &inner, 5, T_I64, (int64_t)k->values);
    field_int(out, &inner, 6, T_I64, (int64_t)(k->end - start));
    field_int(out, &inner, 7, T_I64, (int64_t)(k->end - start));
    field_int(out, &inner, 9, T_I64, (int64_t)k->data);
    if (text) field_int(out, &inner, 11, T_I64, (int64_t)k->dictionary);
    end(out);
    end(out);
}

void frame_parquet(const frame *f, str *out)
{
    size_t groups = (f->n_rows + ROWS_IN_GROUP - 1) / ROWS_IN_GROUP, at;
    chunk *chunks = xcalloc(groups * f->n_columns + 1, sizeof *chunks);
    str file = {0};
    int last = 0;
    str_add(&file, "PAR1");
    for (size_t g = 0; g < groups; g++)
        for (size_t j = 0; j < f->n_columns; j++) {
            size_t from = g * ROWS_IN_GROUP, n = f->n_rows - from;
            chunks[g * f->n_columns + j] =
                put_column(&f->columns[j], from, n < ROWS_IN_GROUP ? n : ROWS_IN_GROUP, &file);
        }
    at = file.n;
    field_int(&file, &last, 1, T_I32, 1);
    field(&file, &last, 2, T_LIST);
    put_schema(f, &file);
    field_int(&file, &last, 3, T_I64, (int64_t)f->n_rows);
    field(&file, &last, 4, T_LIST);
    list(&file, groups, T_STRUCT);
    for (size_t g = 0; g < groups; g++) {
        const chunk *of = &chunks[g * f->n_columns];
        int inner = 0;
        size_t bytes = 0;
        field(&file, &inner, 1, T_LIST);
        list(&file, f->n_columns, T_STRUCT);
        for (size_t j = 0; j < f->n_columns; j++) {
            put_chunk(&f->columns[j], &of[j], &file);
            bytes += of[j].end - (of[j].dictionary ? of[j].dictionary : of[j].data);
        }
        field_int(&file, &inner, 2, T_I64, (int64_t)bytes);
        field_int(&file, &inner, 3, T_I64, (int64_t)of[0].values);
        end(&file);
    }
    field(&file, &last, 6, T_BINARY);
    binary(&file, "ablate " ABLATE_VERSION);
    end(&file);
    size_t footer = file.n - at;
    little(&file, footer, 4);
    str_add(&file, "PAR1");
    str_addn(out, file.s, file.n);
    str_free(&file);
    free(chunks);
}
