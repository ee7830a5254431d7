/* hash.c - SHA-256 (FIPS 180-4) for content, FNV-1a for tables in memory. */
#include "base/base.h"
#include "base/cleanup.h"
#include "base/unroll.h"
#include <errno.h>
#include <unistd.h>

/* FIPS 180-4, section 4.2.2: fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t right(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void compress_block(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], v[8];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t s0 = right(w[i - 15], 7) ^ right(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = right(w[i - 2], 17) ^ right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    memcpy(v, state, sizeof v);
    for (int at = 0; at < 64; at += 8) {
        UNROLL(8)
        for (int i = 0; i < 8; i++) { /* rotates the names a to h instead of the values */
            uint32_t a = v[-i & 7], b = v[(1 - i) & 7], c = v[(2 - i) & 7], e = v[(4 - i) & 7];
            uint32_t f = v[(5 - i) & 7], g = v[(6 - i) & 7], *h = &v[(7 - i) & 7];
            uint32_t t1 =
                *h + (right(e, 6) ^ right(e, 11) ^ right(e, 25)) + ((e & f) ^ (~e & g)) + K[at + i] + w[at + i];
            v[(3 - i) & 7] += t1;
            *h = t1 + (right(a, 2) ^ right(a, 13) ^ right(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        }
    }
    for (int i = 0; i < 8; i++) state[i] += v[i];
}

void sha256_init(sha256 *s)
{
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(s, 0, sizeof *s);
    memcpy(s->h, start, sizeof start);
}

void sha256_add(sha256 *s, const void *data, size_t n)
{
    const unsigned char *p = data;
    size_t have = s->n % 64;
    s->n += n;
    if (have) {
        size_t take = n < 64 - have ? n : 64 - have;
        if (take) memcpy(s->block + have, p, take);
        if (have + take < 64) return;
        compress_block(s->h, s->block);
        p += take;
        n -= take;
    }
    for (; n >= 64; p += 64, n -= 64) compress_block(s->h, p);
    if (n) memcpy(s->block, p, n);
}

void sha256_hex(sha256 *s, char out[65])
{
    static const unsigned char mark = 0x80, zeros[64];
    uint64_t bits = s->n * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++) length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sha256_add(s, &mark, 1);
    sha256_add(s, zeros, (120 - s->n % 64) % 64);
    sha256_add(s, length, 8);
    for (int i = 0; i < 8; i++) snprintf(out + 8 * i, 9, "%08x", s->h[i]);
}

void sha256_of(const void *data, size_t n, char out[65])
{
    sha256 s;
    sha256_init(&s);
    sha256_add(&s, data, n);
    sha256_hex(&s, out);
}

int sha256_file(const char *path, char out[65], err *e)
{
    enum { CHUNK = 1 << 16 };
    size_t size = 0;
    int fd = file_open_regular(path, &size, e);
    if (fd < 0) return -1;
    AUTOFREE unsigned char *chunk = xmalloc(CHUNK);
    sha256 s;
    sha256_init(&s);
    ssize_t got = 1;
    for (size_t left = size; left && got; left -= (size_t)got) { /* past `size` a file of /proc might wait */
        got = file_read_some(fd, chunk, left < CHUNK ? left : CHUNK);
        if (got < 0) break;
        sha256_add(&s, chunk, (size_t)got);
    }
    int rc = got < 0 ? fail(e, "%s: cannot be read: %s", path, strerror(errno)) : 0;
    if (!rc) sha256_hex(&s, out);
    close(fd);
    return rc;
}

uint64_t hash64(const void *data, size_t n)
{
    const unsigned char *p = data;
    uint64_t h = 0xcbf29ce484222325;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3;
    return h;
}
