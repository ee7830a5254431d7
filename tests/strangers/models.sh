#!/usr/bin/env bash
# Model files from strangers: sizes that overflow, names that leave their folder or contain control bytes, cut files and
# random bytes. Every command that reads a model gives an error or its usual output. Needs python3 to forge them.
source "$(dirname "$0")/../cli/common.bash" "$@"
command -v python3 >/dev/null || { echo "skipped: found no python3 here"; exit 77; }
RANDOM=${MODELS_SEED:-7}

{ tiny strange 4 | sed 's/^\(eval\|save\)_every.*/\1_every = 4/'; } >strange.ini
exits 0 ablate run strange.ini --threads 1 --progress none
model=$(find home/runs -name model.safetensors | head -1)
for key in start_from teacher; do
    { tiny $key 1 && printf '%s = bad.safetensors\n' $key && [ $key = start_from ] || echo 'head = distillation'; } >$key.ini
done
printf 'a b\tb a\n' >pairs

# forge.py MODEL HOW: writes bad.safetensors; without HOW it prints all values of HOW.
cat >forge.py <<'PY'
import json, struct, sys
whole = open(sys.argv[1], 'rb').read()
n = struct.unpack('<Q', whole[:8])[0]
head, body = json.loads(whole[8:8 + n]), whole[8 + n:]
meta = head['__metadata__']
tensors = [k for k in head if k != '__metadata__']
first = head[tensors[0]]
ugly = '../../../up\x1b[2J\r\n'
def renamed(name):
    def go():
        global head
        head = {(name + k if k == tensors[0] else k): v for k, v in head.items()}
    return go
def each(key, value):
    return lambda: [head[t].__setitem__(key, value) for t in tensors]
def setting(key, value):
    def go():
        c = json.loads(meta['config'])
        c[key] = value
        meta['config'] = json.dumps(c)
    return go
def text(key, value):
    return lambda: meta.__setitem__(key, value)
ways = {
    'a tensor of 2^62 rows': lambda: first.update(shape=[2**62, 4]),
    'sizes whose product is 2^64': lambda: first.update(shape=[2**32, 2**32]),
    'a negative size': lambda: first.update(shape=[-4, 4]),
    'a size that is a real': lambda: first.update(shape=[1e300, 4]),
    'a size that is a text': lambda: first.update(shape=['4', 4]),
    'a thousand sizes': lambda: first.update(shape=[1] * 1000),
    'sizes of 0': each('shape', [0]),
    'no shape': lambda: first.pop('shape'),
    'offsets beyond the file': lambda: first.update(data_offsets=[0, 2**62]),
    'offsets of 2^64': lambda: first.update(data_offsets=[2**64 - 8, 2**64]),
    'offsets backwards': lambda: first.update(data_offsets=[64, 0]),
    'offsets below 0': lambda: first.update(data_offsets=[-64, 0]),
    'one offset for all': each('data_offsets', first['data_offsets']),
    'a type that is none': lambda: first.update(dtype=ugly),
    'a type of another width': each('dtype', 'F64'),
    'a tensor that is a number': lambda: head.__setitem__(tensors[0], 3),
    'a name that leaves its folder': renamed(ugly),
    'a name of a megabyte': renamed('n' * 2**20),
    'no name': renamed('\x00'),
    'no metadata': lambda: head.pop('__metadata__'),
    'metadata of lists': lambda: [meta.__setitem__(k, [1]) for k in meta],
    'settings that are no JSON': text('config', '{' * 100000),
    'plugins that are no JSON': text('plugins', '[[['),
    'a plugin that leaves its folder': setting('norm', ugly + 'layer_norm'),
    'a task that leaves its folder': setting('task', '../../' + ugly),
    'a key that a terminal obeys': setting('\x1b[2J\rx', '1'),
    'a text that a terminal obeys': setting('lr', '\x1b]0;x\x07\n'),
    'layers that fill the memory': setting('layers', '4000000000000000000'),
    'a width that fills the memory': setting('d_model', '1000000000'),
    'heads that divide by zero': setting('heads', '0'),
    'a beam that fills the memory': setting('beam_size', '9000000000000000000'),
    'tokens that fill the memory': setting('max_extra_tokens', '9223372036854775807'),
    'a contrast file of others': setting('contrast', '/etc/passwd'),
    'data of others': setting('sequence.data', '../../etc'),
}
for k in [k for k in meta if k not in ('config', 'plugins')]:
    ways['metadata %s that a terminal obeys' % k] = text(k, '\x1b[2J\r\n../' + meta[k])
    ways['metadata %s empty' % k] = text(k, '')
    ways['metadata %s huge' % k] = text(k, '9' * 400)
