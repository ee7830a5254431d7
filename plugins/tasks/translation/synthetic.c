/* synthetic.c - the grammar: plans a sentence, then writes it in both languages, clause by clause. */
#include "synthetic.h"
#include "lexicon.h"
#include "tasks/memory.h"
#include "tasks/random.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
enum { LINE = 1024 };

/* ---- random numbers ---- */

static int below(uint64_t *state, int n) { return (int)((splitmix(state) >> 33) * (uint64_t)n >> 31); }
static bool chance(uint64_t *state, int percent) { return below(state, 100) < percent; }

/* ---- the plan of a sentence ---- */

typedef struct clause clause;
typedef struct { /* such as "these two small cats that sleep" */
    const noun *noun;
    int determiner, plural;
    const adjective *adjective[2];
    const clause *relative; /* a relative clause with this noun as subject; NULL: no clause */
    bool pronoun;
} phrase;

struct clause {
    const verb *verb;
    phrase subject, object, place;     /* noun NULL: the phrase is missing */
    const pair *adverb, *where, *join; /* each may be NULL; join: the conjunction before `second` */
    bool perfect, negative;
    const clause *that, *second; /* "says that ..."; "..., because ..." */
};

typedef struct {
    uint64_t *rng;
    clause pool[8];
    int n;
} planning;

static const noun *pick_noun(uint64_t *rng, int class)
{
    const noun *n;
    do n = &nouns[below(rng, COUNT(nouns))];
    while (!(n->class & class));
    return n;
}

static phrase pick_phrase(uint64_t *rng, int class)
{
    phrase p = {.noun = pick_noun(rng, class), .plural = chance(rng, 35)};
    int kind = below(rng, 4);
    p.determiner = kind < 2 ? THE : kind < 3 ? THIS : p.plural ? TWO : A;
    int n = chance(rng, 40) ? chance(rng, 30) ? 2 : 1 : 0;
    for (int i = 0; i < n; i++) {
        do p.adjective[i] = &adjectives[below(rng, COUNT(adjectives))];
        while (!(p.adjective[i]->class & p.noun->class) || (i && p.adjective[0] == p.adjective[1]));
    }
    return p;
}

enum { MAIN, SECOND, THAT, RELATIVE };

/* Plans a clause in a role. topic: its subject (in RELATIVE, or as a pronoun in SECOND); NULL: draws a subject. */
static clause *pick_clause(planning *g, int role, const phrase *topic)
{
    uint64_t *rng = g->rng;
    clause *c = &g->pool[g->n++];
    *c = (clause){0};
    do c->verb = &verbs[below(rng, COUNT(verbs))];
    while ((topic && !(c->verb->subject & topic->noun->class)) || (c->verb->object & CLAUSE && role != MAIN));
    if (topic)
        c->subject = *topic;
    else
        c->subject = pick_phrase(rng, c->verb->subject);
    c->perfect = chance(rng, 25);
    c->negative = !c->perfect && chance(rng, 15);
    if (c->verb->object & CLAUSE) {
        c->that = pick_clause(g, THAT, NULL);
        return c;
    }
    if (c->verb->object) c->object = pick_phrase(rng, c->verb->object);
    if (chance(rng, role == MAIN ? 30 : 15))
        c->place = pick_phrase(rng, PLACE), c->where = &places[below(rng, COUNT(places))];
    if (role != MAIN) return c;
    if (chance(rng, 25)) c->adverb = &adverbs[below(rng, COUNT(adverbs))];
    if (chance(rng, 15)) {
        c->subject.relative = pick_clause(g, RELATIVE, &c->subject);
    } else if (chance(rng, 35)) {
        phrase again = c->subject;
        again.pronoun = true;
        c->join = &joins[below(rng, COUNT(joins))];
        c->second = pick_clause(g, SECOND, chance(rng, 60) ? &again : NULL);
    }
    return c;
}

/* ---- writing ---- */

typedef struct {
    char text[LINE];
    const void *means[LINE / 2]; /* [n] for each word, the part of the plan that it expresses; NULL: no part */
    int n;
} writing;

static void word(writing *line, const char *w, const void *means)
{
    if (!*w) return;
    if (line->n) strcat(line->text, " ");
    strcat(line->text, w);
    for (; w; w = strchr(w + 1, ' ')) line->means[line->n++] = means; /* "in front of" is three words */
}

static void ending(writing *line, const char *e) { strcat(line->text, e); }

static void src_clause(writing *line, const clause *c, bool subject);
static void tgt_clause(writing *line, const clause *c, int role);

static void src_phrase(writing *line, const phrase *p, bool object)
{
    if (!p->noun) return;
    if (p->pronoun) {
        word(line, p->plural ? "they" : "it", &p->pronoun);
        return;
    }
    word(line, determiners_src[p->determiner][p->plural], &p->determiner);
    for (int i = 0; i < 2; i++) word(line, p->adjective[i] ? p->adjective[i]->src : "", &p->adjective[i]);
    word(line, p->noun->src[p->plural], &p->noun);
    if (p->relative && !object) {
        word(line, "that", &p->relative);
        src_clause(line, p->relative, false);
    }
}

