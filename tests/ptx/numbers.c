/* numbers.c - PTX instructions that compute on registers, lane by lane (PTX ISA, "Instruction Set"). Where the ISA
 * leaves the last bits open (ex2, lg2, rsqrt, tanh ..), the result is the C library's. */
#include "ptx.h"
#include <math.h>
#include <string.h>

#define EACH                                                                                                           \
    for (int l = 0; l < LANES; l++)                                                                                    \
        if (lanes >> l & 1)
#define ARGUMENTS const instruction *i, row *to, row *x, row *y, row *z, row *v, uint32_t lanes
#define UNUSED    (void)i, (void)to, (void)x, (void)y, (void)z, (void)v

static inline word of_bf16(float f) /* rounds to nearest, ties to even */
{
    uint32_t w = (uint32_t)of_f32(f);
    return f != f ? 0x7fff : (w + 0x7fff + (w >> 16 & 1)) >> 16;
}

/* ---- operations with many types ---- */

/* operands a, b, c and d are numbers of the type T */
#define ONE(name, suffix, T, IN, OUT, expression)                                                                      \
    static void name##_##suffix(ARGUMENTS)                                                                             \
    {                                                                                                                  \
        UNUSED;                                                                                                        \
        EACH                                                                                                           \
        {                                                                                                              \
            T a = (T)IN((*x)[l]), b = y ? (T)IN((*y)[l]) : 0, c = z ? (T)IN((*z)[l]) : 0;                              \
            (void)a, (void)b, (void)c;                                                                                 \
            (*to)[l] = OUT(expression);                                                                                \
        }                                                                                                              \
    }
#define OP(name, suffix, T, expression) ONE(name, suffix, T, (T), (word)(T), expression)
#define SIGNED(name, e)                 OP(name, s16, int16_t, e) OP(name, s32, int32_t, e) OP(name, s64, int64_t, e)
#define UNSIGNED(name, e)               OP(name, u16, uint16_t, e) OP(name, u32, uint32_t, e) OP(name, u64, uint64_t, e)
#define BITS(name, e)                   OP(name, b16, uint16_t, e) OP(name, b32, uint32_t, e) OP(name, b64, uint64_t, e)
#define PREDICATE(name, e)              ONE(name, pred, bool, (bool), (word), e)
#define REAL32(name, e)                 ONE(name, f32, float, f32_of, of_f32, e)
#define REAL64(name, e)                 ONE(name, f64, double, f64_of, of_f64, e)

#define BY       ((uint32_t)(*y)[l]) /* a shift count has 32 bits, whatever the type */
#define WRAPS(X) X(add, a + b) X(sub, a - b) X(mul_lo, a *b) X(mad_lo, a *b + c)
#define SIGNED_ONLY(X)                                                                                                 \
    X(div, b ? a / b : -1)                                                                                             \
    X(rem, b ? a % b : a)                                                                                              \
    X(min, a < b ? a : b)                                                                                              \
    X(max, a > b ? a : b)                                                                                              \
    X(neg, 0 - a) X(abs, a < 0 ? 0 - a : a) X(shr, a >> (BY < 8 * sizeof a ? BY : 8 * sizeof a - 1))
#define UNSIGNED_ONLY(X)                                                                                               \
    X(div, b ? a / b : ~(word)0)                                                                                       \
    X(rem, b ? a % b : a) X(min, a < b ? a : b) X(max, a > b ? a : b) X(shr, BY < 8 * sizeof a ? a >> BY : 0)
#define LOGIC(X)     X(and, a &b) X(or, a | b) X(xor, a ^ b)
#define BITS_ONLY(X) X(not, ~a) X(shl, BY < 8 * sizeof a ? (word)a << BY : 0)
#define REALS(X)     X(add, a + b) X(sub, a - b) X(mul, a *b) X(div, a / b) X(neg, -a) X(rcp, 1 / a)
#define REALS32(X)                                                                                                     \
    X(fma, fmaf(a, b, c))                                                                                              \
    X(min, fminf(a, b))                                                                                                \
    X(max, fmaxf(a, b))                                                                                                \
    X(abs, fabsf(a))                                                                                                   \
    X(sqrt, sqrtf(a))                                                                                                  \
    X(rsqrt, 1 / sqrtf(a))                                                                                             \
    X(ex2, exp2f(a)) X(lg2, log2f(a)) X(sin, sinf(a)) X(cos, cosf(a)) X(tanh, tanhf(a)) X(copysign, copysignf(b, a))
