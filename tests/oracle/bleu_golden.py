"""Writes tests/unit/metric/bleu_golden.tsv: sacreBLEU's figures for made-up lines that are hard to tokenize.

    python tests/oracle/bleu_golden.py > tests/unit/metric/bleu_golden.tsv     (sacrebleu with its `regex`)

Records, a tab between fields; in text \\t \\n \\r \\\\ and \\xHH (one byte of UTF-8) stand for what is hard to see:
  line    hypothesis, reference 1, reference 2, reference 3
  words   tokenizer, 1 if lowercased, field (0 hypothesis, 1..3 reference), lines as `index:words`; an index that is missing
          has the words that splitting at spaces gives
  stats   tokenizer, 1 if lowercased, references, a row of ten numbers for each line
  corpus  first line, lines, references, tokenizer, 1 if lowercased, smoothing as on ablate's command line, signature up to
          the version, score, precisions, bp; `=` stands for the figures of the record before
"""
import random
import re
import unicodedata

import regex
from sacrebleu.metrics import BLEU

random.seed(5)
TOKENIZERS = ['13a', 'none', 'intl', 'char', 'zh', 'compounds']
SMOOTHINGS = [('exp', 'exp', None), ('floor', 'floor', None), ('floor=0.5', 'floor', 0.5), ('floor=0', 'floor', 0.0),
              ('add-k', 'add-k', None), ('add-k=2.345', 'add-k', 2.345), ('none', 'none', None)]

