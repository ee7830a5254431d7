#!/usr/bin/env bash
# In a git repository from a stranger, an installed program starts nothing that the repository's settings name.
source "$(dirname "$0")/../cli/common.bash" "$@"
unset GIT_CEILING_DIRECTORIES
export HOME=$work GIT_CONFIG_NOSYSTEM=1

mkdir -p inst/bin stranger
cp "$program" inst/bin/ablate
ln -s "$(dirname "$program")/plugins" inst/bin/plugins
cd stranger || exit 1
tiny strange 6 >strange.ini
printf '#!/bin/sh\ntouch %s/started\nexec cat\n' "$work" >evil.sh && chmod +x evil.sh
echo '* filter=evil diff=evil' >.gitattributes
git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm first
for key in core.fsmonitor core.pager core.sshCommand diff.external diff.evil.textconv diff.evil.command \
    filter.evil.clean filter.evil.smudge filter.evil.process alias.rev-parse alias.diff; do
    git config "$key" "$PWD/evil.sh"
done
git config core.hooksPath "$PWD"
echo '; changed' >>strange.ini && touch evil.sh
for at in "$work/inst/bin" "$PWD/bin" "$PWD"; do
    [ -d "$at" ] || cp -r ../inst/bin "$at"
    [ -e "$at/ablate" ] || cp -r ../inst/bin/. "$at"
    rm -rf ../started strange.db*
    exits 0 "$at/ablate" run strange.ini --threads 1 --progress none --db strange.db
    equal "$(ls ../started 2>&1 | grep -c '/started$')" 0 "what the repository's settings name was started by $at/ablate"
    equal "$("$at/ablate" query 'SELECT count(git_commit) FROM attempt' --format csv --db strange.db | tail -1 | tr -d '\r')" 0 \
        "commits of a repository that is not the program's"
done
git diff >/dev/null 2>&1
equal "$(ls ../started 2>/dev/null)" ../started "the settings would start it"
finish
