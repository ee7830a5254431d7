/* events.c - reads TensorBoard's event files: TFRecords of tensorflow.Event messages. Field numbers come from
 * event.proto, summary.proto and tensor.proto. Checksums are compared, because a file may be cut off or copied while it
 * is written. */
#include "base/varint.h"
#include "lab/export/run_files.h"
#include "lab/foreign/sheet.h"
#include <string.h>

enum { MOST_EVENT = 1 << 26 };

typedef struct {
    const unsigned char *p, *end;
} bytes;
typedef struct {
    uint64_t number; /* varint, fixed32, fixed64 */
    bytes data;      /* for wire type 2 */
    int field, wire;
} piece;

static uint64_t fixed(const unsigned char *p, size_t n)
{
    uint64_t v = 0;
    for (size_t i = n; i--;) v = v << 8 | p[i];
    return v;
}

static bool varint(bytes *b, uint64_t *out)
{
    const unsigned char *p = varint_read(b->p, b->end, out);
    b->p = p ? p : b->end;
    return p;
}

/* Reads the next field of a message; false at its end or if it is damaged. */
static bool next(bytes *b, piece *out)
{
    uint64_t key, n = 0;
    *out = (piece){0};
    if (b->p >= b->end || !varint(b, &key)) return false;
    out->field = (int)(key >> 3 & 0xFFFFFF), out->wire = (int)(key & 7);
    if (out->wire == 0) return varint(b, &out->number);
    if (out->wire == 2 && !varint(b, &n)) return false;
    if (out->wire == 1) n = 8;
    if (out->wire == 5) n = 4;
    if ((out->wire != 1 && out->wire != 2 && out->wire != 5) || n > (uint64_t)(b->end - b->p)) return false;
    if (out->wire == 2)
        out->data = (bytes){b->p, b->p + n};
    else
        out->number = fixed(b->p, n);
    b->p += n;
    return true;
}

static double float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float f;
    memcpy(&f, &low, sizeof f);
    return (double)f;
}
static double double_of(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

/* Field numbers. TensorProto: dtype 1 (float 1, double 2), shape 2, content 4, float_val 5, double_val 6. Returns false
 * unless the tensor has exactly one number. */
static bool tensor_number(bytes b, double *out)
{
    piece x;
    uint64_t type = 0;
    bool found = false;
    while (next(&b, &x)) {
        size_t n = (size_t)(x.data.end - x.data.p);
        if (x.field == 1 && x.wire == 0) type = x.number;
        if (x.field == 4 && n == 4 && type == 1) *out = float_of(fixed(x.data.p, 4)), found = true;
        if (x.field == 4 && n == 8 && type == 2) *out = double_of(fixed(x.data.p, 8)), found = true;
        if (x.field == 5 && (x.wire == 5 || n == 4))
            *out = float_of(x.wire == 5 ? x.number : fixed(x.data.p, 4)), found = true;
        if (x.field == 6 && (x.wire == 1 || n == 8))
            *out = double_of(x.wire == 1 ? x.number : fixed(x.data.p, 8)), found = true;
    }
    return found;
}

/* Field numbers. SummaryMetadata: plugin_data 1 { plugin_name 1 }. TensorFlow 2 marks scalars with the plugin's name;
 * other plugins show pictures, text ... */
static bool is_other_plugin(bytes b)
{
    piece x, y;
    while (next(&b, &x))
        for (bytes plugin = x.data; x.field == 1 && x.wire == 2 && next(&plugin, &y);)
            if (y.field == 1 && y.wire == 2)
                return (size_t)(y.data.end - y.data.p) != strlen("scalars") ||
                       memcmp(y.data.p, "scalars", strlen("scalars"));
    return false;
}

/* Field numbers. Summary.Value: tag 1, simple_value 2, tensor 8, metadata 9. */
static int add_value(sheet *s, bytes b, int64_t step, const char *name, const char *run, size_t record, err *e)
{
    piece x;
    bytes tag = {0};
    double v = 0;
    bool found = false, other = false;
    while (next(&b, &x)) {
        if (x.field == 1 && x.wire == 2) tag = x.data;
        if (x.field == 2 && x.wire == 5) v = float_of(x.number), found = true;
        if (x.field == 8 && x.wire == 2 && !found) found = tensor_number(x.data, &v);
        if (x.field == 9 && x.wire == 2) other = is_other_plugin(x.data);
    }
    size_t n = (size_t)(tag.end - tag.p);
    if (!found || other || !n || memchr(tag.p, 0, n)) return 0;
    char number[32], at[32];
    snprintf(at, sizeof at, "%lld", (long long)step);
    AUTOFREE char *metric = xstrndup((const char *)tag.p, n);
    const char *const pairs[][2] = {{SHEET_ROW, run},
                                    {SHEET_METRIC, metric},
                                    {SHEET_STEP, at},
                                    {SHEET_VALUE, v - v == 0 ? format_real(v, number) : "NaN"}};
    return sheet_add_pairs(s, name, record, pairs, LENGTH(pairs), e);
}

/* Field numbers. Event: step 2, summary 5 { value 1 }. */
static int add_event(sheet *s, bytes b, const char *name, const char *run, size_t record, err *e)
{
    piece x, y;
    int64_t step = 0;
    bytes summary = {0};
    while (next(&b, &x)) {
        if (x.field == 2 && x.wire == 0) step = (int64_t)x.number;
        if (x.field == 5 && x.wire == 2) summary = x.data;
    }
    int bad = 0;
    while (!bad && next(&summary, &y))
        if (y.field == 1 && y.wire == 2) bad = add_value(s, y.data, step < 0 ? 0 : step, name, run, record, e);
    return bad;
}

int events_parse(sheet *s, const char *text, size_t n, const char *name, const char *run, err *e)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    int bad = 0;
    s->format = SHEET_EVENTS;
    for (size_t record = 1; end - p >= 12 && !bad; record++) {
        uint64_t size = fixed(p, 8);
        if (fixed(p + 8, 4) != tfrecord_crc(p, 8))
            bad = fail(e, "record %zu: its length is damaged, or this is no event file", record);
        else if (size > MOST_EVENT)
            bad = fail(e, "record %zu: found %llu bytes, expected at most %d", record, (unsigned long long)size,
                       MOST_EVENT);
        if (bad || size + 16 > (uint64_t)(end - p)) break;
        if (fixed(p + 12 + size, 4) != tfrecord_crc(p + 12, size))
            bad = fail(e, "record %zu: its checksum does not match", record);
        else
            bad = add_event(s, (bytes){p + 12, p + 12 + size}, name, run, record, e);
        p += size + 16;
    }
    return bad ? fail_in(e, "%s: ", name) : 0;
}
