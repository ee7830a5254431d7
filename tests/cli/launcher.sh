#!/usr/bin/env bash
# The launcher ./ablate builds the program before it runs any command, and, for a command that may use a GPU, then the
# CUDA module, if there is a GPU or ABLATE_CUDA is ON. Stand-ins for cmake and ninja print their arguments.
source "$(dirname "$0")/common.bash" "$@"
mkdir -p clone/build tools
cp "$source/ablate" clone/ablate
tool() { cat >"tools/$1" && chmod +x "tools/$1"; }
tool cmake <<'SH2'
#!/usr/bin/env bash
for word; do case $word in -DABLATE_CUDA=*) setting=${word#*=} ;; -DABLATE_CUDA_GPUS=*) echo "${word#*=}" >gpus ;; esac done
mkdir -p clone/build
printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nABLATE_CUDA:STRING=%s\n' "$(realpath clone)" "${setting-AUTO}" >clone/build/CMakeCache.txt
[ -n "${NO_NVCC-}" ] || [ "${setting-}" = OFF ] || echo 'build ablate_cuda: phony' >clone/build/build.ninja
touch clone/build/build.ninja
printf '#!/bin/sh\ncase "$1 $2" in "run --help") echo "  --device WORD" ;; *--help) ;; *) echo "ran $*" >>log ;; esac\n' >clone/build/ablate
chmod +x clone/build/ablate
SH2
tool ninja <<'SH2'
#!/usr/bin/env bash
echo "built ${*##*/}" | sed 's/--quiet -C build //' >>log
SH2
tool nvidia-smi <<'SH2'
#!/usr/bin/env bash
case $1 in
-L) [ -z "${GPU-}" ] || echo "GPU 0: a stand-in (UUID: GPU-0)" ;;
*) [ -z "${GPU-}" ] || printf '%s\n' 8.9 9.0 8.9 ;;
esac
SH2
tool dpkg-query <<'SH2'
#!/usr/bin/env bash
for package; do echo "install ok installed $package"; done
SH2
export PATH=$work/tools:$PATH
unset ABLATE_CMAKE
# EXPECTED COMMAND...: runs the launcher; EXPECTED is one line that lists what the launcher must build and run
launched() {
    local expected=$1
    shift
    rm -f log
    exits 0 clone/ablate "$@"
    equal "$(tr '\n' ',' <log)" "$expected" \
        "the launcher's steps for: ${GPU:+GPU }${NO_NVCC:+without nvcc }${ABLATE_CMAKE-} $*"
}

both='built product,built ablate_cuda,'
GPU=1 launched "${both}ran run a.ini," run a.ini
GPU=1 launched "${both}ran list devices," list devices
GPU=1 launched "built product,ran run a.ini --device cpu," run a.ini --device cpu
GPU=1 launched "built product,ran run --device=cpu a.ini," run --device=cpu a.ini
GPU=1 launched "built product,ran table a," table a
GPU=1 launched "built product,ran ," # prints product's overview
ABLATE_CMAKE=-DABLATE_CUDA=ON launched "${both}ran run a.ini," run a.ini
GPU=1 ABLATE_CMAKE=-DABLATE_CUDA=OFF launched "built product,ran run a.ini," run a.ini
rm -rf clone/build
GPU=1 launched "${both}ran run a.ini," run a.ini
equal "$(cat gpus)" "89;90" "the module is built for the GPUs that are here"
rm -rf clone/build gpus
launched "built product,ran table a," table a
equal "$([ -e gpus ] && cat gpus)" "" "without a GPU the default is built"
[ ! -e gpus ] || wrong "without a GPU ABLATE_CUDA_GPUS was set"
rm -rf clone/build
GPU=1 NO_NVCC=1 launched "built product,ran run a.ini," run a.ini
rm -rf clone/build
[ -e /dev/nvidiactl ] || launched "built product,ran run a.ini," run a.ini

# Without root and sudo, missing packages are unpacked in the build folder, and their programs come first on PATH.
tool id <<'SH2'
#!/usr/bin/env bash
echo 1000
SH2
tool sudo <<'SH2'
#!/usr/bin/env bash
exit 1
SH2
tool dpkg-query <<'SH2'
#!/usr/bin/env bash
for package; do [ "$package" = gcc ] || echo "install ok installed $package"; done
SH2
tool apt-get <<'SH2'
#!/usr/bin/env bash
[ -z "${OFFLINE-}" ] || { echo "E: no network" && exit 100; }
for word; do case $word in
    Dir::Cache=*) touch "${word#*=}"/archives/{gcc_1,libc6_2}.deb ;;
    update | install | gcc) echo "apt $word" >>log ;;
esac done
SH2
tool dpkg-deb <<'SH2'
#!/usr/bin/env bash
echo "unpacked ${2##*/}" >>log
mkdir -p "$3/usr/bin" "$3/usr/lib/x86_64-linux-gnu"
printf '#!/bin/sh\necho "gcc with $*"\n' >"$3/usr/bin/gcc"
chmod +x "$3/usr/bin/gcc"
ln -s libz.so.1 "$3/usr/lib/x86_64-linux-gnu/libz.so"
SH2
rm -rf clone/build
OFFLINE=1 exits 2 clone/ablate table a
has err "apt-get install gcc"
launched "apt update,apt install,apt gcc,unpacked gcc_1.deb,built product,ran table a," table a
taken=$(realpath clone/build/debian)
has <("$taken/bin/cc" mine.c) "-idirafter $taken/usr/include/x86_64-linux-gnu"
equal "$(readlink "$taken/usr/lib/x86_64-linux-gnu/libz.so")" /usr/lib/x86_64-linux-gnu/libz.so.1 \
    "a link to an installed library"
launched "built product,ran table a," table a
# the path of another folder, as after moving the clone
printf '#!/bin/sh\nexec /elsewhere/usr/bin/gcc\n' >"$taken/bin/gcc"
launched "apt update,apt install,apt gcc,unpacked gcc_1.deb,built product,ran table a," table a

# The real build's graph: neither the program nor the tests of the short suite need nvcc.
build=$(dirname "$program")
if command -v ninja >/dev/null && [ -e "$build/build.ninja" ] &&
    ! grep -qx ABLATE_CUDA:STRING=ON "$build/CMakeCache.txt"; then
    PATH=${PATH#*:}
    for target in product unit_tests all; do
        equal "$(ninja -C "$build" -t commands "$target" | grep -c '/nvcc ')" 0 "nvcc's calls for the target $target"
    done
    if grep -q '^build ablate_cuda:' "$build/build.ninja"; then
        checks=$((checks + 1))
        [ "$(ninja -C "$build" -t commands all_tests | grep -c '/nvcc ')" -gt 10 ] ||
            wrong "all_tests does not compile the module"
    fi
fi
finish