#define REALS64(X)                                                                                                     \
    X(fma, fma(a, b, c))                                                                                               \
    X(min, fmin(a, b)) X(max, fmax(a, b)) X(abs, fabs(a)) X(sqrt, sqrt(a)) X(copysign, copysign(b, a))

WRAPS(SIGNED)
WRAPS(UNSIGNED)
SIGNED_ONLY(SIGNED)
UNSIGNED_ONLY(UNSIGNED)
LOGIC(BITS)
LOGIC(PREDICATE)
BITS_ONLY(BITS)
PREDICATE(not, !a)
REALS(REAL32)
REALS(REAL64)
REALS32(REAL32)
REALS64(REAL64)

/* ---- products wider or narrower than their factors ---- */

#define WIDE(suffix, T, W)                                                                                             \
    ONE(mul_wide, suffix, W, (T), (word)(W), a *b)                                                                     \
    static void mad_wide_##suffix(ARGUMENTS)                                                                           \
    {                                                                                                                  \
        UNUSED;                                                                                                        \
        EACH(*to)[l] = (word)(W)((W)(T)(*x)[l] * (W)(T)(*y)[l]) + (*z)[l];                                             \
    }
WIDE(s16, int16_t, int32_t)
WIDE(u16, uint16_t, uint32_t)
WIDE(s32, int32_t, int64_t)
WIDE(u32, uint32_t, uint64_t)
#define HIGH(suffix, T, W) OP(mul_hi, suffix, T, (W)a *b >> 8 * sizeof a)
__extension__ typedef __int128 long_signed;
__extension__ typedef unsigned __int128 long_unsigned;
HIGH(s32, int32_t, int64_t)
HIGH(u32, uint32_t, uint64_t)
HIGH(s64, int64_t, long_signed)
HIGH(u64, uint64_t, long_unsigned)

/* ---- rounding, denormals ---- */

/* a b + c rounded down. The product is exact in double; the rounding error of the sum decides how to round to float. */
static float fma_down(float a, float b, float c)
{
    double p = (double)a * b, s = p + c, back = s - p, lost = (p - (s - back)) + (c - back);
    float r = (float)s;
    return r > s || ((double)r == s && lost < 0) ? nextafterf(r, -INFINITY) : r;
}
REAL32(fma_rm, fma_down(a, b, c))
static float flushed(float x) { return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x; }
REAL32(ex2_ftz, flushed(exp2f(flushed(a))))
REAL32(rcp_ftz, flushed(1 / flushed(a)))
REAL32(lg2_ftz, log2f(flushed(a)))
ONE(rcp_ftz, f64, double, f64_of, of_f64, f64_of(of_f64(1 / a) & ~(word)0xffffffff)) /* 20 bits */
static float saturated(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }

/* ---- conversions ---- */

#define CONVERT(name, T, IN, OUT, expression) ONE(cvt, name, T, IN, OUT, expression)
#define INTEGERS_TO(X)                                                                                                 \
    X(u16, uint16_t)                                                                                                   \
    X(s16, int16_t) X(u32, uint32_t) X(s32, int32_t) X(u64, uint64_t) X(s64, int64_t) X(u8, uint8_t) X(s8, int8_t)
