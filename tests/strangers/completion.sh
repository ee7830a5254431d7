#!/usr/bin/env bash
# Completion in bash, zsh and fish with an INI, a database and file names from a stranger: pressing Tab runs nothing,
# and the offered words contain nothing that the shell or the terminal would interpret. Needs sqlite3 to forge the
# database.
source "$(dirname "$0")/../cli/common.bash" "$@"
command -v sqlite3 >/dev/null || { echo "skipped: found no sqlite3 here"; exit 77; }
mkdir bin
cat >bin/ablate <<C
#!/bin/sh
[ "\$1" = completion ] && exec "$program" "\$@"
echo "\$*" >>"$work/typed"
C
chmod +x bin/ablate
export PATH=$work/bin:$PATH HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_CACHE_HOME=$work

tiny zoo 4 >zoo.ini
exits 0 "$program" run zoo.ini --threads 1 --progress none
names=('z$(touch TOUCHED)' 'z`touch TOUCHED`' 'z;touch TOUCHED;' 'z>TOUCHED' $'z\ntouch TOUCHED' $'z\033[2Jx' "z'\$(touch TOUCHED)'"
    'z"$(touch TOUCHED)"' 'z(touch TOUCHED)' 'z{a,b}' 'z=(touch TOUCHED)' 'z\' 'z&touch TOUCHED&' '-z' '~root' 'z*' $'z\xc2\x9b31m')
for ((i = 0; i < ${#names[@]}; i++)); do
    quoted=${names[i]//\'/\'\'}
    sqlite3 results.db "INSERT INTO experiment(name,spec_sha256,spec_ini,argv,created_at)
            SELECT '$quoted',spec_sha256,spec_ini,argv,created_at FROM experiment WHERE name='zoo';
        INSERT INTO variant(experiment_id,group_name,place,name,change,config_hash,config_json)
            SELECT experiment_id,group_name,100+$i,'$quoted',change,config_hash||$i,config_json FROM variant WHERE name='base'" ||
        wrong "cannot forge $quoted"
    [[ ${names[i]} == *$'\n'* ]] || printf '[variant v%s]\nname = %s\ndropout = 0.%s\n' $i "${names[i]}" $((i + 10)) >>zoo.ini
    : >"${names[i]}.ini"
done

echo "the words themselves"
lines=("ablate table z" "ablate show zoo/z" "ablate run zoo.ini --only z" "ablate run z" "ablate translate --run zoo/z" "ablate show z"
    "ablate plan z" "ablate run ~" "ablate run -")
for line in "${lines[@]}"; do
    read -ra words <<<"$line"
    for shell in bash zsh fish; do
        ABLATE_SHELL=$shell "$program" completion words $((${#words[@]} - 1)) "${words[@]}" >out 2>err
        equal $? 0 "exit code of completion words for $line"
        checks=$((checks + 2))
        LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' out && wrong "$line: offers control characters: $(cat -v out)"
        [ "$line" != "ablate table z" ] || has out zoo
        [ "$(wc -l <out)" -le 60 ] || wrong "$line: offers $(wc -l <out) words"
    done
done

echo "bash"
for line in "${lines[@]}"; do
    bash --norc -c 'source <(ablate completion bash); read -ra COMP_WORDS <<<"$1"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
        _ablate; for word in "${COMPREPLY[@]}"; do eval "true $word"; done' bash "$line" >out 2>err
    equal "$(ls -d TOUCHED 2>/dev/null)" "" "what $line runs in bash"
done

if command -v zsh >/dev/null && command -v script >/dev/null; then
    echo "zsh"
    for line in "ablate run zoo.ini --only 'z;'" "ablate show zoo/z" "ablate table z"; do
        {
            printf 'PS1=; autoload -Uz compinit; compinit -D -u; source <(ablate completion zsh)\n%s\t\t\n\nexit\n' "$line"
            sleep 1
        } | timeout 30 script -qec "zsh -f -i" /dev/null >log 2>&1
        equal "$(ls -d TOUCHED 2>/dev/null)" "" "what $line runs in zsh"
    done
else
    echo "skipped: zsh (apt-get install zsh) or script is not installed"
fi
if command -v fish >/dev/null; then
    echo "fish"
    for line in "${lines[@]}"; do
        fish -c 'source (ablate completion fish | psub); complete -C --escape $argv[1]' "$line" >out 2>err
        equal "$(cat err)" "" "complaints of fish about $line"
        while IFS= read -r word; do fish -c "true ${word%%$'\t'*}" 2>/dev/null; done <out
        equal "$(ls -d TOUCHED 2>/dev/null)" "" "what $line runs in fish"
    done
else
    echo "skipped: fish is not installed (apt-get install fish)"
fi
finish
