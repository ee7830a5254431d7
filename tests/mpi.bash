# mpi.bash - functions for tests with several ranks. `mpi_missing BUILD_FOLDER SOURCE` prints why there is no MPI, or
# nothing. As root it first installs Debian's Open MPI, and builds the MPI module if the build ran before the package
# was installed.
mpi_install() {
    if ! command -v mpirun mpicc >/dev/null && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends libopenmpi-dev openmpi-bin \
            >/dev/null 2>&1 </dev/null || true
    fi
}
mpi_missing() {
    local module=$1/backends/ablate_mpi.so
    mpi_install
    command -v mpirun >/dev/null || { echo "mpirun is missing (Debian: libopenmpi-dev, openmpi-bin)"; return; }
    [ -e "$module" ] && return
    command -v mpicc >/dev/null || { echo "mpicc is missing (Debian: libopenmpi-dev)"; return; }
    mpicc -std=gnu11 -O2 -fPIC -shared -fvisibility=hidden -I"$2/core" -o "$work/ablate_mpi.so" \
        "$2/core/tensor/comm/mpi.c" || echo "the MPI module does not compile"
}
# mpi_use BUILD_FOLDER sets variables: call it in the test's own shell.
mpi_use() {
    [ -e "$1/backends/ablate_mpi.so" ] || export ABLATE_MPI_MODULE=$work/ablate_mpi.so
}
