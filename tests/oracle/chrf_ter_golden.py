"""Writes tests/unit/metric/chrf_ter_golden.tsv: sacreBLEU's chrF and TER of the lines of bleu_golden.tsv and of longer ones,
whose references are the hypothesis with blocks shifted and words changed.

    python -P tests/oracle/chrf_ter_golden.py > tests/unit/metric/chrf_ter_golden.tsv     (sacrebleu)

Records, a tab between fields; texts as bleu_golden.py writes them:
  line  hypothesis, reference 1, reference 2, reference 3
  chrf  char_order, word_order, beta, lowercase, whitespace, eps, references, signature up to the version, corpus score,
        a score per line
  ter   case sensitive, normalized, no_punct, asian, references, signature, corpus score, edits per line
"""
import itertools
import os
import random
import re

from sacrebleu.metrics import CHRF, TER

random.seed(11)
HERE = os.path.dirname(os.path.abspath(__file__))
WORDS = 'the a of cat dog house , . ( ) "x" big red 3.5 1-2 ran over under it\'s U.S. near &quot;q&quot; 北京 、'.split()


def read_lines():
    def shown(text):
        return re.sub(rb'\\(x..|.)', lambda m: bytes.fromhex(m[1][1:].decode()) if m[1][:1] == b'x' and len(m[1]) == 3 else
                      {b't': b'\t', b'n': b'\n', b'r': b'\r'}.get(m[1], m[1]), text).decode()
    for line in open(os.path.join(HERE, '../unit/metric/bleu_golden.tsv'), 'rb'):
        fields = line.rstrip(b'\n').split(b'\t')
        if fields[0] == b'line':
            # no line breaks, which would end the line, and no blanks at ends, which reading drops
            lines = [shown(f).replace('\n', ' ').replace('\r', ' ').rstrip() for f in fields[1:]]
            yield lines


def moved(words):
    words = list(words)
    for _ in range(random.randint(0, 4)):
        if not words:
            break
        start, n, to = random.randrange(len(words)), random.randint(1, 12), random.randrange(len(words) + 1)
        block = words[start:start + n]
        del words[start:start + n]
        words[to:to] = block
    return [random.choice(WORDS) if random.random() < .08 else w for w in words if random.random() > .06]


def longer():
    for n in [5, 8, 12, 20, 30, 45, 60, 80, 120, 3, 90]:
        hyp = [random.choice(WORDS) for _ in range(n)]
        yield [' '.join(x) for x in (hyp, moved(hyp), moved(hyp), moved(moved(hyp)))]
    word = [f'w{i}' for i in range(150)]
    yield [' '.join(x) for x in (word, moved(word), word[70:] + word[:70], word[:4])]
    yield [' '.join(x) for x in (['a', 'b'] * 40, ['b', 'a'] * 40, ['a'] * 80, ['b', 'b', 'a'] * 20)]
    yield [' '.join(x) for x in (['x'] * 2, word, word * 2, ['x'] * 100)]


def hide(text):
    return ''.join(c if ' ' <= c and c.isprintable() and c != '\\' else {'\\': '\\\\', '\t': '\\t'}.get(c) or
                   ''.join(f'\\x{b:02x}' for b in c.encode()) for c in text)


def main():
    lines = list(read_lines()) + list(longer())
    hyp = [x[0] for x in lines]
    print('# written by tests/oracle/chrf_ter_golden.py; records are described there')
    for x in lines:
        print('line', *map(hide, x), sep='\t')

    def show(metric, name, settings, n_refs, of_line):
        refs = [[x[k] for x in lines] for k in range(1, 1 + n_refs)]
        score = metric.corpus_score(hyp, refs)
        sign = str(metric.get_signature()).split('|version:')[0]
        print(name, *settings, n_refs, sign, f'{score.score:.12g}',
              *(of_line(metric.corpus_score([x[0]], [[r] for r in x[1:1 + n_refs]])) for x in lines), sep='\t')

    for o in [(6, 0, 2, 0, 0, 0), (6, 2, 2, 0, 0, 0), (6, 2, 2, 1, 1, 0), (6, 0, 3, 1, 0, 1), (3, 1, 1, 0, 1, 1), (16, 8, 2, 0, 0, 0)]:
        for n_refs in (1, 3):
            metric = CHRF(char_order=o[0], word_order=o[1], beta=o[2], lowercase=bool(o[3]), whitespace=bool(o[4]), eps_smoothing=bool(o[5]))
            show(metric, 'chrf', o, n_refs, lambda s: f'{s.score:.10g}')
    for o in itertools.product((0, 1), repeat=4):
        if o[0] and not (o[1] and o[2]) or o[3] and not (o[1] or o[2]):
            continue
        for n_refs in (1, 3):
            metric = TER(case_sensitive=bool(o[0]), normalized=bool(o[1]), no_punct=bool(o[2]), asian_support=bool(o[3]))
            show(metric, 'ter', o, n_refs, lambda s: s.num_edits)


main()