if len(sys.argv) < 3:
    print('\n'.join(ways))
    sys.exit()
ways[sys.argv[2]]()
out = json.dumps(head).encode()
open('bad.safetensors', 'wb').write(struct.pack('<Q', len(out)) + out + body)
PY

cat >commands <<'COMMANDS'
translate --model bad.safetensors --threads 1
export --model bad.safetensors --format huggingface -o made
export --model bad.safetensors --format ctranslate2 -o made
export --model bad.safetensors --format gguf -o made
attention --model bad.safetensors
heads --model bad.safetensors
patch --model bad.safetensors
score likelihood --model bad.safetensors
generate --model bad.safetensors --tokens 3
parse --model bad.safetensors
predict --model bad.safetensors
run start_from.ini --threads 1 --progress plain
run teacher.ini --threads 1 --progress plain
COMMANDS
# obeys FILE: true if it has a byte that a terminal would obey (a model's own words may have some: they are its output).
obeys() { LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$1"; }
# answers FAULT COMMAND...: the command must end by itself with a message, and write no file but its output
answers() {
    local what=$1 code=0
    shift
    rm -rf made
    timeout 60 "$program" "$@" <pairs >out 2>err || code=$?
    checks=$((checks + 1))
    [ $code -lt 124 ] || wrong "$what, $*: ended with $code: $(tail -n 1 err)"
    [ $code = 0 ] || [ -s err ] || wrong "$what, $*: exit code $code without a message"
    obeys err && wrong "$what, $*: its message has control characters: $(cat -v err | head -3)"
    equal "$(ls -A "$work" | grep -v "^made$" | sum)" "$before" "files beside, $what, $*"
}
touch out err bad.safetensors
before=$(ls -A "$work" | grep -v "^made$" | sum)

echo "the model itself is answered"
cp "$model" bad.safetensors
while read -ra words; do answers "the model" "${words[@]}"; done <commands
exits 0 ablate translate --model bad.safetensors --threads 1 <pairs

echo "forged headers"
python3 forge.py "$model" >ways
before=$(ls -A "$work" | grep -v "^made$" | sum)
mapfile -t commands <commands
i=0
while IFS= read -r how; do
    python3 forge.py "$model" "$how" || wrong "cannot forge $how"
    some=$((i++ % ${#commands[@]}))
    [ -n "${ABLATE_TEST_LONG-}" ] && some=${!commands[*]}
    # with ABLATE_TEST_LONG every forged file is read by all commands, else each file by the next command
    for k in $some; do
        read -ra words <<<"${commands[k]}"
        answers "$how" "${words[@]}"
    done
done <ways

echo "sizes of the header, cut files, random bytes"
size=$(stat -c %s "$model")
for bytes in '\0\0\0\0\0\0\0\0' '\377\377\377\377\377\377\377\377' '\377\377\377\377\377\377\377\177' '\0\0\0\0\1\0\0\0'; do
    { printf "$bytes" && tail -c +9 "$model"; } >bad.safetensors
    for k in 0 $((1 + i++ % (${#commands[@]} - 1))); do
        read -ra words <<<"${commands[k]}"
        answers "a header of $bytes bytes" "${words[@]}"
    done
done
for at in 0 7 8 9 100 $((size / 2)) $((size - 1)); do
    head -c $at "$model" >bad.safetensors
    read -ra words <<<"${commands[i++ % ${#commands[@]}]}"
    answers "cut at $at" "${words[@]}"
done
for n in $(seq "${MODELS:-$([ -n "${ABLATE_TEST_LONG-}" ] && echo 200 || echo 10)}"); do
    cp "$model" bad.safetensors
    for _ in 1 2 3; do
        printf "\\x$(printf %x $((RANDOM % 256)))" |
            dd of=bad.safetensors bs=1 conv=notrunc status=none \
                seek=$(((RANDOM * 32768 + RANDOM) % (n % 2 ? 6000 : size)))
    done
    read -ra words <<<"${commands[i++ % ${#commands[@]}]}"
    answers "random bytes, number $n" "${words[@]}"
done
finish
