/* old_words.c - what replaces commands and options that are gone. */
#include "cli/options.h"

static const struct {
    const char *command, *option, *instead;
} words[] = {
    {"report", "--serve",
     "-o FILE.html --watch writes a page that follows the sweep; any file server shows it elsewhere"},
    {"report", "--port",
     "-o FILE.html --watch writes a page that follows the sweep; any file server shows it elsewhere"},
};

const char *old_word(const char *command, const char *option)
{
    for (size_t i = 0; i < LENGTH(words); i++)
        if (same(command, words[i].command) && same(option, words[i].option)) return words[i].instead;
    return NULL;
}
