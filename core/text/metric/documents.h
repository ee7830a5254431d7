/* documents.h - the documents of a split's examples. Examples of one document are not independent, so statistics count
 * documents (docs/statistics.md).
 *
 * The file documents.tsv beside a corpus: columns with a tab between; the first line names them; the first three are
 * the document, its split (train, dev, test) and its number of examples, in the order of the split's examples. Further
 * columns are not read. */
#ifndef ABLATE_METRIC_DOCUMENTS_H
#define ABLATE_METRIC_DOCUMENTS_H
#include "base/base.h"

/* Appends the numbers of examples of a split's documents, "24 28 31", and checks that their sum is n. Returns the
 * number of documents; 0 if the file has no document of this split; -1 and e on failure. */
int64_t documents_read(const char *path, const char *split, int64_t n, str *counts, err *e);

/* Sums rows [m][width] over documents with these numbers of examples: out [documents][width], or NULL. Returns the
 * number of documents; 0, without sums, if the numbers do not add up to m. With as many rows as documents, the rows are
 * such sums already. */
size_t documents_sum(const char *counts, const double *rows, size_t m, size_t width, double *out);

/* Returns the squared quantile of Student's t with m - 1 degrees of freedom over that of the normal distribution, which
 * tests over sentences use: the variance over few documents is itself an estimate. */
double documents_widening(size_t m);
#endif
