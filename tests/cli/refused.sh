#!/usr/bin/env bash
# `run` refuses an impossible plan before training: vocabularies that the corpus cannot give, embeddings that the two
# sides cannot share.
source "$(dirname "$0")/common.bash" "$@"

plan() { exits 1 ablate run plan.ini --dry-run "$@"; }
tiny plan 4 | sed 's/^task .*/task = translation/; /^sequence/d; /^vocab/d' >plan.ini
plan -s vocab=bpe
has err "vocab_size 32000 is too large: 12000 lines give a bpe vocabulary of at most 1168; set vocab_size = 200 or so"
exits 0 ablate run plan.ini --dry-run -s vocab=bpe -s vocab_size=200
hasnt err "too large"
plan -s vocab=unigram
has err "vocab_size 32000 is too large: 12000 lines give a unigram vocabulary of at most 383; set vocab_size = 383 or less"
plan -s vocab=bpe -s vocab_size=8
has err "vocab_size 8 is too small: the corpus has 36 different characters and special tokens; set vocab_size = 36 or more"

echo "embeddings"
sed -i 's/^task .*/task = parsing/' plan.ini
plan -s parsing.data=synthetic -s parsing.linearisation=labels -s vocab=words
has err "no row can be trained; the first: share_embeddings = all needs one vocabulary for both sides, but the source has"

echo "references that are empty are counted"
mkdir half
for split in train val test; do
    for i in $(seq 40); do printf 'a%d b c\n' "$i" >>half/$split.en; printf '%s\n' "$([ $((i % 2)) = 0 ] || echo "d$i e")" >>half/$split.de; done
done
tiny half 4 | sed 's/^task .*/task = translation/; /^sequence/d; /^vocab/d' >half.ini
exits 0 ablate run half.ini --dry-run -s vocab=words -s translation.data=./half
has err "20 of 40 test pairs have an empty side"
finish
