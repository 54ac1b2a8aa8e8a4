# Reads the table of run.sh; prints, for each kernel and target, the worst of its variants, then the
# variants that use most registers, then those that spill. Status 1 if one does. -v markdown=1: for docs/.
BEGIN { FS = "\t" }
NR == 1 { next }
{
    key = $1 SUBSEP $2
    if (!(key in seen)) { seen[key] = 1; targets[$1] = targets[$1] " " $2 }
    if (!(($1, $3) in had)) { had[$1, $3] = 1; kernels[$1] = kernels[$1] " " $3 }
    if (!($1 in ways)) { ways[$1] = 1; way_list = way_list " " $1 }
    cell = $1 SUBSEP $2 SUBSEP $3
    lines[cell]++
    if (most[cell] == "" || $6 > most[cell]) most[cell] = $6 + 0
    if ($12 != "-" && (least[cell] == "" || $12 < least[cell])) least[cell] = $12 + 0
    if (width[cell] == "" || $5 < width[cell]) width[cell] = $5 + 0
    if ($8 > 0 || $10 > 0) { bad++; spilled[cell]++; faults[bad] = $0 }
    if ($9 > 0) { scalar++; notes[scalar] = $0 }
    if ($11 > shared[$1] + 0) { shared[$1] = $11; shared_by[$1] = $3 " " $4 }
    total[$1]++
    if ($1 != "opencl-intel") { load[NR] = $6; text[NR] = $0 }
}
function show(name, columns, i, bar) {
    if (markdown) {
        printf "| %s |", name
        for (i = 1; i <= columns; i++) printf " %s |", value[i]
    } else {
        printf "%-24s", name
        for (i = 1; i <= columns; i++) printf "%11s", value[i]
    }
    printf "\n"
}
function rule(columns, i) {
    if (!markdown) return
    printf "| --- |"
    for (i = 1; i <= columns; i++) printf " --- |"
    printf "\n"
}
function line(record, f) {
    split(record, f, "\t")
    if (markdown)
        printf "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", f[1], f[2], f[3], f[4], f[5], f[6],
            f[8], f[9], f[10], f[12]
    else
        printf "%-14s%-10s%-26s%-52s%6s%6s%7s%8s%9s%7s\n", f[1], f[2], f[3], f[4], f[5], f[6], f[8], f[9],
            f[10], f[12]
}
function lines_heading() {
    if (markdown) {
        print "| way | target | kernel | variant | width | registers | spilled | scalar spilled | private bytes | waves |"
        print "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    } else
        line("way\ttarget\tkernel\tvariant\twidth\tregs\t\tspill\tsspill\tprivate\t\twaves")
}
function title(words) { printf(markdown ? "\n## %s\n\n" : "\n%s\n", words) }
END {
    count = split(way_list, way, " ")
    for (w = 1; w <= count; w++) {
        wide = way[w] == "opencl-intel"
        what = wide ? "least SIMD width" : way[w] == "opencl-nvidia" ? "most registers" : "most registers / fewest waves"
        title(way[w] ": " total[way[w]] " kernels; worst variant of each, " what)
        columns = split(targets[way[w]], target, " ")
        for (t = 1; t <= columns; t++) value[t] = target[t]
        show("kernel", columns)
        rule(columns)
        rows = split(kernels[way[w]], kernel, " ")
        for (k = 1; k <= rows; k++) {
            for (t = 1; t <= columns; t++) {
                cell = way[w] SUBSEP target[t] SUBSEP kernel[k]
                if (wide) value[t] = "SIMD" width[cell]
                else if (least[cell] == "") value[t] = most[cell]
                else value[t] = most[cell] " / " least[cell]
                if (spilled[cell]) value[t] = value[t] " !"
            }
            show(kernel[k], columns)
        }
        printf "\nMost on-chip memory: %d bytes (%s).\n", shared[way[w]], shared_by[way[w]]
    }
    title("Most registers")
    lines_heading()
    for (i = 1; i <= 12; i++) {
        top = 0
        for (n in load)
            if (!top || load[n] > load[top] || (load[n] == load[top] && n + 0 < top + 0)) top = n
        if (!top) break
        line(text[top])
        delete load[top]
    }
    title("Spills: " bad + 0 " into memory, " scalar + 0 " of scalars into vector registers")
    if (bad + scalar) lines_heading()
    for (i = 1; i <= bad && i <= 60; i++) line(faults[i])
    for (i = 1; i <= scalar && i <= (markdown ? 20 : 40); i++) line(notes[i])
    exit bad > 0
}
