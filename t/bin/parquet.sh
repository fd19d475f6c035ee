#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Parquet files as pyarrow, Polars and DuckDB read them, as far as they are installed: every
# type, nulls, empty tables and several row groups, and the tables of a report.
# PYTHON names a python3 that has them.
. "${srcdir:-.}/t/support/tap.sh"

cat >judge.py <<'END'
# judge.py READER FILE ROWS: every value of a file of t/bin/test_parquet.c, which makes them in
# the same way.
import struct, sys
reader, path, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
M = (1 << 64) - 1
def bits_of(column, row):
    z = (row * 100 + column + 0x9e3779b97f4a7c15) & M
    z = ((z ^ z >> 30) * 0xbf58476d1ce4e5b9) & M
    z = ((z ^ z >> 27) * 0x94d049bb133111eb) & M
    return (z ^ z >> 31) | (row % 2) << 63
def signed(n):
    return n - (1 << 64) if n >> 63 else n
types = "iudbsiiudbs"
names = "i u d b s nothing in un dn bn sn".split()
def want(column, row):
    if column >= 5 and (column == 5 or (row * 7 + column) % 3 == 0):
        return None
    bits, kind = bits_of(column, row), types[column]
    return {"i": signed(bits), "u": bits, "d": signed(bits) / 1e6, "b": bool(bits & 1),
            "s": f"{column}-é-{'_' * (row % 20)}{row}"}[kind]
if reader == "pyarrow":
    import pyarrow.parquet as pq
    table = pq.read_table(path)
    got = [table.column(n).to_pylist() for n in table.column_names]
    columns = table.column_names
    kinds = [str(t) for t in table.schema.types]
    plain = ["int64", "uint64", "double", "bool", "string"]
    nullable = [f.nullable for f in table.schema]
    assert nullable == [False] * 5 + [True] * 6, nullable
elif reader == "polars":
    import polars
    table = polars.read_parquet(path)
    got = [table[n].to_list() for n in table.columns]
    columns = table.columns
    kinds = [str(t) for t in table.dtypes]
    plain = ["Int64", "UInt64", "Float64", "Boolean", "String"]
else:
    import duckdb
    answer = duckdb.sql(f"from '{path}'")
    columns, kinds = answer.columns, [str(t) for t in answer.types]
    got = list(zip(*answer.fetchall())) or [[] for _ in columns]
    plain = ["BIGINT", "UBIGINT", "DOUBLE", "BOOLEAN", "VARCHAR"]
assert columns == names, columns
assert kinds == plain + plain[:1] + plain, kinds
for c in range(len(names)):
    assert len(got[c]) == rows, (names[c], len(got[c]))
    for row in range(rows):
        assert got[c][row] == want(c, row), (names[c], row, got[c][row], want(c, row))
END
cat >count.py <<'END'
# count.py READER DIR: rows and columns of the tables of a report.
import sys
reader, directory = sys.argv[1:]
for name in "runs", "samples", "boxes", "rejected":
    path = f"{directory}/{name}.parquet"
    if reader == "pyarrow":
        import pyarrow.parquet as pq
        shape = pq.read_table(path).shape
    elif reader == "polars":
        import polars
        shape = polars.read_parquet(path).shape
    else:
        import duckdb
        shape = duckdb.sql(f"from '{path}'").shape
    print(name, *shape)
END

"$builddir/t/support/mkdataset" make set 10 >/dev/null 2>&1
cachex build set wh --size 48x32 -q >/dev/null 2>&1
check "report --parquet" 0 cachex warehouse report wh --parquet tables
is "its files" "$(ls tables | tr '\n' ' ')" "boxes.parquet rejected.parquet runs.parquet samples.parquet "
refuse "again" 2 "cachex: warehouse: tables/runs.parquet: exists; -f replaces it" \
	cachex warehouse report wh --parquet tables
cp -R tables before
check "with -f" 0 cachex warehouse report -f wh --parquet tables
also "the same bytes" diff -r before tables
echo notes >tables/boxes.parquet
refuse "another file" 3 \
	"cachex: warehouse: tables/boxes.parquet: is not a Parquet file, and is not replaced" \
	cachex warehouse report -f wh --parquet tables
also "is kept" grep -qx notes tables/boxes.parquet
is "and nothing is left beside it" "$(ls tables | tr '\n' ' ')" \
	"boxes.parquet rejected.parquet runs.parquet samples.parquet "

check "files of every type" 0 env PARQUET_DIR="$scratch" "$builddir/t/bin/test_parquet"
judged=
for reader in pyarrow polars duckdb; do
	python=
	for name in ${PYTHON:-python3} python3 /usr/bin/python3; do
		module=$reader
		[ $reader = pyarrow ] && module=pyarrow.parquet
		"$name" -c "import $module" 2>/dev/null && python=$name && break
	done
	if [ -z "$python" ]; then
		skip "$reader" "no python3 with $reader; PYTHON names one"
		continue
	fi
	judged="$judged $reader"
	for file in 0:0 1:1 2:8 3:9 4:1000 5:1000; do
		check "$reader: ${file#*:} rows, file ${file%:*}" 0 \
			"$python" judge.py $reader "all-${file%:*}.parquet" "${file#*:}"
	done
	check "$reader: tables" 0 "$python" count.py $reader before
	is "$reader: of the report" "$(cat "$out")" \
"runs 2 8
samples 16 12
boxes 40 7
rejected 4 6"
done
[ -n "$judged" ] || echo "# no reader of Parquet is installed"
finish
