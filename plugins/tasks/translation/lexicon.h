/* lexicon.h - the words of the synthetic language pair. Some English words (bat, crane, seal, pen, know, run, light)
 * have two meanings; their context, the verb, preposition or noun, decides. */
#ifndef LEXICON_H
#define LEXICON_H

enum { MALE, FEMALE, NEUTER }; /* grammatical gender of the target side */
enum { PERSON = 1, ANIMAL = 2, THING = 4, MACHINE = 8, PLACE = 16, CLAUSE = 32 }; /* classes of words */
enum { LIVING = PERSON | ANIMAL };

typedef struct {
    const char *src[2]; /* singular, plural */
    const char *tgt[2];
    int gender, class;
} noun;

typedef struct {
    const char *src[3]; /* after "he", "they" and "have" */
    const char *tgt[3];
    int subject, object; /* classes of the subject and the object; object 0: the verb has no object */
} verb;

typedef struct {
    const char *src, *tgt; /* tgt: the stem, without endings */
    int class;             /* class of the nouns that it describes */
} adjective;

typedef struct {
    const char *src, *tgt;
} pair;

static const noun nouns[] = {
    {{"man", "men"}, {"mann", "männer"}, MALE, PERSON},
    {{"woman", "women"}, {"frau", "frauen"}, FEMALE, PERSON},
    {{"child", "children"}, {"kind", "kinder"}, NEUTER, PERSON},
    {{"teacher", "teachers"}, {"lehrer", "lehrer"}, MALE, PERSON},
    {{"doctor", "doctors"}, {"ärztin", "ärztinnen"}, FEMALE, PERSON},
    {{"girl", "girls"}, {"mädchen", "mädchen"}, NEUTER, PERSON},
    {{"dog", "dogs"}, {"hund", "hunde"}, MALE, ANIMAL},
    {{"cat", "cats"}, {"katze", "katzen"}, FEMALE, ANIMAL},
    {{"horse", "horses"}, {"pferd", "pferde"}, NEUTER, ANIMAL},
    {{"bat", "bats"}, {"fledermaus", "fledermäuse"}, FEMALE, ANIMAL},
    {{"crane", "cranes"}, {"kranich", "kraniche"}, MALE, ANIMAL},
    {{"seal", "seals"}, {"robbe", "robben"}, FEMALE, ANIMAL},
    {{"bat", "bats"}, {"schläger", "schläger"}, MALE, THING},
    {{"seal", "seals"}, {"siegel", "siegel"}, NEUTER, THING},
    {{"pen", "pens"}, {"stift", "stifte"}, MALE, THING},
    {{"book", "books"}, {"buch", "bücher"}, NEUTER, THING},
    {{"bag", "bags"}, {"tasche", "taschen"}, FEMALE, THING},
    {{"letter", "letters"}, {"brief", "briefe"}, MALE, THING},
    {{"crane", "cranes"}, {"kran", "kräne"}, MALE, MACHINE},
    {{"car", "cars"}, {"auto", "autos"}, NEUTER, MACHINE},
    {{"clock", "clocks"}, {"uhr", "uhren"}, FEMALE, MACHINE},
    {{"pen", "pens"}, {"gehege", "gehege"}, NEUTER, PLACE},
    {{"garden", "gardens"}, {"garten", "gärten"}, MALE, PLACE},
    {{"city", "cities"}, {"stadt", "städte"}, FEMALE, PLACE},
    {{"house", "houses"}, {"haus", "häuser"}, NEUTER, PLACE},
};

