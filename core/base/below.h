/* below.h - checks names from others' files and databases: plain words, and paths that stay below a folder. */
#ifndef ABLATE_BELOW_H
#define ABLATE_BELOW_H
#include "base/base.h"

bool is_plain_word(const char *text); /* letters, digits and _, at least one; false for NULL */

/* Returns FOLDER/NAME; the caller frees. NULL and e if the name is empty or absolute, has an empty part, "." or "..",
 * or a control character, or if a link in it leads out of the folder. */
char *path_below(const char *folder, const char *name, err *e);

/* Does the path lie below the folder once links are followed? Parts that do not exist yet count as below; a link
 * without a target does not. */
bool path_is_below(const char *folder, const char *path);

/* NAME in the user's folder of caches, $XDG_CACHE_HOME/ablate or ~/.cache/ablate; the caller frees. NULL: no home. */
char *path_in_cache(const char *name);
#endif
