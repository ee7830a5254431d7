/* brackets.h - treebanks as their authors publish them, turned into files of one bracketed tree a line. */
#ifndef ABLATE_BRACKETS_H
#define ABLATE_BRACKETS_H
#include "base/base.h"

/* Appends every bracketed tree of a Penn Treebank text [n bytes, NUL behind them] to out, each on a line of its own with single blanks
 * and none before a closing bracket. 0; -1 and e: brackets that do not balance, text outside of them (the line is named). */
int brackets_lines(const char *text, size_t n, str *out, err *e);

/* Appends the sentences of the GENIA treebank's XML (GENIA_tree.dtd; several articles one after the other) as trees below TOP: <cons cat="NP"> and
 * <tok cat="NN"> become brackets, constituents without a word go, PERIOD, COMMA, COLON, LQT, RQT, LRB, RRB become the Penn Treebank's tags, brackets in
 * words -LRB- and -RRB-, blanks inside of words _. ids: numbers of articles (<PMID>), one a line; articles come in their order. 0; -1 and e: an article
 * that is not there, elements that do not nest (the article is named). */
int brackets_genia(const char *xml, const char *ids, str *out, err *e);
#endif
