# Reads the output of `anymax verify` and the JSON of `anymax bench`; prints the table of gpu.sh. Files
# by -v: order (selectors, one a line), names (selector, name, driver), verified (selector, operation,
# status).
BEGIN {
    while ((getline line < order) > 0) if (line != "") { devices[++count] = line }
    while ((getline line < names) > 0) { split(line, f, "\t"); name[f[1]] = f[2]; driver[f[1]] = f[3] }
    while ((getline line < verified) > 0) {
        split(line, f, "\t")
        status[f[1], f[2]] = f[3]
        if (!(f[2] in known)) { known[f[2]] = 1; ops[++op_count] = f[2] }
    }
}
# operation device type cases fwd bwd ok ...
$3 ~ /^(f32|f16|bf16)$/ && $4 ~ /^[0-9]+$/ {
    if ($5 + 0 > error[$2, $1, "forward"]) error[$2, $1, "forward"] = $5 + 0
    if ($6 + 0 > error[$2, $1, "backward"]) error[$2, $1, "backward"] = $6 + 0
}
function value(line) { sub(/^[^:]*:[ \t]*/, "", line); gsub(/[",]/, "", line); return line }
/"op":/ { op = value($0) }
/"device":/ { device = value($0) }
/"shape":/ { shape = value($0) }
/"direction":/ { way = value($0) }
/"gbps":/ { gbps = value($0) }
/"share":/ {
    k = device SUBSEP op SUBSEP way SUBSEP shape
    if (shape == "1024x128") k = device SUBSEP op SUBSEP way SUBSEP "4096x4096"
    speed[k] = sprintf("%8.2f %3.0f%%", gbps, 100 * value($0))
}
function cell(k) { return k in speed ? speed[k] : "           -" }
END {
    printf "%-24s%-10s%-9s%8s%15s%15s%15s\n", "operation", "way", "verified", "error", "4096x4096",
        "65536x64", "8x1000000"
    for (d = 1; d <= count; d++) {
        s = devices[d]
        printf "\n%s  %s  %s\n", s, name[s], driver[s]
        for (o = 1; o <= op_count; o++)
            for (w = 1; w <= 2; w++) {
                way = w == 1 ? "forward" : "backward"
                code = (s, ops[o]) in status ? status[s, ops[o]] : -1
                word = code == 0 ? "yes" : code == 124 ? "no time" : code == -1 ? "not run" : "NO"
                printf "%-24s%-10s%-9s%8s   %s   %s   %s\n", ops[o], way, word,
                    (s, ops[o], way) in error ? sprintf("%.3f", error[s, ops[o], way]) : "-",
                    cell(s SUBSEP ops[o] SUBSEP way SUBSEP "4096x4096"),
                    cell(s SUBSEP ops[o] SUBSEP way SUBSEP "65536x64"),
                    cell(s SUBSEP ops[o] SUBSEP way SUBSEP "8x1000000")
            }
    }
    print "\nverified: against double precision; error: the worst, in units of the tolerance (1 is the most"
    print "allowed). Then GB/s and the share of a copy (or a read, where next to nothing is written) of as many"
    print "bytes by the same device, in f32, by shape (infonce_loss: 1024x128)."
}
