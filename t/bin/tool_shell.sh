#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# cachex shell: lines of a file, of standard input, and typed at a terminal.
. "${srcdir:-.}/t/support/tap.sh"

printf '[1, 2]' >one
printf '{"a": {"b": 3}, "c": "x"}' >map

# ---- words -----------------------------------------------------------------------------

cat >words.cachex <<'END'
# a comment, and an empty line

put m plain one --format json # another comment
put m 'a b' one --format json
put m "say \"\\ \n" one --format json
put m back\ slash\\ one --format json
put m it\'s one --format json
put m con'cat'"enated" one --format json
put m two \
	one --format json
put m no#comment one --format json
cachex put m pasted one --format json
END
check "words of a file" 0 cachex shell -q words.cachex
for id in plain 'a b' 'say "\ \n' 'back slash\' "it's" concatenated two 'no#comment' pasted; do
	check "key $id" 0 cachex has m "$id"
done

# refused LINE STATUS MESSAGE
refused() {
	printf '%s\n' "$1" >refused.cachex
	refuse "$1" "$2" "refused.cachex:1: $3" cachex shell refused.cachex
}
refused 'get m "plain' 2 'cachex: the line ends between quotes: " is missing'
refused "get m 'plain" 2 "cachex: the line ends between quotes: ' is missing"
refused 'get m plain | cat' 2 \
	'cachex: | has no meaning here; quote it in a name, or .output writes to a file'
refused 'get m plain >file' 2 \
	'cachex: > has no meaning here; quote it in a name, or .output writes to a file'
refused 'get @ plain' 2 'cachex: no module is in use; .use MODULE says what @ means'
refused 'gte m plain' 2 'cachex: unknown command gte; did you mean get?'
refused 'get m' 2 'cachex: get: an operand is missing: cachex get MODULE CACHE_ID'
refused '.nothing' 2 'cachex: unknown command .nothing; .help lists them'
refused '.read' 2 'cachex: an operand is missing: .read FILE'
refused '.bail on off' 2 'cachex: too many operands: off'
refused '.bail maybe' 2 "cachex: 'maybe' is neither on nor off"
refused '.read missing' 4 'cachex: missing: No such file or directory'
refused '.read refused.cachex' 2 'cachex: refused.cachex: 16 files read each other already'
refused '.root one' 2 'cachex: one: Not a directory'
refused '.output one' 2 'cachex: one: exists; -f replaces it'
refused 'get m plain \' 2 'cachex: the line continues, but the file ends'
printf 'has m plain\0\n' >nul
refuse "a NUL byte" 3 "nul:1: cachex: the line has a NUL byte" cachex shell nul
check "a quoted bar is a name" 1 sh -c "echo 'has m \"|\"' | \"\$1\" shell" sh "$CACHEX"

# ---- statuses and -bail ------------------------------------------------------------------

cat >fails.cachex <<'END'
has m plain
get m gone
get nowhere gone --no-such-option
has m plain
END
check "the worst status counts" 2 cachex shell fails.cachex
is "errors name the line" "$(cat "$err")" "fails.cachex:2: cachex: get: 'gone' is not in m
fails.cachex:3: cachex: get: unknown option --no-such-option"
for bail in --bail -bail; do
	check "$bail ends at the first" 1 cachex shell $bail fails.cachex
	is "$bail says no more" "$(cat "$err")" "fails.cachex:2: cachex: get: 'gone' is not in m"
done
check "-bail is not another option" 2 cachex ls -bail
printf '.bail on\n.read fails.cachex\nhas m plain\n' >outer.cachex
check ".bail, in a file that a file reads" 1 cachex shell outer.cachex
is "ends both" "$(cat "$err")" "fails.cachex:2: cachex: get: 'gone' is not in m"
printf '.bail on\n.bail off\nget m gone\nget m plain\n' >off.cachex
check ".bail off" 1 cachex shell off.cachex
is "goes on" "$(cat "$out")" "[1,2]"
printf 'get m gone\n.quit\nget m plain\n' >quit.cachex
check ".quit keeps the status" 1 cachex shell quit.cachex
is "and runs no more" "$(cat "$out")" ""
is "standard input" "$(printf 'get m plain\nget m gone\n' | cachex shell 2>&1)" \
	"[1,2]
standard input:2: cachex: get: 'gone' is not in m"
is "commands do not read it" "$(printf 'put m in - --format json\n[3]\n' | cachex shell 2>&1 |
	tail -n 1)" "standard input:2: cachex: unknown command [3]; cachex help lists them"
