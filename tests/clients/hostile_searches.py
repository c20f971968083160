"""Searches and queries that are made to hurt: deep texts, large values, many rows, long work.

`test_hostile_searches.py` checks the kinds that have an answer of their own, `loadtest/bench/hostile.py` measures all
of them. `index=hostile` is there in the benchmark only. A name is unique within its class.
"""


def row(text):
    return f"| makeresults | {text}"


def chain(start, pieces, by=" "):
    return start + by.join(pieces)


DEEP = {
    "not": chain("index=main ", (f"NOT w{n}" for n in range(3_000))),
    "unequal": chain("index=main ", (f"x!=v{n}" for n in range(3_000))),
    "many_nots": chain("index=main ", (f"NOT w{n}" for n in range(20_000))),
    "eval": row(chain("eval ", (f"a{n}={n}" for n in range(3_000)), ",")),
    "eval_of_each_other": row(chain("eval a0=1,", (f"a{n + 1}=a{n}+a{n}" for n in range(300)), ",")),
    "eval_20000": row(chain("eval ", (f"a{n}={n}" for n in range(20_000)), ",")),
    "rename": row(chain("rename ", (f"f{n} as g{n}" for n in range(2_000)), ",")),
    "rex": row(chain("", ['rex field=r "(?<r>x)"'] * 400, " | ")),
    "where_and": row(chain("where ", (f"a!={n}" for n in range(3_000)), " AND ")),
    "where_or": row(chain("where ", (f"a={n}" for n in range(5_000)), " OR ")),
    "concatenation": row(chain("eval a=", ["a"] * 400, ".")),
    "brackets": row("eval a=" + "(" * 5_000 + "1" + ")" * 5_000),
    "in": row("search x IN (" + ",".join(str(n) for n in range(20_000)) + ")"),
    "where_in": row("where x IN (" + ",".join(str(n) for n in range(2_000)) + ")"),
}

# Each is one level of a plan, or stays where it is.
FLAT = {
    "not": chain("index=main ", (f"NOT w{n}" for n in range(10_000))),
    "unequal": chain("index=main ", (f"x!=v{n}" for n in range(10_000))),
    "words": chain("index=main ", (f"w{n}" for n in range(10_000))),
    "where": chain("index=main | where ", (f"source!=\"v{n}\"" for n in range(10_000)), " AND "),
    "statistics_of_all_fields": row("eval " + ",".join(f"f{n}={n}" for n in range(500)) + " | stats max(*) as *"),
    "group_of_many_fields": row(
        "eval " + ",".join(f"f{n}={n}" for n in range(500)) + " | stats count by " + " ".join(f"f{n}" for n in range(500))
    ),
    "totals_of_many_groups": row(
        "eval " + ",".join(f"f{n}={n}" for n in range(500)) + " | eventstats count by " + " ".join(f"f{n}" for n in range(500))
    ),
    "filter_after_each_eval": "index=main | " + " | ".join(['eval a=substr(a.a,1,9) | where a!=""'] * 60),
}

LARGE = {
    "mvrange": "| makeresults count=100000 | eval a=mvrange(0,10000)",
    "mvrange_of_rows": "| makeresults count=100000 | streamstats count as n "
    "| eval a=mvrange(n,n+10000) | eval b=mvcount(a)",
    "replace": row('eval s="aaaaaaaaaa" | ' + " | ".join(['eval s=replace(s,"a","aaaaaaaaaa")'] * 10)),
    "mvjoin": '| makeresults count=10000 | eval a=mvjoin(mvrange(0,100000),",")',
    "lists": "| makeresults count=300000 | eval x=random() | streamstats list(x) values(x)",
    "names": "| makeresults count=100000 | streamstats count as n | eval k=\"k\".n | eval {k}=n | table *",
    "summary": "| makeresults count=100000 | eval x=\"k\".random() | eval {x}=1 | fieldsummary",
    "mvexpand": "| makeresults count=1000 | streamstats count as n | eval a=mvrange(n,n+90000) | mvexpand a "
    "| sort 0 - a | table a",
    "delimiter": row(
        'eval d=mvjoin(mvrange(0,100000),"x") | eval a=mvjoin(mvrange(0,100000),d) | eval l=len(a)'
    ),
    "mvappend": "| makeresults count=5000 | streamstats count as n | eval a=mvrange(n,n+5000) | eval b=mvappend("
    + ",".join(["a"] * 500)
    + ")",
    "result": '| makeresults count=400000 | streamstats count as n | eval t=n.":".mvjoin(mvrange(n,n+100),",")',
}

# These may run or be refused, but take no more than others.
WIDE = {
    "values_in_every_row": "| makeresults count=100000 | streamstats count as n "
    "| eventstats values(n) as v list(n) as l",
    "text_in_every_row": "| makeresults count=100000 | eval s=if(random()%2=0,"
    'mvjoin(mvrange(0,20),"x"),"y") | eventstats max(s) as m first(s) as f | stats dc(m) dc(f)',
    "constants": "| makeresults count=50000 | eval "
    + ",".join(f'f{n}="{"x" * 1_000}"' for n in range(300))
    + " | where random()<0",
    "fillnull": f'| makeresults count=50000 | fillnull value="{"y" * 10_000}" '
    + " ".join(f"f{n}" for n in range(200))
    + " | where random()<0",
    "mvexpand_of_wide_rows": row(
        "eval "
        + ",".join(f'f{n}="{n}{"x" * 100}"' for n in range(300))
        + " | eval a=mvrange(0,100000) | mvexpand a | dedup f0"
    ),
    "mvexpand_beside_a_list": row(
        "eval l=mvrange(0,10000), b=l | mvexpand l | eval c=mvcount(b) | stats sum(c)"
    ),
    "mvexpand_of_rows_beside_lists": "| makeresults count=20 | streamstats count as n "
    "| eval l=mvrange(n,n+2000), b=mvrange(0,2000) | mvexpand l | where mvcount(b)>n | stats count(b)",
    "tail_of_many_rows": "| makeresults count=1000000 | streamstats count as n | tail 900000 | stats count",
    "head_of_more_rows_than_there_are": "| makeresults count=100000 | head 10000000000000000000 | stats count",
    "json_in_itself": row("eval j=\"1\" " + "| eval j=json_array(j,j)" * 30),
    "json_set_in_itself": row(
        'eval j="{}" ' + "".join(f'| eval j=json_set(j,"k{n}",j)' for n in range(30))
    ),
    "rules_of_values": "| makeresults count=10000 | eval "
    + ",".join(f"f{n}=random()%10" for n in range(30))
    + " | arules sup=1 conf=.01 "
    + " ".join(f"f{n}" for n in range(30)),
}

