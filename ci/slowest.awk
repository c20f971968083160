# Passes the output of `cargo test` through and ends with the slowest test binaries.
{ print; fflush() }

# Unit tests of a crate come before its other tests, and only they are named after it.
$1 == "Running" && $2 == "unittests" { crate = $NF; sub(/^.*deps\//, "", crate); sub(/-[0-9a-f]+\)$/, "", crate); suite = crate " " $3 }
$1 == "Running" && $2 != "unittests" { suite = crate " " $2 }
$1 == "Doc-tests" { suite = $2 " documentation" }

/^test result: .* finished in / {
    seconds = $NF
    sub(/s$/, "", seconds)
    took[suite] += seconds
}

END {
    print "slowest test binaries, in seconds:"
    for (suite in took)
        if (took[suite] >= 1)
            printf "%8.1f  %s\n", took[suite], suite | "sort -rn | head -12"
}
