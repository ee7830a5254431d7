#!/usr/bin/env bash
# A model file is data: translate, parse and attention never open a shared object that it names. Plugins are found by
# name, in the program's folders or --plugin-path, with a warning if the sha256 is not the recorded one.
source "$(dirname "$0")/common.bash" "$@"

tiny made 10 >made.ini
exits 0 ablate run made.ini --threads 1 --progress none
model=$(ls home/runs/made/*/model.safetensors)

# change MODEL OUT PERL: copies the model; PERL edits its header, which is $_.
change() {
    perl -e 'local $/; open F, "<:raw", $ARGV[0] or die; my $all = <F>; my $n = unpack "Q<", $all; $_ = substr $all, 8, $n;
        my $data = substr $all, 8 + $n; my $was = $_; eval $ARGV[2]; die $@ if $@; die "nothing changed\n" if $_ eq $was;
        $_ .= " " while length() % 8; open G, ">:raw", $ARGV[1] or die; print G pack("Q<", length), $_, $data' "$@" ||
        wrong "the model file could not be changed"
}

echo "code that a model file names does not run"
cat >evil.c <<'C'
#include <stdio.h>
__attribute__((constructor)) static void run(void) { fclose(fopen("RAN", "w")); }
int nothing;
C
mkdir -p hostile/attention
cc -shared -fPIC evil.c -o hostile/attention/evil.so
cp hostile/attention/evil.so evil.so
so=$work/hostile/attention/evil.so
for key in attention attention_encoder attention_decoder attention_cross position feed_forward norm block optimizer \
    schedule task; do
    for value in "$so" evil.so evil.c "$work/evil.c"; do
        change "$model" hostile.safetensors \
            "s{(\\\\\"$key\\\\\":)\\\\\"\\w+\\\\\"}{\$1\\\\\"$value\\\\\"};s{\"plugins\":\".*?\\}\"}{\"plugins\":\"{}\"}"
        [ $key = attention ] &&
            change hostile.safetensors hostile.safetensors \
            's{(attention_(encoder|decoder|cross)\\":)\\"\w+\\"}{$1\\"same\\"}g'
        for command in translate parse; do
            $program $command --model hostile.safetensors >out 2>err <<<s0001
            checks=$((checks + 1))
            [ ! -e RAN ] || { wrong "$command runs the code that $key = $value names" && rm -f RAN; }
        done
    done
done
# attention, unlike translate, does not open the task
exits 0 ablate attention --text s0001 -o page.html --model hostile.safetensors
change "$model" hostile.safetensors \
    "s{\\\\\"plugin_path\\\\\":\\\\\"\\\\\"}{\\\\\"plugin_path\\\\\":\\\\\"$work/hostile\\\\\"}"
exits 0 ablate translate --model hostile.safetensors <<<s0001
equal "$(ls RAN 2>&1)" "ls: cannot access 'RAN': No such file or directory" "code of plugin_path"
change "$model" hostile.safetensors 's{(attention_encoder\\":\{\\"name\\":\\")\w+}{$1../evil.so.so}'
exits 1 ablate translate --model hostile.safetensors <<<s0001
equal "$(ls RAN 2>&1)" "ls: cannot access 'RAN': No such file or directory" "code of a recorded name"
has err "no plugin of that name is available; give its folder with --plugin-path"

echo "a plugin that has changed since is said"
exits 0 ablate translate --model "$model" <<<s0001
hasnt err "is not the one the"
change "$model" other.safetensors 's{(scaled_dot\\",\\"sha256\\":\\")[0-9a-f]{12}}{${1}0123456789ab}'
exits 0 ablate translate --model other.safetensors <<<s0001
has err "attention 'scaled_dot' is not the one the model was trained with"
has err "expected 0123456789ab"
echo "tensors whose shapes, types or places do not agree"
refused() { # PERL WORDS
    change "$model" bad.safetensors "$1"
    exits 1 ablate translate --model bad.safetensors <<<s0001
    has err "$2"
}
refused 's{("embed":\{"dtype":"F32","shape":\[)(\d+),(\d+)}{$1$3,$2}' "tensor 'embed' does not have the shape"
refused 's{("shape":\[)(\d+),}{$1 1$2,}' "and"
refused 's{("embed":.*?"data_offsets":\[)(\d+),(\d+)}{$1 . ($2 + 4) . "," . ($3 + 4)}e' "overlap"
refused 's{("embed":.*?"data_offsets":\[)(\d+),(\d+)}{${1}9007199254740993,$3}' "has no valid data_offsets"
refused 's{("embed":.*?"data_offsets":\[)(\d+),(\d+)}{${1}-8,$3}' "has no valid data_offsets"
refused 's{("embed":.*?"data_offsets":\[)(\d+),(\d+)}{${1}0,1e15}' "the file is truncated"
refused 's{("embed":\{"dtype":"F32","shape":\[)\d+}{${1}1.5}' "has a shape with values other than whole numbers"
refused 's{("embed":\{"dtype":")F32}{${1}F16}' "elements of F16 and"
finish
