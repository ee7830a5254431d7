/* record.h - the command `ablate record`: an experiment as a file for git. */
#ifndef ABLATE_RECORD_H
#define ABLATE_RECORD_H
#include "run.h"

/* Takes the folders out of a recorded experiment's JSON: what lies in `data_dir` is named $ABLATE_DATA/..., what lies in `root`
 * ./.... Only whole paths, only in values, and never in statistics. The caller frees *out. */
void record_without_folders(const char *json, const char *data_dir, const char *root, str *out);
int report_record(int argc, char **argv, const places *p);
#endif
