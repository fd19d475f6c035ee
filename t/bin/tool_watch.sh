#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cachex stat --watch and cachex top: in a pipe, as JSON and on a terminal. No test depends on
# the time between two looks: they come at once, or at a key.
. "${srcdir:-.}/t/support/tap.sh"

printf '[1, 2]' >one
cachex put a k one --format json
# Two records in a chunk of which one is dead; a chunk of dead records alone is removed.
cachex --root other put src k1 one --format json
cachex --root other put src k2 one --format json
cachex --root other dump src >dump
for module in b c; do cachex load $module <dump -q; done
cachex rm b k1 -f -q

for id in 1 2 3; do cachex --root other put new $id one --format json; done

# ---- a pipe --------------------------------------------------------------------------------

check "a line per look" 0 cachex stat --watch b -n 3 -i 0
is "after their names" "$(awk 'NF == 12 { print $1, $2, $8, $11, $12 }' "$out")" "1 0 1 50% 0
1 0 1 50% 0
1 0 1 50% 0"
check "a table per look" 0 cachex top -n 2 -i 0
is "with all modules" "$(awk '{ print $1, $2, NF == 12 ? $8 : $7, NF == 12 ? $11 : $9 }' "$out")" "MODULE RECORDS CHUNKS DEAD
a 1 1 0%
b 1 1 50%
c 2 1 0%
   
MODULE RECORDS CHUNKS DEAD
a 1 1 0%
b 1 1 50%
c 2 1 0%"
for order in activity:abc name:abc records:cab dead:bac; do
	is "--sort ${order%:*}" "$(cachex top -n 1 --sort "${order%:*}" |
		sed -n 's/^\([abc]\) .*/\1/p' | tr -d '\n')" "${order#*:}"
done
check "no module" 0 cachex --root "$(mkdir empty; echo empty)" top -n 1
is "is no row" "$(wc -l <"$out")" 1
wrong "a module that is not there" 1 \
	"cachex: stat: no module d in $scratch/xdg-cache/cachex; did you mean a?" cachex stat --watch d -n 1
wrong "no module to watch" 2 "cachex: stat: --watch needs one module; cachex top shows all" \
	cachex stat --watch
wrong "two" 2 "cachex: stat: --watch needs one module; cachex top shows all" cachex stat --watch a b
wrong "values" 2 "cachex: stat: --watch and --values exclude each other" \
	cachex stat --watch --values a
wrong "a count alone" 2 "cachex: stat: --count needs --watch" cachex stat -n 1 a
mkdir "$scratch/xdg-cache/cachex/damaged"
printf x >"$scratch/xdg-cache/cachex/damaged/data.mdb"
check "a module that cannot be opened" 3 cachex top -n 1 --json
also "has a message" sh -c 'grep -q "^{\"error\":{\"command\":\"top\"," "$1"' sh "$err"
also "is a row with the error" sh -c 'grep -q "^{\"module\":\"damaged\",\"error\":\"" "$1"' sh "$out"
also "beside the others" sh -c 'grep -q "^{\"module\":\"a\",\"records\":1," "$1"' sh "$out"
rm -r "$scratch/xdg-cache/cachex/damaged"
is "the first look has no rates" "$(cachex top -n 1 --json | grep -c rates)" 0
is "the second has" "$(cachex top -n 2 -i 0 --json | grep -c '"rates":{"puts":0,')" 3
is "a reader that leaves" "$(cachex top -i 0 --json | head -n 1 | cut -c -13)" '{"module":"a"'

printf 'x\ny\n' >inputs.txt
cachex --root other fill -q filled --from inputs.txt -j 1 \
	--exec "exec '$builddir/t/support/bad_producer' good"
is "inputs" "$(cachex --root other stat --watch filled -n 1 --json | grep -o '"inputs".*')" \
	'"inputs":1,"finished":1,"held":0}'

# ---- a terminal ----------------------------------------------------------------------------

if ! python3 -c 'import pty' 2>/dev/null; then
	skip "a terminal" "no Python 3"
	finish
	exit 0
fi
export CACHEX TERM=vt100 NO_COLOR=1
# types NAME COMMAND...: the steps on standard input, at cachex on a terminal.
types() {
	name=$1; shift
	python3 "$srcdir/t/support/typist.py" "$CACHEX" "$@" >"$out" 2>"$err"
	status=$?
	result "$status" "$name"
	[ "$status" = 0 ] || { show "$out"; show "$err"; }
}
types "what another process puts" stat --watch a -i 3600 --json <<'END'
see "records":1,
see "puts":1,"deletes":0,"put_bytes":64,"commits":1,"lookups":0}
run $CACHEX put a k1 one --format json; $CACHEX put a k2 one --format json; $CACHEX rm a k -f
type  
see "records":2,
see "puts":3,"deletes":1,
see "new":{"puts":2,"deletes":1,"put_bytes":128,"commits":3,
see "rates":{"puts":
type  
see "new":{"puts":0,"deletes":0,"put_bytes":0,"commits":0,"lookups":0}
type q
end 0
cooked
END
types "a module that was made anew between two looks" stat --watch new -i 3600 --json --root other <<'END'
see "puts":3,
run $CACHEX --root other drop new -f -q; $CACHEX --root other put new k one --format json
type  
see "puts":1,
see "new":{"puts":0,"deletes":0,"put_bytes":0,"commits":0,"lookups":0}
run $CACHEX --root other drop new -f -q
type  
see no module new in other
end 1
cooked
END
types "a block that is drawn in place" stat --watch a -i 3600 <<'END'
see a\x1b[K\r\n
see records               2
see puts                  3            0/s
see dead data            0%
run $CACHEX put a k3 one --format json
type  
see \x1b[11A\r
see records               3
see puts                  4
size 20 8
see \x1b[11A\r
see a\x1b[K\r\n
see   deletes          \x1b[K\r\n
type \x03
end 130
cooked
END
types "the busiest module comes first" top -i 3600 <<'END'
see \x1b[?1049h
see 3 modules in
see by activity
see a  
see b  
see c  
run $CACHEX put c k1 one --format json
type  
see by activity
see c  
see a  
see b  
# by name, by dead data: half of b, a third of c
type n
see by name
see a  
see b  
see c  
type d
see by dead
see b  
see c  
see a  
# a module that is gone, and one that is new
run $CACHEX drop b -f -q; $CACHEX put new k one --format json
type  
see 3 modules in
see new  
unseen b  
type q
see \x1b[?25h\x1b[?1049l
end 0
cooked
END
types "a signal restores the terminal, too" top -i 3600 <<'END'
see MODULE
signal TERM
see \x1b[?25h\x1b[?1049l
end 143
cooked
END
finish
