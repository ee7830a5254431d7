# toy_trees.awk - n trees of a made-up grammar, with traces, function tags and line breaks: awk -v n=N -v seed=S -f toy_trees.awk
# S -> NP VP . ; NP -> DT (JJ) NN (PP) | NNP; VP -> VBZ (NP) (PP); PP -> IN NP
function below(k) { return int(rand() * k) }
function word(list, a, k) { k = split(list, a, " "); return a[1 + below(k)] }
function np(d) {
    if (below(4) == 0) return "(NP (NNP " word("Ann Bob Eve") "))"
    return (d > 0 && below(3) == 0) ? "(NP " np(0) " " pp(d - 1) ")" : "(NP (DT " word("the a") ")" (below(3) == 0 ? " (JJ " word("old red") ")" : "") " (NN " word("dog cat saw hill") "))"
}
function pp(d) { return "(PP-LOC (IN " word("on near") ") " np(d) ")" }
BEGIN {
    srand(seed)
    for (i = 0; i < n; i++)
        print "( (S (NP-SBJ-1 " np(1) ")\n     (VP (VBZ " word("sees likes") ") " np(1) (below(4) == 0 ? " (S (NP (-NONE- *)))" : "") ") (. .)))"
}