# Minutes or hours of work without a row in between.
LONG = {
    "kmeans": "| makeresults count=200000 | eval a=random(),b=random() | kmeans k=1000 a b",
    "fit": "| makeresults count=200000 | eval a=random(),b=random() | fit KMeans a b k=1000",
    "logistic": "| makeresults count=20000 | eval c=random()%100, "
    + ",".join(f"f{n}=random()" for n in range(100))
    + " | fit LogisticRegression c from f*",
}

LARGE_SQL = {
    "repeat": "SELECT repeat('x', 2000000000)",
    "repeat_rows": "SELECT repeat('x', 15000000 + value) FROM generate_series(1, 1000)",
    "lpad": "SELECT lpad('x', 1000000000), rpad('x', 1000000000)",
    "replace": "SELECT replace(repeat('x', 1000000), 'x', repeat('y', 1000000))",
    "concat": "WITH a AS (SELECT repeat('x', 10000000 + value) AS t FROM generate_series(1, 2)) SELECT "
    + " || ".join(["t"] * 100)
    + " FROM a",
    "array_repeat": "SELECT array_repeat('x', 1000000000)",
    "range": "SELECT range(0, 1000000000000)",
    "range_rows": "SELECT range(0, 1000000) FROM generate_series(1, 10000)",
    "array_agg": "SELECT array_agg(value) FROM generate_series(1, 100000000)",
    "string_agg": "SELECT string_agg(cast(value AS varchar), ',') FROM generate_series(1, 100000000)",
}


def rows(count, text):
    """Numbered rows, and what is done with them."""
    return f"| makeresults count={count} | streamstats count as n | {text}"


def each(count, text):
    """A text with each number, by commas."""
    return ",".join(text.format(n=n) for n in range(count))


ONE_LONG = 'eval s=mvjoin(mvrange(0,200000),"")'

TEXTS = {
    "brackets_of_a_search": "index=main " + "(" * 50_000 + "a" + ")" * 50_000,
    "not_of_not": "index=main " + "NOT " * 50_000 + "a",
    "pipes": "| makeresults" + " | eval a=1" * 20_000,
    "in_of_200000": "index=main x IN (" + ",".join(str(n) for n in range(200_000)) + ")",
    "concatenation_of_100000": row("eval a=" + "a." * 100_000 + "a"),
    "nested_ifs": row("eval a=" + "if(a=1,1," * 3_000 + "0" + ")" * 3_000),
    "case_of_20000": row("eval a=case(" + each(20_000, 'a={n},"{n}"') + ")"),
    "coalesce_of_20000": row("eval a=coalesce(" + each(20_000, "f{n}") + ")"),
    "long_word": "index=main " + "a" * 1_000_000,
    "long_quoted_value": row('eval a="' + "x" * 2_000_000 + '"'),
    "wildcards_of_a_word": "index=hostile " + "*a" * 500,
    "wildcards_of_fields": row("fields " + " ".join(f"*a{n}*b*" for n in range(2_000))),
    "many_ors_of_wildcards": chain("index=hostile ", (f"*w{n}*" for n in range(3_000)), " OR "),
    "empty_subsearches": "index=main " + "[| makeresults | where a=1] " * 100,
    "macro_that_is_not_there": "`" + "x" * 100_000 + "`",
    "identical_evals": row("eval n=1 " + "| eval n=n+n" * 400),
    "rename_wildcards": rows(10, "eval {names} | rename * as a_*".format(names=each(500, "f{n}={n}"))),
    "foreach_in_foreach": row(
        f"eval {each(40, 'f{n}={n}')} | foreach f* [foreach f* [eval g=<<FIELD>>+1]]"
    ),
    "table_of_20000_fields": row("table " + " ".join(f"f{n}" for n in range(20_000))),
    "stats_of_5000_functions": row("stats " + each(5_000, "max(f{n}) as m{n}")),
    "unicode": row('eval a="' + "\U0001f600\u0301" * 200_000 + '", l=len(a), u=upper(a)'),
}

