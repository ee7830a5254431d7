#!/usr/bin/env bash
# Prints and checks what each CUDA kernel costs: see usage() below, and docs/gpu.md for the meaning of the numbers.
set -eu
here=$(cd "$(dirname "$0")" && pwd) root=$(cd "$(dirname "$0")/../.." && pwd)
budget=$here/model_budget.tsv resources=$here/model_resources.tsv
usage() {
    cat <<'END'
What each CUDA kernel costs, by the model of tests/shim/cost.cc: no GPU is needed.
usage: model.sh [--lines N] [PROGRAM [PART...]]   a table of all kernels, and the N worst lines of each [3]
       model.sh --check PROGRAM [PART...]          exits 1 if a kernel is over its budget (model_budget.tsv)
       model.sh --budget PROGRAM                   a budget as measured, with the reasons of the present one
       model.sh --resources FOLDER                 the table of registers (model_resources.tsv), from what nvcc makes
                                                   of the kernels in FOLDER; made first if it is not there [minutes]
       model.sh --compare FOLDER                   exits 1 if nvcc's logs there give other registers than that table
PROGRAM: build/model_calls [default], or build/model_calls_short; PART: one of its arguments, default all.
  load, store  sectors of 32 bytes that warps move, over the least that the same bytes need (1: side by side)
  shared       passes over the banks of shared memory, over the least
  16 B         percent of bytes that a lane moves 16 at a time: loaded, stored; code: of the compiled stores' bytes
  regs, smem   registers of a thread; bytes of shared memory of a block, static and dynamic
  warps        that a multiprocessor of compute capability 9.0 holds, of 64; "?": nvcc has not compiled the kernel
END
}

# Shortens a kernel's name from c++filt as cost_report.cc does: no namespaces, arguments, or return type.
plain_names() {
    c++filt | sed -E 's/(_GLOBAL__N__[A-Za-z0-9_]*|\(anonymous namespace\)):://g; s/__nv_bfloat16/bf16/g; s/^void //' |
        awk 'BEGIN { FS = OFS = "\t" } { depth = 0
            for (i = 1; i <= length($1); i++) {
                c = substr($1, i, 1)
                depth += (c == "<") - (c == ">")
                if (c == "(" && !depth) { $1 = substr($1, 1, i - 1); break } }
            print }'
}

# ---- nvcc's report ----

