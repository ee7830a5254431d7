#include "text/data/coreference.h"
#include "base/cleanup.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 10, FORM = 1, UPOS = 3, FEATS = 5, HEAD = 6, MISC = 9 };

typedef struct {
    char *id; /* the entity's id */
    word_span at;
    bool open, pronoun; /* pronoun: the mention's head is a pronoun */
} mention;

typedef struct {
    const char *form;
    size_t head;            /* index of the head's word, HEAD - 1; for the root, larger than any index */
    bool pronoun, personal; /* pronoun: any pronoun; personal: a pronoun that may have an antecedent */
} word;

typedef struct {
    const char *path;
    size_t line;
    coreference *out;
    bool annotated, withheld; /* annotated: the file has an Entity; withheld: the sentence lacks a word */
    word *word;
    size_t n_words, word_cap;
    mention *mention; /* in the order of their openings */
    size_t n_mentions, mention_cap;
} reading;

/* ---- one word ---- */

/* Returns VALUE of KEY=VALUE in a column of values between |, and the value's length *n; NULL: no such key. */
static const char *value_of(const char *column, const char *key, size_t *n)
{
    size_t length = strlen(key);
    for (const char *at = column; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (!strncmp(at, key, length) && at[length] == '=') return *n = strcspn(at + length + 1, "|"), at + length + 1;
    return NULL;
}

static bool has_value(const char *column, const char *key, const char *value)
{
    size_t n;
    const char *found = value_of(column, key, &n);
    return found && n == strlen(value) && !strncmp(found, value, n);
}

static void open_mention(reading *r, const char *id, size_t n)
{
    r->mention = grow(r->mention, &r->mention_cap, r->n_mentions + 1, sizeof *r->mention);
    r->mention[r->n_mentions++] =
        (mention){.id = arena_strndup(&r->out->memory, id, n), .at = {r->n_words, 0}, .open = true};
}

static int close_mention(reading *r, const char *id, size_t n, err *e)
{
    for (size_t i = r->n_mentions; i-- > 0;) {
        mention *m = &r->mention[i];
        if (!m->open || strlen(m->id) != n || strncmp(m->id, id, n)) continue;
        m->open = false, m->at.to = r->n_words + 1;
        return 0;
    }
    return fail(e, "%s:%zu: Entity: '%.*s)' closes a mention that is not open", r->path, r->line, (int)n, id);
}

/* Reads the brackets of the current word. '(ID' is followed by '-' and attributes up to the next bracket. */
static int read_entity(reading *r, const char *s, size_t n, err *e)
{
    const char *end = s + n;
    while (s < end) {
        bool opens = *s == '(';
        s += opens;
        const char *id = s;
        while (s < end && !strchr("()", *s) && !(opens && *s == '-')) s++;
        size_t length = (size_t)(s - id);
        while (s < end && !strchr("()", *s)) s++;
        bool closes = s < end && *s == ')';
        if (!length) return fail(e, "%s:%zu: Entity: expected (ID-..., ID) or (ID-...)", r->path, r->line);
        if (!opens && !closes)
            return fail(e, "%s:%zu: Entity: found '%.*s' outside brackets", r->path, r->line, (int)(end - id), id);
        if (opens) open_mention(r, id, length);
        if (closes && close_mention(r, id, length, e)) return -1;
        s += closes;
    }
    return 0;
}

static int read_word(reading *r, char *line, err *e)
{
    char *field[COLUMNS] = {line};
    size_t n = 1;
    for (char *tab = line; (tab = strchr(tab, '\t')); n++) {
        *tab++ = 0;
        if (n < COLUMNS) field[n] = tab;
    }
    if (n != COLUMNS)
        return fail(e, "%s:%zu: found %zu columns, expected CoNLL-U's %d, separated by tabs", r->path, r->line, n,
                    COLUMNS);
    if (strpbrk(field[0], "-.")) return 0;
    char *end;
    unsigned long number = strtoul(field[0], &end, 10), head = strtoul(field[HEAD], &end, 10);
    if (number != r->n_words + 1)
        return fail(e, "%s:%zu: found the word number '%.20s', expected %zu", r->path, r->line, field[0],
                    r->n_words + 1);
    if (!isdigit((unsigned char)*field[HEAD]) || *end)
        return fail(e, "%s:%zu: column 7: found the head '%.20s', expected a word's number or 0", r->path, r->line,
                    field[HEAD]);
    bool possessive = same(field[UPOS], "DET") && has_value(field[FEATS], "Poss", "Yes");
    word w = {.form = field[FORM], .head = head ? head - 1 : SIZE_MAX};
    w.pronoun = same(field[UPOS], "PRON") || possessive;
    size_t length;
    w.personal = w.pronoun && (has_value(field[FEATS], "PronType", "Prs") ||
                               (!possessive && !value_of(field[FEATS], "PronType", &length)));
    const char *entity = value_of(field[MISC], "Entity", &length);
    if (entity && read_entity(r, entity, length, e)) return -1;
    r->annotated = r->annotated || entity;
    r->withheld = r->withheld || !field[FORM][strspn(field[FORM], "_")];
    r->word = grow(r->word, &r->word_cap, r->n_words + 1, sizeof *r->word);
    r->word[r->n_words++] = w;
    return 0;
}

/* ---- one sentence ---- */

static size_t head_of(const reading *r, word_span m)
{
    for (size_t i = m.from; i < m.to; i++)
        if (r->word[i].head < m.from || r->word[i].head >= m.to) return i;
    return m.from; /* the heads form a circle, so no head is outside the span */
}

/* Does span m overlap a mention of entity `id` that ends before the pronoun? */
static bool has_entity(const reading *r, word_span m, size_t pronoun, const char *id)
{
    for (size_t i = 0; i < r->n_mentions; i++) {
        word_span of = r->mention[i].at;
        if (same(r->mention[i].id, id) && of.to <= pronoun && of.from < m.to && m.from < of.to) return true;
    }
    return false;
}

/* The last mention before the pronoun whose head is no pronoun: a mention of entity `id`, or with !of_it a mention that
 * overlaps no mention of `id`. Among mentions with the same end, the shortest. */
static word_span nearest_mention(const reading *r, size_t pronoun, const char *id, bool of_it)
{
    word_span best = {0};
    for (size_t i = 0; i < r->n_mentions; i++) {
        const mention *m = &r->mention[i];
        if (m->pronoun || m->at.to > pronoun || strchr(m->id, '[') || same(m->id, id) != of_it) continue;
        if (!of_it && has_entity(r, m->at, pronoun, id)) continue;
        if (m->at.to > best.to || (m->at.to == best.to && m->at.from > best.from)) best = m->at;
    }
    return best;
}

static void find_pair(reading *r, size_t pronoun)
{
    const mention *of = NULL; /* the shortest mention whose head is the pronoun */
    for (size_t i = 0; i < r->n_mentions; i++) {
        const mention *m = &r->mention[i];
        if (m->at.from <= pronoun && pronoun < m->at.to && head_of(r, m->at) == pronoun && !strchr(m->id, '[') &&
            (!of || m->at.to - m->at.from < of->at.to - of->at.from))
            of = m;
    }
    if (!of) return;
    anaphor x = {.sentence = r->out->n, .pronoun = pronoun};
    x.antecedent = nearest_mention(r, pronoun, of->id, true);
    if (!x.antecedent.to) return;
    x.other = nearest_mention(r, pronoun, of->id, false);
    r->out->pair = grow(r->out->pair, &r->out->pair_cap, r->out->n_pairs + 1, sizeof x);
    r->out->pair[r->out->n_pairs++] = x;
}

static int end_sentence(reading *r, err *e)
{
    coreference *out = r->out;
    if (!r->n_words) return 0;
    for (size_t i = 0; i < r->n_mentions; i++) {
        mention *m = &r->mention[i];
        if (m->open)
            return fail(e, "%s:%zu: Entity: the mention '(%s' is still open at the end of its sentence", r->path,
                        r->line, m->id);
        m->pronoun = r->word[head_of(r, m->at)].pronoun;
    }
    if (r->withheld) {
        out->withheld++;
    } else {
        for (size_t i = 0; i < r->n_words; i++)
            if (r->word[i].personal) find_pair(r, i);
        out->sentence = grow(out->sentence, &out->cap, out->n + 1, sizeof *out->sentence);
        const char **text = arena_alloc(&out->memory, r->n_words * sizeof *text);
        for (size_t i = 0; i < r->n_words; i++) text[i] = arena_strdup(&out->memory, r->word[i].form);
        out->sentence[out->n++] = (coreference_sentence){r->n_words, text};
    }
    r->n_words = r->n_mentions = 0, r->withheld = false;
    return 0;
}

int coreference_read(const char *path, coreference *out, err *e)
{
    CLEANUP(str_free) str text = {0};
    AUTOFREE char **lines = NULL;
    size_t n = 0;
    *out = (coreference){0};
    reading r = {.path = path, .out = out};
    int bad = file_lines(path, &text, &lines, &n, e);
    for (size_t i = 0; i < n && !bad; i++) {
        r.line = i + 1;
        if (!*lines[i])
            bad = end_sentence(&r, e);
        else if (*lines[i] != '#')
            bad = read_word(&r, lines[i], e);
    }
    if (!bad) bad = end_sentence(&r, e);
    if (!bad && !r.annotated)
        bad = fail(e, "%s: found no Entity= in column 10, expected coreference as in CorefUD", path);
    if (!bad && !out->n_pairs)
        bad = fail(e, "%s: found %zu sentences and no pronoun with an antecedent%s", path, out->n,
                   out->withheld ? "; sentences with withheld words (_) do not count" : "");
    if (bad) coreference_free(out);
    free(r.word);
    free(r.mention);
    return bad;
}

void coreference_free(coreference *x)
{
    free(x->sentence);
    free(x->pair);
    arena_free(&x->memory);
    *x = (coreference){0};
}
