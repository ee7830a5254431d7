#!/usr/bin/env bash
# Standard input of `ablate translate` and `ablate score`: line ends, zero bytes, lines too long for the model, empty
# lines, an input that cannot be read or is not a file; and the ranges of translate's options.
source "$(dirname "$0")/common.bash" "$@"

{
    tiny reach 150
    printf 'position = learned\nlearned.max_len = 16\nmax_extra_tokens = 5\nprecision = fp32\n'
} >reach.ini
exits 0 ablate run reach.ini --threads 1 --progress none
translate() { ablate translate --run reach/base --threads 1 "$@"; }
words() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "s000%d%s", i % 6, i < n - 1 ? " " : "\n" }'; } # N

echo "line ends"
printf 's0001 s0002\n\ns0003 s0004 s0005\n' >lf.txt
sed 's/$/\r/' lf.txt >crlf.txt
exits 0 translate --beam-size 3 --nbest 3 <lf.txt
cp out lf.out
exits 0 translate --beam-size 3 --nbest 3 <crlf.txt
equal "$(diff lf.out out)" "" "outputs of CRLF and LF"
exits 0 translate --beam-size 3 --nbest 3 < <(head -c -2 crlf.txt)
equal "$(diff lf.out out)" "" "a last line without its end"

echo "hypotheses of an empty line: the empty one alone"
equal "$(cut -f1 lf.out | uniq -c | tr -s ' \n' ' ')" " 3 1 1 2 3 3 " "hypotheses of each line"
equal "$(grep -c $'^2\t0.000000\t$' lf.out)" 1 "the empty hypothesis"

echo "lines that are too long are left empty, the others are not"
for n in 3 11 10 30 2; do words $n; done >long.txt
exits 1 translate <long.txt
cp out long.out
equal "$(wc -l <out)" 5 "lines"
equal "$(grep -n '^$' out | tr '\n' ' ')" "2: 4: " "empty ones"
has err "ablate translate: line 2: printed an empty line: learned.max_len = 16: expected at least 17, because outputs may be max_extra_tokens = 5"
has err "ablate translate: line 4: printed an empty line: learned.max_len = 16: expected at least 31, because the line has that many tokens"
hasnt err ROWS
equal "$(grep -c 'ablate translate:' err)" 2 "messages"
exits 0 translate < <(sed -n '1p;3p;5p' long.txt)
equal "$(grep -v '^$' long.out | diff - out)" "" "the others by themselves"

echo "an input that is no text, or none at all"
printf 's0001\ns0002 \0s0003\n' >zero.txt
exits 1 translate <zero.txt
has err "standard input:2: found a zero byte; not a text file"
equal "$(wc -c <out)" 0 "output"
{ yes s0001 | head -n 70 && printf 's0002 \xff\n'; } >bytes.txt
exits 1 translate <bytes.txt
has err "standard input:71: byte 7 (0xff) is not UTF-8"
for with in translate "ablate score bleu --ref lf.txt"; do
    code=1
    [ "$with" = translate ] || code=2
    exits $code $with <"$work"
    has err "standard input: cannot be read: Is a directory"
    exits $code $with <&-
    has err "standard input: cannot be read: Bad file descriptor"
done
exits 0 translate </dev/null
equal "$(wc -c <out)" 0 "output of nothing"

echo "score reads on from where its input stands"
{ read -r _ && exits 0 ablate score bleu --ref <(sed 1d long.txt) --tok none; } <long.txt
has out "BLEU = 100.00"

echo "score takes memory for some lines only, and says which files differ in lines"
links() { yes "$(seq 0 49 | awk '{ printf "%d-%d ", $1, $1 }')" | head -n "$1"; }
(
    ulimit -v 200000 # the two inputs together have 235 MB
    links 400000 | "$program" score aer --gold <(links 400000) >out 2>err || wrong "score ended with $?: $(cat err)"
)
has out "sentences = 400000"
exits 2 ablate score bleu --ref <(head -5000 <(yes a)) < <(head -4000 <(yes a))
has err "standard input has 4000 lines and /dev/fd/"
has err "has 5000; they are paired line by line"

