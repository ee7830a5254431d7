# chroot.bash - in_distro SUITE SCRIPT [MMDEBSTRAP OPTIONS...]: makes a bare Debian (or Ubuntu: jammy, noble) of that
# suite in a temporary folder, runs SCRIPT in it, and removes it. If OUT is set, files that SCRIPT leaves in /root/out
# are copied to $OUT/out. Debian's packages come from this machine's apt sources, with the same apt settings.
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
    case $suite in
    jammy | noble) from=http://archive.ubuntu.com/ubuntu && set -- --components=main,universe "$@" ;;
    *) from=$(archive) ;;
    esac
    [ -n "$from" ] || { echo "apt on this machine has no source of Debian's packages" >&2 && return 77; }
    scratch=$(mktemp -d)
    apt-config dump | grep -E '^Acquire::(http|https|Check|Retries|ForceIPv)' >"$scratch/apt.conf" || true
    { echo 'set -eu' && echo "$script"; } >"$scratch/script"
    if [[ $from == *ubuntu* ]]; then # their keys
        /usr/lib/apt/apt-helper download-file "$from/pool/main/u/ubuntu-keyring/ubuntu-keyring_2023.11.28.1_all.deb" \
            "$scratch/keys.deb" SHA256:36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8 &&
            dpkg -x "$scratch/keys.deb" "$scratch" || { rm -rf "$scratch" && return 77; }
        set -- "--keyring=$scratch/usr/share/keyrings/ubuntu-archive-keyring.gpg" "$@"
    fi
    mmdebstrap --quiet --variant=apt --aptopt="$scratch/apt.conf" "$@" \
        --customize-hook="upload $scratch/script /root/script" \
        --customize-hook='chroot "$1" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            sh -x /root/script >&2' \
        ${OUT:+--customize-hook="copy-out /root/out $OUT"} \
        "$suite" /dev/null "$from" || rc=$?
    rm -rf "$scratch"
    return $rc
}
