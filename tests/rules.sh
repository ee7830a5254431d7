#!/usr/bin/env bash
# rules.sh ROOT - reports violations of the architecture as `file:line: what is wrong`:
#   an include upward or sideways between the folders of core/; exit outside core/main.c; SQL outside core/lab/results;
#   CUDA outside core/tensor/cuda; dlopen outside core/network/plugin and core/tensor/{device,comm,cuda}; a loose file
#   in core/; the folder beside the checkout named outside .ci/run; a file or folder that README.md, CONTRIBUTING.md,
#   docs/ or a comment names and that is not there; a promise, or a fault of tests/strangers/faults.txt, for which no
#   existing test is named, or a test without a wrong line that it must notice; a page, or all pages written by hand,
#   with more words than allowed; lines over 120 columns; C files over 500 lines, core and plugins over 105,600; files
#   that include each other in a circle; a comment that opens with "of", "those of", "the same", "what" or "that".
# First, every rule is tested on small trees that violate it: each must be refused for its reason.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/rules.pl" <<'PERL'
use strict;
use warnings;
my ($root, $most_lines) = (@ARGV, 105600);
my $bad = 0;
# includes: file name without ending => the files that it includes; file: name without ending => its path
my (%includes, %file);
my %most_words = ('README.md' => 700, 'docs/results.md' => 1500, 'docs/plugins.md' => 700, 'docs/performance.md' => 2470,
    'docs/gpu.md' => 2360, 'CHANGELOG.md' => 1200);
my $lines_of_all = 0;                                    # sources of core and plugins
my ($words_of_all, $largest, $most) = (0, '', 0);        # pages written by hand, without the changelog
sub refuse { my ($path, $line, $text) = @_; print "$path:$line: $text\n"; $bad++ }

# The folders ("rooms") of core/ in order. A file includes its own room, earlier rooms of its wing, api, base, and rooms
# of the wings that its wing stands on.
my @rooms = ('api', 'base',
    'tensor/graph', 'tensor/cpu tensor/cuda tensor/comm', 'tensor/device',
    'text/tokens', 'text/data text/metric',
    'network/settings', 'network/plugin', 'network/model', 'network/train network/decode',
    'network/check network/formats', 'lab/config lab/results lab/statistics lab/draw', 'lab/export lab/launch',
    'lab/report lab/foreign', 'lab/run lab/sweep',
    'lab/study lab/archive',
    'cli');
