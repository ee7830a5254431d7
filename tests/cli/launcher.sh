#!/usr/bin/env bash
# What the launcher builds: the program for every command; the CUDA module after it, where a GPU is or ABLATE_CUDA=ON, for commands that may use one.
# Stand-ins for cmake and ninja say what they were asked for.
source "$(dirname "$0")/common.bash" "$@"
mkdir -p clone/build tools
cp "$source/ablate" clone/ablate
tool() { cat >"tools/$1" && chmod +x "tools/$1"; }
tool cmake <<'SH2'
#!/usr/bin/env bash
for word; do case $word in -DABLATE_CUDA=*) setting=${word#*=} ;; esac done
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
[ -z "${GPU-}" ] || echo "GPU 0: a stand-in (UUID: GPU-0)"
SH2
tool dpkg-query <<'SH2'
#!/usr/bin/env bash
for package; do echo "install ok installed $package"; done
SH2
export PATH=$work/tools:$PATH
unset ABLATE_CMAKE
launched() { # EXPECTED COMMAND...: what was built and run, in one line
    local expected=$1
    shift
    rm -f log
    exits 0 clone/ablate "$@"
    equal "$(tr '\n' ',' <log)" "$expected" "the launcher's steps for: ${GPU:+GPU }${NO_NVCC:+without nvcc }${ABLATE_CMAKE-} $*"
}

both='built product,built ablate_cuda,'
GPU=1 launched "${both}ran run a.ini," run a.ini
GPU=1 launched "${both}ran devices," devices
GPU=1 launched "built product,ran run a.ini --device cpu," run a.ini --device cpu
GPU=1 launched "built product,ran run --device=cpu a.ini," run --device=cpu a.ini
GPU=1 launched "built product,ran table a," table a
GPU=1 launched "built product,ran ," # its overview
ABLATE_CMAKE=-DABLATE_CUDA=ON launched "${both}ran run a.ini," run a.ini
GPU=1 ABLATE_CMAKE=-DABLATE_CUDA=OFF launched "built product,ran run a.ini," run a.ini
rm -rf clone/build
GPU=1 NO_NVCC=1 launched "built product,ran run a.ini," run a.ini
rm -rf clone/build
[ -e /dev/nvidiactl ] || launched "built product,ran run a.ini," run a.ini

# the graph of the real build: nvcc compiles nothing for the program, nor for the tests of the short suite
build=$(dirname "$program")
if command -v ninja >/dev/null && [ -e "$build/build.ninja" ] && ! grep -qx ABLATE_CUDA:STRING=ON "$build/CMakeCache.txt"; then
    PATH=${PATH#*:}
    for target in product unit_tests all; do
        equal "$(ninja -C "$build" -t commands "$target" | grep -c '/nvcc ')" 0 "nvcc's calls for the target $target"
    done
    if grep -q '^build ablate_cuda:' "$build/build.ninja"; then
        checks=$((checks + 1))
        [ "$(ninja -C "$build" -t commands all_tests | grep -c '/nvcc ')" -gt 10 ] || wrong "all_tests does not compile the module"
    fi
fi
finish
