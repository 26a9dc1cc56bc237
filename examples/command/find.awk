# Prints the documents that hold most of the words given on standard input, best first.
# A document is a line: id, tab, text. Run it as: awk -v most=10 -f find.awk documents.tsv
BEGIN {
    FS = OFS = "\t"
    while ((getline line < "-") > 0) {
        n = split(tolower(line), parts, /[^a-z0-9]+/)
        for (i = 1; i <= n; i++) if (parts[i] != "") words[parts[i]] = 1
    }
}
FNR == 1 { next }
{
    delete seen
    score = 0
    n = split(tolower($2), parts, /[^a-z0-9]+/)
    for (i = 1; i <= n; i++) if (parts[i] in words && !(parts[i] in seen)) {
        seen[parts[i]] = 1
        score++
    }
    if (score > 0) found[++count] = sprintf("%04d", score) OFS $1 OFS $2
}
END {
    # an insertion sort keeps the file's order where scores tie
    for (i = 2; i <= count; i++) {
        line = found[i]
        for (j = i - 1; j > 0 && substr(found[j], 1, 4) < substr(line, 1, 4); j--) found[j + 1] = found[j]
        found[j + 1] = line
    }
    for (i = 1; i <= count && i <= most; i++) {
        split(found[i], parts, FS)
        print parts[2], parts[1] + 0, parts[3]
    }
    if (count == 0) print "no document"
}
