/* score_cli.h - `ablate score`: the scorers as commands. argv[0] is the command's own name; the return value
 * is the exit code (0; 1 when the result could not be written; 2 for bad usage or input). Results go to
 * standard output, words to standard error. */
#ifndef ABLATE_METRIC_SCORE_CLI_H
#define ABLATE_METRIC_SCORE_CLI_H

int score_bleu_main(int argc, char **argv); /* bleu --ref FILE..: hypotheses on standard input */
int score_f1_main(int argc, char **argv);   /* f1 --gold FILE: trees on standard input */
#endif