my %row;
for my $i (0 .. $#rooms) { $row{$_} = $i for split ' ', $rooms[$i] }
# The wings and rooms that a wing, or one room of it, may include.
my %stands_on = (
    tensor => [], text => [], network => ['tensor', 'text'], lab => ['text', 'network/settings'],
    (map { $_ => ['tensor', 'text', 'network'] } 'lab/run', 'lab/sweep', 'lab/study', 'lab/archive'), cli => ['tensor', 'text', 'network', 'lab']);
# an exception: a room that may include another one of its own row
my %beside = ('tensor/cuda' => 'tensor/comm');

# The room of a path below core/: "tensor/graph" of tensor/graph/op.h, "cli" of cli/options.h.
sub room {
    my ($path) = @_;
    my @folder = split m{/}, $path;
    pop @folder;
    return '' unless @folder;
    return $folder[0] if exists $row{$folder[0]} || @folder == 1;
    return "$folder[0]/$folder[1]";
}

sub may {
    my ($from, $to) = @_;
    return 1 if $from eq $to || $to eq 'api' || ($to eq 'base' && $from ne 'api');
    return 1 if ($beside{$from} // '') eq $to;
    (my $wing = $from) =~ s{/.*}{};
    (my $other = $to) =~ s{/.*}{};
    return $row{$to} < $row{$from} if $wing eq $other && $wing ne $from;
    return grep { $_ eq $to || $_ eq $other } @{$stands_on{$from} // $stands_on{$wing} // []};
}

sub check_include {
    my ($path, $line, $name, $quoted) = @_;
    return refuse($path, $line, "includes \"$name\" by way of .., name it from core/") if $name =~ m{(^|/)\.\.(/|$)};
    return unless $path =~ m{^core/(.+)} && $path ne 'core/main.c';
    my $from = room($1);
    return unless $name =~ m{/} && -e "$root/core/$name" || exists $row{room($name)};   # a library's header, such as <sys/stat.h>
    my $to = room($name);
    for my $r ($to, $from) {
        return refuse($path, $line, "includes \"$name\": folder $r has no place in the order (tests/rules.sh)") unless exists $row{$r};
    }
    refuse($path, $line, "includes \"$name\", but $from may not include $to (tests/rules.sh)") unless may($from, $to);
}

my $sql = qr/\bSELECT\s|\bselect\s+(?:\*|count\s*\(|distinct\s)
    |(?i:\binsert\s+(?:or\s+\w+\s+)?into\b|\bupdate\s+\S+\s+set\b|\bdelete\s+from\b
        |\b(?:create|drop|alter)\s+(?:temp\s+|temporary\s+|unique\s+|virtual\s+)?(?:table|view|index|trigger)\b
        |^\s*pragma\s)/x;
my $cuda = qr/\b(?:cuda[A-Z]\w*|cu(?:blas|dnn|rand|sparse|fft)\w*
    |CU(?:device|deviceptr|stream|context|module|function|event|result)\b
    |__global__|__device__|__host__)/x;

# Checks that a file named in a document or comment exists: core/tensor/graph/op.h, core/tensor/graph/ops_*.c. Exempt:
# words in capitals that stand for a name (core/cli/NAME.c), files of another commit (fa6aaa1:core/x.c), files that a
# worked example adds (New file `core/cli/seeds.c`), and files that the build makes (tests/fault.so).
sub check_names {
    my ($path, $line, $text) = @_;
    my %new = map { $_ => 1 } $text =~ /New file `([^`]+)`/g;
    while ($text =~ m{(?<![\w/:.-])(?:\./)?((?:core|plugins|tests|bench|docs|experiments)/[\w/.*-]*\w)}g) {
        my ($name, $at) = ($1, $-[0]);
        next if $new{$name} || $name =~ m{\.so$|[/_](?!README\b)[A-Z]+(?=[./]|$)} || grep { -e } map { glob "$root/$_$name" } '', $path =~ s{[^/]*$}{}r;
        refuse($path, $line + (substr($text, 0, $at) =~ tr/\n//), "names $name, which is not there");
    }
}

# Refuses comments whose first word hangs on a noun that stands elsewhere. Lines of # or // that follow one another are
# one comment; a file's head, "name.c - ...", is read from behind the dash.
sub check_openings {
    my ($path, $text) = @_;
    my $comment = $path =~ /\.(?:cmake|sh|bash|py)$/ ? qr{(?:^|(?<=\s))(\#(?!!)[^\n]*(?:\n[ \t]*\#[^\n]*)*)}m
        : qr{"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|(/\*.*?\*/|//[^\n]*(?:\n[ \t]*//[^\n]*)*)}s;
    while ($text =~ /$comment/g) {
        my ($found, $at) = ($1 // '', $-[0]);
        next unless $found =~ m{^[\s/*\#=-]+(?:[\w./]+ - )?((?:those )?of|the same|what|that)\b}i;
        refuse($path, 1 + (substr($text, 0, $at) =~ tr/\n//), "a comment opens with \"$1\": name its subject");
    }
}

# Is this the name of a test in ctest, or of a part of tests/reliability.sh?
sub is_test {
    my ($name) = @_;
    my ($part) = $name =~ m{^tests/reliability\.sh (\w+)$};
    return grep { -e "$root/tests/$_" } "unit/$name.c", "$name.sh", "$name.c", "${name}_fuzz.c" unless $part;
    open my $f, '<', "$root/tests/reliability.sh" or return 0;
    return join('', <$f>) =~ /^    $part\)/m;
}

# Does tests/oracle/promises.txt have a wrong line for the test, or a reason why no wrong line can try it?
sub is_tried {
    my ($test) = @_;
    return 1 if $test =~ /^tests\//;
    open my $f, '<', "$root/tests/oracle/promises.txt" or return 0;
    return join('', <$f>) =~ /^(?:[^#\n].* \| (?:\w+=\S+ )*\Q$test\E|# without: \Q$test\E: \S.*)$/m;
}

# In these sections, each sentence must name the tests that show it, such as [cli/kill, tests/reliability.sh kills].
sub check_promises {
    my ($path, $text) = @_;
    if ($path eq 'docs/paper.md') {
        for ($text =~ /`(\w+\/\w+)`/g) { refuse($path, 1, "names the test $_, which is not there") unless is_test($_) }
    }
    while ($text =~ /^## (?:Guarantees|Files from strangers|What 1\.x keeps)\n(.*?)(?=^## |\z)/gsm) {
        for my $block (split /\n(?=- |\n)/, $1) {
            next if $block !~ /^\s*- /;
            (my $rest = $block) =~ s/\s+/ /g;
            while ($rest =~ s/^ *(.*?[.!?:]) \[([^\]]+)\](?!\()//) {
                my ($sentence, $names) = ($1, $2);
                refuse($path, 1, "no test behind: $1") if $sentence =~ /^(.*?[.!?]) +[A-Z`*]/;
                for (split /, */, $names) {
                    if (!is_test($_)) { refuse($path, 1, "names the test $_, which is not there") }
                    elsif ($path eq 'docs/reliability.md' && !is_tried($_)) { refuse($path, 1, "names the test $_, which no wrong line tries") }
                }
            }
            refuse($path, 1, "no test behind: $rest") if $rest =~ /\S/;
        }
    }
}