# Each hypothesis with one reference; the other references are made from these pairs below.
PAIRS = [
    ('the cat sat on the mat .', 'the cat sat on the mat .'),
    ('the the the the the the the', 'the cat is on the mat'),
    ('', 'not empty'), ('not empty', ''), ('', ''), ('   ', '\t \u3000'), ('.', '.'), ('a', 'a'), ('a b', 'a b'), ('a b c', 'b c d'),
    ('It\'s 3.14, not 3,14; or 1,000.50!', 'It\'s 3.14 , not 3,14 ; or 1,000.50 !'),
    ('...', '. . .'), ('a.', 'a .'), ('.a', '. a'), ('a..b,,c', 'a . . b , , c'), ('5. 6, .7 ,8', '5 . 6 , . 7 , 8'),
    ('1-2 a-b 3-a a-3 1--2', '1 - 2 a-b 3 - a a-3 1 -- 2'), ('state-of-the-art 1990-1995', 'state-of-the-art 1990 - 1995'),
    ('&quot;Hi&quot; &amp; &lt;b&gt; &apos;x&apos;', '"Hi" & <b> \'x\''), ('&amp;lt; &amp;quot; &amp;amp;', '< &quot; &'),
    ('&&quot;amp; &am&quot;p;', '&" amp ;'), ('<skipped> a<skipped>b <ski<skipped>pped>', 'ab <skipped>'),
    ('line-\nbreak and\nnew', 'linebreak and new'), ('{x}[y](z)~`^_|\\', '{ x } [ y ] ( z ) ~ ` ^ _ | \\'),
    ('a!b"c#d$e%f&g(h)i*j+k/l:m;n<o=p>q?r@s', 'a ! b " c # d $ e % f & g ( h ) i * j + k / l : m ; n < o = p > q ? r @ s'),
    ('don\'t \'quote\' \'\'', 'don \' t \' quote \' \' \''), ('$5.00/€4,50 £3', '$ 5.00 / € 4,50 £ 3'),
    ('«Ça va ?» – oui… “non”', '« Ça va ? » – oui … “ non ”'), ('¿Qué? ¡No! 50°C ½ ¼', '¿ Qué ? ¡ No ! 50 ° C ½ ¼'),
    ('x²+y³=z⁴ ≤ ∑ → ∞', 'x² + y³ = z⁴ ≤ ∑ → ∞'), ('١٢٣,٤٥٦ ٪ ۱.۲', '١٢٣,٤٥٦٪ ۱ . ۲'), ('Ⅳ. Ⅴ, ⅻ-b', 'Ⅳ . Ⅴ , ⅻ - b'),
    ('मेरा नाम। १,२', 'मेरा नाम । १,२'), ('สวัสดี ๑๒.๓', 'สวัสดี ๑๒ . ๓'), ('北京2008年。很好！', '北京 2008 年 。 很 好 ！'),
    ('我有3.5元, OK?', '我有 3.5 元 , OK ?'), ('日本語テスト、カタカナ・ひらがな', '日本語 テスト 、 カタカナ ・ ひらがな'),
    ('한국어 문장입니다.', '한국어 문장입니다 .'), ('ｆｕｌｌ　ｗｉｄｔｈ１２', 'ｆｕｌｌ ｗｉｄｔｈ １２'), ('𠀀𠀁 𝔸𝔹 😀😁 👨‍👩‍👧 🇩🇪', '𠀀 𠀁 𝔸 𝔹 😀 😁 👨‍👩‍👧 🇩 🇪'),
    ('a\u00a0b\u2003c\u202fd\u205fe\u1680f\u3000g', 'a b c d e f g'), ('a\x1cb\x1dc\x1ed\x1fe\x0bf\x0cg\x85h\u2028i\u2029j', 'a b c d e f g h i j'),
    ('a\u200bb \u200cc\u200d \ufeffd \u2060e \u180ef', 'a b c d e f'), ('soft\u00adhyphen', 'softhyphen'), ('a\rb\tc', 'a b c'),
    ('  lead and trail  ', 'lead and trail'), ('\u3000全角\u3000', '全角'), ('\u2001x\u2010y\u2a6dz\u2a6ew\u2e80v', 'x y z w v'),
    ('\u2e7fa\u2fdf\u2fe0b\u2ff0\u303f\u3040c\u312f\u3130d', 'a b c d'), ('\u319f\u31a0\u31e3\u31f0\u31ff\u3200\u4db5\u4db6\u4dff\u4e00', '\u4e00'),
    ('\u9fbb\u9fbc\u9fff\uf8ff\uf900\ufa2d\ufa2e\ufa30\ufa6a\ufa6b\ufa70\ufad9\ufada', '\uf900 \ufa30'),
    ('\ufe0f\ufe10\ufe1f\ufe20\ufe2f\ufe30\ufe4f\ufe50\ufeff\uff00\uffef\ufff0', '\ufe10 \ufe30'), ('\U0002f800\U00020000\U0002a6d6', '\U0002f800'),
    ('İstanbul IĞDIR ISPARTA ıi', 'i̇stanbul iğdir isparta ıi'), ('ΟΔΥΣΣΕΥΣ ΣΑΣ Σ ΑΣ. Α.Σ ΑΣΑ ΑΣ\'Α 1Σ', 'οδυσσευς σας σ ας. α.σ ασα ασ\'α 1σ'),
    ('A\u0301Σ\u0301 aΣ\u00ad. ʰΣ Ⅷσ ⅧΣ ⓐΣ ªΣ \u2019Σ a\u2019Σ aΣ\u2019a aΣ\u2018', 'a\u0301ς\u0301 aς\u00ad. ʰσ ⅷσ ⅷς ⓐς ªς \u2019σ a\u2019ς aσ\u2019a aς\u2018'),
    ('STRASSE STRAẞE ǅ Ǆ Ⅷ Ⓐ Ω K Å 𐐀 Ა Ꭰ ꭰ', 'strasse straße ǆ ǆ ⅷ ⓐ ω k å 𐐨 ა ꭰ ꭰ'), ('ÀÉÎÕÜ ŁÓDŹ ЁЖ ԱԲ ႠႡ', 'àéîõü łódź ёж աբ ⴀⴁ'),
    ('a_b-c/d\\e|f', 'a _ b - c / d \\ e | f'), ('http://www.example.org/?q=1&r=2#x', 'http : / / www.example.org / ? q = 1 & r = 2 # x'),
    ('U.S.A. vs. e.g., i.e.', 'U.S.A . vs . e.g . , i.e .'), ('10.', '10 .'), ('.5', '. 5'), ('5,', '5 ,'), ('é.è,ü', 'é . è , ü'), ('9.é é.9', '9 . é é . 9'),
    ('x͏.y ॥ ‖ ‗ ⁂ ٫ ٬', 'x . y'), ('``quoted\'\' text', '" quoted " text'), ('(a) [b] {c} <d>', '( a ) [ b ] { c } < d >'),
    ('one two three four five six seven eight nine ten', 'one two three for five six seven eight nine ten'),
    ('ten nine eight seven six five four three two one', 'one two three four five six seven eight nine ten'),
    ('a a a a b b b b a a a a', 'a a b b a a b b a a'), ('w x y z w x y z w x y z', 'w x y z'), ('short', 'a much longer reference than the hypothesis'),
    ('a much longer hypothesis than the reference', 'short'), ('The QUICK brown Fox', 'the quick Brown fox'),
]


