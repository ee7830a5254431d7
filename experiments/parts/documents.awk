# Writes the words of a treebank's trees as texts, one file a document, for language models of documents:
#
#     mkdir -p gum-texts; D=data/gum
#     awk -v to=gum-texts -f experiments/parts/documents.awk $D/documents.tsv $D/train.ptb $D/dev.ptb $D/test.ptb
#
# documents.tsv names each document, its split and its number of trees; a split's trees lie in SPLIT.ptb, one a line, in
# the order of the documents; documents that a note calls LEFT OUT have none. A tree becomes a line of words between blanks; traces (-NONE-) have none.
FNR == 1 {
    if (split_now != "") finish_split()
    n = split(FILENAME, part, "/")
    split_now = part[n]
    sub(/\.ptb$/, "", split_now)
    at = left = 0
}
FILENAME ~ /documents\.tsv$/ {
    split($0, column, "\t")
    if (FNR > 1 && column[5] !~ /LEFT OUT/) {
        k = ++documents[column[2]]
        name[column[2], k] = column[1]
        trees[column[2], k] = column[3]
    }
    next
}
{
    if (!left) {
        if (++at > documents[split_now]) fail("more trees than documents.tsv counts in " split_now)
        left = trees[split_now, at]
        file = to "/" name[split_now, at] ".txt"
        printf "" >file
    }
    line = ""
    gsub(/\(-NONE- [^()]*\)/, "")
    while (match($0, /[^ ()]+\)/)) {
        line = line (line == "" ? "" : " ") substr($0, RSTART, RLENGTH - 1)
        $0 = substr($0, RSTART + RLENGTH)
    }
    print line >>file
    if (!--left) close(file)
}
END { if (!failed) finish_split() }
function finish_split() {
    if (split_now !~ /documents\.tsv$/ && (left || at < documents[split_now]))
        fail("fewer trees than documents.tsv counts in " split_now)
}
function fail(why) {
    print "documents.awk: " why >"/dev/stderr"
    failed = 1
    exit 1
}
