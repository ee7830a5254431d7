"""Writes tests/unit/tokens/wordpiece_golden.tsv: ids that Hugging Face's WordPiece gives.

    python tests/oracle/wordpiece.py > tests/unit/tokens/wordpiece_golden.tsv     (tokenizers)

First line: the pieces after the four special tokens, with blanks between them. Then one line each: the text, a tab, its
ids, a tab, what the decoder gives for them.
"""
import random

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

SPECIALS = ['<pad>', '<unk>', '<s>', '</s>']
random.seed(3)
letters = 'abcdeäßж日😀.,-\'#('
pieces = [c for c in letters if c != 'ж'] + ['##' + c for c in letters if c != '日']
pieces += ['ab', 'abc', '##bc', '##cab', '##äß', 'ab##c', '日日', '##😀😀', 'the', '##ing', 'i', '##i', 'n', '##n', 'g', '##g',
           't', '##t', 'h', '##h', '(NP', '###', '##abcde', 'abcdeabcde']
pieces = list(dict.fromkeys(pieces))
tokenizer = Tokenizer(models.WordPiece({t: i for i, t in enumerate(SPECIALS + pieces)}, unk_token='<unk>',
                                       continuing_subword_prefix='##', max_input_chars_per_word=100))
tokenizer.pre_tokenizer = pre_tokenizers.Split(' ', 'removed')
tokenizer.decoder = decoders.WordPiece(prefix='##', cleanup=False)
lines = ['', 'abc', 'abcabc', 'abcabc ab##c', '##bc ##ing', 'thing', 'thinging x', 'x', 'abx', 'ж', 'aж', '日', 'a日', '日日日', '(NP abc (NPa',
         '😀😀😀', 'a😀😀😀', '###', '####', 'abcdeabcdeabcde', 'a' * 100, 'a' * 101, 'ä' * 100, 'ä' * 101, ' ab  abc ']
lines += [' '.join(''.join(random.choice(letters) for _ in range(random.randint(1, 7))) for _ in range(random.randint(1, 6)))
          for _ in range(60)]
print(' '.join(pieces))
for line in lines:
    ids = tokenizer.encode(line).ids
    text = tokenizer.decode(ids, skip_special_tokens=False).replace('<unk>', '⁇')
    print(line, ' '.join(map(str, ids)), text, sep='\t')
