#include "text/metric/tokenize.h"
#include <string.h>
#include <utf8proc.h>

#define TOKENIZER_NAME(name) #name,
const char *const tokenizer_names[N_TOKENIZERS] = {TOKENIZERS(TOKENIZER_NAME)};

/* ---- passes: each reads the text once, from the left, and never reads its own output ---- */

void codes_swap(codes *a, codes *b)
{
    codes t = *a;
    *a = *b, *b = t;
}

void codes_replace(codes *text, codes *spare, const char *from, const char *to)
{
    size_t n = strlen(from);
    spare->n = 0;
    for (size_t i = 0; i < text->n;) {
        size_t k = 0;
        while (k < n && i + k < text->n && text->c[i + k] == from[k]) k++;
        if (k < n) {
            codes_add(spare, text->c[i++]);
            continue;
        }
        for (const char *p = to; *p; p++) codes_add(spare, *p);
        i += n;
    }
    codes_swap(text, spare);
}

void codes_set_apart(codes *text, codes *spare, codes_class class)
{
    spare->n = 0;
    for (size_t i = 0; i < text->n; i++) {
        bool apart = class(text->c[i]);
        if (apart) codes_add(spare, ' ');
        codes_add(spare, text->c[i]);
        if (apart) codes_add(spare, ' ');
    }
    codes_swap(text, spare);
}

/* Splits pairs of adjacent characters, one of class `first`, the next of class `second`, by a space, and adds one
 * before or after the pair. A character is in one pair only: in "a,,b" a rule for (letter or comma, comma) splits "a,",
 * then reads ",b". */
struct pair_rule {
    codes_class first, second;
    enum { SPACE_BEFORE, SPACE_AFTER } more;
};

static void split_pairs(codes *text, codes *spare, struct pair_rule rule)
{
    spare->n = 0;
    for (size_t i = 0; i < text->n; i++) {
        bool pair = i + 1 < text->n && rule.first(text->c[i]) && rule.second(text->c[i + 1]);
        if (pair && rule.more == SPACE_BEFORE) codes_add(spare, ' ');
        codes_add(spare, text->c[i]);
        if (!pair) continue;
        codes_add(spare, ' ');
        codes_add(spare, text->c[++i]);
        if (rule.more == SPACE_AFTER) codes_add(spare, ' ');
    }
    codes_swap(text, spare);
}

/* ---- classes ---- */

static bool is_digit(int32_t c) { return c >= '0' && c <= '9'; }
static bool not_digit(int32_t c) { return !is_digit(c); }
static bool is_stop(int32_t c) { return c == '.' || c == ','; }
static bool is_dash(int32_t c) { return c == '-'; }

