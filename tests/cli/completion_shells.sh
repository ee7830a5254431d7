# Completion in zsh and fish: types a line into the real shell, presses Tab, and reads the completed line. completion.sh
# tests bash and the suggested words.
source "$(dirname "$0")/common.bash" "$@"
mkdir bin
cat >bin/ablate <<SH
#!/bin/sh
[ "\$1" = completion ] && exec "$program" "\$@"
echo "\$*" >>"$work/typed"
SH
chmod +x bin/ablate
export PATH=$work/bin:$PATH HOME=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work XDG_CACHE_HOME=$work
printf '%s\n' "watch" "run x.ini -s d_model=64" "parse -s parsing.linearisation=labels" "score f1 --gold" >expected

shells=0
if command -v zsh >/dev/null && command -v script >/dev/null; then
    shells=$((shells + 1))
    echo "zsh"
    {
        printf 'PS1=; autoload -Uz compinit; compinit -D -u; source <(ablate completion zsh)\n'
        printf 'ablate wat\t\nablate run x.ini -s d_mod\t64\nablate parse -s parsing.linearisation=l\t\nablate score f1 --g\t\nexit\n'
        wait_for 20 grep -q score typed
    } | timeout 30 script -qec "zsh -f -i" /dev/null >log 2>&1
    equal "$(cat typed)" "$(cat expected)" "lines completed by zsh"
    { tiny named 5 && printf '[variant v]\nname = z;touch TOUCHED;\ndropout = 0.2\n'; } >t.ini
    rm typed
    {
        printf 'PS1=; autoload -Uz compinit; compinit -D -u; source <(ablate completion zsh)\n'
        printf 'ablate run t.ini --only z\t\nexit\n'
        wait_for 20 grep -q only typed
    } | timeout 30 script -qec "zsh -f -i" /dev/null >log 2>&1
    equal "$(cat typed)" "run t.ini --only z;touch TOUCHED;" "a row's name is quoted by zsh"
    equal "$(ls TOUCHED 2>/dev/null)" "" "what a row's name makes"
else
    echo "skipped: zsh (apt-get install zsh) or script is not installed"
fi
if command -v fish >/dev/null; then
    shells=$((shells + 1))
    echo "fish"
    fish -c 'source (ablate completion fish | psub)
        for line in "wat" "run x.ini -s d_mod" "parse -s parsing.linearisation=l" "score f1 --g"; complete -C "ablate $line"; end' >fished 2>complaints
    equal "$(sed 's/\t.*//' fished |
        paste -sd' ')" "watch d_model= parsing.linearisation=labels --gold" "words offered by fish"
    equal "$(cat complaints)" "" "complaints of fish"
else
    echo "skipped: fish is not installed (apt-get install fish)"
fi
[ $shells -gt 0 ] || exit 77
finish
