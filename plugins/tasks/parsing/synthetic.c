/* synthetic.c - a probabilistic grammar with agreement, in which words determine where phrases attach. */
#include "synthetic.h"
#include "tasks/memory.h"
#include "tasks/random.h"
#include <stdlib.h>

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))
enum { SINGULAR, PLURAL };

/* ---- words ---- */

enum { ACTOR = 1, PLACE = 2, TOOL = 4, PART = 8 };
typedef struct {
    const char *form[2]; /* singular, plural */
    int class;
} noun;
static const noun nouns[] = {
    {{"man", "men"}, ACTOR},          {{"woman", "women"}, ACTOR},   {{"child", "children"}, ACTOR},
    {{"teacher", "teachers"}, ACTOR}, {{"dog", "dogs"}, ACTOR},      {{"cat", "cats"}, ACTOR},
    {{"duck", "ducks"}, ACTOR},       {{"horse", "horses"}, ACTOR},  {{"guard", "guards"}, ACTOR},
    {{"judge", "judges"}, ACTOR},     {{"house", "houses"}, PLACE},  {{"garden", "gardens"}, PLACE},
    {{"park", "parks"}, PLACE},       {{"river", "rivers"}, PLACE},  {{"school", "schools"}, PLACE},
    {{"market", "markets"}, PLACE},   {{"hammer", "hammers"}, TOOL}, {{"rope", "ropes"}, TOOL},
    {{"stick", "sticks"}, TOOL},      {{"net", "nets"}, TOOL},       {{"mirror", "mirrors"}, TOOL},
    {{"tail", "tails"}, PART},        {{"hat", "hats"}, PART},       {{"scar", "scars"}, PART},
    {{"beard", "beards"}, PART},      {{"collar", "collars"}, PART},
};

enum { ALONE = 1, OBJECT = 2, MOVING = 4, SAYING = 8 };
typedef struct {
    const char *form[3]; /* after "he", "they" and "will" */
    int class;
} verb;
static const verb verbs[] = {
    {{"sleeps", "sleep", "sleep"}, ALONE},
    {{"smiles", "smile", "smile"}, ALONE},
    {{"waits", "wait", "wait"}, ALONE},
    {{"runs", "run", "run"}, ALONE | MOVING},
    {{"walks", "walk", "walk"}, ALONE | MOVING},
    {{"swims", "swim", "swim"}, ALONE | MOVING},
    {{"sees", "see", "see"}, OBJECT},
    {{"watches", "watch", "watch"}, OBJECT},
    {{"guards", "guard", "guard"}, OBJECT},
    {{"likes", "like", "like"}, OBJECT},
    {{"catches", "catch", "catch"}, OBJECT},
    {{"chases", "chase", "chase"}, OBJECT | MOVING},
    {{"carries", "carry", "carry"}, OBJECT | MOVING},
    {{"follows", "follow", "follow"}, OBJECT | MOVING},
    {{"says", "say", "say"}, SAYING},
    {{"thinks", "think", "think"}, SAYING},
    {{"judges", "judge", "judge"}, SAYING},
};
static const char *const determiners[2][3] = {{"the", "this", "a"}, {"the", "these", "two"}};
static const char *const adjectives[] = {"old", "small", "red", "happy", "strange", "quick", "young", "tired"};
static const char *const names[] = {"Ann", "Bob", "Eve", "Max"};
static const char *const adverbs[] = {"often", "today", "rarely", "here"};
static const char *const modals[] = {"will", "can", "must"};

/* ---- random numbers (splitmix64, Steele et al. 2014) ---- */

typedef struct {
    uint64_t rng;
    buffer *out;
} maker;

static int below(maker *m, int n) { return (int)((splitmix(&m->rng) >> 33) * (uint64_t)n >> 31); }
static int chance(maker *m, int percent) { return below(m, 100) < percent; }

/* ---- writing ---- */

static void begin(maker *m, const char *label)
{
    buffer_text(m->out, " (");
    buffer_text(m->out, label);
}
static void end(maker *m) { buffer_text(m->out, ")"); }
static void leaf(maker *m, const char *tag, const char *word)
{
    begin(m, tag);
    buffer_text(m->out, " ");
    buffer_text(m->out, word);
    end(m);
}

/* ---- phrases; depth: levels that may still be nested ---- */

static void clause(maker *m, int depth);
static void verb_phrase(maker *m, int number, int class, int depth);

static void plain_phrase(maker *m, int number, int class)
{
    begin(m, "NP");
    if (class == ACTOR && number == SINGULAR && chance(m, 15)) {
        leaf(m, "NNP", names[below(m, COUNT(names))]);
    } else {
        const noun *n;
        do n = &nouns[below(m, COUNT(nouns))];
        while (!(n->class & class));
        const char *determiner = determiners[number][below(m, 3)];
        leaf(m, number == SINGULAR || chance(m, 70) ? "DT" : "CD", determiner);
        for (int k = 0; k < 2 && chance(m, 25); k++) leaf(m, "JJ", adjectives[below(m, COUNT(adjectives))]);
        leaf(m, number == PLURAL ? "NNS" : "NN", n->form[number]);
    }
    end(m);
}

static void place_phrase(maker *m, const char *preposition, int class)
{
    begin(m, "PP");
    leaf(m, "IN", preposition);
    plain_phrase(m, chance(m, 30), class);
    end(m);
}

static void relative(maker *m, int number, int depth)
{
    begin(m, "SBAR");
    begin(m, "WHNP");
    leaf(m, "WDT", "that");
    end(m);
    begin(m, "S");
    verb_phrase(m, number, chance(m, 50) ? ALONE : OBJECT, depth);
    end(m);
    end(m);
}