SUBSEARCHES = {
    "nested_20": "| makeresults" + " | append [| makeresults" * 20 + "]" * 20,
    "nested_200": "| makeresults" + " | append [| makeresults" * 200 + "]" * 200,
    "nested_5000": "| makeresults" + " [ makeresults" * 5_000 + "]" * 5_000,
    "append_chain": "| makeresults count=10000" + " | append [| makeresults count=50000]" * 60,
    "append_chain_that_doubles": "| makeresults" + " | appendpipe [eval a=1]" * 24,
    "appendcols_chain": "| makeresults count=50000"
    + "".join(f" | appendcols [| makeresults count=50000 | eval a{n}=1]" for n in range(30)),
    "multisearch": "| multisearch" + " [search index=hostile | eval a=_raw._raw]" * 100,
    "union": "| union" + " [| makeresults count=100000 | eval a=random()]" * 30,
    "set": "| set union" + " [| makeresults count=50000 | streamstats count as n | fields n]" * 2,
    "set_diff": "| set diff" + " [| makeresults count=50000 | eval a=random()]" * 2,
    "map": rows(1_000, 'map maxsearches=1000 search="| makeresults count=1000 | eval a=$n$"'),
    "map_of_large_results": rows(
        100, 'map maxsearches=100 search="| makeresults count=1000000 | eval a=random().$n$"'
    ),
    "map_in_map": rows(
        30,
        'map maxsearches=30 search="| makeresults count=30 | eval b=$n$ | map maxsearches=30 '
        'search=\\"| makeresults count=30 | eval c=$$b$$\\""',
    ),
    "join_that_multiplies": "| makeresults count=1000000 | eval k=1 | join max=0 k "
    "[| makeresults count=50000 | eval k=1 | streamstats count as m]",
    "join_of_joins": "| makeresults count=1000 | eval k=1"
    + "".join(f" | join max=0 k [| makeresults count=100 | eval k=1,j{n}=1]" for n in range(5)),
    "join_of_events": "index=hostile | join max=0 host [search index=hostile | fields host, source, _raw]",
    "selfjoin": rows(20_000, "eval k=1 | selfjoin max=0 k"),
    "subsearch_of_large_result": "index=hostile [| makeresults count=50000 | streamstats count as x "
    "| fields x | format maxresults=50000]",
    "format": rows(300_000, 'eval a=md5(n), b=a, c=a | format maxresults=300000'),
    "return": rows(100_000, "return 100000 $n"),
    "appendpipe_of_itself": rows(100_000, "appendpipe [append [| makeresults count=50000]]"),
    "multireport": rows(200_000, "multireport" + " [stats values(n) by n]" * 10),
}

REGEXES = {
    "rex_nested_plus": rows(100_000, 'eval a="' + "a" * 40 + '".n."b" | rex field=a "(?<x>(a+)+$)"'),
    "rex_lookahead": rows(100_000, 'eval a="' + "a" * 40 + '".n."b" | rex field=a "(?<y>(?=(a+)+c)a)"'),
    "rex_backreference": rows(
        1_000, 'eval a="' + "a" * 60 + '".n."b" | rex field=a "(?<x>(a*)*)\\2c"'
    ),
    "rex_alternatives": rows(1_000, 'eval a="' + "x" * 60 + '".n | rex field=a "^(?<x>(x|xx|x?)+)y(?!z)"'),
    "rex_of_a_long_text": row(ONE_LONG + ' | rex field=s "(?<x>(\\d+\\d+)+x)"'),
    "rex_all_matches": row(ONE_LONG + ' | rex field=s max_match=0 "(?<x>\\d)"'),
    "rex_empty_matches": row(ONE_LONG + ' | rex field=s max_match=0 "(?<x>\\d*?)"'),
    "rex_sed": row(ONE_LONG + ' | rex field=s mode=sed "s/\\d/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa/g"'),
    "rex_large_repetition": row('eval s="aaa" | rex field=s "(?<x>a{1000}{1000})"'),
    "rex_large_class": row('eval s="aaa" | rex field=s "(?<x>[\\w\\p{L}]{5000})"'),
    "rex_many_groups": row('eval s="aaa" | rex field=s "' + "".join(f"(?<g{n}>a?)" for n in range(2_000)) + '"'),
    "rex_deep_groups": row('eval s="aaa" | rex field=s "' + "(" * 2_000 + "?:a" + ")" * 2_000 + '"'),
    "replace_nested_plus": rows(
        100_000, 'eval a="' + "a" * 40 + '".n."b", b=replace(a,"(?=(a+)+$)a","x")'
    ),
    "replace_grows": row(ONE_LONG + ' | eval t=replace(s,"(\\d)","\\1\\1\\1\\1\\1\\1\\1\\1\\1\\1")'),
    "replace_of_nothing": row(ONE_LONG + ' | eval t=replace(s,"","xxxxxxxxxxxxxxxxxxxx")'),
    "match_nested_plus": rows(100_000, 'where match("' + "a" * 40 + '".n,"^(?=(a+)+$)a")'),
    "match_of_a_field": rows(100_000, 'eval p="^(a|".n.")+$" | where match("aaaa".n,p)'),
    "regex_nested_plus": rows(100_000, 'eval a="' + "a" * 40 + '".n."b" | regex a="^(?=(a+)+$)a"'),
    "regex_of_events": 'index=hostile | regex _raw="^(?=(\\w+\\s?)+$)\\w"',
    "like": row(ONE_LONG + ' | where like(s,"' + "%1%2" * 200 + '")'),
    "search_wildcards": row(ONE_LONG + ' | search s="' + "*1*2" * 200 + '"'),
    "split_of_everything": row(ONE_LONG + ' | eval a=split(s,"")'),
    "erex": 'index=hostile | erex x examples="' + each(50, "user{n}") + '"',
}

