#!/usr/bin/env bash
# `ablate export` of a model, by file and by run: each format's files, refusals, and names that are a model or an
# experiment.
source "$(dirname "$0")/common.bash" "$@"

tiny out 4 >out.ini
exits 0 ablate run out.ini --threads 1 --progress none
model=$(find . -name model.safetensors | head -1)

echo "by run and by file: the same"
exits 0 ablate export out/base@1 --format ctranslate2 -o by-run
exits 0 ablate export "$model" --format ctranslate2 -o by-file
equal "$(diff -r by-run by-file)" "" "difference"
equal "$(cd by-run && ls | tr '\n' ' ')" "config.json model.bin shared_vocabulary.json " "files"
has by-run/config.json '"layer_norm_epsilon": 1e-06'
has by-run/shared_vocabulary.json '"<pad>"'

echo "no counterpart: one line for each setting, and nothing written"
exits 1 ablate export out/base@1 --format huggingface -o refused
has err 'vocab = words has no counterpart in MarianMT'
[ ! -e refused ] || wrong "refused/ was made"
exits 1 ablate export out/base@1 --format gguf -o refused
has err "the model is an encoder-decoder, which GGUF's llama does not open: expected --format ctranslate2 or huggingface"

echo "heads: their logits need a counterpart, what they add in training does not"
{ tiny heads 2 && printf 'vocab = char\nhead = multi_token\n[variant capped]\nhead = logit_softcap\n'; } >heads.ini
exits 0 ablate run heads.ini --threads 1 --progress none
exits 0 ablate export heads/base@1 --format ctranslate2 -o more
exits 1 ablate export heads/capped@1 --format ctranslate2 -o refused
has err 'head = logit_softcap has no counterpart'

echo "layers that differ: shown, found again in the model file, refused by name"
{ tiny mixed 2
printf 'vocab = char\nattention_decoder = 1*linear + 1*scaled_dot\nlayers_decoder = 2\n[layers encoder 0]\nheads = 1\n'
} >mixed.ini
exits 0 ablate run mixed.ini --threads 1 --progress none
exits 0 ablate show mixed/base@1
has out 'layers.decoder.1.attention = scaled_dot'
exits 0 ablate translate --model "$(find . -path '*mixed*' -name model.safetensors | head -1)" <<<"a b"
exits 1 ablate export mixed/base@1 --format ctranslate2 -o refused
has err 'layers.encoder.0.heads = 1 has no counterpart'

echo "a model is no experiment, and an experiment no model"
exits 1 ablate export "$model" -o refused
has err 'is a model: expected --format ctranslate2, huggingface or gguf'
exits 1 ablate export nothing --format ctranslate2 -o refused
has err 'nothing'
exits 2 ablate export --format gguf -o refused
has err 'expected a model: its file, or a run'
exits 0 ablate export out --format csv -o tables
[ -s tables/runs.csv ] || wrong "tables/runs.csv is missing"

finish