is "nor what comes after many lines" "$({ echo 'put m in - --format json'
	yes '# a line' | head -n 400000; echo 'get m plain'; } | cachex shell 2>/dev/null)" "[1,2]"
printf 'put m in - --format json\n' >in.cachex
is "but with a file they do" "$(echo '[3]' | cachex shell in.cachex && cachex get m in)" "[3]"
is "errors as JSON" "$(echo 'get m gone' | cachex shell --json 2>&1)" \
	'{"error":{"place":"standard input:1","command":"get","exit":1,"message":"'"'gone' is not in m"'"}}'
check "without a terminal cachex needs a command" 2 cachex
is "and says so" "$(cat "$err")" "cachex: a command is missing; cachex help lists them"

# ---- commands with a dot -------------------------------------------------------------------

cat >dots.cachex <<'END'
.use m
get @ plain
.root other
.root
put @ k map --format json
get @ k --field a.b
.output results
.echo on
get @ k
.echo off
.output
ls @
.use
get @ k
END
check "dots" 2 cachex shell -q dots.cachex
is "print" "$(cat "$out")" "[1,2]
other
3
k  {a: {b: integer}, c: string}  1 B"
is "say" "$(cat "$err")" "dots.cachex:14: cachex: no module is in use; .use MODULE says what @ means"
is "write" "$(cat results)" 'get @ k
{"a":{"b":3},"c":"x"}
.echo off'
printf 'put n k one --format json\nput p plain one --format json\n.use m\nmerge n @ sum\ncopy @ twin\nread @+p --missing drop --batches 1 -q\n' >join
check "@ is a word like others" 0 cachex shell -q join
check "joins" 0 cachex has sum plain
check "and sources" 0 cachex has twin plain
printf '.root near\nput m k one --format json\n.cd near\n.root\nput m k ../one --format json\n.cd\nget m k\n.cd nowhere\n' >cd.cachex
check ".cd" 4 cachex shell -q cd.cachex
is "keeps the root" "$(cat "$out")" "$scratch/near
[1,2]"
is "and says what is missing" "$(cat "$err")" "cd.cachex:8: cachex: nowhere: No such file or directory"
echo '.output -f results' >force.cachex
check ".output -f" 0 cachex shell force.cachex
is "begins anew" "$(cat results)" ""
check ".help" 0 sh -c 'echo .help | "$1" shell' sh "$CACHEX"
is "lists them" "$(cut -d ' ' -f 1 <"$out" | tr '\n' ' ')" \
	".bail .cd .echo .help .history .output .quit .read .root .use  The explains "
is ".help COMMAND" "$(echo '.help shard verify' | cachex shell)" "$(cachex help shard verify)"
is "the configuration reaches commands once" "$(mkdir -p xdg-config/cachex
	echo 'plan.field = a' >xdg-config/cachex/config
	echo config | cachex shell --bail | grep -E '^(plan.field|shell.bail) ' | cut -c -40
	rm xdg-config/cachex/config)" \
	"plan.field               = a            
shell.bail               = 1            "

# ---- a terminal ----------------------------------------------------------------------------

if ! python3 -c 'import pty' 2>/dev/null; then
	skip "a terminal" "no Python 3"
	finish
	exit 0
fi
# types NAME [OPTION]...: the steps on standard input, at cachex on a terminal.
types() {
	name=$1; shift
	python3 "$srcdir/t/support/typist.py" "$CACHEX" "$@" >"$out" 2>"$err"
	status=$?
	result "$status" "$name"
	[ "$status" = 0 ] || { show "$out"; show "$err"; }
}
export TERM=vt100 NO_COLOR=1
unset XDG_STATE_HOME
history=$scratch/.local/state/cachex/history

types "a session" shell <<'END'
see modules in
see cachex> 
type get m plain\r
see [1,2]\r\n
see cachex> 
type get m gone\r
see cachex: get: 'gone' is not in m\r\n
see cachex> 
type .use m\r
see cachex:m> 
type get @ \\\r
see ...> 
type plain\r
see [1,2]\r\n
see cachex:m> 
# A line that is given up.
type get m pl\x03
see cachex:m> 
type get m two\r
see [1,2]\r\n
see cachex:m> 
type .history 3\r
see  get @ plain\r\n
see  get m two\r\n
see  .history 3\r\n
see cachex:m> 
type  get m con\tcatenated\r
see cachex:m> 
type .quit\r
end 0
END
is "its lines are kept, but those that begin with a blank" "$(cat "$history")" 'get m plain
get m gone
.use m
get @ plain
get m two
.history 3
.quit'
is "for their owner" "$(stat -c %a "$history")" 600
types "without a history" shell --no-history -q <<'END'
see cachex> 
type ls m\r
see cachex> 
type .history\r
see 1  ls m\r\n
see 2  .history\r\n
see cachex> 
type exit\r
end 0
cooked
END
is "nothing is kept" "$(wc -l <"$history")" 7
mkdir full
seq 2100 | sed 's/^/.use m/' >"$history"
mv "$history" full/history
for i in 1 2; do
	mkdir -p state$i/cachex
	cp full/history state$i/cachex/history