#define TO_INTEGERS(from, F)                                                                                           \
    CONVERT(u16_##from, F, (F), (word)(uint16_t), a)                                                                   \
    CONVERT(s16_##from, F, (F), (word)(int16_t), a)                                                                    \
    CONVERT(u32_##from, F, (F), (word)(uint32_t), a)                                                                   \
    CONVERT(s32_##from, F, (F), (word)(int32_t), a)                                                                    \
    CONVERT(u64_##from, F, (F), (word)(uint64_t), a)                                                                   \
    CONVERT(s64_##from, F, (F), (word)(int64_t), a)                                                                    \
    CONVERT(f32_##from, F, (F), of_f32, (float)a) CONVERT(f64_##from, F, (F), of_f64, (double)a)
INTEGERS_TO(TO_INTEGERS)
/* a number out of range gives the nearest integer of the type; NaN gives 0 */
static word to_integer(double x, double least, double most)
{
    return x != x ? 0 : x <= least ? (word)(int64_t)least : x >= most ? (word)(most - 1) : (word)(int64_t)x;
}
#define REAL_TO(how, F, f, IN, round)                                                                                  \
    CONVERT(how##_s32_##f, F, IN, (word), to_integer((double)round, -0x1p31, 0x1p31))                                  \
    CONVERT(how##_u32_##f, F, IN, (word), to_integer((double)round, 0, 0x1p32))                                        \
    CONVERT(how##_s64_##f, F, IN, (word), to_integer((double)round, -0x1p63, 0x1p63))
REAL_TO(rni, float, f32, f32_of, nearbyintf(a))
REAL_TO(rzi, float, f32, f32_of, truncf(a))
REAL_TO(rni, double, f64, f64_of, nearbyint(a))
REAL_TO(rzi, double, f64, f64_of, trunc(a))
CONVERT(rni_f32_f32, float, f32_of, of_f32, nearbyintf(a))
CONVERT(rmi_f32_f32, float, f32_of, of_f32, floorf(a))
CONVERT(sat_f32_f32, float, f32_of, of_f32, saturated(a))
CONVERT(f64_f32, float, f32_of, of_f64, (double)a)
CONVERT(f32_f64, double, f64_of, of_f32, (float)a)
CONVERT(bf16_f32, float, f32_of, (word), of_bf16(a))
CONVERT(bf16x2_f32, float, f32_of, (word), of_bf16(a) << 16 | of_bf16(b))
ONE(cvt, f32_bf16, word, (word), (word), a << 16 & 0xffffffff)

/* ---- comparisons, choices ---- */

#define COMPARES(X, name, T, IN)                                                                                       \
    X(eq, name, T, IN, a == b)                                                                                         \
    X(ne, name, T, IN, a != b && a == a && b == b)                                                                     \
    X(lt, name, T, IN, a < b) X(le, name, T, IN, a <= b) X(gt, name, T, IN, a > b) X(ge, name, T, IN, a >= b)
#define COMPARES_OR_NAN(X, name, T, IN)                                                                                \
    X(equ, name, T, IN, !(a < b || a > b))                                                                             \
    X(neu, name, T, IN, !(a == b))                                                                                     \
    X(ltu, name, T, IN, !(a >= b))                                                                                     \
    X(leu, name, T, IN, !(a > b))                                                                                      \
    X(gtu, name, T, IN, !(a <= b))                                                                                     \
    X(geu, name, T, IN, !(a < b)) X(num, name, T, IN, a == a && b == b) X(nan, name, T, IN, a != a || b != b)
/* setp.CMP.TYPE and, with a third operand, setp.CMP.and.TYPE and setp.CMP.or.TYPE */
#define SETP(cmp, name, T, IN, e)                                                                                      \
    ONE(setp_##cmp, name, T, IN, (word), e)                                                                            \
    static void setp_##cmp##_and_##name(ARGUMENTS)                                                                     \
    {                                                                                                                  \
        setp_##cmp##_##name(i, to, x, y, NULL, NULL, lanes);                                                           \
        (void)v;                                                                                                       \
        EACH(*to)[l] = (*to)[l] && (*z)[l];                                                                            \
    }                                                                                                                  \
    static void setp_##cmp##_or_##name(ARGUMENTS)                                                                      \
    {                                                                                                                  \
        setp_##cmp##_##name(i, to, x, y, NULL, NULL, lanes);                                                           \
        (void)v;                                                                                                       \
        EACH(*to)[l] = (*to)[l] || (*z)[l];                                                                            \
    }
#define COMPARED_INTEGERS(X)                                                                                           \
    COMPARES(X, u16, uint16_t, (uint16_t))                                                                             \
    COMPARES(X, s16, int16_t, (int16_t))                                                                               \
    COMPARES(X, u32, uint32_t, (uint32_t))                                                                             \
    COMPARES(X, s32, int32_t, (int32_t))                                                                               \
    COMPARES(X, u64, uint64_t, (uint64_t))                                                                             \
    COMPARES(X, s64, int64_t, (int64_t))                                                                               \
    COMPARES(X, b16, uint16_t, (uint16_t)) COMPARES(X, b32, uint32_t, (uint32_t)) COMPARES(X, b64, uint64_t, (uint64_t))
#define COMPARED_REALS(X)                                                                                              \
    COMPARES(X, f32, float, f32_of)                                                                                    \
    COMPARES_OR_NAN(X, f32, float, f32_of) COMPARES(X, f64, double, f64_of) COMPARES_OR_NAN(X, f64, double, f64_of)
COMPARED_INTEGERS(SETP) COMPARED_REALS(SETP) static void selp(ARGUMENTS)
{
    UNUSED;
    EACH(*to)[l] = (*z)[l] ? (*x)[l] : (*y)[l];
}

/* ---- bits ---- */

/* BFI: inserts the lowest bits of x into y, from bit *z on */
static void bfi(ARGUMENTS)
{
    UNUSED;
    EACH
    {
        unsigned at = (*z)[l] & 0xff, n = (*v)[l] & 0xff;
        word some = n >= 64 ? ~(word)0 : ((word)1 << n) - 1, mask = at >= 64 ? 0 : some << at;
        (*to)[l] = ((*y)[l] & ~mask) | (at >= 64 ? 0 : (*x)[l] << at & mask);
    }
}
static void prmt(ARGUMENTS) /* each byte of the result is one of the eight bytes of x and y, or that byte's sign */
{
    UNUSED;
    EACH
    {
        word both = (*y)[l] << 32 | (uint32_t)(*x)[l], out = 0;
        for (int k = 0; k < 4; k++) {
            unsigned chosen = (*z)[l] >> 4 * k & 15, byte = both >> 8 * (chosen & 7) & 0xff;
            out |= (word)(chosen & 8 ? (byte & 0x80 ? 0xffu : 0) : byte) << 8 * k;
        }
        (*to)[l] = out;
    }
}
static word reversed(word x, int bits)
{
    word r = 0;
    for (int k = 0; k < bits; k++) r |= (x >> k & 1) << (bits - 1 - k);
    return r;
}
static word shifted_pair(word low, word high, word by, bool wrap, bool left)
{
    word both = high << 32 | (uint32_t)low;
    unsigned n = wrap ? by & 31 : by > 32 ? 32 : (unsigned)by;
    return left ? (n == 32 ? low : both << n >> 32) & 0xffffffff : both >> n & 0xffffffff;
}
static void lop3(ARGUMENTS) /* the fourth operand is the truth table */
{
    UNUSED;
    EACH
    {
        word out = 0;
        for (int k = 0; k < 32; k++) {
            unsigned row_ = (unsigned)(((*x)[l] >> k & 1) << 2 | ((*y)[l] >> k & 1) << 1 | ((*z)[l] >> k & 1));
            out |= ((*v)[l] >> row_ & 1) << k;
        }
        (*to)[l] = out;
    }
}
OP(brev, b32, uint32_t, (uint32_t)reversed(a, 32))
OP(popc, b32, uint32_t, (uint32_t)__builtin_popcount(a))
OP(clz, b32, uint32_t, a ? (uint32_t)__builtin_clz(a) : 32)
OP(bfind_shiftamt, u32, uint32_t, a ? (uint32_t)__builtin_clz(a) : 0xffffffff)
OP(bfind, u32, uint32_t, a ? 31 - (uint32_t)__builtin_clz(a) : 0xffffffff)
OP(shf_l_wrap, b32, uint32_t, (uint32_t)shifted_pair(a, b, c, true, true))
OP(shf_r_wrap, b32, uint32_t, (uint32_t)shifted_pair(a, b, c, true, false))
OP(shf_l_clamp, b32, uint32_t, (uint32_t)shifted_pair(a, b, c, false, true))
OP(shf_r_clamp, b32, uint32_t, (uint32_t)shifted_pair(a, b, c, false, false))

/* ---- the table: names with _ for . ---- */

#define ROW(name, suffix)              {#name "_" #suffix, name##_##suffix},
#define SIGNED_ROWS(name, e)           ROW(name, s16) ROW(name, s32) ROW(name, s64)
#define UNSIGNED_ROWS(name, e)         ROW(name, u16) ROW(name, u32) ROW(name, u64)
#define BITS_ROWS(name, e)             ROW(name, b16) ROW(name, b32) ROW(name, b64)
#define PREDICATE_ROWS(name, e)        ROW(name, pred)
#define REAL32_ROWS(name, e)           ROW(name, f32)
#define REAL64_ROWS(name, e)           ROW(name, f64)
#define SETP_ROWS(cmp, name, T, IN, e) ROW(setp_##cmp, name) ROW(setp_##cmp##_and, name) ROW(setp_##cmp##_or, name)
#define INTEGER_ROWS(from, F)                                                                                          \
    ROW(cvt, u16_##from)                                                                                               \
    ROW(cvt, s16_##from)                                                                                               \
    ROW(cvt, u32_##from)                                                                                               \
    ROW(cvt, s32_##from) ROW(cvt, u64_##from) ROW(cvt, s64_##from) ROW(cvt, f32_##from) ROW(cvt, f64_##from)
static const struct {
    const char *name;
    function *f;
} table[] = {
    WRAPS(SIGNED_ROWS) WRAPS(UNSIGNED_ROWS) SIGNED_ONLY(SIGNED_ROWS) UNSIGNED_ONLY(UNSIGNED_ROWS) LOGIC(BITS_ROWS)
        LOGIC(PREDICATE_ROWS) BITS_ONLY(BITS_ROWS) ROW(not, pred) REALS(REAL32_ROWS) REALS(REAL64_ROWS)
            REALS32(REAL32_ROWS) REALS64(REAL64_ROWS) ROW(mul_wide, s16) ROW(mul_wide, u16) ROW(mul_wide, s32)
                ROW(mul_wide, u32) ROW(mad_wide, s16) ROW(mad_wide, u16) ROW(mad_wide, s32) ROW(mad_wide, u32) ROW(
                    mul_hi, s32) ROW(mul_hi, u32) ROW(mul_hi, s64) ROW(mul_hi, u64) ROW(fma_rm, f32) ROW(ex2_ftz, f32)
                    ROW(rcp_ftz, f32) ROW(lg2_ftz, f32) ROW(rcp_ftz, f64) INTEGERS_TO(INTEGER_ROWS)
                        ROW(cvt, rni_s32_f32) ROW(cvt, rni_u32_f32) ROW(cvt, rni_s64_f32) ROW(cvt, rzi_s32_f32)
                            ROW(cvt, rzi_u32_f32) ROW(cvt, rzi_s64_f32) ROW(cvt, rni_s32_f64) ROW(cvt, rni_u32_f64)
                                ROW(cvt, rni_s64_f64) ROW(cvt, rzi_s32_f64) ROW(cvt, rzi_u32_f64) ROW(cvt, rzi_s64_f64)
                                    ROW(cvt, rni_f32_f32) ROW(cvt, rmi_f32_f32) ROW(cvt, sat_f32_f32) ROW(cvt, f64_f32)
                                        ROW(cvt, f32_f64) ROW(cvt, bf16_f32) ROW(cvt, bf16x2_f32) ROW(cvt, f32_bf16)
                                            COMPARED_INTEGERS(SETP_ROWS) COMPARED_REALS(SETP_ROWS){"bfi_b32", bfi},
    {"bfi_b64", bfi},
    {"prmt_b32", prmt},
    {"lop3_b32", lop3},
    ROW(brev, b32) ROW(popc, b32) ROW(clz, b32) ROW(bfind_shiftamt, u32) ROW(bfind, u32) ROW(shf_l_wrap, b32)
        ROW(shf_r_wrap, b32) ROW(shf_l_clamp, b32) ROW(shf_r_clamp, b32)};

function *numbers_function(const char *name)
{
    char key[64];
    size_t n = strlen(name);
    if (!strncmp(name, "selp.", 5)) return selp;
    if (n >= sizeof key) return NULL;
    for (size_t k = 0; k <= n; k++) key[k] = name[k] == '.' ? '_' : name[k];
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (!strcmp(table[k].name, key)) return table[k].f;
    return NULL;
}