# The rule for a final sigma also skips some characters that are not case-ignorable by their class. INNER holds all of
# them, and at its end ';', which the rule does not skip.
INNER = '\'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55\uff07\uff0e\uff1a;'
PAIRS += [(' '.join(f'AΣ{c}A' for c in INNER), 'aς aσ'), (' '.join(f'A{c}Σ' for c in INNER), 'aς aσ'),
          (' '.join(f'{c}Σ' for c in 'ªºⅠⅿⒶⓩ🄰🅉🅐🅩🅰🆉⁰①'), 'ς σ')]


def check_age(text):
    """Refuses a character whose class differs between the `regex` module and this Python: it is too new for a test."""
    for c in text:
        for k in 'PNS':
            assert bool(regex.match(r'\p{%s}' % k, c)) == (unicodedata.category(c)[0] == k), hex(ord(c))


def variant(text):
    """Makes another reference: words dropped, doubled or changed in case."""
    words = []
    for word in text.split(' '):
        at = random.random()
        words += [] if at < .15 else [word, word] if at < .25 else [word.swapcase()] if at < .35 else [word]
    return ' '.join(words)


def hide(text):
    out = ''
    for c in text:
        if c in '\t\n\r\\':
            out += {'\t': '\\t', '\n': '\\n', '\r': '\\r', '\\': '\\\\'}[c]
        elif unicodedata.category(c)[0] in 'CZM' and c != ' ':
            out += ''.join(f'\\x{b:02x}' for b in c.encode())
        else:
            out += c
    return out


def bleu_of(tok, **rest):
    """sacreBLEU with one of its tokenizers, or with `compounds`: splits Moses' tokens as papers did before they ran
    multi-bleu.perl."""
    metric = BLEU(tokenize='none' if tok == 'compounds' else tok, **rest)
    if tok == 'compounds':
        metric.tokenizer = lambda line: re.sub(r'(\S)-(\S)', r'\1 ##AT##-##AT## \2', line.rstrip())
    return metric


def main():
    lines = [(h, r, variant(r), variant(h)) for h, r in PAIRS]
    hyp = [x[0] for x in lines]
    check_age(''.join(h + r for h, r in PAIRS))
    print('# written by tests/oracle/bleu_golden.py; records are described there')
    for x in lines:
        print('line', *map(hide, x), sep='\t')
    for tok in TOKENIZERS:
        for lower in (False, True):
            metric = bleu_of(tok, lowercase=lower)
            for field in (0, 1):
                rows = []
                for i, x in enumerate(lines):
                    words = ' '.join(metric._preprocess_segment(x[field]).split())
                    if words != ' '.join(x[field].split()):
                        rows.append(f'{i}:{hide(words)}')
                print('words', tok, int(lower), field, *rows, sep='\t')
            for n_refs in (1, 2, 3):
                rows = []
                for x in lines:
                    s = metric.corpus_score([x[0]], [[r] for r in x[1:1 + n_refs]])
                    rows.append(' '.join(str(v) for v in (s.sys_len, s.ref_len, *s.counts, *s.totals)))
                print('stats', tok, int(lower), n_refs, *rows, sep='\t')
    for first, n in ((0, len(lines)), (1, 2), (8, 3), (33, 4), (53, 4)):
        for tok in TOKENIZERS:
            for lower in (False, True):
                last = None
                for n_refs in (1, 3):
                    for name, method, value in SMOOTHINGS:
                        metric = bleu_of(tok, lowercase=lower, smooth_method=method, smooth_value=value)
                        s = metric.corpus_score(hyp[first:first + n], [[x[k] for x in lines[first:first + n]] for k in range(1, 1 + n_refs)])
                        sign = str(metric.get_signature()).split('|version:')[0]
                        if tok == 'compounds':
                            sign = sign.replace('tok:none', 'tok:compounds')
                        figures = '\t'.join(f'{v:.10g}' for v in (s.score, *s.precisions, s.bp))
                        print('corpus', first, n, n_refs, tok, int(lower), name, sign, '=' if figures == last else figures, sep='\t')
                        last = figures


main()
