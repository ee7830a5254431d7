#!/usr/bin/env bash
# toolkits.sh ROOT FOLDER - the oldest CUDA that the backend allows, 12.8, and a second cuDNN, from PyPI's packages (1.2
# GB, kept in FOLDER). PyPI has all of 12.8 but nvcc's front end, so
#   a build accepts an nvcc that says 12.8 and compiles all files with 12.8's headers (by the front end that is here);
#   NVRTC 12.8 and its ptxas make machine code for 8.0, 8.6, 8.9 and 9.0 of all kernels (host functions count as device
#   functions and launch nothing);
#   tests/cuda/test_dnn passes with cuDNN 9.25, whatever version was found when it was built.
# Skipped (77) without nvcc or where PyPI is not reached.
set -uo pipefail
root=$(realpath "${1:?root of the checkout}")
mkdir -p "${2:?folder}" && cd "$2" || exit 1
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "skipped: no nvcc" && exit 77; }
if [ ! -e wheels/whole ]; then
    pip install -q --disable-pip-version-check --no-deps --target wheels nvidia-cuda-nvcc-cu12==12.8.93 \
        nvidia-cuda-nvrtc-cu12==12.8.93 nvidia-cuda-runtime-cu12==12.8.90 nvidia-cublas-cu12==12.8.4.1 \
        nvidia-cudnn-cu13==9.25.1.1 || { echo "skipped: PyPI is not reached" && exit 77; }
    touch wheels/whole
fi
wheels=$PWD/wheels/nvidia
rc=0

# ---- a build by an nvcc that says 12.8 ----
rm -rf home build code && mkdir -p home/bin home/lib64 code/none/sys
ln -s "$(dirname "$(realpath "$nvcc")")/../lib64/libcudart_static.a" home/lib64/
cp -r "$wheels"/{cuda_runtime,cublas}/include home/ # but nvcc's own (crt/), which must fit its front end
cat >home/bin/nvcc <<SH
#!/bin/sh
case " \$* " in *" --version "*) echo "Cuda compilation tools, release 12.8, V12.8.93" && exit 0 ;; esac
exec "$nvcc" -I$PWD/home/include "\$@"
SH
chmod +x home/bin/nvcc
cmake -S "$root" -B build -G Ninja -DNVCC="$PWD/home/bin/nvcc" -DCUDA_HEADER="$PWD/home/include" \
    -DCUBLASLT_HEADER="$PWD/home/include" -DABLATE_CUDA=ON -DABLATE_CUDA_GPUS=80 >said 2>&1 || { cat said && exit 1; }
objects=$(ninja -C build -t query backends/ablate_cuda.so | grep -oE '(cuda|CMakeFiles/ablate_cuda.dir)/[^ ]*\.o$')
[ "$(wc -w <<<"$objects")" -ge 30 ] || { echo "WRONG: found objects '$objects', expected those of the module" && rc=1; }
echo '#include <cuda_runtime.h>
int version = CUDART_VERSION;' >version.cu
home/bin/nvcc -E version.cu | grep -q 'version = 12080' || { echo "WRONG: not the headers of 12.8" && rc=1; }
# shellcheck disable=SC2086
ninja -C build $objects >said 2>&1 || { tail -n 40 said && rc=1; }

# ---- NVRTC and ptxas ----
cp -r "$root/core" code/core
# the code that nvcc compiles, with kernels that are named where they would be launched
sed -i 's/#ifdef __CUDACC_RTC__/#if 0/; s/#ifndef __CUDACC_RTC__/#if 1/; s/(kernel)<<<.*>>>(__VA_ARGS__)/(void)(kernel)/' \
    code/core/tensor/cuda/*.h code/core/tensor/cuda/*.cu
for header in $(grep -rhoE '^#include <[a-z/_]*\.h>' code/core --include=*.h --include=*.cu |
    sed 's/.*<//; s/>//' | sort -u | grep -v '^cu'); do
    : >"code/none/$header" # NVRTC has no host headers
done
cat >code/none/host.h <<'C'
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned uint32_t, mode_t;
typedef long int64_t, ssize_t, time_t, off_t;
typedef unsigned long uint64_t, uintptr_t;
typedef int pid_t;
typedef struct FILE FILE;
#define __thread
#define offsetof(type, member) ((size_t)&((type *)0)->member)
#define INT32_MAX 0x7fffffff
#define INFINITY __int_as_float(0x7f800000)
#define NAN __int_as_float(0x7fffffff)
int snprintf(char *, size_t, const char *, ...);
int strcmp(const char *, const char *), memcmp(const void *, const void *, size_t);
size_t strlen(const char *);
char *getenv(const char *);
C
cat >code/nvrtc.py <<'PY'
import ctypes, sys
library, to, source, *options = sys.argv[1:]
rtc, program, n = ctypes.CDLL(library), ctypes.c_void_p(), ctypes.c_size_t()
rtc.nvrtcCreateProgram(ctypes.byref(program), open(source, "rb").read(), source.encode(), 0, None, None)
failed = rtc.nvrtcCompileProgram(program, len(options), (ctypes.c_char_p * len(options))(*map(str.encode, options)))
which = "ProgramLog" if failed else "PTX"
rtc["nvrtcGet" + which + "Size"](program, ctypes.byref(n))
text = ctypes.create_string_buffer(n.value)
rtc["nvrtcGet" + which](program, text)
if failed:
    sys.exit(source + ": " + text.value.decode())
open(to, "wb").write(text.value)
PY
export LD_LIBRARY_PATH=$wheels/cuda_nvrtc/lib
chmod +x "$wheels/cuda_nvcc/bin/ptxas"
kernels=0
for source in code/core/tensor/cuda/*.cu; do
    grep -q __global__ "$source" || grep -q LAUNCH "$source" || continue
    name=$(basename "$source" .cu)
    for gpu in 80 86 89 90; do
        python3 code/nvrtc.py "$wheels/cuda_nvrtc/lib/libnvrtc.so.12" "code/$name.ptx" "$source" --std=c++17 \
            --gpu-architecture=compute_$gpu -default-device -rdc=true -w --pre-include=host.h -Icode/none -Icode/core \
            "-I$PWD/home/include" "-I$wheels/cuda_nvcc/include" || { rc=1 && break; }
        "$wheels/cuda_nvcc/bin/ptxas" -arch=sm_$gpu -c "code/$name.ptx" -o "code/$name.cubin" >said 2>&1 ||
            { cat said && rc=1; }
        found=$(grep -c '\.entry' "code/$name.ptx")
        [ "$found" -gt 0 ] || { echo "WRONG: $name.cu: no kernel for $gpu" && rc=1; }
        kernels=$((kernels + found))
    done
done
echo "12.8: $(wc -w <<<"$objects") objects with its headers, $kernels kernels by NVRTC and ptxas"

# ---- cuDNN ----
stub=$(dirname "$(realpath "$nvcc")")/../lib64/stubs
mkdir -p driver && ln -sf "$stub/libcuda.so" driver/libcuda.so.1
for cudnn in '' "$wheels/cudnn/lib/libcudnn.so.9"; do
    env LD_LIBRARY_PATH="$PWD/driver:${cudnn:+$wheels/cudnn/lib:}$stub/.." ABLATE_CUDNN="$cudnn" \
        "$root/build/cuda_test_dnn" >said 2>&1 || rc=1
    cat said
    [ -z "$cudnn" ] || grep -q '^cuDNN 9\.25\.' said || { echo "WRONG: expected cuDNN 9.25" && rc=1; }
done
exit $rc
