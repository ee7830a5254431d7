/* packed.c - writes a column of a record in few bits: each number is (least + count) / 2^shift with a count of `bits`
 * bits. Counts, and sums of floats, have this form.
 *
 * Bytes: 'p', n as varint, shift as zigzag varint, bits as one byte, least as zigzag varint; then the counts, bit by
 * bit, the lowest bit of the first count in the lowest bit of the first byte. */
#include "base/varint.h"
#include "lab/results/columns.h"
#include "lab/results/internal.h"
#include <math.h>

enum { MOST_SHIFT = 1000, MOST_BITS = 53, MOST_NUMBERS = 1 << 30 };
static const int64_t MOST_LEAST = (int64_t)1 << MOST_BITS;

/* Returns the least shift that makes v whole; v is finite and not 0. */
static int shift_of(double v)
{
    int power;
    uint64_t whole = (uint64_t)ldexp(fabs(frexp(v, &power)), MOST_BITS);
    return MOST_BITS - power - __builtin_ctzll(whole);
}

bool packed_append(const double *v, size_t n, str *out)
{
    int shift = -MOST_SHIFT;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(v[i]) || (v[i] == 0 && signbit(v[i])) || n > MOST_NUMBERS) return false;
        if (fabs(v[i]) > 0 && shift_of(v[i]) > shift) shift = shift_of(v[i]);
    }
    if (shift == -MOST_SHIFT) shift = 0; /* all numbers are 0 */
    double least = INFINITY, most = -INFINITY, limit = ldexp(1, MOST_BITS);
    if (shift > MOST_SHIFT) return false;
    for (size_t i = 0; i < n; i++) least = fmin(least, ldexp(v[i], shift)), most = fmax(most, ldexp(v[i], shift));
    if (!(least > -limit && most < limit && most - least < limit)) return false;
    uint64_t range = (uint64_t)(most - least), held = 0;
    int bits = range ? 64 - __builtin_clzll(range) : 0, n_held = 0;
    str_addc(out, 'p');
    varint_add(out, n);
    varint_add(out, zigzag(shift));
    str_addc(out, (char)bits);
    varint_add(out, zigzag((int64_t)least));
    for (size_t i = 0; i < n; i++) {
        held |= (uint64_t)(ldexp(v[i], shift) - least) << n_held; /* `held` has at most 7 bits before */
        for (n_held += bits; n_held >= 8; n_held -= 8, held >>= 8) str_addc(out, (char)(held & 255));
    }
    if (n_held) str_addc(out, (char)held);
    return true;
}

int packed_open(const unsigned char *p, size_t size, packed *out)
{
    const unsigned char *end = p + size;
    uint64_t n, first, second;
    if (!(p = varint_read(p + 1, end, &n)) || !(p = varint_read(p, end, &first)) || p == end) return -1;
    int bits = *p++;
    if (!(p = varint_read(p, end, &second))) return -1;
    int64_t shift = unzigzag(first), least = unzigzag(second);
    if (!n || n > MOST_NUMBERS || shift < -MOST_SHIFT || shift > MOST_SHIFT || bits > MOST_BITS || least > MOST_LEAST ||
        least < -MOST_LEAST || (size_t)(end - p) != (n * (size_t)bits + 7) / 8)
        return -1;
    *out = (packed){p, (size_t)n, (int)shift, bits, least};
    return 0;
}

void packed_get(const packed *x, double *out, size_t stride)
{
    const unsigned char *p = x->p;
    uint64_t held = 0;
    int n_held = 0;
    double unit = ldexp(1, -x->shift); /* a power of 2: products with it are exact */
    for (size_t i = 0; i < x->n; i++) {
        for (; n_held < x->bits; n_held += 8) held |= (uint64_t)*p++ << n_held;
        uint64_t count = held & (((uint64_t)1 << x->bits) - 1);
        out[i * stride] = (double)(x->least + (int64_t)count) * unit;
        held >>= x->bits, n_held -= x->bits;
    }
}
