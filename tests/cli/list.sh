# ablate list: plugins, devices, keys and corpora; an option that belongs to one of these lists is refused with another
# list.
source "$(dirname "$0")/common.bash" "$@"
ABLATE_DATA=. exits 0 ablate list corpora
has out "multi30k "
exits 0 ablate list corpora --json
has out '{"corpus":"multi30k","download_bytes":'
exits 0 ablate list devices --json
has out '"instruction_set":'
exits 0 ablate list keys
cmp out "$source/docs/ini.md" || wrong "docs/ini.md is not what \`ablate list keys\` prints"
exits 0 ablate list plugins attention/dot
has out "attention/dot"
exits 2 ablate list
has err "expected plugins, devices, keys or corpora"
exits 2 ablate list plugin
has err "found plugin, expected plugins, devices, keys or corpora"
exits 2 ablate list devices attention
exits 2 ablate list keys --json
exits 2 ablate list corpora --all
finish