# Each fault that strangers found has tests: NUMBER | FAULT | TEST, TEST.
sub check_faults {
    my ($path, $text) = @_;
    my $n = 0;
    for (split /\n/, $text) {
        $n++;
        next if /^#/;
        my ($tests) = /^\d+ \| [^|]+ \| ([^|]+)$/ or refuse($path, $n, 'expected NUMBER | FAULT | TEST, TEST');
        for (split /, */, $tests // '') {
            if (!is_test($_)) { refuse($path, $n, "names the test $_, which is not there") }
            elsif (!is_tried($_)) { refuse($path, $n, "names the test $_, which no wrong line tries") }
        }
    }
}

sub check_c {
    my ($path, $text) = @_;
    my ($code, $with_includes, @literals) = ('', '');
    my $line = 1;
    # In $code comments vanish and strings become ""; the comments and the strings are kept in lists of their own.
    # Newlines stay, so that lines can be counted.
    while ($text =~ m{\G(?: (//[^\n]*|/\*.*?\*/) | ("(?:[^"\\\n]|\\.)*") | ('(?:[^'\\\n]|\\.)*') | (?:[^"'/]+|.) )}gsx) {
        my ($piece, $comment, $string, $char) = ($&, $1, $2, $3);
        my $breaks = ($piece =~ tr/\n//);
        check_names($path, $line, $comment) if defined $comment;
        if (defined $comment) { $code .= "\n" x $breaks . ' '; $with_includes .= "\n" x $breaks . ' ' }
        elsif (defined $string) {
            my $body = substr $piece, 1, -1;
            $body =~ s/\\n|\\t/ /g;
            # Adjacent literals are one text, even on several lines.
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
        my $from = node($path);
        for my $file ("core/$name", $path =~ s{[^/]+$}{$name}r) {
            next unless -e "$root/$file";
            ($includes{$from}{node($file)}, $file{$from}) = (1, $path) if node($file) ne $from;
            last;
        }
        check_include($path, $n, $name, $kind eq '"');
        refuse($path, $n, "includes <$name>: CUDA belongs in core/tensor/cuda")
            if $name =~ /^(?:cuda_|cuda\.|cublas|cudnn|nvrtc|curand|cufft)/ && $path !~ m{^core/tensor/cuda/};
        refuse($path, $n, "includes <$name>: the database belongs in core/lab/results")
            if $name =~ /^sqlite3/ && $path !~ m{^core/lab/results/};
    }
    $n = 0;
    for (split /\n/, $code, -1) {
        $n++;
        refuse($path, $n, "calls exit; only core/main.c and core/tensor/cuda/runtime.cu may: return an error")
            if /(?<![\w.>])exit\s*\(/ && $path !~ m{^core/(?:main\.c|tensor/cuda/runtime\.cu)$};
        refuse($path, $n, "CUDA ($&) outside core/tensor/cuda") if $path !~ m{^core/tensor/cuda/} && $_ =~ $cuda;
        refuse($path, $n, "calls $1; only core/network/plugin and core/tensor may")
            if /\b(dlm?open)\b/ && $path !~ m{^core/(?:network/plugin/|tensor/(?:cuda|comm|device)/)};
    }
    if ($path !~ m{^core/lab/results/}) {
        for (@literals) { refuse($path, $_->[0], "SQL (\"" . substr($_->[1], 0, 40) . "\") outside core/lab/results") if $_->[1] =~ $sql && $_->[1] !~ /ablate query/ }
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
    # A line of a script may have 200 columns if it contains quoted text or SQL, which a line break would change. Any
    # line of a Python file may have 200 columns. Other lines of a here document keep the limit of 120.
    if ($path =~ /\.(?:c|h|cc|inc|cu|cuh|sh|bash|cmake|py)$|^(?:ablate|CMakeLists\.txt|\.ci\/run)$/) {
        for my $i (0 .. $#lines) {
            utf8::decode(my $decoded = $lines[$i]);    # a line that is not UTF-8 is counted in bytes
            my $columns = length $decoded;
            my $quotes = $path !~ /\.(?:c|h|cc|inc|cu|cuh)$/ && $decoded =~ /["'`]|\bSELECT\b/;
            my $most = $quotes || $path =~ /\.py$/ ? 200 : 120;
            refuse($path, $i + 1, "$columns columns, at most $most") if $columns > $most;
        }
    }
    check_names($path, 1, $text) if $path =~ m{^(?:README|CONTRIBUTING|docs/.+)\.md$};
    check_faults($path, $text) if $path eq 'tests/strangers/faults.txt';
    check_promises($path, $text) if $path =~ m{^docs/.+\.md$};
    my $words = () = $text =~ /\S+/g;
    refuse($path, 1, "$words words, at most $most_words{$path}") if $words > ($most_words{$path} // $words);
    refuse($path, 1, 'its first line after the title says not what the page is for')
        if $path =~ m{^(?:README|CONTRIBUTING|docs/.+)\.md$} && $text =~ /\A# .*\n+(?:#|\||    |```)/;
    # In docs/performance.md, a section with figures of speed names the commit that entered them.
    if ($path eq 'docs/performance.md') {
        for my $section (split /^(?=## )/m, $text) {
            next unless $section =~ /^## / && $section =~ /^\|.*\d\.\d/m;
            next if $section =~ /^Commits?[ :].*\b[0-9a-f]{8}\b/m;
            refuse($path, 1, "no commit in the section " . ($section =~ /^## (.*)/)[0]);
        }
    }
    $lines_of_all += @lines if $path =~ m{^(?:core|plugins)/.*\.(?:c|h|cu|inc|cc|cuh|cpp)$};
    if ($path =~ /\.md$/ && $path !~ m{^(?:CHANGELOG\.md|docs/ini\.md|experiments/.*)$}) {
        $words_of_all += $words;
        ($largest, $most) = ($path, $words) if $words > $most;
    }
    check_openings($path, $text)
        if $path =~ m{^(?:core|plugins|tests)/.*\.(?:c|h|cc|inc|cu|cuh|css|js|cmake|sh|bash|py)$};
    refuse($path, 1, 'a loose file: core/ has main.c and folders') if $path =~ m{^core/[^/]+$} && $path ne 'core/main.c';
    return unless $path =~ /\.(?:c|h|cc|inc|cu|cuh)$/;
    refuse($path, scalar @lines, scalar(@lines) . ' lines, at most 500: split it') if @lines > 500;
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

# Finds circles of files below core/ and plugins/ that include each other; a header and the .c of the same name count as
# one.
sub node { my ($path) = @_; $path =~ s/\.(?:c|h|cc|inc|cu|cuh)$//; return $path }
sub check_circles {
    my (%number, %low, @stack, %on, $visit);
    $visit = sub {
        my ($v) = @_;
        $number{$v} = $low{$v} = 1 + keys %number;
        push @stack, $v;
        $on{$v} = 1;
        for my $w (sort keys %{$includes{$v} // {}}) {
            if (!$number{$w}) { $visit->($w); $low{$v} = $low{$w} if $low{$w} < $low{$v} }
            elsif ($on{$w}) { $low{$v} = $number{$w} if $number{$w} < $low{$v} }
        }
        return if $low{$v} != $number{$v};
        my @members;
        do { push @members, pop @stack; delete $on{$members[-1]} } while $members[-1] ne $v;
        my $circle = join ' ', sort @members;
        return if @members == 1;
        refuse($file{(sort @members)[0]}, 1, "includes in a circle: $circle");
    };
    for my $v (sort keys %includes) { $visit->($v) unless $number{$v} }
}

walk('');
refuse($largest, 1, "$words_of_all words in all pages written by hand, at most 38800") if $words_of_all > 38800;
refuse('core', 1, "$lines_of_all lines in core and plugins, at most $most_lines") if $lines_of_all > $most_lines;
check_circles();
exit($bad ? 1 : 0);
PERL

failed=0

# tree NAME: makes a small tree that keeps every rule, with text that looks like a violation but is allowed.
tree() {
    local t=$work/$1
    rm -rf "$t"
    mkdir -p "$t"/core/{base,cli,tensor/{graph,cpu,cuda,comm},text/{tokens,data,metric},network/{settings,plugin,model,train},lab/{config,results,sweep}} \
        "$t/.ci" "$t/plugins/optim" "$t/tests"
    echo '#include <stdio.h>' >"$t/core/base/base.h"
    echo '#include "base/base.h"' >"$t/core/tensor/graph/op.h"
    printf '#include "tensor/graph/op.h"\n#include "base/base.h"\n#include "fused.h"\n' >"$t/core/tensor/cpu/cpu.c"
    echo >"$t/core/tensor/cpu/fused.h"
    echo >"$t/core/tensor/comm/comm.h"
    printf '#include "tensor/comm/comm.h"\n' >"$t/core/tensor/cuda/ranks.cu"
    printf '#include "text/tokens/vocab.h"\n' >"$t/core/text/data/data.c"
    printf '#include "tensor/graph/op.h"\nvoid *p(void) { return dlopen("x", 1); }\n' >"$t/core/network/plugin/load.c"
    echo >"$t/core/text/tokens/vocab.h"
    echo >"$t/core/network/settings/config.h"
    printf '#include "network/settings/config.h"\n' >"$t/core/lab/config/spec.h"
    printf '#include <sqlite3.h>\nconst char *q = "SELECT 1";\n' >"$t/core/lab/results/db.c"
    printf '#include "network/train/train.h"\n#include "lab/config/spec.h"\n' >"$t/core/lab/sweep/run.h"
    printf '%s\n' '#include "text/data/data.h"' '#include <sys/stat.h>' '// exit(1) and dlopen(' '/* cudaMalloc' \
        ' SELECT x */' \
        '// offset of it' '// what, in a second line' 'char *t = "/* of it */"; /* its. Of it. */' \
        'int on_exit(int);' 'char *s = "exit(1), select one, an update of it";' >"$t/core/network/train/train.c"
    printf '#include "lab/sweep/run.h"\n' >"$t/core/cli/run.c"
    printf '#include "lab/sweep/run.h"\n#include "network/train/train.h"\nint main(void) { exit(0); }\n' \
        >"$t/core/main.c"
    printf '#include "text/data/one.h"\n' >"$t/core/text/data/two.h"
    echo >"$t/core/text/data/one.h"
    echo "cd ../""shared" >"$t/.ci/run"
    printf '    kills) :;;\n' >"$t/tests/reliability.sh"
    mkdir -p "$t/tests/"{oracle,cli}
    touch "$t/tests/cli/"{lone,bare,off}.sh
    printf '%s\n' '# without: cli/kill: it breaks the program itself' '# without: cli/bare' '# x.c | a | b | cli/off' \
        'x.c | a | b | A=1 B=2 base/test_a' 'x.c | a | b | fuzz/ini' >"$t/tests/oracle/promises.txt"
}

# refused REASON FILE TEXT: the small tree with FILE added must be refused for REASON.
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
mkdir -p "$work/clean/docs" "$work/clean/tests/"{unit/base,cli,fuzz}
touch "$work/clean/tests/"{unit/base/test_a.c,cli/kill.sh,fuzz/ini_fuzz.c}
printf '%s\n' '# Page' '' 'Its purpose.' '' '## Guarantees' '' '### Runs' '' '- **A run** ends:' '  so. [cli/kill, tests/reliability.sh kills] Two. [base/test_a]' \
    '- Of [x](x.md), `a.b`. [fuzz/ini]' '' '## Not guaranteed' '' '- This.' >"$work/clean/docs/reliability.md"
if ! perl "$work/rules.pl" "$work/clean"; then
    echo "the tree that keeps every rule was refused"
    failed=1
fi
if said=$(perl "$work/rules.pl" "$work/clean" 9) || [[ $said != core:1:*' lines in core and plugins, at most 9' ]]; then
    echo "a tree with more lines than it may have was not refused, or not for its one reason: $said"
    failed=1
fi
long=$(printf '%121s' '' | tr ' ' x)
refused 'network/model may not include network/train' core/network/model/m.c '#include "network/train/train.h"\n'
refused 'tensor/graph may not include network/model' core/tensor/graph/g.c 'int x;\n# include <network/model/model.h>\n'
refused 'lab/results may not include lab/statistics' core/lab/results/r.c '#include "lab/statistics/design.h"\n'
refused 'text/tokens may not include text/data' core/text/tokens/t.c '#include "text/data/data.h"\n'
refused 'text/data may not include tensor/graph' core/text/data/t.c '#include "tensor/graph/op.h"\n'
refused 'tensor/cpu may not include network/plugin' core/tensor/cpu/c.c '#include "network/plugin/plugin.h"\n'
refused 'tensor/comm may not include tensor/cpu' core/tensor/comm/c.c '#include "tensor/cpu/cpu.h"\n'
refused 'base may not include tensor/graph' core/base/b.c '#include "tensor/graph/op.h"\n'
refused 'lab/config may not include network/model' core/lab/config/c.c '#include "network/model/model.h"\n'
refused 'lab/archive may not include cli' core/lab/archive/a.c '#include "cli/options.h"\n'
refused 'lab/archive may not include lab/study' core/lab/archive/a.c '#include "lab/study/heads.h"\n'
refused 'lab/study may not include cli' core/lab/study/s.c '#include "cli/options.h"\n'
refused 'lab/sweep may not include lab/study' core/lab/sweep/s.c '#include "lab/study/heads.h"\n'
refused 'lab/sweep may not include cli' core/lab/sweep/s.c '#include "cli/options.h"\n'
refused 'a loose file' core/run.h '\n'
refused 'has no place' core/extra/deep/x.c '#include "base/base.h"\n'
refused 'by way of ..' core/network/train/t.c '#include "../model/model.h"\n'
refused 'calls exit' core/network/train/t.c 'void f(void)\n{\n    exit (1);\n}\n'
refused 'calls exit' plugins/optim/o.c 'void f(void) { if (x) exit(1); }\n'
refused 'SQL' core/network/train/t.c 'char *q = "SELECT x FROM y";\n'
refused 'SQL' core/network/train/t.c 'char *q = "insert"\n   " into y";\n'
refused 'SQL' core/network/train/t.c 'char *q = "UPDATE run SET x = 1";\n'
refused 'SQL' core/network/train/t.c 'char *q = "DELETE FROM y";\n'
refused 'SQL' core/network/train/t.c 'char *q = "CREATE TABLE y (x)";\n'
refused 'the database belongs' core/network/train/t.c '#include <sqlite3.h>\n'
refused 'CUDA' core/network/train/t.c '#include <cuda_runtime.h>\n'
refused 'CUDA' core/network/train/t.c 'cudaStream_t s;\n'
refused 'CUDA' core/tensor/graph/g.h 'struct x { cublasLtHandle_t h; };\n'
refused 'calls dlopen' core/network/train/t.c 'void *f(void) { return dlopen("x", 1); }\n'
refused 'names ../'shared docs/guide.md "see ../""shared/data\n"
refused 'includes in a circle: core/text/data/one core/text/data/two' core/text/data/one.c \
    '#include "text/data/two.h"\n'
refused 'names the test base/test_gone, which is not there' docs/paper.md '# Paper\n\nWhat shows it.\n\n| 3 | x | `base/test_gone` |\n'
refused 'names core/text/gone.c' docs/guide.md 'one\nsee `core/text/gone.c`.\n'
refused 'names core/text/gone_*.c' README.md 'core/text/data/*.c, [x](core/text/gone_*.c)\n'
refused 'names docs/gone' core/network/train/t.c '/* See docs/gone.md. */\n'
refused '121 columns' core/network/train/t.c "//${long#xx}"
refused '121 columns' tests/a.sh "$long\n"
refused '201 columns' tests/a.sh "'${long}${long:0:78}'\n"
refused '2471 words' docs/performance.md "$(printf 'word %.0s' $(seq 2471))"
refused 'no commit in the section How fast' docs/performance.md '## How fast?\n\n| a | 1.5 |\n'
refused 'not what the page is for' docs/guide.md '# Guide\n\n## First\n'
refused 'no test behind: - It holds.' docs/reliability.md '# R\n\nFor.\n\n## Guarantees\n\n- It holds.\n'
refused 'no test behind: - One.' docs/reliability.md '# R\n\nFor.\n\n## Guarantees\n\n- One. Two. [tests/reliability.sh kills]\n'
refused 'names the test cli/gone' docs/reliability.md '# R\n\nFor.\n\n## Files from strangers\n\n- One. [cli/gone]\n'
refused 'names the test cli/none, which is not there' tests/strangers/faults.txt '1 | a fault | cli/none\n'
refused 'names the test cli/lone, which no wrong line tries' tests/strangers/faults.txt '# 1 | no | cli/none\n1 | a fault | cli/lone\n'
refused 'expected NUMBER | FAULT | TEST, TEST' tests/strangers/faults.txt '1 | a fault |\n'
for test in lone bare off; do # named nowhere, without a reason, in a row that is commented out
    refused "names the test cli/$test, which no wrong line tries" docs/reliability.md "# R\n\nFor.\n\n## Guarantees\n\n- One. [cli/$test]\n"
done
refused 'names the test tests/reliability.sh gone' docs/reliability.md '# R\n\nFor.\n\n## Guarantees\n\n- One. [tests/reliability.sh gone]\n'
refused '701 words' README.md "$(printf 'word %.0s' $(seq 701))"
refused '38801 words in all' docs/guide.md "$(printf 'word %.0s' $(seq 38801))"
refused '501 lines' core/network/train/t.c "$(printf '\\n%.0s' $(seq 501))"
refused 'opens with "Of"' core/network/train/t.c 'int x; /* Of a file. */\n'
refused 'opens with "what"' core/network/train/t.h '/* t.h - what a file is. */\n'
refused 'opens with "The same"' plugins/optim/o.c '// The same\n// again.\n'
refused 'opens with "those of"' tests/unit/t.c '/* ---- those of a file ---- */\n'
refused 'opens with "That"' tests/a.sh '#!/bin/sh\n# That is it.\n'
refused '501 lines' tests/unit/t.h "$(printf '\\n%.0s' $(seq 501))"
[ $failed -eq 0 ] || exit 1

# sizes: reads bytes and paths as `git ls-tree -r -l` prints them. If the sum exceeds 30 MB, names it and the largest
# files.
sizes() {
    awk '{ all += $4; print $4, $5 | "sort -rn | head -5" }
        END { if (all > 30e6) { close("sort -rn | head -5"); print "found " all " bytes of tracked files, expected at most 30000000; the largest are above"; exit 1 } }'
}
printf '100644 blob x 29999999\ta\n100644 blob y 2\tb\n' | sizes >"$work/out" && echo "sizes: 30,000,001 bytes were not refused" && exit 1
printf '100644 blob x 29999998\ta\n100644 blob y 2\tb\n' | sizes >"$work/out" || { cat "$work/out" && exit 1; }
if git -C "${1:?the folder to look at}" rev-parse -q --verify HEAD >/dev/null 2>&1; then
    git -C "$1" ls-tree -r -l HEAD | sizes >"$work/out" || { cat "$work/out" && exit 1; }
fi

perl "$work/rules.pl" "${1:?the folder to look at}"
echo "all rules are kept, and each refused its sabotaged tree"