BUCKETS = {
    "timechart_million": rows(1_000_000, "eval _time=n*60 | timechart span=1m count"),
    "timechart_million_by": rows(
        200_000, "eval _time=n*60, k=n%200 | timechart span=1m limit=0 count by k"
    ),
    "timechart_far": "| makeresults count=2 | streamstats count as n | eval _time=n*2000000000 "
    "| timechart span=1s count",
    "timechart_subseconds": rows(10, "eval _time=n*86400 | timechart span=1ms count"),
    "timechart_of_many_series": rows(100_000, "timechart limit=0 count by n"),
    "chart_over_by": rows(100_000, "eval m=n%5000 | chart limit=0 count over n by m"),
    "chart_of_many_series": rows(50_000, "eval k=n%100 | chart limit=0 values(n) over k by n"),
    "bin_span": rows(100_000, "bin span=0.0000000001 n | stats count by n"),
    "bin_large_span": rows(100_000, "bin span=1e300 n | stats count by n"),
    "bin_bins": rows(100_000, "bin bins=2000000000 n | stats count by n"),
    "bin_log": rows(100_000, "bin span=1.0001log1.0001 n | stats count by n"),
    "makecontinuous": "| makeresults count=2 | streamstats count as n | eval n=n*1000000000 "
    "| makecontinuous span=1 n",
    "makecontinuous_time": "| makeresults count=2 | streamstats count as n | eval _time=n*1000000000 "
    "| makecontinuous span=1s _time",
    "makecontinuous_fraction": rows(100, "makecontinuous span=0.000001 n"),
    "gentimes": "| gentimes start=1/1/1971 end=1/1/2037 increment=1s",
    "timewrap": rows(300_000, "eval _time=n*3600 | timechart span=1h count | timewrap 1d"),
    "sitimechart": rows(300_000, "eval _time=n*60, k=n%10 | sitimechart span=1m dc(n) by k"),
    "geostats": rows(
        200_000, "eval latitude=random()%90, longitude=random()%180 | geostats count by n globallimit=0"
    ),
    "geostats_levels": rows(
        200_000,
        "eval latitude=(random()%90000)/1000, longitude=(random()%180000)/1000 "
        "| geostats binspanlat=0.0001 binspanlong=0.0001 maxzoomlevel=15 count",
    ),
    "concurrency": rows(500_000, "eval _time=n, d=100000 | concurrency duration=d"),
    "fillnull_of_many_fields": rows(50_000, "fillnull " + " ".join(f"f{n}" for n in range(500)) + " | stats count"),
}

SHAPES = {
    "mvexpand_nested": row(
        "eval a=mvrange(0,2000), b=mvrange(0,2000), c=mvrange(0,2000) | mvexpand a | mvexpand b "
        "| mvexpand c | stats count"
    ),
    "mvexpand_nested_and_sorted": row(
        "eval a=mvrange(0,2000), b=a, c=a | mvexpand a | mvexpand b | sort 0 - b | head 5"
    ),
    "mvcombine": rows(500_000, "eval k=1 | mvcombine n"),
    "mvcombine_of_wide_rows": rows(
        20_000, f"eval {each(100, 'f{n}=md5({n})')}, k=n | mvcombine k"
    ),
    "mvzip": row("eval a=mvrange(0,1000000), b=mvzip(a,a), c=mvzip(b,b), d=mvzip(c,c)"),
    "mvmap": row("eval a=mvrange(0,3000), b=mvmap(a,mvjoin(mvmap(a,a.a),a))"),
    "mvsort_mvdedup": row("eval a=mvrange(0,5000000), b=mvsort(a), c=mvdedup(b)"),
    "mvfilter": row("eval a=mvrange(0,5000000), b=mvfilter(match(a,\"9$\"))"),
    "mvindex_of_large": rows(10_000, "eval a=mvrange(0,10000), b=mvindex(a,1,9999) | stats dc(b)"),
    "makemv": row(ONE_LONG + ' | makemv tokenizer="(.)" s'),
    "nomv": row("eval s=mvrange(0,5000000) | nomv s"),
    "xyseries": rows(100_000, "eval m=n%3000 | xyseries n m n"),
    "xyseries_wide": rows(100_000, "eval k=1 | xyseries k n n"),
    "untable": rows(20_000, f"eval {each(300, 'f{n}={n}')} | untable n name value | stats count"),
    "untable_and_back": rows(5_000, f"eval {each(200, 'f{n}={n}')} | untable n a b | xyseries a n b"),
    "transpose": rows(200_000, "transpose 0"),
    "transpose_twice": rows(20_000, f"eval {each(50, 'f{n}={n}')} | transpose 0 | transpose 0"),
    "eval_names": rows(20_000, "eval {n}=n | eval x=1 | fields *"),
    "foreach_1000": row(f"eval {each(1_000, 'f{n}={n}')} | foreach f* [eval t=t+<<FIELD>>]"),
    "foreach_multivalue": row("eval a=mvrange(0,100000), t=0 | foreach mode=multivalue a [eval t=t+<<ITEM>>]"),
    "foreach_that_doubles": row(
        f'eval s="ab", {each(60, "f{n}={n}")} | foreach f* [eval s=s.s]'
    ),
    "fieldsummary_of_wide_rows": rows(20_000, f"eval {each(300, 'f{n}=random()')} | fieldsummary"),
    "addtotals_of_wide_rows": rows(20_000, f"eval {each(500, 'f{n}={n}')} | addtotals | addcoltotals | stats count"),
    "table_of_wide_rows": rows(20_000, f"eval {each(500, 'f{n}=md5({n}.n)')} | table *"),
    "sort_of_wide_rows": rows(50_000, f"eval {each(200, 'f{n}=md5({n}.n)')} | sort 0 - f7 | head 3"),
    "dedup_of_wide_rows": rows(50_000, f"eval {each(100, 'f{n}=md5({n}.n)')} | dedup f1 f2 f3 f4 | stats count"),
    "strcat": row(ONE_LONG + " | strcat" + " s" * 200 + " t"),
    "reverse": rows(1_000_000, "eval a=md5(n) | reverse | head 3"),
    "multikv": row('eval _raw=mvjoin(mvrange(0,100000),"   ")."\n".mvjoin(mvrange(0,100000),"   ") | multikv'),
}

