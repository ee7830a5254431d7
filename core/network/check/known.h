/* known.h - plugins outside the program's own folder are checked before their first training; results are stored by
 * sha256. */
#ifndef ABLATE_CHECK_KNOWN_H
#define ABLATE_CHECK_KNOWN_H
#include "network/plugin/plugin.h"

/* Is this plugin in FOLDER/checked.tsv? message: the message of the first failed check; empty: all checks passed. */
bool check_known(const char *folder, const char *hash, str *message);
/* Checks p, unless p was checked before or is a shipped plugin. */
void check_once(const plugin *p, const char *folder, bool talk);
#endif