static const verb verbs[] = {
    {{"sees", "see", "seen"}, {"sieht", "sehen", "gesehen"}, LIVING, LIVING},
    {{"feeds", "feed", "fed"}, {"füttert", "füttern", "gefüttert"}, PERSON, ANIMAL},
    {{"follows", "follow", "followed"}, {"verfolgt", "verfolgen", "verfolgt"}, LIVING, LIVING},
    {{"buys", "buy", "bought"}, {"kauft", "kaufen", "gekauft"}, PERSON, THING},
    {{"carries", "carry", "carried"}, {"trägt", "tragen", "getragen"}, PERSON, THING},
    {{"loses", "lose", "lost"}, {"verliert", "verlieren", "verloren"}, PERSON, THING},
    {{"repairs", "repair", "repaired"}, {"repariert", "reparieren", "repariert"}, PERSON, MACHINE},
    {{"hears", "hear", "heard"}, {"hört", "hören", "gehört"}, LIVING, LIVING},
    {{"knows", "know", "known"}, {"kennt", "kennen", "gekannt"}, PERSON, PERSON},
    {{"knows", "know", "known"}, {"weiß", "wissen", "gewusst"}, PERSON, CLAUSE},
    {{"says", "say", "said"}, {"sagt", "sagen", "gesagt"}, PERSON, CLAUSE},
    {{"sleeps", "sleep", "slept"}, {"schläft", "schlafen", "geschlafen"}, LIVING, 0},
    {{"waits", "wait", "waited"}, {"wartet", "warten", "gewartet"}, LIVING, 0},
    {{"runs", "run", "run"}, {"rennt", "rennen", "gerannt"}, PERSON, 0},
    {{"runs", "run", "run"}, {"läuft", "laufen", "gelaufen"}, MACHINE, 0},
    {{"breaks", "break", "broken"}, {"versagt", "versagen", "versagt"}, MACHINE, 0},
};

static const adjective adjectives[] = {
    {"small", "klein", 31},
    {"big", "groß", 31},
    {"old", "alt", 31},
    {"new", "neu", THING | MACHINE | PLACE},
    {"happy", "froh", LIVING},
    {"tired", "müd", LIVING},
    {"light", "leicht", THING},
    {"light", "hell", PLACE},
    {"red", "rot", THING | MACHINE},
    {"quiet", "still", LIVING | PLACE},
};

static const pair adverbs[] = {{"today", "heute"}, {"often", "oft"}, {"now", "jetzt"}, {"yesterday", "gestern"}};
static const pair places[] = {{"in", "in"}, {"near", "bei"}, {"behind", "hinter"}};
static const pair joins[] = {{"because", "weil"}, {"while", "während"}, {"when", "wenn"}};

/* Forms [determiner][case][gender], the plural last. */
enum { NOMINATIVE, ACCUSATIVE, DATIVE };
enum { THE, A, THIS, TWO, DETERMINERS };
static const char *const determiners[DETERMINERS][3][4] = {
    {{"der", "die", "das", "die"}, {"den", "die", "das", "die"}, {"dem", "der", "dem", "den"}},
    {{"ein", "eine", "ein", ""}, {"einen", "eine", "ein", ""}, {"einem", "einer", "einem", ""}},
    {{"dieser", "diese", "dieses", "diese"},
     {"diesen", "diese", "dieses", "diese"},
     {"diesem", "dieser", "diesem", "diesen"}},
    {{"", "", "", "zwei"}, {"", "", "", "zwei"}, {"", "", "", "zwei"}},
};
static const char *const endings[DETERMINERS][3][4] = {
    {{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}},
    {{"er", "e", "es", ""}, {"en", "e", "es", ""}, {"en", "en", "en", ""}},
    {{"e", "e", "e", "en"}, {"en", "e", "e", "en"}, {"en", "en", "en", "en"}},
    {{"", "", "", "e"}, {"", "", "", "e"}, {"", "", "", "en"}},
};
static const char *const determiners_src[DETERMINERS][2] = {{"the", "the"}, {"a", ""}, {"this", "these"}, {"", "two"}};
static const char *const relatives[4] = {"der", "die", "das", "die"};
static const char *const pronouns[4] = {"er", "sie", "es", "sie"};
#endif