STATISTICS = {
    "eventstats_by_a_million": rows(1_000_000, "eventstats count by n | stats max(count)"),
    "eventstats_values": rows(300_000, "eval a=md5(n) | eventstats values(a) as v | stats dc(v)"),
    "eventstats_list_by": rows(1_000_000, "eval k=n%2 | eventstats list(n) as l by k | where mvcount(l)<0"),
    "streamstats_window": rows(1_000_000, "streamstats window=1000000 avg(n) | stats count"),
    "streamstats_dc_window": rows(1_000_000, "streamstats dc(n) window=1000 | stats count"),
    "streamstats_perc_window": rows(200_000, "streamstats perc95(n) window=10000 | stats count"),
    "streamstats_median": rows(200_000, "streamstats median(n) | stats count"),
    "streamstats_values": rows(100_000, "streamstats values(n) as v | stats count"),
    "streamstats_by_a_million": rows(1_000_000, "streamstats count by n | stats max(count)"),
    "streamstats_time_window": rows(300_000, "eval _time=n | streamstats time_window=1d dc(n) | stats count"),
    "stats_values": "| makeresults count=20000000 | streamstats count as n | stats values(n) dc(n)",
    "stats_list_by": rows(3_000_000, "stats list(n) values(n) by n"),
    "stats_by_many": rows(3_000_000, "eval a=md5(n), b=md5(a) | stats count by a b n"),
    "stats_percentiles_by": rows(1_000_000, "eval k=n%100000 | stats perc1(n) perc50(n) perc99(n) by k"),
    "stats_exactperc": rows(3_000_000, "stats exactperc50(n) exactperc99(n) mode(n)"),
    "stats_mode_dc": rows(2_000_000, "eval a=md5(n) | stats mode(a) dc(a) estdc(a)"),
    "stats_of_large_values": rows(2_000, 'eval a=mvjoin(mvrange(n,n+20000),",") | stats values(a) list(a) max(a)'),
    "stats_by_multivalues": rows(500, "eval a=mvrange(0,1000), b=a, c=a | stats count by a b c"),
    "stats_first_last_by": rows(1_000_000, "eval a=md5(n) | stats first(a) last(a) earliest(a) latest(a) by n"),
    "sistats": rows(1_000_000, "eval a=md5(n) | sistats dc(a) values(a) by n"),
    "sitop": rows(1_000_000, "eval a=md5(n) | sitop limit=0 a"),
    "top": rows(1_000_000, "eval a=md5(n) | top limit=0 a n"),
    "rare": rows(1_000_000, "eval a=md5(n) | rare limit=0 a by n"),
    "sparkline": rows(200_000, "eval _time=n*60 | stats sparkline(count,1s) by n"),
    "transaction_unclosed": rows(
        300_000, 'eval _time=1700000000-n, _raw="begin ".n | transaction n startswith="begin" endswith="never" keepevicted=t'
    ),
    "transaction_of_all": rows(500_000, "eval _time=1700000000-n, k=1 | transaction k maxevents=-1 maxspan=-1"),
    "transaction_of_events": "index=hostile | append [search index=hostile] | transaction host source maxevents=-1 | stats count by _raw",
    "transaction_by_many": rows(200_000, "eval _time=1700000000-n, a=n%1000, b=n%7 | transaction a b mvlist=t"),
    "sort_random": rows(3_000_000, "eval x=random() | sort 0 x | stats first(x)"),
    "uniq": rows(1_000_000, "eval a=md5(n) | uniq | stats count"),
    "dedup_million": rows(2_000_000, "eval a=md5(n) | dedup a | stats count"),
    "dedup_consecutive": rows(2_000_000, "eval a=md5(n) | dedup consecutive=t a | stats count"),
    "autoregress": rows(300_000, "autoregress n p=1-500 | stats count"),
    "trendline": rows(1_000_000, "trendline sma10000(n) ema10000(n) wma10000(n) | stats count"),
    "accum": rows(2_000_000, "accum n | delta n p=1000 | stats max(n)"),
    "tail": rows(3_000_000, "eval a=md5(n) | tail 1000000 | stats count"),
}

ANALYSIS = {
    "predict_million": rows(1_000_000, "eval _time=n*60 | timechart span=1m avg(n) as a | predict a"),
    "predict_far": rows(1_000, "eval _time=n*60 | timechart span=1m avg(n) as a | predict a future_timespan=100000000"),
    "predict_period": rows(20_000, "eval _time=n*60 | timechart span=1m avg(n) as a | predict a algorithm=LLP5 period=5000"),
    "kmeans_many_reps": rows(50_000, "eval a=random(),b=random() | kmeans k=100-199 reps=100 maxiters=100000 a b"),
    "kmeans_wide": rows(20_000, f"eval {each(100, 'f{n}=random()')} | kmeans k=100 reps=20"),
    "cluster": rows(100_000, "eval _raw=md5(n).\" \".md5(n+1).\" \".md5(n+2) | cluster t=0.99"),
    "cluster_ngrams": rows(20_000, 'eval _raw=md5(n)." ".sha512(n) | cluster match=ngramset t=0.99'),
    "cluster_of_long_texts": rows(300, 'eval _raw=mvjoin(mvrange(n,n+20000)," ") | cluster t=0.99'),
    "anomalydetection": rows(200_000, "eval a=random(), b=md5(n), c=b | anomalydetection a b c"),
    "anomalydetection_zscore": rows(300_000, "eval a=random() | anomalydetection method=zscore action=annotate a"),
    "anomalies": rows(50_000, 'eval _raw=md5(n)." ".md5(n+1) | anomalies maxvalues=10000 field=_raw'),
    "anomalousvalue": rows(200_000, f"eval {each(20, 'f{n}=random()')} | anomalousvalue action=annotate"),
    "outlier": rows(1_000_000, f"eval {each(10, 'f{n}=random()')} | outlier"),
    "associate": rows(20_000, f"eval {each(30, 'f{n}=random()%20')} | associate"),
    "correlate": rows(20_000, f"eval {each(300, 'f{n}=random()%2')} | correlate"),
    "contingency": rows(200_000, "eval a=n%10000, b=random()%10000 | contingency maxrows=0 maxcols=0 a b"),
    "cofilter": rows(300_000, "eval u=n%2000, i=random()%2000 | cofilter u i"),
    "analyzefields": rows(50_000, f"eval {each(200, 'f{n}=random()')}, c=n%2 | analyzefields classfield=c"),
    "findtypes": "index=hostile | findtypes max=10000",
    "typelearner": "index=hostile | typelearner",
    "x11": rows(200_000, "eval _time=n*3600 | timechart span=1h avg(n) as a | x11 add1000(a)"),
    "arules_wide": rows(20_000, f"eval {each(50, 'f{n}=random()%3')} | arules sup=1 conf=.01 " + " ".join(f"f{n}" for n in range(50))),
    "diff": row('eval _raw=mvjoin(mvrange(0,200000),"\n") | append [| makeresults | eval _raw=mvjoin(mvrange(1,200000),"\n")] | diff'),
    "fit_forest": rows(100_000, f"eval c=n%50, {each(30, 'f{n}=random()')} | fit RandomForestClassifier c from f*"),
    "fit_linear": rows(20_000, f"eval c=random(), {each(300, 'f{n}=random()')} | fit LinearRegression c from f*"),
}