echo "ranges"
for option in '--length-penalty -0.6:expected a number from 0' '--beam-size 1001:expected a number from 1 to 1000' \
    '--beam-size 1000000:expected a number from 1 to 1000' '--threads 4097:expected a number from 1 to 4096' \
    '--threads 99999999999:expected a number from 1 to 4096' '--threads 4294967296:expected a number from 1 to 4096' \
    '--batch 65537:expected a number from 1 to 65536'; do
    exits 2 ablate translate --run reach/base ${option%%:*} <lf.txt
    has err "ablate translate: ${option%%:*}: ${option#*:}"
    exits 2 ablate parse --run reach/base ${option%%:*} <lf.txt
    has err "ablate parse: ${option%%:*}: ${option#*:}"
done
exits 0 translate --length-penalty 0 --beam-size 1000 <<<s0001

echo "an input without end: answers come as it is read, and end when nobody reads them"
(
    ulimit -v 8000000 # reading all input first would exceed this limit
    yes 's0001 s0002' | timeout 60 "$program" translate --run reach/base --threads 1 --beam-size 1 2>err |
        head -n 1000 >out
)
equal "$(wc -l <out)" 1000 "lines of an endless input"
mkfifo typed
translate --beam-size 2 <typed >answers 2>err &
exec 7>typed
echo s0001 >&7
answered() { [ "$(wc -l <answers)" = "$1" ]; }
checks=$((checks + 2))
wait_for 30 answered 1 || wrong "no answer to the first line while the input is open"
printf 's0002 s0003\ns0003' >&7
wait_for 30 answered 2 || wrong "no answer to the second line while the input is open"
exec 7>&-
wait $! || wrong "translate ended with $?"
equal "$(wc -l <answers)" 3 "answers, the last to a line without its end"

echo "a line's output does not depend on the lines that are read with it"
for i in {1..400}; do words $((1 + i * 7 % 9)); done >many.txt
exits 0 translate --beam-size 3 --nbest 2 <many.txt
cp out many.out
exits 0 translate --beam-size 3 --nbest 2 < <(while read -r line; do echo "$line" && sleep 0.001; done <many.txt)
equal "$(diff many.out out)" "" "lines that arrive slowly"
exits 0 translate --beam-size 3 --nbest 2 --batch 3 <many.txt
equal "$(diff many.out out)" "" "lines in parts of 3, 6, 12 ..."
head -c 1100000 /dev/zero | tr '\0' x >wide.txt
exits 1 translate <wide.txt
has err "standard input:1: found a line of more than 1048576 bytes"

echo "ensembles: the mean of the runs' probabilities"
exits 0 ablate run reach.ini --threads 1 --progress none --seeds 2,3
exits 0 ablate run reach.ini --threads 1 --progress none --seeds 2 -s sequence.alphabet=9 -s sequence.data_seed=7 --db \
    other.db
several() { ablate translate --threads 1 --beam-size 3 "$@"; }
for n in 2 5 3 8 1 6 4 7 9 2 5; do words $n; done >lines.txt
exits 0 several --run reach/base@2 --nbest 2 <lines.txt
cp out alone
exits 0 several --run reach/base@2 --run reach/base@2 --nbest 2 <lines.txt
equal "$(cut -f1,3 alone | diff - <(cut -f1,3 out))" "" "an ensemble of a run with itself"
exits 0 several --run reach/base@2 --run reach/base@3 --nbest 2 <lines.txt
cp out both
[ "$(cut -f2 both)" != "$(cut -f2 alone)" ] || wrong "the second run counts for nothing"
exits 0 several --run reach/base@2 --run reach/base@3 --nbest 2 --batch 1 <lines.txt
equal "$(diff both out)" "" "an ensemble in batches of one"
exits 0 several --run reach/base@3 --run reach/base@2 --nbest 2 <lines.txt
equal "$(cut -f1,3 both | diff - <(cut -f1,3 out))" "" "an ensemble the other way around"
model=$(find other.db.runs other.runs -name model.safetensors 2>/dev/null | head -1)
exits 1 several --model "$(find home/runs -name model.safetensors | head -1)" --model "$model" <lines.txt
has err "cannot form an ensemble: their source vocabularies differ (sha256 "
{ tiny pairs 4 | grep -v '^task\|^sequence' && printf 'translation.train_pairs = 100\nvocab = words\n'; } >pairs.ini
exits 0 ablate run pairs.ini --threads 1 --progress none
exits 1 several --run reach/base@2 --run pairs/base <lines.txt
has err "cannot form an ensemble: their tasks are sequence and translation"
exits 1 several --run reach/base@2 -s sequence.kind=sort <lines.txt
has err "-s is only for tasks that format their outputs; sequence does not"
finish
