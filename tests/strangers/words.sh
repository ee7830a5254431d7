#!/usr/bin/env bash
# Corpora from a stranger: with words of any length, combining marks, separators or control characters, an error of a
# run still names file and line, and `data check` names the lines.
source "$(dirname "$0")/../cli/common.bash" "$@"
words=(ein hund sieht die katze und das haus rot blau)
RANDOM=5
line() { echo "${words[RANDOM % 10]} ${words[RANDOM % 10]} ${words[RANDOM % 10]} ${words[RANDOM % 10]}"; }
mkdir text
for part in train dev test; do
    for side in en de; do for _ in $(seq 60); do line; done >text/$part.$side; done
done
huge=$(head -c 62000 /dev/zero | tr '\0' a)
{ tiny words 4 | grep -v '^sequence'; printf 'translation.data = ./text\nvocab_size = 30\nmax_length = 40\n'; } |
    sed 's/^task .*/task = translation/' >words.ini
train() { exits "$1" ablate run words.ini -s vocab="$2" --threads 1 --progress none --db "$2.db"; }

echo "a huge word in the training text"
echo "$huge kurz" >>text/train.de && echo "kurz lang" >>text/train.en
exits 0 ablate run words.ini --dry-run
has err './text: 1 of 61 train pairs have a word of more than 32766 characters'
for vocab in bpe unigram words char; do
    train 0 $vocab
    has err './text: 1 of 61 train pairs have a word of more than 32766 characters'
done
exits 0 ablate watch words/base --log --db bpe.db
has out 'text/train.de:61: line '
has out 'the vocabulary is trained without this line'
echo "kurz" | cat - <(echo "$huge") <(echo "ein hund") >lines
exits 1 ablate translate --run words/base --db bpe.db <lines
has err 'line 2: printed an empty line'
equal "$(wc -l <out)" 3 "lines translated"

echo "one in dev: the model cannot hold it, and file and line are said"
cp text/dev.en dev.kept
printf '%s\n' "$(head -c 3000 /dev/zero | sed 's/\x0/a b /g')" >text/dev.en && tail -59 dev.kept >>text/dev.en
rm -rf bpe.db*
train 1 bpe
exits 0 ablate watch words/base --log --db bpe.db
has out 'the longest source of dev, ./text/dev.en:1, has this many tokens'
cp dev.kept text/dev.en

echo "what is no text"
printf 'ein \xff hund\n' >>text/test.en && echo "ein hund" >>text/test.de
rm -rf bpe.db*
train 1 bpe
exits 0 ablate watch words/base --log --db bpe.db
has out './text/test.en:61: '

echo "data check names lines of all faults at once"
printf 'ein\rhund\nein \xe2\x80\xa8 hund\nein \xc2\x85 hund\nein \x1b[2J hund\nein \xe2\x80\x8bhund\nu\xcc\x88ber\n' >>text/train.en
printf '\xef\xbb\xbf' | cat - text/train.de >marked && mv marked text/train.de
for _ in $(seq 6); do echo "anderes $RANDOM"; done >>text/train.de
for _ in $(seq 7); do echo "noch eins" >>text/dev.en; echo "another" >>text/dev.de; done
exits 1 ablate data check ./text --strict
has out 'CR within the line: 1: ./text/train.en:62'
has out 'line or paragraph separator (U+0085, U+2028, U+2029): 2: ./text/train.en:63, ./text/train.en:64'
has out 'control character: 1: ./text/train.en:65'
has out 'zero-width or direction mark: 1: ./text/train.en:66'
has out "not in Unicode's form NFC: 1: ./text/train.en:67"
has out 'word too long for bpe and unigram: 1: ./text/train.de:61'
has out 'not UTF-8: 1: ./text/test.en:61'
has out 'repeated pairs: 6: ./text/dev.en:62, ./text/dev.en:63, ./text/dev.en:64, ./text/dev.en:65, ./text/dev.en:66 and others (-v: all)'
exits 0 ablate data check ./text -v
has out './text/dev.en:67'
echo "a byte order mark before trees"
{ printf '\xef\xbb\xbf'; for i in $(seq 200); do echo "(S (NP (DT w$i)) (VP (VB x$i)))"; done; } >marked.ptb
exits 0 ablate data check ./marked.ptb --task parsing
equal "$(awk '$1 == "pairs" { print $2 + $3 + $4 }' out)" 200 "trees behind a byte order mark"

{ printf 'a\tb\nonly\nc\td\ne\tf\tg\n'; for i in $(seq 40); do printf 'x%s\ty%s\n' $i $i; done; } >faulty.tsv
exits 1 ablate data check ./faulty.tsv
has err './faulty.tsv:2: found 1 column'
has out 'another number of columns than line 1: 2: ./faulty.tsv:2, ./faulty.tsv:4'
exits 1 ablate data check ./nope.tsv
has err 'no file ./nope.tsv (translation.data'
exits 1 ablate data check faulty.tsv
has err '; for the file in the current folder write ./faulty.tsv)'
finish
