#!/usr/bin/env bash
# usage: wgmma_breaks.sh TEST   - plants mistakes in a copy of attend_wgmma.h and hopper.h, one at a time. The emulation
# must report each one in words of its own, or the results must differ from the CPU's. TEST: shim_test_wgmma.
set -u
test=$(realpath "$1") root=$(cd "$(dirname "$0")/../.." && pwd) work=$(mktemp -d) failed=0 found=0
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tensor/cuda"
wrong() { echo "WRONG: $*"; failed=1; }

# run: runs the test with the headers in $work; sets out and rc
run() {
    out=$(ABLATE_BROKEN_KERNELS=$work timeout 120 "$test" breaks 2>&1)
    rc=$?
}
# break_ WORDS SED [FILE]: after SED in FILE the test must fail, and print WORDS
break_() {
    local words=$1 edit=$2 file=${3:-attend_wgmma.h}
    cp "$root"/core/tensor/cuda/{attend_wgmma.h,hopper.h} "$work/tensor/cuda"
    sed -E -i "$edit" "$work/tensor/cuda/$file"
    ! cmp -s "$work/tensor/cuda/$file" "$root/core/tensor/cuda/$file" || { wrong "$edit changes nothing"; return; }
    run
    [ $rc -ne 0 ] || { wrong "$edit is not found"; return; }
    grep -qF -- "$words" <<<"$out" || { wrong "$edit: no \"$words\" in: $out"; return; }
    found=$((found + 1))
}
cp "$root"/core/tensor/cuda/{attend_wgmma.h,hopper.h} "$work/tensor/cuda"
run
[ $rc -ne 77 ] || exit 77
[ $rc -eq 0 ] || wrong "without a mistake it ends with $rc: $out"
other="elements of bf16" dead="its threads wait for each other"

# phases
break_ "more arrivals at an mbarrier" '/barrier_wait\(ring.empty/d'
break_ "$dead" 's/ring.round\(\) \^ 1/ring.round()/'
break_ "wgmma reads" '/barrier_wait\(ring.full/d'
break_ "wgmma reads" 's/barrier_wait\(ring.full\(\), ring.round\(\)\)/barrier_wait(ring.full(), ring.round() ^ 1)/'
break_ "$dead" 's/barrier_start\(ring.empty\(\) \+ 8 \* i, WORKERS\)/barrier_start(ring.empty() + 8 * i, WORKERS + 1)/'
break_ "TMA copies to shared memory" \
    's/barrier_start\(ring.empty\(\) \+ 8 \* i, WORKERS\)/barrier_start(ring.empty() + 8 * i, WORKERS - 1)/'
break_ "a store to shared memory" '/barrier_wait\(barrier, ring.cleared/d'
break_ "a store to shared memory" 's/ring.cleared\+\+ & 1/1/'
break_ "nobody has started" '/^    __syncthreads\(\);/d; s/threadIdx.x == 0\) \{/threadIdx.x == 40) {/'
# bytes
break_ "bytes for a phase of an mbarrier that expects" \
    's/(barrier_arrive_expecting\(barrier, D \/ HOPPER_COLUMNS \* PANEL)/\1 \/ 2/'
break_ "$dead" 's/(barrier_arrive_expecting\(barrier, D \/ HOPPER_COLUMNS \* PANEL)/\1 + 16/'
# fences
break_ "without wgmma.fence" '/^ +wgmma_fence\(\);/d'
break_ "without fence.proxy.async" '/^    fence_async\(\);/d'
break_ "without fence.proxy.async" '/^        fence_async\(\);/d'
break_ "whose writer its warp has not waited for" '/^    fence_async\(\);/,/__syncwarp/s/__syncwarp\(\);//'
# waits for products
break_ "a thread ends while products" '/wgmma_commit\(\);/d'
break_ "an accumulator was written" '/wgmma_wait\(s\);/d'
break_ "a thread ends while products" 's/for \(int h = 0; h < D \/ 64; h\+\+\) wgmma_wait\(y\[h\]\)/;/'
break_ "TMA copies to shared memory without waiting for those who read it" \
    '/wgmma_wait\(s\);/d; s/^            soften\(s/            wgmma_wait(s); soften(s/'
# descriptors and tiles of matrices
break_ "swizzle mode 2" 's/\(uint64_t\)1 << 62/(uint64_t)2 << 62/' hopper.h
break_ "stride of 512 bytes" 's/HOPPER_EIGHT >> 4/512 >> 4/' hopper.h
break_ "base offset 0, start at" 's/\(shared_address\(memory\) \+ HOPPER_EIGHT - 1\) \/ HOPPER_EIGHT \* HOPPER_EIGHT/(shared_address(memory) + 127) \/ 128 * 128/'
break_ "no multiple of 128" 's/\(shared_address\(memory\) \+ HOPPER_EIGHT - 1\) \/ HOPPER_EIGHT \* HOPPER_EIGHT/shared_address(memory)/'
break_ "$other" 's/c % 4 \* 32/c % 4 * 16/'
break_ "wgmma reads" 's/wgmma<1>\(y/wgmma<0>(y/'
break_ "$other" 's/c > 0\)/1)/'
break_ "$other" 's/clear_rows<D>\(ring.slot\(\), keys - key\)/clear_rows<D>(ring.slot(), KEYS)/'
break_ "not in dynamic shared memory" 's/SLOTS \* BYTES, BYTES, 0, 0/2 * SLOTS * BYTES, BYTES, 0, 0/'
break_ "setmaxnreg: more registers" 's/registers_leave<24>/registers_leave<40>/'
echo "$found mistakes found"
exit $failed