done
export XDG_STATE_HOME="$scratch/state1"
types "the history of XDG_STATE_HOME" -q <<'END'
see cachex> 
type .history 1\r
see 2001  .history 1\r\n
see cachex> 
type .quit\r
end 0
END
is "keeps 2000 lines and those of the session" "$(wc -l <state1/cachex/history)" 2002
is "the newest" "$(sed -n '1p;$p' state1/cachex/history)" ".use m101
.quit"
rm state1/cachex/history
mkfifo state1/cachex/history
types "a history that is not a file" <<'END'
see state1/cachex/history: Invalid argument; lines are not kept
see cachex> 
type .quit\r
end 0
END
unset XDG_STATE_HOME
rm -rf .local

# Signals. The producer of the fill says when it runs.
echo key >keys
cat >producer <<'END'
#!/bin/sh
echo started >/dev/tty
exec sleep 1000
END
chmod +x producer
types "Ctrl-C ends a command, not the shell" <<'END'
see cachex> 
type fill f --ids keys --exec ./producer\r
see started
type \x03
see cachex: fill: stopped
see cachex> 
type follow m --wait --ids\r
see plain
type \x03
see ^C
see cachex> 
type get m plain\r
see [1,2]\r\n
see cachex> 
type \x04
end 0
cooked
END

if ! grep -q '^#define HAVE_LIBEDIT 1' "$builddir/config.h"; then
	skip "editing" "built without libedit"
	finish
	exit 0
fi

# Tab, arrows and search. vt100 draws what is typed as it is, and changes by a backspace.
cachex put maps ключ map --format json
cachex put maps k2 map --format json
mkdir -p 'dir/with blank'
printf '[5]' >'dir/with blank/five'
types "Tab" -q <<'END'
see cachex> 
# a command
type exp\t
see ort 
type \x03
see cachex> 
# of several, what they mean
type ve\t
see rify 
type \x03
see cachex> 
type pu\t
see put      
see publish  
see cachex> pu
type \x03
see cachex> 
# an option, a choice
type get --form\tn\t\t
see npy
see npz
type \x03
see cachex> 
# a module, a key with a blank
type get tw\ta\t\r
see [1,2]\r\n
see cachex> 
# the same between quotes, which it closes
type get twin "a\t\r
see [1,2]\r\n
see cachex> 
# a key of UTF-8, the module in use, its fields
type .use ma\t\r
see cachex:maps> 
type get @ \xd0\xba\t--field a.\t\r
see 3\r\n
see cachex:maps> 
# files
type put maps five di\twi\t\t--format json\r
see cachex:maps> 
type get maps five\r
see [5]\r\n
see cachex:maps> 
# commands of the shell
type .ou\t
see tput 
type \x03
see cachex:maps> 
type .bail o\tn\r
see cachex:maps> 
# nothing fits
type get maps zzz\t\r
see cachex: get: 'zzz' is not in maps\r\n
see cachex:maps> 
# a comment
type has maps k2 # ge\t\r
see cachex:maps> 
type cachex get maps k2 --field \t\t
see a    {b: integer}
see a.b  integer
see c    string
see cachex:maps> 
type \x03
see cachex:maps> 
type \x04
end 0
cooked
END
types "keys" -q <<'END'
see cachex> 
type get m plain\r
see [1,2]\r\n
see cachex> 
type get m gone\r
see is not in m\r\n
see cachex> 
# up twice
type \x1b[A\x1b[A\r
see [1,2]\r\n
see cachex> 
# to the beginning, to the end
type et m pla\x01g\x05in\r
see [1,2]\r\n
see cachex> 
# another size: the line stays
type get m
size 40 10
type  plain\r
see [1,2]\r\n
see cachex> 
# search
type \x12plain\r
see [1,2]\r\n
see cachex> 
type \x04
end 0
cooked
END

finish
