#!/usr/bin/env bash
# rules.sh ROOT - reports violations of the architecture as `file:line: what is wrong`:
#   an include upward or sideways between the folders of core/; exit outside core/main.c; SQL outside core/results;
#   CUDA outside core/cuda; dlopen outside core/plugin, core/device, core/comm and core/cuda; the folder beside the checkout named
#   outside .ci/run; lines over 200 columns; C files over 700 lines.
# First, every rule is tested on small trees that violate it: each must be refused for its reason.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/rules.pl" <<'PERL'
use strict;
use warnings;
my $root = shift;
my $bad = 0;
sub refuse { my ($path, $line, $text) = @_; print "$path:$line: $text\n"; $bad++ }

# The order of the folders in core/: a file includes its own folder and those of earlier rows.
my @rows = ('api base', 'graph', 'cpu cuda comm', 'plugin', 'config text data metric results draw', 'model export', 'train decode',
    'check report launch device', 'commands');
my %row;
for my $i (0 .. $#rows) { $row{$_} = $i for split ' ', $rows[$i] }
my $top = @rows;                                       # run, main: the files of core/ itself, which commands/ may include
my %also = (data => {text => 1});
my %only = (api => {}, base => {}, cpu => {graph => 1, base => 1}, cuda => {graph => 1, base => 1, comm => 1}, comm => {graph => 1, base => 1});

sub check_include {
    my ($path, $line, $name, $quoted) = @_;
    return refuse($path, $line, "includes \"$name\" by way of .., name it from core/") if $name =~ m{(^|/)\.\.(/|$)};
    return unless $path =~ m{^core/};
    my ($from) = $path =~ m{^core/([^/]+)/};
    my ($to) = $name =~ m{^([^/]+)/};
    if (!defined $to) {
        (my $beside = $path) =~ s{[^/]+$}{$name};
        refuse($path, $line, "includes \"$name\", a file of core/ itself, which stands above every folder")
            if ($from // '') ne 'commands' && $quoted && !-e "$root/$beside" && -e "$root/core/$name";
        return;
    }
    return unless exists $row{$to} || -d "$root/core/$to";   # a library's header, such as <sys/stat.h>
    return refuse($path, $line, "includes \"$name\": folder $to has no place in the order (tests/rules.sh)")
        unless exists $row{$to};
    return if !defined $from || $from eq $to;
    return refuse($path, $line, "folder $from has no place in the order (tests/rules.sh)") unless exists $row{$from};
    if ($only{$from}) {
        return if $only{$from}{$to};
        my $may = join(' and ', sort keys %{$only{$from}}) || 'no other folder';
        return refuse($path, $line, "includes \"$name\"; $from may include $may");
    }
    return if $row{$to} < $row{$from} || $also{$from}{$to};
    my $how = $row{$to} == $row{$from} ? 'stands beside' : 'stands above';
    refuse($path, $line, "includes \"$name\", but $to $how $from in the order (tests/rules.sh)");
}

my $sql = qr/\bSELECT\s|\bselect\s+(?:\*|count\s*\(|distinct\s)
    |(?i:\binsert\s+(?:or\s+\w+\s+)?into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b
        |\b(?:create|drop|alter)\s+(?:temp\s+|temporary\s+|unique\s+|virtual\s+)?(?:table|view|index|trigger)\b|^\s*pragma\s)/x;
my $cuda = qr/\b(?:cuda[A-Z]\w*|cu(?:blas|dnn|rand|sparse|fft)\w*|CU(?:device|deviceptr|stream|context|module|function|event|result)\b
    |__global__|__device__|__host__)/x;

sub check_c {
    my ($path, $text) = @_;
    my ($code, $with_includes, @literals) = ('', '');
    my $line = 1;
    # Comments vanish, strings become "" in $code and are kept apart; newlines stay, so that lines can be counted.
    while ($text =~ m{\G(?: (//[^\n]*|/\*.*?\*/) | ("(?:[^"\\\n]|\\.)*") | ('(?:[^'\\\n]|\\.)*') | (?:[^"'/]+|.) )}gsx) {
        my ($piece, $comment, $string, $char) = ($&, $1, $2, $3);
        my $breaks = ($piece =~ tr/\n//);
        if (defined $comment) { $code .= "\n" x $breaks . ' '; $with_includes .= "\n" x $breaks . ' ' }
        elsif (defined $string) {
            my $body = substr $piece, 1, -1;
            $body =~ s/\\n|\\t/ /g;
            # Neighbouring literals are one text, also over several lines.
            if (@literals && $code =~ /""\s*\z/) { $literals[-1][1] .= $body } else { push @literals, [$line, $body] }
            $code .= '""' . "\n" x $breaks;
            $with_includes .= $piece;
        }
        elsif (defined $char) { $code .= "''"; $with_includes .= "''" }
        else { $code .= $piece; $with_includes .= $piece }
        $line += $breaks;
    }
    my $n = 0;
    for (split /\n/, $with_includes, -1) {
        $n++;
        next unless /^\s*#\s*include\s*(["<])([^">]+)/;
        my ($kind, $name) = ($1, $2);
        check_include($path, $n, $name, $kind eq '"');
        refuse($path, $n, "includes <$name>: CUDA belongs in core/cuda")
            if $name =~ /^(?:cuda_|cuda\.|cublas|cudnn|nvrtc|curand|cufft)/ && $path !~ m{^core/cuda/};
        refuse($path, $n, "includes <$name>: the database belongs in core/results")
            if $name =~ /^sqlite3/ && $path !~ m{^core/results/};
    }
    $n = 0;
    for (split /\n/, $code, -1) {
        $n++;
        refuse($path, $n, "calls exit; only core/main.c and core/cuda/runtime.cu may: return an error")
            if /(?<![\w.>])exit\s*\(/ && $path !~ m{^core/(?:main\.c|cuda/runtime\.cu)$};
        refuse($path, $n, "CUDA ($&) outside core/cuda") if $path !~ m{^core/cuda/} && $_ =~ $cuda;
        refuse($path, $n, "calls $1; only core/plugin, core/device, core/comm and core/cuda may")
            if /\b(dlm?open)\b/ && $path !~ m{^core/(?:plugin/|cuda/|comm/|device/)};
    }
    if ($path !~ m{^core/results/}) {
        for (@literals) { refuse($path, $_->[0], "SQL (\"" . substr($_->[1], 0, 40) . "\") outside core/results") if $_->[1] =~ $sql && $_->[1] !~ /ablate query/ }
    }
}

sub check {
    my ($path) = @_;
    open my $f, '<:raw', "$root/$path" or die "$path: $!\n";
    local $/;
    my $text = <$f> // '';
    close $f;
    return if index($text, "\0") >= 0;
    my @lines = split /\n/, $text, -1;
    pop @lines if @lines && $lines[-1] eq '';
    my $beside = '../' . 'shared';
    if ($path ne '.ci/run' && index($text, $beside) >= 0) {
        for my $i (0 .. $#lines) { refuse($path, $i + 1, "names $beside; only .ci/run may") if index($lines[$i], $beside) >= 0 }
    }
    if ($path =~ /\.(?:c|h|cc|inc|cu|cuh|sh|py)$|^(?:ablate|CMakeLists\.txt|\.ci\/run)$/) {
        for my $i (0 .. $#lines) {
            utf8::decode(my $decoded = $lines[$i]);    # where it is no UTF-8, bytes are counted
            my $columns = length $decoded;
            refuse($path, $i + 1, "$columns columns, at most 200") if $columns > 200;
        }
    }
    return unless $path =~ /\.(?:c|h|cc|inc|cu|cuh)$/;
    refuse($path, scalar @lines, scalar(@lines) . ' lines, at most 700: split it') if @lines > 700;
    check_c($path, $text) if $path =~ m{^(?:core|plugins)/};
}

sub walk {
    my ($folder) = @_;
    opendir my $d, $root . '/' . $folder or die "$folder: $!\n";
    for my $name (sort readdir $d) {
        next if $name =~ /^\.\.?$/ || $name eq '__pycache__';
        next if $folder eq '' && $name =~ /^(?:\.git|build.*|data|runs|results\.db.*)$/;
        my $path = $folder eq '' ? $name : "$folder/$name";
        if (-l "$root/$path") { next }
        elsif (-d _) { walk($path) }
        elsif (-f _) { check($path) }
    }
}

walk('');
exit($bad ? 1 : 0);
PERL

failed=0

# tree NAME: a small tree that keeps every rule, among them the things that look like a breach and are none.
tree() {
    local t=$work/$1
    rm -rf "$t"
    mkdir -p "$t"/core/{base,graph,cpu,plugin,text,data,metric,results,model,train} "$t/.ci" "$t/plugins/optim"
    echo '#include <stdio.h>' >"$t/core/base/base.h"
    echo '#include "base/base.h"' >"$t/core/graph/op.h"
    printf '#include "tensor/graph/op.h"\n#include "base/base.h"\n#include "fused.h"\n' >"$t/core/cpu/cpu.c"
    echo >"$t/core/cpu/fused.h"
    printf '#include "text/tokens/vocab.h"\n' >"$t/core/data/data.c"
    printf '#include "tensor/graph/op.h"\nvoid *p(void) { return dlopen("x", 1); }\n' >"$t/core/plugin/load.c"
    echo >"$t/core/text/vocab.h"
    printf '#include <sqlite3.h>\nconst char *q = "SELECT 1";\n' >"$t/core/results/db.c"
    printf '%s\n' '#include "text/data/data.h"' '// exit(1) and dlopen(' '/* cudaMalloc' ' SELECT x */' 'int on_exit(int);' \
        'char *s = "exit(1), select one, an update of it";' >"$t/core/train/train.c"
    printf '#include "run.h"\n#include "network/train/train.h"\nint main(void) { exit(0); }\n' >"$t/core/main.c"
    echo >"$t/core/run.h"
    echo "cd ../""shared" >"$t/.ci/run"
}

# refused REASON FILE TEXT: the tree with this file must be refused, with this reason.
refused() {
    tree sabotaged
    mkdir -p "$(dirname "$work/sabotaged/$2")"
    printf '%b' "$3" >"$work/sabotaged/$2"
    local said
    if said=$(perl "$work/rules.pl" "$work/sabotaged"); then
        echo "not refused: $2: ${3:0:80}"
        failed=1
    elif [[ $said != "$2:"*"$1"* || $said == *$'\n'* ]]; then
        printf 'refused, but not for its one reason (%s): %s\n' "$1" "$said"
        failed=1
    fi
}

tree clean
if ! perl "$work/rules.pl" "$work/clean"; then
    echo "the tree that keeps every rule was refused"
    failed=1
fi
long=$(printf '%201s' '' | tr ' ' x)
refused 'train stands above model' core/model/m.c '#include "network/train/train.h"\n'
refused 'model stands above graph' core/graph/g.c 'int x;\n# include <network/model/model.h>\n'
refused 'metric stands beside results' core/results/r.c '#include "text/metric/bleu.h"\n'
refused 'data stands beside text' core/text/t.c '#include "text/data/data.h"\n'
refused 'cpu may include base and graph' core/cpu/c.c '#include "network/plugin/plugin.h"\n'
refused 'comm may include base and graph' core/comm/c.c '#include "tensor/cpu/cpu.h"\n'
refused 'base may include no other folder' core/base/b.c '#include "tensor/graph/op.h"\n'
refused 'above every folder' core/train/t.c '#include "run.h"\n'
refused 'has no place' core/extra/x.c '#include "base/base.h"\n'
refused 'by way of ..' core/train/t.c '#include "../model/model.h"\n'
refused 'calls exit' core/train/t.c 'void f(void)\n{\n    exit (1);\n}\n'
refused 'calls exit' plugins/optim/o.c 'void f(void) { if (x) exit(1); }\n'
refused 'SQL' core/train/t.c 'char *q = "SELECT x FROM y";\n'
refused 'SQL' core/train/t.c 'char *q = "insert"\n   " into y";\n'
refused 'SQL' core/train/t.c 'char *q = "UPDATE run SET x = 1";\n'
refused 'SQL' core/train/t.c 'char *q = "DELETE FROM y";\n'
refused 'SQL' core/train/t.c 'char *q = "CREATE TABLE y (x)";\n'
refused 'the database belongs' core/train/t.c '#include <sqlite3.h>\n'
refused 'CUDA' core/train/t.c '#include <cuda_runtime.h>\n'
refused 'CUDA' core/train/t.c 'cudaStream_t s;\n'
refused 'CUDA' core/graph/g.h 'struct x { cublasLtHandle_t h; };\n'
refused 'calls dlopen' core/train/t.c 'void *f(void) { return dlopen("x", 1); }\n'
refused 'names ../'shared docs/guide.md "see ../""shared/data\n"
refused '201 columns' core/train/t.c "//${long#xx}"
refused '201 columns' tests/a.sh "${long}\n"
refused '701 lines' core/train/t.c "$(printf '\\n%.0s' $(seq 701))"
refused '701 lines' tests/unit/t.h "$(printf '\\n%.0s' $(seq 701))"
[ $failed -eq 0 ] || exit 1

perl "$work/rules.pl" "${1:?the folder to look at}"
echo "all rules are kept, and each refused its sabotaged tree"
