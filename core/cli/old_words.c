/* old_words.c - names the replacements of removed commands and options. */
#include "cli/options.h"

static const struct {
    const char *command, *option, *instead;
} words[] = {
    {"note", "", "`ablate tag RUN note=TEXT` sets a note, `ablate tag RUN note` removes it"},
    {"restore", "", "`ablate rm --experiment NAME --undo` shows older runs again"},
    {"across", "", "`ablate table NAME NAME...` compares rows over several experiments"},
    {"agree", "", "`ablate score agree FILE FILE...` prints the lines that agree"},
    {"log", "", "`ablate watch RUN --log` prints a run's log"},
    {"devices", "", "`ablate list devices` shows the hardware for runs"},
    {"plugins", "", "`ablate list plugins` lists them"},
    {"reference", "", "`ablate list keys` prints every INI key"},
    {"data list", "", "`ablate list corpora` lists them"},
    {"bench train", "", "`ninja -C build ablate-bench` makes build/ablate-bench, which has `train`"},
    {"bench decode", "", "`ninja -C build ablate-bench` makes build/ablate-bench, which has `decode`"},
    {"bench attention", "", "`ninja -C build ablate-bench` makes build/ablate-bench, which has `attention`"},
    {"bench host", "", "`ninja -C build ablate-bench` makes build/ablate-bench, which has `host`"},
    {"debug", "", "`ablate replay SPEC.ini/ROW` trains a row up to one step"},
    {"replay", "--threads", "-s threads=N sets it"},
    {"replay", "--device", "-s device=DEVICE sets it"},
    {"run", "--ranks", "-s ranks=N sets it"},
    {"run", "--nice", "`nice ablate run ...` lowers the priority of the host and its workers"},
    {"import", "--value", "name the column of values in a long table `value`"},
    {"import", "--ignore", "columns that no option names are left out"},
    {"import", "--headline", "--metric NAME: the first one named is judged"},
    {"watch", "--width", "`COLUMNS=N ablate watch` sets the width where there is no terminal"},
    {"record", "--points", "a record keeps 200 points per curve"},
    {"publish", "--points", "a record keeps 200 points per curve"},
    {"data get", "--dir", "$ABLATE_DATA names the folder of corpora"},
    {"data list", "--dir", "$ABLATE_DATA names the folder of corpora"},
    {"report", "--serve",
     "-o FILE.html --watch writes a page that follows the sweep; any file server can show that page on other machines"},
    {"report", "--port",
     "-o FILE.html --watch writes a page that follows the sweep; any file server can show that page on other machines"},
};

const char *old_word(const char *command, const char *option)
{
    for (size_t i = 0; i < LENGTH(words); i++)
        if (same(command, words[i].command) && same(option, words[i].option)) return words[i].instead;
    return NULL;
}
