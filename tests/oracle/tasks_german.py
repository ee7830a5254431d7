"""The synthetic pairs of the task translation: a translator by the rules of German grammar.

The English is a small part of English without ambiguity of structure. German: the finite verb comes second in a main
clause and last in others; determiners and adjectives agree with the noun in gender, number and case. The made-up
language differs in three points: two adjectives change places, every perfect has haben, a relative clause has a comma
behind it. Words with two senses (bat, crane, pen, seal, light) are translated by each; which one was drawn is given.
"""
from itertools import product

SEVERAL = {"child": "children", "man": "men", "woman": "women", "city": "cities"}
NOUNS = {  # singular, gender, plural
    "bag": ["tasche f taschen"], "bat": ["schläger m schläger", "fledermaus f fledermäuse"], "book": ["buch n bücher"],
    "car": ["auto n autos"], "cat": ["katze f katzen"], "child": ["kind n kinder"], "city": ["stadt f städte"],
    "clock": ["uhr f uhren"], "crane": ["kranich m kraniche", "kran m kräne"], "doctor": ["ärztin f ärztinnen"],
    "dog": ["hund m hunde"], "garden": ["garten m gärten"], "girl": ["mädchen n mädchen"], "horse": ["pferd n pferde"],
    "house": ["haus n häuser"], "letter": ["brief m briefe"], "man": ["mann m männer"],
    "pen": ["stift m stifte", "gehege n gehege"], "seal": ["robbe f robben", "siegel n siegel"],
    "teacher": ["lehrer m lehrer"], "woman": ["frau f frauen"]}
ADJECTIVES = {"quiet": ["still"], "light": ["leicht", "hell"], "old": ["alt"], "big": ["groß"], "tired": ["müd"],
              "happy": ["froh"], "small": ["klein"], "new": ["neu"], "red": ["rot"]}
VERBS = {  # English third person and participle; German third person, plural, participle
    "break": "breaks broken versagt versagen versagt", "buy": "buys bought kauft kaufen gekauft",
    "carry": "carries carried trägt tragen getragen", "feed": "feeds fed füttert füttern gefüttert",
    "follow": "follows followed verfolgt verfolgen verfolgt", "hear": "hears heard hört hören gehört",
    "know": "knows known kennt kennen gekannt", "lose": "loses lost verliert verlieren verloren",
    "repair": "repairs repaired repariert reparieren repariert", "run": "runs run rennt rennen gerannt",
    "say": "says said sagt sagen gesagt", "see": "sees seen sieht sehen gesehen",
    "sleep": "sleeps slept schläft schlafen geschlafen", "wait": "waits waited wartet warten gewartet"}
KNOW_THAT, MACHINES_RUN = "weiß wissen gewusst".split(), "läuft laufen gelaufen".split()
MACHINES = {"uhr", "auto", "kran"}
ADVERBS = dict(now="jetzt", often="oft", today="heute", yesterday="gestern")
PLACES = {"in": "in", "near": "bei", "behind": "hinter"}
JOINS = {"because": "weil", "when": "wenn", "while": "während"}
ENDINGS = {"N": dict(m="er", f="e", n="es", p="e"), "A": dict(m="en", f="e", n="es", p="e"),
           "D": dict(m="em", f="er", n="em", p="en")}  # dieser's
THE = {"N": dict(m="der", f="die", n="das", p="die"), "A": dict(m="den", f="die", n="das", p="die"),
       "D": dict(m="dem", f="der", n="dem", p="den")}


def noun_of(word):
    for noun in NOUNS:
        if word == noun or word == SEVERAL.get(noun, noun + "s"):
            return noun, word != noun
    return None