DOCUMENTS = {
    "tojson": rows(100_000, f"eval {each(100, 'f{n}=md5({n})')} | tojson"),
    "tojson_in_itself": row("eval a=1 " + "| tojson output_field=j | eval a=j " * 25),
    "makejson": rows(100_000, f"eval {each(100, 'f{n}=md5({n})')} | makejson f* output=j"),
    "json_object": row('eval j="1" ' + '| eval j=json_object("a",j,"b",j)' * 30),
    "json_append": row('eval j="[]" ' + '| eval j=json_append(j,"",j,"",j)' * 30),
    "json_extend": row('eval j=json_array(1,2) ' + '| eval j=json_extend(j,"",j)' * 40),
    "json_array_of_a_range": row("eval j=mv_to_json_array(mvrange(0,3000000)) | eval k=json_array_to_mv(j)"),
    "json_deep": row(f"eval j=\"{'[' * 100_000}{']' * 100_000}\" | eval k=json_extract(j,\"{{}}\"), v=json_valid(j)"),
    "json_keys": row('eval j=json_object(' + each(5_000, '"k{n}",{n}') + ') | eval k=json_keys(j)'),
    "json_extract_many": rows(20_000, 'eval j=mv_to_json_array(mvrange(0,1000)) | eval a=json_extract(j,"{}")'),
    "spath_deep": row('eval _raw=replace(mvjoin(mvrange(0,100000),""),"\\d","[") | spath'),
    "spath_of_deep_objects": row(
        'eval m=mvrange(0,5000), _raw=mvjoin(mvmap(m,"{\\"a\\":"),"")."1".mvjoin(mvmap(m,"}"),"") | spath'
    ),
    "spath_wide": row(
        'eval m=mvrange(0,50000), _raw="{".mvjoin(mvmap(m,"\\"k".m."\\":1"),",")."}" | spath'
    ),
    "spath_of_many_names": rows(50_000, 'eval _raw="{\\"k".n."\\":{\\"v".n."\\":".n."}}" | spath'),
    "spath_path": row("eval _raw=\"{}\" | spath path=" + ".".join(["a{}"] * 5_000)),
    "xpath_deep": row(
        'eval m=mvrange(0,20000), x=mvjoin(mvmap(m,"<a>"),"")."1".mvjoin(mvmap(m,"</a>"),"") '
        '| xpath outfield=y "//a//a//a//a" field=x'
    ),
    "xpath_of_all": row(
        'eval m=mvrange(0,3000), x="<r>".mvjoin(mvmap(m,"<a><b>1</b></a>"),"")."</r>" '
        '| xpath outfield=y "//a[count(//b[. = //b]) > count(//a)]" field=x'
    ),
    "xpath_long": row('eval x="<a/>" | xpath outfield=y "' + "/a" * 20_000 + '" field=x'),
    "spath_xml_entities": row(
        'eval _raw="<!DOCTYPE a [<!ENTITY x \\"' + "y" * 100 + '\\"><!ENTITY z \\"' + "&x;" * 100 + '\\">'
        '<!ENTITY w \\"' + "&z;" * 100 + '\\"><!ENTITY v \\"' + "&w;" * 100 + '\\">]><a>&v;</a>" | spath'
    ),
    "xmlkv": row('eval m=mvrange(0,100000), _raw=mvjoin(mvmap(m,"<a>1</a>"),"") | xmlkv maxinputs=1000000'),
    "extract_pairs": row(
        'eval m=mvrange(0,100000), _raw=mvjoin(mvmap(m,"k".m."=v"),",") | extract limit=0 maxchars=0 pairdelim="," kvdelim="="'
    ),
    "extract_names": rows(50_000, 'eval _raw="k".n."=".n | extract pairdelim="," kvdelim="=" | table *'),
    "fromjson": rows(20_000, 'eval j="{\\"k".n."\\":1}" | fromjson j'),
    "printf_width": row('eval a=printf("%2000000000d",1)'),
    "printf_precision": row('eval a=printf("%.2000000000f",1.5)'),
    "printf_widths": rows(100_000, 'eval a=printf("%100000d",n) | stats dc(a)'),
    "printf_star": row('eval a=printf("%*d",1000000000,1)'),
    "printf_many": row('eval a=printf("' + "%1000000s" * 30 + '",' + each(30, '"{n}"') + ")"),
    "tostring": row("eval a=tostring(1e308,\"commas\"), b=tostring(pow(10,308),\"duration\")"),
    "strftime": row('eval a=strftime(1,"' + "%c" * 200_000 + '")'),
    "strptime": row(ONE_LONG + ' | eval a=strptime(s,"' + "%d" * 2_000 + '")'),
    "exact": row("eval a=exact(" + "*".join(["1.000000001"] * 3_000) + ")"),
    "hashes": rows(1_000_000, "eval s=md5(n), t=sha512(s), u=sha512(t), v=sha512(u), w=sha512(v) | stats dc(s) dc(w)"),
    "urldecode": row(ONE_LONG + " | eval a=urldecode(s), b=spath(s,\"a.b\"), c=ipmask(s,s)"),
}