/* ASCII punctuation that 13a always splits off; apostrophes and three marks with their own rules are excluded. */
static bool is_western_mark(int32_t c)
{
    if (c <= ' ' || c > '~' || is_digit(c) || is_stop(c) || is_dash(c) || c == '\'') return false;
    return !((c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'));
}

static bool is_number(int32_t c)
{
    utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}
static bool not_number(int32_t c) { return !is_number(c); }
static bool is_punctuation(int32_t c)
{
    utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}
static bool is_symbol(int32_t c)
{
    utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_SM && k <= UTF8PROC_CATEGORY_SO;
}

/* The characters that sacreBLEU splits as Chinese. sacreBLEU writes two ranges beyond U+FFFF with too few hexadecimal
 * digits, so the first range here covers punctuation, arrows, mathematics and more, while ideographs beyond U+FFFF are
 * not split. Equal scores need the same set. */
static bool is_chinese(int32_t c)
{
    static const struct {
        int32_t from, to;
    } ranges[] = {
        {0x2001, 0x2a6d}, /* see above */
        {0x2e80, 0x2fdf}, /* radicals */
        {0x2ff0, 0x303f}, /* description characters, punctuation */
        {0x3100, 0x312f}, /* bopomofo */
        {0x31a0, 0x31ef}, /* bopomofo extended, strokes */
        {0x3200, 0x4db5}, /* enclosed letters and months, compatibility, ideographs extension A */
        {0x4e00, 0x9fbb}, /* ideographs as of Unicode 4.1 */
        {0xf900, 0xfa2d}, {0xfa30, 0xfa6a}, {0xfa70, 0xfad9}, /* compatibility ideographs */
        {0xfe10, 0xfe1f}, {0xfe30, 0xfe4f},                   /* vertical forms */
        {0xff00, 0xffef},                                     /* full and half width forms */
    };
    for (size_t i = 0; i < LENGTH(ranges); i++)
        if (c >= ranges[i].from && c <= ranges[i].to) return true;
    return false;
}

/* ---- tokenizers ---- */

void codes_split_marks(codes *text, codes *spare)
{
    split_pairs(text, spare, (struct pair_rule){not_digit, is_stop, SPACE_AFTER});
    split_pairs(text, spare, (struct pair_rule){is_stop, not_digit, SPACE_BEFORE});
    split_pairs(text, spare, (struct pair_rule){is_digit, is_dash, SPACE_AFTER});
}

static void western(codes *text, codes *spare)
{
    codes_set_apart(text, spare, is_western_mark);
    codes_split_marks(text, spare);
}

void codes_pad(codes *text, codes *spare)
{
    spare->n = 0;
    codes_add(spare, ' ');
    for (size_t i = 0; i < text->n; i++) codes_add(spare, text->c[i]);
    codes_add(spare, ' ');
    codes_swap(text, spare);
}

static void tokenize_13a(codes *text, codes *spare)
{
    static const char *const changes[][2] = {{"<skipped>", ""}, {"-\n", ""},   {"\n", " "},  {"&quot;", "\""},
                                             {"&amp;", "&"},    {"&lt;", "<"}, {"&gt;", ">"}};
    for (size_t i = 0; i < LENGTH(changes); i++) codes_replace(text, spare, changes[i][0], changes[i][1]);
    codes_pad(text, spare); /* now each stop at an end of the text has a neighbour that is no digit */
    western(text, spare);
}

static void tokenize_intl(codes *text, codes *spare)
{
    split_pairs(text, spare, (struct pair_rule){not_number, is_punctuation, SPACE_AFTER});
    split_pairs(text, spare, (struct pair_rule){is_punctuation, not_number, SPACE_BEFORE});
    codes_set_apart(text, spare, is_symbol);
}

/* Splits "a-b" into "a ##AT##-##AT## b"; "a-b-c" only at its first hyphen, as s/(\S)-(\S)/.../g does. */
static void split_compounds(codes *text, codes *spare)
{
    spare->n = 0;
    for (size_t i = 0; i < text->n; i++) {
        codes_add(spare, text->c[i]);
        if (i + 2 >= text->n || codes_space(text->c[i]) || !is_dash(text->c[i + 1]) || codes_space(text->c[i + 2]))
            continue;
        for (const char *p = " ##AT##-##AT## "; *p; p++) codes_add(spare, *p);
        codes_add(spare, text->c[i += 2]);
    }
    codes_swap(text, spare);
}

static bool is_any(int32_t c) { return c >= 0; }

void tokenize(enum tokenizer kind, codes *text, codes *spare)
{
    size_t from = 0;
    while (text->n > 0 && codes_space(text->c[text->n - 1])) text->n--;
    switch (kind) {
    case TOK_13a: tokenize_13a(text, spare); break;
    case TOK_intl: tokenize_intl(text, spare); break;
    case TOK_char: codes_set_apart(text, spare, is_any); break;
    case TOK_zh:
        while (from < text->n && codes_space(text->c[from])) from++;
        if (from > 0) memmove(text->c, text->c + from, (text->n - from) * sizeof *text->c);
        text->n -= from;
        codes_set_apart(text, spare, is_chinese);
        western(text, spare);
        break;
    case TOK_compounds: split_compounds(text, spare); break;
    case TOK_none:
    case N_TOKENIZERS: break;
    }
}
