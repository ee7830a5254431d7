/* varint.c - see varint.h. */
#include "base/varint.h"

unsigned char *varint_write(unsigned char *p, uint64_t v)
{
    for (; v > 127; v >>= 7) *p++ = (unsigned char)((v & 127) | 128);
    *p++ = (unsigned char)v;
    return p;
}

void varint_add(str *out, uint64_t v)
{
    unsigned char bytes[VARINT_MOST];
    str_addn(out, (const char *)bytes, (size_t)(varint_write(bytes, v) - bytes));
}

const unsigned char *varint_read(const unsigned char *p, const unsigned char *end, uint64_t *out)
{
    *out = 0;
    for (int shift = 0; p < end && shift < 64; shift += 7) {
        *out |= (uint64_t)(*p & 127) << shift;
        if (*p++ < 128) return p;
    }
    return NULL;
}
