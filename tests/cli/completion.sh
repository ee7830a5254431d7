#!/usr/bin/env bash
# Completion in bash offers commands, options, keys, values, plugins and experiments, and no option that the command
# lacks.
source "$(dirname "$0")/common.bash" "$@"
mkdir bin
ln -s "$program" bin/ablate
export PATH=$work/bin:$PATH

# complete_as WORD...: prints the shell's suggestions for the last WORD; the word - means an empty word.
complete_as() {
    bash -c 'source <(ablate completion bash); COMP_WORDS=("$@"); [ "${COMP_WORDS[-1]}" != - ] || COMP_WORDS[-1]=
        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ablate; printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>>complaints
}
offers() { # EXPECTED WORD...: fails unless the shell suggests exactly EXPECTED for the last WORD
    local expected=$1
    shift
    equal "$(complete_as "$@" | paste -sd' ')" "$expected" "words after: $*"
}
equal "$(bash -c 'source <(ablate completion bash); complete -p ablate')" \
    "complete -o bashdefault -o default -F _ablate ablate" "what bash knows"

echo "commands"
offers "test table tag translate" ablate t
equal "$(complete_as ablate - | sort)" "$({ ablate help | sed -n 's/^  \([a-z]*\) .*/\1/p'; echo help; } |
    sort -u)" "all commands, and help"
offers "" ablate nothing

echo "options and their values"
offers "--seeds" ablate run --se
offers "--db --device --dry-run --detach" ablate run --d
offers "failed changed all" ablate run x.ini --rerun -
offers "json" ablate table quick --format j
offers "dev test" ablate show quick/base --hyp -
offers "aer agree bleu chrf f1 likelihood ter" ablate score -
offers "--gold" ablate score f1 --g
offers "--number" ablate score agree --n

echo "keys and what they may be"
offers "heads=" ablate run x.ini -s heads
offers "rotary.base=" ablate run x.ini -s rota
offers "dyt layer_norm none rms_norm" ablate run x.ini -s norm =
offers "rms_norm" ablate run x.ini -s norm = r
offers "target" ablate run x.ini -s share_embeddings = t
offers "rotary" ablate run x.ini -s position = ro
offers "true false" ablate run x.ini -s bias =
offers "labels" ablate parse -s parsing.linearisation = l

echo "plugins, experiments, runs"
offers "attention/scaled_dot" ablate list plugins attention/sc
offers "position/rotary" ablate check position/ro
offers "" ablate table -
equal "$(ls results.db 2>/dev/null)" "" "a database made by completion"
{ tiny toys 4 && printf '[variant other]\nheads = 1\n'; } >toys.ini
exits 0 ablate run toys.ini --threads 1 --progress none --seeds 1
offers "toys" ablate table to
offers "toys" ablate ls -
offers "toys/base toys/other" ablate show -
offers "toys/other" ablate translate --run toys/o

echo "the options of every command are those of its help"
ablate help | sed -n 's/^  \([a-z0-9]* [a-z0-9]*\|[a-z0-9]*\)  *[^ ].*/\1/p' | grep -v '^test' >commands
equal "$(($(wc -l <commands) > 25))" 1 "commands in the help: $(wc -l <commands)"
ablate man >manual
while read -r command; do
    exits 0 ablate $command --help
    has out "ablate $command: "
    has out "usage: ablate $command"
    has out "example:"
    cp out help
    exits 0 ablate $command -h
    equal "$(diff out help)" "" "-h and --help of $command"
    equal "$(complete_as ablate $command -- | sort)" "$(sed -n '/^options/,/^$/p' help |
        sed 's/^  --[a-z-]*, --/  --/' | grep -oE -- '--[a-z][a-z-]*' | sort -u)" "long options of $command"
    has manual ".SS \"ablate ${command//-/\\-}"
done <commands

equal "$(cat complaints)" "" "complaints of the shell"
exits 2 ablate completion csh
has err "expected bash, zsh or fish"
has err "usage: ablate completion bash|zsh|fish"
exits 2 ablate completion words 9 ablate
finish
