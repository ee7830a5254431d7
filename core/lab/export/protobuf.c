/* protobuf.c - writes protocol buffers' wire format (protobuf.dev/programming-guides/encoding). */
#include "base/varint.h"
#include "lab/export/protobuf.h"
#include <string.h>

static void tag(str *out, int field, int wire) { varint_add(out, (uint64_t)field << 3 | (uint64_t)wire); }

void little_endian(str *out, uint64_t v, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) str_addc(out, (char)(v >> 8 * i));
}

void pb_int(str *out, int field, int64_t v)
{
    tag(out, field, 0);
    varint_add(out, (uint64_t)v);
}

void pb_double(str *out, int field, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    tag(out, field, 1);
    little_endian(out, bits, 8);
}

void pb_float(str *out, int field, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    tag(out, field, 5);
    little_endian(out, bits, 4);
}

static void bytes(str *out, int field, const void *data, size_t n)
{
    tag(out, field, 2);
    varint_add(out, n);
    str_addn(out, data, n);
}

void pb_text(str *out, int field, const char *text)
{
    if (text) bytes(out, field, text, strlen(text));
}

void pb_message(str *out, int field, str *message)
{
    bytes(out, field, str_text(message), message->n);
    str_free(message);
}