STORED = {
    "outputlookup": rows(1_000_000, "eval a=md5(n), b=a | outputlookup hostile.csv"),
    "inputlookup": "| inputlookup hostile.csv | inputlookup append=t hostile.csv | sort 0 - a | stats dc(a)",
    "lookup": rows(300_000, "lookup hostile.csv n OUTPUT a b | stats dc(a)"),
    "lookup_of_many_matches": rows(100_000, "eval k=1 | lookup same.csv k OUTPUT v | stats count(v)"),
    "outputlookup_of_same": rows(50_000, "eval k=1, v=md5(n) | fields k v | outputlookup same.csv"),
    "outputcsv": rows(1_000_000, "eval a=md5(n) | outputcsv hostile"),
    "collect": rows(300_000, 'eval _raw=md5(n)." ".n, a=md5(n) | collect index=hostile'),
    "events_sorted": "index=hostile | append [search index=hostile] | eval c=_raw._raw._raw | sort 0 _raw",
    "events_in_a_list": "index=hostile | stats values(_raw) list(_raw) by host",
    "events_of_all_fields": "index=hostile | table * | sort 0 - _raw",
    "tstats_by": "| tstats count where index=* by _time span=1us, host, source, sourcetype",
    "metadata": "| metadata type=sources index=* | append [| metadata type=hosts index=*]",
    "walklex": "| walklex index=hostile type=all prefix=*",
    "searchtxn_of_all": "index=hostile | eval k=1 | transaction k maxevents=100000 | eval l=len(_raw)",
    "typer_tags": "index=hostile | typer | tags | stats count by eventtype",
    "iplocation": rows(500_000, 'eval ip="1.2.".(n%255).".".(n%251) | iplocation ip | stats dc(ip)'),
    "rest": "| rest /services/data/indexes count=0 | append [| rest /services/search/jobs count=0]",
}

RECURSION = (
    "WITH RECURSIVE r(n, t) AS (SELECT 1, CAST('x' AS VARCHAR) UNION ALL SELECT {next} FROM r WHERE n < {until}) SELECT {what} FROM r"
)