/* "the dogs near the man that sleep(s)": the verb's number shows which of the two nouns is its subject. */
static void two_nouns(maker *m, int number, int depth)
{
    int high = chance(m, 50), other = !number;
    begin(m, "NP");
    if (high) begin(m, "NP");
    plain_phrase(m, number, ACTOR);
    begin(m, "PP");
    leaf(m, "IN", chance(m, 50) ? "near" : "behind");
    if (!high) begin(m, "NP");
    plain_phrase(m, other, ACTOR);
    if (!high) {
        relative(m, other, depth - 1);
        end(m);
    }
    end(m);
    if (high) {
        end(m);
        relative(m, number, depth - 1);
    }
    end(m);
}

/* A noun phrase of actors, whose number the verb agrees with. */
static void noun_phrase(maker *m, int number, int depth)
{
    int kind = depth > 0 ? below(m, 100) : 100;
    if (kind < 18) {
        two_nouns(m, number, depth);
    } else if (kind < 30) {
        begin(m, "NP");
        plain_phrase(m, number, ACTOR);
        place_phrase(m, chance(m, 50) ? "of" : "with", PART);
        end(m);
    } else if (kind < 40) {
        begin(m, "NP");
        plain_phrase(m, number, ACTOR);
        relative(m, number, depth - 1);
        end(m);
    } else if (kind < 50 && number == PLURAL) {
        begin(m, "NP");
        plain_phrase(m, chance(m, 50), ACTOR);
        leaf(m, "CC", chance(m, 70) ? "and" : "or");
        plain_phrase(m, chance(m, 50), ACTOR);
        end(m);
    } else
        plain_phrase(m, number, ACTOR);
}

/* An object and a phrase whose words decide whether it attaches to the object or to the verb. */
static void object(maker *m, int moving, int depth)
{
    int number = chance(m, 35), kind = below(m, 100), place = kind >= 30 && kind < 55, tool = kind < 15,
        part = kind >= 15 && kind < 30;
    if (part || (place && !moving)) begin(m, "NP");
    if (tool || part || place)
        plain_phrase(m, number, ACTOR);
    else
        noun_phrase(m, number, depth);
    if (part) place_phrase(m, "with", PART);
    if (place && !moving) place_phrase(m, "in", PLACE);
    if (part || (place && !moving)) end(m);
    if (tool) place_phrase(m, "with", TOOL);
    if (place && moving) place_phrase(m, "in", PLACE);
}

/* number: the subject's; 2: after a modal verb. class: of the verb; 0: any class that fits. */
static void verb_phrase(maker *m, int number, int class, int depth)
{
    static const char *const tags[] = {"VBZ", "VBP", "VB"};
    const verb *v;
    if (!class) class = below(m, 100) < 25 ? ALONE : depth > 0 && chance(m, 20) ? SAYING : OBJECT;
    do v = &verbs[below(m, COUNT(verbs))];
    while (!(v->class & class));
    begin(m, "VP");
    if (number < 2 && chance(m, 12)) {
        leaf(m, "MD", modals[below(m, COUNT(modals))]);
        verb_phrase(m, 2, class, depth);
        end(m);
        return;
    }
    leaf(m, tags[number], v->form[number]);
    if (class == OBJECT) object(m, v->class & MOVING, depth - 1);
    if (class == ALONE && chance(m, 40)) place_phrase(m, chance(m, 50) ? "in" : "near", PLACE);
    if (class == SAYING) {
        begin(m, "SBAR");
        leaf(m, "IN", "that");
        clause(m, depth - 1);
        end(m);
    }
    if (class != SAYING && chance(m, 10)) {
        begin(m, "ADVP");
        leaf(m, "RB", adverbs[below(m, COUNT(adverbs))]);
        end(m);
    }
    end(m);
}

static void clause(maker *m, int depth)
{
    int number = chance(m, 45);
    begin(m, "S");
    noun_phrase(m, number, depth);
    verb_phrase(m, number, 0, depth);
    end(m);
}

static void sentence(maker *m)
{
    int number = chance(m, 45);
    buffer_text(m->out, "(TOP");
    begin(m, "S");
    if (chance(m, 12)) {
        place_phrase(m, "in", PLACE);
        leaf(m, ",", ",");
    }
    noun_phrase(m, number, 2);
    verb_phrase(m, number, 0, 2);
    leaf(m, ".", ".");
    end(m);
    buffer_text(m->out, ")\n");
}

/* ---- distinct trees ---- */

int synthetic_trees(uint64_t seed, int64_t n, buffer *out)
{
    uint64_t slots = 64;
    while (slots < 3 * (uint64_t)n) slots *= 2;
    uint64_t *seen = need(calloc(slots, sizeof *seen)); /* hashes of trees; 0: a free slot */
    maker m = {.rng = seed * 0x9e3779b97f4a7c15u + 1, .out = out};
    int64_t made = 0;
    for (int64_t tries = 0; made < n && tries < 20 * n + 1000; tries++) {
        size_t before = out->n;
        sentence(&m);
        uint64_t h = hash_of(out->s + before, out->n - before);
        if (!h) h = 1;
        uint64_t at = h & (slots - 1);
        while (seen[at] && seen[at] != h) at = (at + 1) & (slots - 1);
        if (seen[at])
            out->n = before, out->s[before] = 0;
        else
            seen[at] = h, made++;
    }
    free(seen);
    return made == n ? 0 : -1;
}
