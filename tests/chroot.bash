# chroot.bash - in_distro SUITE SCRIPT [MMDEBSTRAP OPTIONS...]: makes a bare Debian of that suite in a temporary folder,
# runs SCRIPT in it, and removes it. If OUT is set, files that SCRIPT leaves in /root/out are copied to $OUT/out.
# Packages come from this machine's apt sources, with the same apt settings.
# Needs mmdebstrap, and root or user namespaces.

# Prints the address of Debian's archive from which this machine's apt installs, such as its nearest mirror.
archive() {
    # shellcheck disable=SC2016
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
        awk '$2 !~ /security|updates|backports/ && $3 == "main" && $4 == "Debian" { print $1; exit }'
}

in_distro() {
    local suite=$1 script=$2 from scratch rc=0
    shift 2
    command -v mmdebstrap >/dev/null || { echo "mmdebstrap is missing: apt-get install mmdebstrap" >&2 && return 77; }
    from=$(archive)
    [ -n "$from" ] || { echo "apt on this machine has no source of Debian's packages" >&2 && return 77; }
    scratch=$(mktemp -d)
    apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|ForceIPv)' >"$scratch/apt.conf" || true
    { echo 'set -eu' && echo "$script"; } >"$scratch/script"
    mmdebstrap --quiet --variant=apt --aptopt="$scratch/apt.conf" "$@" \
        --customize-hook="upload $scratch/script /root/script" \
        --customize-hook='chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            sh -x /root/script >&2' \
        ${OUT:+--customize-hook="copy-out /root/out $OUT"} \
        "$suite" /dev/null "$from" || rc=$?
    rm -rf "$scratch"
    return $rc
}