SQL = {
    "recursion_without_end": RECURSION.format(next="n + 0, t", until="2", what="count(*)"),
    "recursion_that_doubles": RECURSION.format(next="n + 1, CAST(t || t AS VARCHAR)", until="60", what="max(length(t))"),
    "recursion_of_many_rows": "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r, generate_series(1, 10) "
    "WHERE n < 20) SELECT count(*) FROM r",
    "recursion_long": RECURSION.format(next="n + 1, t", until="10000000", what="count(*)"),
    "cross_join": "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b "
    "WHERE a.value * b.value = 7",
    "cross_join_sorted": "SELECT a.value, b.value FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b "
    "ORDER BY a.value * b.value DESC",
    "cross_joins": "SELECT count(*) FROM " + ", ".join(f"generate_series(1, 1000) a{n}" for n in range(8)),
    "join_by_inequality": "SELECT count(*) FROM generate_series(1, 200000) a JOIN generate_series(1, 200000) b "
    "ON a.value < b.value",
    "full_join": "SELECT count(*) FROM generate_series(1, 3000000) a FULL JOIN generate_series(1, 3000000) b "
    "ON a.value = b.value + 1",
    "group_by_a_billion": "SELECT value, count(*) FROM generate_series(1, 1000000000) GROUP BY value",
    "count_distinct": "SELECT count(DISTINCT md5(cast(value AS varchar))) FROM generate_series(1, 100000000)",
    "sort_of_a_billion": "SELECT value FROM generate_series(1, 1000000000) ORDER BY md5(cast(value AS varchar)) LIMIT 5",
    "sort_of_wide_rows": "SELECT value, repeat('x', 10000) || value AS t FROM generate_series(1, 1000000) ORDER BY t DESC",
    "all_rows": "SELECT value, md5(cast(value AS varchar)) FROM generate_series(1, 100000000)",
    "window_of_all": "SELECT sum(value) OVER (ORDER BY md5(cast(value AS varchar))) FROM generate_series(1, 10000000)",
    "window_of_peers": "SELECT array_agg(value) OVER (ORDER BY value) FROM generate_series(1, 100000)",
    "window_of_ranges": "SELECT max(value) OVER (ORDER BY value ROWS BETWEEN 1000000 PRECEDING AND 1000000 FOLLOWING) "
    "FROM generate_series(1, 3000000)",
    "windows": "SELECT " + each(100, "lag(value, {n}) OVER (ORDER BY value % {n} + 1)").replace("% 0", "% 1")
    + " FROM generate_series(1, 1000000)",
    "unnest": "SELECT count(*) FROM (SELECT unnest(range(0, 1000000)) FROM generate_series(1, 100000))",
    "unnest_of_a_large_array": "SELECT unnest(range(0, 100000000))",
    "unnest_nested": "SELECT unnest(unnest(array_repeat(array_repeat(1, 10000), 10000)))",
    "array_concat": "WITH a AS (SELECT range(0, 1000000) AS r) SELECT array_concat(" + ", ".join(["r"] * 200) + ") FROM a",
    "array_sort": "SELECT array_sort(range(0, 20000000 + value)) FROM generate_series(1, 2)",
    "flatten": "SELECT flatten(array_repeat(range(0, 1000000), 1000))",
    "regexp": "SELECT count(*) FROM generate_series(1, 1000000) WHERE regexp_like(repeat('a', 1000) || value, '(a*)*b(a|aa)+c')",
    "regexp_replace": "SELECT length(regexp_replace(repeat('a', 15000000), 'a', repeat('b', 100), 'g'))",
    "regexp_large": "SELECT regexp_like('a', '(a{1000}){1000}')",
    "like": "SELECT repeat('ab', 5000000) LIKE '" + "%a%b" * 500 + "'",
    "levenshtein": "SELECT levenshtein(repeat('ab', 50000), repeat('ba', 50000))",
    "translate": "SELECT reverse(translate(repeat('ab', 8000000), 'ab', 'ba')), initcap(repeat('ab ', 5000000))",
    "split_part": "SELECT string_to_array(repeat('a,', 8000000), ',')",
    "to_char": "SELECT to_char(now(), '" + "%c" * 100_000 + "')",
    "decimals": "SELECT " + " * ".join(["1.000000001"] * 500),
    "brackets": "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
    "unions": " UNION ALL ".join(f"SELECT {n}" for n in range(5_000)),
    "union_of_unions": "SELECT count(*) FROM (" + " UNION ".join(
        f"SELECT value + {n} FROM generate_series(1, 1000000)" for n in range(20)
    ) + ")",
    "nested_selects": "SELECT * FROM (" * 500 + "SELECT 1" + ")" * 500,
    "ors": "SELECT count(*) FROM generate_series(1, 10) WHERE " + " OR ".join(f"value = {n}" for n in range(20_000)),
    "in_list": "SELECT count(*) FROM generate_series(1, 10) WHERE value IN (" + each(100_000, "{n}") + ")",
    "case": "SELECT CASE " + " ".join(f"WHEN value = {n} THEN {n}" for n in range(20_000)) + " END FROM generate_series(1, 10)",
    "columns": "SELECT " + each(20_000, "{n} AS c{n}"),
    "ctes": "WITH " + "c0 AS (SELECT 1 AS a), " + ", ".join(
        f"c{n + 1} AS (SELECT x.a + y.a AS a FROM c{n} x, c{n} y)" for n in range(25)
    ) + " SELECT * FROM c25",
    "correlated": "SELECT count(*) FROM generate_series(1, 100000) a WHERE EXISTS "
    "(SELECT 1 FROM generate_series(1, 100000) b WHERE b.value > a.value + 99999)",
    "cube": "SELECT " + each(14, "value % {n} AS c{n}").replace("% 0", "% 1") + ", count(*) FROM generate_series(1, 100000) "
    "GROUP BY CUBE (" + ", ".join(str(n + 1) for n in range(14)) + ")",
    "percentiles": "SELECT approx_percentile_cont(value, 0.5), median(value) FROM generate_series(1, 100000000)",
    "first_values": "SELECT first_value(repeat('x', 1000) || value ORDER BY value DESC) FROM generate_series(1, 1000000) "
    "GROUP BY value % 100000",
}

# Beside the configuration of KNOWLEDGE_CONF.
KNOWLEDGE = {
    "lookups_of_all_source_types": "index=main status=7",
    "lookups_and_statistics": "index=main status=7 | stats count by status",
    "lookups_of_one_source_type": "index=main sourcetype=st7 status=7",
    "lookups_of_no_source_type": "index=main sourcetype=nosuch status=failure",
    "calculated_fields": "index=main result=3",
    "calculated_and_lookups": "index=main result=3 status=7 | table *",
    "macros_that_double": "| makeresults | eval a=`m24`",
    "macro_in_itself": "| makeresults | eval a=`loop`",
    "event_types_of_each_other": "index=main eventtype=e30",
}

KINDS = 24
KNOWLEDGE_CONF = {
    "props.conf": "\n".join(
        f"[st{n}]\nLOOKUP-x = l{n} k OUTPUTNEW status\nEVAL-result = if(a=1,result,b{n})\n" for n in range(KINDS)
    ),
    "transforms.conf": "\n".join(f"[l{n}]\nfilename = hostile_l.csv\n" for n in range(KINDS)),
    "macros.conf": "[m0]\ndefinition = 1\n[loop]\ndefinition = `loop`\n"
    + "\n".join(f"[m{n + 1}]\ndefinition = (`m{n}`+`m{n}`)" for n in range(24)),
    "eventtypes.conf": "[e0]\nsearch = a=1\n"
    + "\n".join(f"[e{n + 1}]\nsearch = (eventtype=e{n} a{n}=1) OR (eventtype=e{n} b{n}=2)" for n in range(30)),
}

CLASSES = {
    "plans": DEEP,
    "flat conditions": FLAT,
    "long texts": TEXTS,
    "memory": LARGE,
    "wide rows": WIDE,
    "work without rows": LONG,
    "subsearches and joins": SUBSEARCHES,
    "regular expressions": REGEXES,
    "buckets of time and numbers": BUCKETS,
    "shapes of tables": SHAPES,
    "statistics": STATISTICS,
    "analysis": ANALYSIS,
    "documents and texts": DOCUMENTS,
    "events and lookups": STORED,
    "knowledge objects": KNOWLEDGE,
    "SQL: values": LARGE_SQL,
    "SQL": SQL,
}
