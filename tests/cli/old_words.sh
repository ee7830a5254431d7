# Messages about removed commands and options name a replacement, which exists.
source "$(dirname "$0")/common.bash" "$@"
answered() { # OLD WORDS... -- NEW COMMAND [OPTION]
    local old=()
    while [ "$1" != -- ]; do old+=("$1") && shift; done
    exits 2 ablate "${old[@]}"
    has err " is gone: "
    has err "$2"
    exits 0 ablate help ${2%% -*}
    [ -z "${3-}" ] || has out "$3"
}
answered note quick/base busy -- tag
answered restore quick -- rm --undo
answered across first second -- table --output
answered agree a b -- "score agree"
answered log quick/base -- watch --log
answered devices -- list devices
answered plugins attention -- list plugins
answered reference -- list keys
answered debug quick.ini --step 2 -- replay SPEC.ini
answered report quick --serve -- report --watch
answered report quick --port 80 -- report --watch
finish