nvcc_here() {
    command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null ||
        { echo "skipped: no nvcc on PATH or in CUDA_HOME" >&2; return 77; }
}
nvcc_version() { "$1" --version | sed -n 's/.*release .*, V/nvcc /p'; }
nvcc_folder() { # FOLDER: compiles each kernel file to NAME.log, NAME/NAME.ptx and NAME.cubin in it
    local nvcc name more
    nvcc=$(nvcc_here) || exit 77
    for file in "$root"/core/tensor/cuda/*.cu; do
        name=$(basename "$file" .cu) more=
        [[ $name != attend_score?(_delta) ]] || more=--fmad=false # as in cuda.cmake
        [ "$name" != runtime ] || continue
        mkdir -p "$1/$name"
        "$nvcc" -std=c++17 -O3 -gencode arch=compute_80,code=sm_90 $more "-I$root/core" -Xptxas -v --keep --keep-dir \
            "$1/$name" -cubin "$file" -o "$1/$name.cubin" >"$1/$name.log" 2>&1 || { cat "$1/$name.log" >&2; exit 1; }
    done
    nvcc_version "$nvcc" >"$1/version"
}
# Prints for each kernel: name, registers, static bytes, bytes of spills.
registers_of() {
    cat "$1"/*.log | awk 'BEGIN { OFS = "\t" }
        /Compiling entry function/ { split($0, part, "\047"); name = part[4] == "sm_90" ? part[2] : "" }
        /spill stores/ { spills = $5 + $9 }
        name != "" && / Used [0-9]+ registers/ {
            registers = fixed = 0
            for (i = 1; i < NF; i++) {
                if ($i == "Used") registers = $(i + 1)
                if ($(i + 1) == "bytes" && $(i + 2) ~ /^smem/) fixed = $i }
            print name, registers, fixed, spills
            name = "" }' | plain_names | sort
}
# Prints for each kernel: name, loads, stores from and to device memory, of 16/8/4/fewer bytes, as instructions of the
# compiled code.
widths_of() {
    local count='{ n[name, what, bytes >= 4 ? bytes : 2]++; seen[name] = 1 }
        END { for (k in seen) { printf "%s", k
            for (i = 1; i <= 2; i++) { w = i == 1 ? "L" : "S"
                printf "\t%d/%d/%d/%d", n[k, w, 16], n[k, w, 8], n[k, w, 4], n[k, w, 2] }
            print "" } }'
    if [ -n "$(tool_for_code)" ]; then
        for file in "$1"/*.cubin; do cuobjdump -sass "$file"; done | awk '/Function :/ { name = $NF }
            !match($0, /(LDG|STG)\.[A-Z0-9.]*/) { next }
            { op = substr($0, RSTART, RLENGTH); what = substr(op, 1, 1)
              bytes = op ~ /\.128/ ? 16 : op ~ /\.64/ ? 8 : op ~ /\.[US](8|16)/ ? 2 : 4 }'"$count"
    else
        cat "$1"/*/*.ptx | awk '/\.entry/ { name = $0; sub(/.*entry /, "", name); sub(/\(.*/, "", name) }
            !match($0, /(ld|st)\.[a-z.]*global[a-z0-9.:]*/) { next }
            { op = substr($0, RSTART, RLENGTH); what = op ~ /^ld/ ? "L" : "S"; bytes = op
              sub(/.*[a-z]/, "", bytes)
              bytes = bytes / 8 * (op ~ /\.v4/ ? 4 : op ~ /\.v2/ ? 2 : 1) }'"$count"
    fi | plain_names | sort
}
tool_for_code() { command -v cuobjdump || true; }
resource_table() { # FOLDER
    local code=PTX
    [ -d "$1" ] || nvcc_folder "$1"
    [ -z "$(tool_for_code)" ] || code=SASS
    echo "# $(cat "$1/version"), -O3, PTX of compute_80 for sm_90 (tests/cuda/model.sh --resources);" \
        "loads and stores: from $code."
    echo "# kernel: registers, static shared memory, spills [bytes]; loads and stores of 16/8/4/fewer bytes"
    join -t $'\t' -a 1 -e 0/0/0/0 -o 0,1.2,1.3,1.4,2.2,2.3 <(registers_of "$1") <(widths_of "$1")
}
compare() { # FOLDER
    local differ nvcc
    nvcc=$(nvcc_here) || exit 77
    grep -qF "# $(nvcc_version "$nvcc")," "$resources" ||
        { echo "skipped: the table is another compiler's than $(nvcc_version "$nvcc")"; exit 77; }
    ls "$1"/*.log >/dev/null 2>&1 || { echo "skipped: no logs of nvcc in $1"; exit 77; }
    [ -n "$(registers_of "$1")" ] || { echo "WRONG: the logs in $1 name no kernel for sm_90"; exit 1; }
    differ=$(join -t $'\t' -a 1 -e none -o 0,1.2,1.3,1.4,2.2,2.3,2.4 <(registers_of "$1") \
        <(grep -v '^#' "$resources" | sort) | awk -F'\t' '$2 != $5 || $3 != $6 || $4 != $7 {
            print $1 ": " $2 " registers, " $3 " bytes, " $4 " of spills; the table: " $5 ", " $6 ", " $7 }')
    [ -z "$differ" ] || { echo "$differ"; echo "WRONG: renew $(basename "$resources") (--resources)"; exit 1; }
    echo "$(registers_of "$1" | wc -l) kernels, as in the table"
}

# ---- the model ----

# Prints for each kernel, from the KERNEL and COUNT lines of the program: name; ratios of loads, stores and shared
# memory; percent of bytes loaded and stored 16 at a time, and in the compiled stores; registers, static and dynamic
# bytes, threads, warps, spills. "-": no such access. Occupancy: CUDA C++ Programming Guide, "Technical specifications
# per compute capability", 9.0: registers are allocated to a warp in units of 256, from four files of 16,384; a block
# takes 1 KiB of shared memory besides its own.
measured() { # PROGRAM PART...
    "$@" >"$work/raw"
    awk 'BEGIN { FS = OFS = "\t" }
        function ratio(a, b) { return b ? sprintf("%.2f", a / b) : "-" }
        function percent(a, b) { return b ? int(100 * a / b) : "-" }
        function least(a, b) { return a < b ? a : b }
        FILENAME == ARGV[1] && /^#/ { next }
        FILENAME == ARGV[1] { registers[$1] = $2; fixed[$1] = $3; spills[$1] = $4; stores[$1] = $6; next }
        $1 == "KERNEL" { threads[$2] = $3; dynamic[$2] = $4 }
        $1 == "COUNT" { r[$2, $3] = ratio($5, $6); w[$2, $3] = percent($8, $7) }
        END { for (k in threads) {
            if (r[k, "load"] r[k, "store"] r[k, "shared"] == "---") continue
            code = warps = lost = smem = "?"
            if (k in registers) {
                split(stores[k], n, "/")
                code = percent(16 * n[1], 16 * n[1] + 8 * n[2] + 4 * n[3] + 2 * n[4])
                of_block = int((threads[k] + 31) / 32)
                of_warp = int((registers[k] * 32 + 255) / 256) * 256
                smem = int((fixed[k] + dynamic[k] + 127) / 128) * 128 + 1024
                blocks = least(least(int(4 * int(16384 / of_warp) / of_block), int(64 / of_block)),
                               least(int(228 * 1024 / smem), 32))
                warps = blocks * of_block; lost = spills[k]
            }
            print k, r[k, "load"], r[k, "store"], r[k, "shared"], w[k, "load"], w[k, "store"], code,
                registers[k] + 0, fixed[k] + 0, dynamic[k], threads[k], warps, lost } }' "$resources" "$work/raw" |
        LC_ALL=C sort >"$work/measured"
}

report() { # N: prints the table, and the N worst lines of each kernel
    awk -v most="$1" 'BEGIN { FS = "\t" }
        FILENAME ~ /raw$/ && $1 == "LINE" && $5 > $6 {
            lines[$2] = lines[$2] sprintf("%012d\t%s\t%.2f\t%s\n", $5 - $6, $3, $5 / $6, $7) }
        FILENAME ~ /raw$/ { next }
        FNR == 1 { printf "%-52s %6s %6s %6s  %4s %4s %4s  %4s %6s %7s %5s\n", "kernel", "load", "store", "shared",
                   "16 B", "16 B", "code", "regs", "smem", "threads", "warps" }
        { printf "%-52s %6s %6s %6s  %4s %4s %4s  %4s %6d %7d %5s%s\n", $1, $2, $3, $4, $5, $6, $7, $8, $9 + $10,
              $11, $12, $13 + 0 ? "  " $13 " bytes of spills" : ""
          n = split(lines[$1], all, "\n") - 1
          for (shown = 0; shown < most; shown++) {
              best = 0
              for (i = 1; i <= n; i++) if (all[i] != "" && (!best || all[i] > all[best])) best = i
              if (!best) break
              split(all[best], part, "\t"); all[best] = ""
              printf "    %6s %5s  %s\n", part[2], part[3], part[4] } }' "$work/raw" "$work/measured"
}

as_budget() {
    cat <<'END'
# Limits of a kernel's cost (tests/cuda/model.sh --check; --budget prints the rows as measured). At most: load, store,
# shared; at least: percent of bytes 16 at a time, loaded, stored, in the compiled stores; warps. No kernel may spill,
# but for one whose reason says so. A reason is wanted where a ratio is over 2.
# kernel	load	store	shared	load 16	store 16	code 16	warps	reason
END
    awk 'BEGIN { FS = OFS = "\t" } FILENAME == ARGV[1] { if ($1 !~ /^#/) reason[$1] = $9; next }
        { print $1, $2, $3, $4, $5, $6, $7, $12, reason[$1] }' "$budget" "$work/measured"
}

# Prints the kernels that the model can count. attend_wgmma is omitted: it copies whole tiles, for which the model has
# no sectors.
kernels_of_source() {
    cat "$root"/core/tensor/cuda/*.cu "$root"/core/tensor/cuda/*.h | perl -0777 -ne '
        while (/__global__\s+((?:(?!__global__)[^;{])*)\{/g) {
            my $head = $1;
            1 while $head =~ s/__launch_bounds__(\((?:[^()]|(?1))*\))//;
            print "$1\n" if $head =~ /(\w+)\s*\(/;
        }' | grep -vx attend_wgmma
}
check() { # [all]: all also checks that no kernel is missing
    local bad
    bad=$(awk -v all="$1" 'BEGIN { FS = "\t" }
        function number(x) { return x ~ /^[0-9.]+$/ }
        function over(what, found, most) { if (number(found) && (!number(most) || found > most + 0.005))
            print $1 ": " what " " found ", the budget has at most " most }
        function under(what, found, least) { if (number(found) != number(least) || (number(found) && found < least + 0))
            print $1 ": " what " " found ", the budget has at least " least }
        FILENAME == ARGV[1] { if ($1 !~ /^#/) row[$1] = $0; next }
        { seen[$1] = 1
          if (!($1 in row)) { print $1 ": no row"; next }
          split(row[$1], b, "\t")
          over("sectors loaded, ratio", $2, b[2]); over("sectors stored, ratio", $3, b[3])
          over("passes over shared memory, ratio", $4, b[4])
          under("percent loaded 16 bytes at a time", $5, b[5]); under("percent stored 16 bytes at a time", $6, b[6])
          under("percent of the code\047s stores of 16 bytes", $7, b[7])
          under("warps of a multiprocessor", $12, b[8])
          if ($13 + 0 && b[9] !~ /spill/) print $1 ": " $13 " bytes of spills, expected none"
          if ((b[2] > 2.05 || b[3] > 2.05 || b[4] > 2.05) && b[9] == "") print $1 ": over 2 without a reason" }
        END { for (k in row) if (all && !(k in seen)) print k ": has a budget, but was not launched" }' \
        "$budget" "$work/measured")
    [ -z "$1" ] || bad+=$(kernels_of_source | grep -vxF -f <(sed -E 's/[<\t].*//' "$work/measured") |
        sed 's/$/: is a kernel, but was not launched/') || true
    [ -z "$bad" ] || { echo "$bad"; echo "WRONG: kernels over the budget of tests/cuda/$(basename "$budget")"; exit 1; }
    echo "$(wc -l <"$work/measured") kernels within their budgets"
}

work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
what=report lines=3
case ${1-} in
--help | -h) usage && exit ;;
--resources | --compare) [ $# -eq 2 ] || { usage >&2 && exit 2; } ;;
esac
case ${1-} in
--resources) resource_table "$2" && exit ;;
--compare) compare "$2" && exit ;;
--check | --budget) what=${1#--} && shift ;;
--lines) lines=$2 && shift 2 ;;
-*) usage >&2 && exit 2 ;;
esac
[ $# -gt 0 ] || set -- "$root/build/model_calls"
[ -x "$1" ] || { echo "no program $1: cmake --build build --target model_calls" >&2; exit 2; }
command -v addr2line >/dev/null || { echo "skipped: no addr2line, which names kernels and lines"; exit 77; }
measured "$@"
case $what in
report) report "$lines" ;;
budget) as_budget ;;
check) [ $# -gt 1 ] && check "" || check all ;;
esac
