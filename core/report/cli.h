/* cli.h - the commands that look at results. argv[0] is the command's own name; the return value is the exit
 * code (0, 1 when something went wrong, 2 for a usage error). Results go to standard output, words to
 * standard error.
 * `--db FILE` in argv overrides o->path. */
#ifndef ABLATE_REPORT_CLI_H
#define ABLATE_REPORT_CLI_H
#include "results/db.h"

int report_ls(int argc, char **argv, const db_options *o);    /* ls [EXPERIMENT] */
int report_show(int argc, char **argv, const db_options *o);  /* show RUN [--ini | --hyp SPLIT | --ref SPLIT] */
int report_log(int argc, char **argv, const db_options *o);   /* log RUN [-n LINES] */
int report_rm(int argc, char **argv, const db_options *o);    /* rm RUN... or rm --experiment NAME */
int report_query(int argc, char **argv, const db_options *o); /* query SQL [--format text,csv,json,md] */
int report_table(int argc, char **argv,
                 const db_options *o); /* table [NAME] [--metric M]... [--format F] [--vs paper] */
int report_page(int argc, char **argv, const db_options *o); /* report [NAME] -o FILE.html */
/* plot [NAME] [--metric M] [--over KEY] [--by KEY] [--log x,y] [--bars sd,range,none] [--title TEXT] [--size WxH]
 * [--forest] -o FILE */
int report_plot(int argc, char **argv, const db_options *o);
/* export NAME [-o FILE.json] [--points N]: the experiment as text that git can compare; without -o into
 * o->recorded, from where new databases are filled. */
int report_export(int argc, char **argv, const db_options *o);
int report_import(int argc, char **argv, const db_options *o); /* import FILE.json... */
#endif