class Phrase:
    def __init__(self, determiner, adjectives, noun, several, pronoun=False):
        self.determiner, self.adjectives, self.pronoun = determiner, adjectives, pronoun
        self.several, self.relative = several, None
        self.one, self.gender, self.many = noun.split()
        self.form = "p" if several else self.gender

    def words(self, case):
        if self.pronoun:
            return [dict(m="er", f="sie", n="es", p="sie")[self.form]]
        form, d = self.form, self.determiner
        known = d in ("the", "this", "these")
        bare = case == "N" and form in "mn" or case == "A" and form == "n"  # ein has no ending
        if d == "the":
            out = [THE[case][form]]
        elif known:
            out = ["dies" + ENDINGS[case][form]]
        else:
            out = ["zwei"] if d == "two" else ["ein" + ("" if bare else ENDINGS[case][form])]
        if known or d == "a" and not bare:  # weak endings
            end = "e" if form != "p" and (case == "N" or case == "A" and form in "fn") else "en"
        else:
            end = ENDINGS[case][form]
        out += [a + end for a in reversed(self.adjectives)]
        noun = self.many if self.several else self.one
        out.append(noun + ("n" if case == "D" and self.several and noun[-1] not in "ns" else ""))
        if self.relative:
            out += [",", THE["N"][form], *self.relative.words("relative"), ","]
        return out


class Clause:
    adverb = subject = verb = thing = place = that = join = second = None
    perfect = negative = False

    def words(self, role):
        several = self.subject.several
        one, many, participle = self.verb
        if self.that and one == "kennt":
            one, many, participle = KNOW_THAT
        if one == "rennt" and self.subject.one in MACHINES:
            one, many, participle = MACHINES_RUN
        finite = [("haben" if several else "hat") if self.perfect else many if several else one]
        subject = [] if role == "relative" else self.subject.words("N")
        out = [ADVERBS[self.adverb], *finite, *subject] if self.adverb else subject + (finite if role == "main" else [])
        out += self.thing.words("A") if self.thing else []
        out += [PLACES[self.place[0]], *self.place[1].words("D")] if self.place else []
        out += ["nicht"] * self.negative + [participle] * self.perfect + (finite if role != "main" else [])
        out += [",", "dass", *self.that.words("last")] if self.that else []
        return out + ([",", JOINS[self.join], *self.second.words("last")] if self.second else [])


class Reader:
    """Reads an English sentence; senses: for each word with two, in order, which is meant."""

    def __init__(self, line, senses):
        self.word, self.senses = line.split(), list(senses)

    def take(self, *expected):
        if self.word[0] in expected:
            return self.word.pop(0)

    def choose(self, of):
        return of[self.senses.pop(0)] if len(of) > 1 else of[0]

    def phrase(self, again=None):
        pronoun = self.take("it", "they")
        if pronoun:
            assert again.several == (pronoun == "they")
            p = Phrase("the", [], f"{again.one} {again.gender} {again.many}", again.several, True)
            return p
        d, adjectives = self.take("the", "this", "these", "a", "two"), []
        while self.word[0] in ADJECTIVES:
            adjectives.append(self.choose(ADJECTIVES[self.word.pop(0)]))
        noun, several = noun_of(self.word.pop(0))
        return Phrase(d, adjectives, self.choose(NOUNS[noun]), several)

    def clause(self, subject=None, again=None):
        c = Clause()
        c.adverb = self.take(*ADVERBS)
        c.subject = subject or self.phrase(again)
        if not subject and self.take("that"):
            c.subject.relative = self.clause(subject=c.subject)
        c.negative = bool(self.take("do", "does")) and bool(self.take("not"))
        c.perfect = bool(self.take("has", "have"))
        word = self.word.pop(0)
        for base, forms in VERBS.items():
            one, participle, *c.verb = forms.split()
            if word == (participle if c.perfect else base if c.negative or c.subject.several else one):
                break
        else:
            raise AssertionError(word)
        if self.word[0] in ("the", "this", "these", "a", "two"):
            c.thing = self.phrase()
        if self.word[0] in PLACES:
            c.place = (self.word.pop(0), self.phrase())
        if self.take("that"):
            c.that = self.clause()
        if not subject and self.word[0] in JOINS:
            c.join = self.word.pop(0)
            c.second = self.clause(again=c.subject)
        return c


def translations(line):
    """One for each choice of senses."""
    two = sum(len(ADJECTIVES.get(w, [])) > 1 or bool(noun_of(w)) and len(NOUNS[noun_of(w)[0]]) > 1 for w in line.split())
    for senses in product((0, 1), repeat=two):
        reader = Reader(line, senses)
        words = reader.clause().words("main")
        assert reader.word == ["."], reader.word
        yield " ".join([*words, "."])


def rule(src, tgt):
    """Given: the source, and which senses the target has."""
    every = list(translations(src))
    return src, tgt if tgt in every else every[0]
