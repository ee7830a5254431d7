# agreement.awk - contrastive pairs about the agreement of subject and verb, from English-German text:
#
#     paste test2016.en test2016.de test2017.en ... | awk -f experiments/paper/agreement.awk >agreement.tsv
#
# Input: SOURCE, tab, TARGET (German). A sentence is taken if it begins with a subject whose number its first words
# tell ("Ein Mann mit ...", "Drei Kinder ..."), and the first finite verb of the list below has that number. The wrong
# target has the verb in the other number: "Ein Mann mit drei Kindern steht/stehen ...". The group is the number of
# words between the subject's noun and the verb: near (none), middle (1 to 3), far (4 or more).
# Output: SOURCE, RIGHT, WRONG, GROUP, as the key `contrast` reads them (Sennrich 2017, LingEval97, does so on WMT's).
BEGIN {
    FS = "\t"
    OFS = "\t"
    forms = "sitzt sitzen steht stehen geht gehen läuft laufen hält halten spielt spielen trägt tragen fährt fahren " \
        "springt springen schaut schauen blickt blicken liegt liegen arbeitet arbeiten rennt rennen posiert posieren " \
        "lächelt lächeln macht machen hat haben ist sind wird werden versucht versuchen bereitet bereiten tanzt tanzen " \
        "singt singen isst essen trinkt trinken liest lesen schläft schlafen wirft werfen fängt fangen zieht ziehen " \
        "klettert klettern schwimmt schwimmen benutzt benutzen verkauft verkaufen überquert überqueren beobachtet " \
        "beobachten unterhält unterhalten sieht sehen kocht kochen schneidet schneiden reitet reiten lehnt lehnen " \
        "führt führen nimmt nehmen gibt geben kommt kommen wartet warten genießt genießen zeigt zeigen hängt hängen " \
        "balanciert balancieren surft surfen fotografiert fotografieren betrachtet betrachten spaziert spazieren " \
        "schiebt schieben kniet knien lacht lachen redet reden spricht sprechen wandert wandern fliegt fliegen"
    n = split(forms, form, " ")
    for (i = 1; i < n; i += 2) {
        other[form[i]] = form[i + 1]
        number[form[i]] = "one"
        other[form[i + 1]] = form[i]
        number[form[i + 1]] = "many"
    }
    n = split("Ein Eine Der Das Dieser Dieses Jemand", word, " ")
    for (i = 1; i <= n; i++) begins[word[i]] = "one"
    n = split("Zwei Drei Vier Fünf Sechs Sieben Acht Mehrere Viele Einige Männer Frauen Kinder Leute Menschen Jungen " \
        "Mädchen Personen Hunde", word, " ")
    for (i = 1; i <= n; i++) begins[word[i]] = "many"
}
NF == 2 {
    n = split($2, word, " ")
    subject = begins[word[1]]
    if (!subject) next
    noun = word[1] ~ /(er|en|te|de)$/ && subject == "many" && word[1] !~ /^(Mehrere|Viele|Einige|Sieben)$/ ? 1 : 0
    verb = 0
    for (i = 2; i <= n && !verb; i++) {
        if (word[i] ~ /[.,;:]$/ || word[i] ~ /^(und|oder|sowie|der|die|das|welche[rs]?|während|als)$/) break
        if (word[i] in other) verb = i
        else if (!noun && word[i] ~ /^[A-ZÄÖÜ]/) noun = i
    }
    if (!verb || !noun || number[word[verb]] != subject || (subject == "many" && word[1] == "Mädchen")) next
    between = verb - noun - 1
    right = wrong = ""
    for (i = 1; i <= n; i++) {
        right = right (i > 1 ? " " : "") word[i]
        wrong = wrong (i > 1 ? " " : "") (i == verb ? other[word[i]] : word[i])
    }
    if (right == $2) print $1, right, wrong, between == 0 ? "near" : between <= 3 ? "middle" : "far"
}
