# Reads lines of "old or new", case, nanoseconds, in order of the rounds; prints the table of
# compare_commits.sh.
{
    if (!($2 in seen)) { seen[$2] = 1; order[++cases] = $2 }
    k = $1 SUBSEP $2
    time[k, ++count[k]] = $3
}
function median(values, n,    i, j, v) {
    for (i = 2; i <= n; i++) {
        v = values[i]
        for (j = i - 1; j > 0 && values[j] > v; j--) values[j + 1] = values[j]
        values[j + 1] = v
    }
    return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
}
function times(k,    i) {
    least = most = time[k, 1]
    for (i = 1; i <= count[k]; i++) {
        v[i] = time[k, i]
        if (v[i] < least) least = v[i]
        if (v[i] > most) most = v[i]
    }
    return median(v, count[k])
}
function text(ns) {
    return ns < 1e3 ? sprintf("%.0f ns", ns) : ns < 1e6 ? sprintf("%.1f us", ns / 1e3) : sprintf("%.2f ms", ns / 1e6)
}
END {
    width = 4
    for (c = 1; c <= cases; c++) if (length(order[c]) > width) width = length(order[c])
    printf "%-" width "s  %12s  %12s  %8s  %s\n", "case", "old", "new", "old/new", "verdict"
    for (c = 1; c <= cases; c++) {
        a = "old" SUBSEP order[c]
        b = "new" SUBSEP order[c]
        if (!count[a] || !count[b]) {
            printf "%-" width "s  %12s  %12s  %8s  %s\n", order[c], count[a] ? text(times(a)) : "-",
                count[b] ? text(times(b)) : "-", "-", count[a] ? "gone" : "new"
            if (!count[b]) bad++
            continue
        }
        n = count[a] < count[b] ? count[a] : count[b]
        for (i = 1; i <= n; i++) ratio[i] = time[a, i] / time[b, i]
        r = median(ratio, n)
        old = times(a); old_least = least; old_most = most
        new = times(b)
        word = "same"
        if (most < old_least && r >= 1.02) { word = "faster"; faster++ }
        if (least > old_most && r <= 1 / 1.02) { word = "SLOWER"; slower++ }
        printf "%-" width "s  %12s  %12s  %8.3f  %s\n", order[c], text(old), text(new), r, word
        product += log(r)
        both++
    }
    if (both) printf "\n%d cases: %d faster, %d slower beyond noise; mean of old/new (geometric) %.3f\n",
        both, faster, slower, exp(product / both)
    else print "\nno case is in both"
    exit slower || bad || !both
}
