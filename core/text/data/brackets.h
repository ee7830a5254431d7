/* brackets.h - converts published treebanks to files with one bracketed tree per line. */
#ifndef ABLATE_BRACKETS_H
#define ABLATE_BRACKETS_H
#include "base/base.h"

/* Appends every bracketed tree of a Penn Treebank text [n bytes, NUL-terminated] as a line, with single blanks and none
 * before a closing bracket. Returns -1 and e, with the line, for unbalanced brackets or text outside brackets. */
int brackets_lines(const char *text, size_t n, str *out, err *e);

/* Appends the sentences of the GENIA treebank's XML (GENIA_tree.dtd, articles concatenated) as trees below TOP: <cons
 * cat="NP"> and <tok cat="NN"> become brackets; constituents without words are removed; PERIOD, COMMA, COLON, LQT, RQT,
 * LRB, RRB become the Penn Treebank's tags; brackets in words become -LRB- and -RRB-, blanks in words _. ids: numbers
 * of articles (<PMID>), one per line, in output order. Returns 0, or -1 and e (with the article) if an article is
 * missing or elements do not nest. */
int brackets_genia(const char *xml, const char *ids, str *out, err *e);
#endif