static void src_clause(writing *line, const clause *c, bool subject)
{
    int plural = c->subject.plural;
    if (c->adverb) word(line, c->adverb->src, &c->adverb);
    if (subject) src_phrase(line, &c->subject, false);
    if (c->negative) word(line, plural ? "do" : "does", NULL), word(line, "not", &c->negative);
    if (c->perfect) word(line, plural ? "have" : "has", &c->perfect);
    word(line, c->verb->src[c->perfect ? 2 : c->negative ? 1 : plural], &c->verb);
    src_phrase(line, &c->object, true);
    if (c->where) word(line, c->where->src, &c->where);
    src_phrase(line, &c->place, true);
    if (c->that) {
        word(line, "that", &c->that);
        src_clause(line, c->that, true);
    }
    if (c->second) {
        word(line, c->join->src, &c->join);
        src_clause(line, c->second, true);
    }
}

static void tgt_phrase(writing *line, const phrase *p, int grammatical_case)
{
    if (!p->noun) return;
    int form = p->plural ? 3 : p->noun->gender;
    if (p->pronoun) {
        word(line, pronouns[form], &p->pronoun);
        return;
    }
    word(line, determiners[p->determiner][grammatical_case][form], &p->determiner);
    for (int i = 1; i >= 0; i--) { /* the target language swaps two adjectives */
        if (!p->adjective[i]) continue;
        word(line, p->adjective[i]->tgt, &p->adjective[i]);
        ending(line, endings[p->determiner][grammatical_case][form]);
    }
    const char *w = p->noun->tgt[p->plural];
    word(line, w, &p->noun);
    char last = w[strlen(w) - 1];
    if (grammatical_case == DATIVE && p->plural && last != 'n' && last != 's') ending(line, "n");
    if (p->relative) {
        word(line, ",", NULL);
        word(line, relatives[form], &p->relative);
        tgt_clause(line, p->relative, RELATIVE);
        word(line, ",", NULL);
    }
}

/* In role MAIN the verb comes second; in other roles it comes last. */
static void tgt_clause(writing *line, const clause *c, int role)
{
    int plural = c->subject.plural;
    const char *verb = c->perfect ? plural ? "haben" : "hat" : c->verb->tgt[plural];
    const void *finite = c->perfect ? (const void *)&c->perfect : &c->verb;
    if (c->adverb) {
        word(line, c->adverb->tgt, &c->adverb);
        word(line, verb, finite);
    }
    if (role != RELATIVE) tgt_phrase(line, &c->subject, NOMINATIVE);
    if (role == MAIN && !c->adverb) word(line, verb, finite);
    tgt_phrase(line, &c->object, ACCUSATIVE);
    if (c->where) word(line, c->where->tgt, &c->where);
    tgt_phrase(line, &c->place, DATIVE);
    if (c->negative) word(line, "nicht", &c->negative);
    if (c->perfect) word(line, c->verb->tgt[2], &c->verb);
    if (role != MAIN) word(line, verb, finite);
    if (c->that) {
        word(line, ",", NULL);
        word(line, "dass", &c->that);
        tgt_clause(line, c->that, THAT);
    }
    if (c->second) {
        word(line, ",", NULL);
        word(line, c->join->tgt, &c->join);
        tgt_clause(line, c->second, SECOND);
    }
}

/* Pairs the words of both sides that express one concept: "0-0 2-1". The caller frees the text. */
static char *links_between(const writing *x, const writing *y)
{
    char *text = need(malloc(16 * LINE)), *end = text;
    *text = 0;
    for (int i = 0; i < x->n; i++)
        for (int k = 0; k < y->n; k++)
            if (x->means[i] && x->means[i] == y->means[k]) end += sprintf(end, "%s%d-%d", *text ? " " : "", i, k);
    return text;
}

/* ---- distinct pairs ---- */

typedef struct {
    char **line;
    uint64_t mask;
} seen; /* hash table with open addressing; borrows the lines */

static bool first_time(seen *s, char *line)
{
    for (uint64_t i = hash_of(line, strlen(line)) & s->mask;; i = (i + 1) & s->mask) {
        if (!s->line[i]) return s->line[i] = line, true;
        if (!strcmp(s->line[i], line)) return false;
    }
}

int synthetic_make(uint64_t seed, int64_t n, char **src, char **tgt, char **links)
{
    uint64_t slots = 64;
    while (slots < 3 * (uint64_t)n) slots *= 2;
    seen s = {need(calloc(slots, sizeof *s.line)), slots - 1};
    uint64_t rng = seed * 0x9e3779b97f4a7c15u + 1;
    int64_t made = 0;
    for (int64_t tries = 0; made < n && tries < 100 * n + 1000; tries++) {
        writing x = {.n = 0}, y = {.n = 0};
        planning g = {.rng = &rng};
        clause *c = pick_clause(&g, MAIN, NULL);
        src_clause(&x, c, true);
        word(&x, ".", &g);
        tgt_clause(&y, c, MAIN);
        word(&y, ".", &g);
        src[made] = need(strdup(x.text));
        if (!first_time(&s, src[made])) {
            free(src[made]);
            continue;
        }
        tgt[made] = need(strdup(y.text));
        if (links) links[made] = links_between(&x, &y);
        made++;
    }
    free(s.line);
    if (made == n) return 0;
    for (int64_t i = 0; i < made; i++) free(src[i]), free(tgt[i]), free(links ? links[i] : NULL);
    return -1;
}
