#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# Options, variables, the configuration file, help and the messages about them.
. "${srcdir:-.}/t/support/tap.sh"

# wrong_usage NAME MESSAGE COMMAND...: exit status 2, nothing printed, one line of error
wrong_usage() {
	what=$1 message=$2; shift 2
	check "$what: status" 2 "$@"
	is "$what: message" "$(cat "$err")" "$message"
	is "$what: nothing printed" "$(cat "$out")" ""
}

wrong_usage "no command" "cachex: a command is missing; cachex help lists them" cachex
wrong_usage "unknown command" "cachex: unknown command pt; did you mean put?" cachex pt
wrong_usage "swapped letters" "cachex: unknown command improt; did you mean import?" \
	cachex improt
wrong_usage "beginning of a command" "cachex: unknown command exp; did you mean export?" \
	cachex exp
wrong_usage "nothing like it" "cachex: unknown command frobnicate; cachex help lists them" \
	cachex frobnicate
wrong_usage "help of an unknown command" "cachex: help: unknown command verfy; did you mean verify?" \
	cachex help verfy
wrong_usage "unknown option" "cachex: ls: unknown option --jsno; did you mean --json?" \
	cachex ls --jsno
wrong_usage "unknown negated option" \
	"cachex: export: unknown option --no-metdata; did you mean --no-metadata?" \
	cachex export --no-metdata m d
wrong_usage "an option like none" "cachex: ls: unknown option --frobnicate" cachex ls --frobnicate
wrong_usage "unknown letter" \
	"cachex: get: unknown option -x (put names that start with - after --)" \
	cachex get m -x
wrong_usage "unknown letter in a group" "cachex: ls: unknown option -x" cachex ls -lxz
wrong_usage "option of a command before it" "cachex: unknown option --dtype" \
	cachex --dtype f32 put
wrong_usage "value missing" "cachex: put: --dtype needs a value: NAME" cachex put m k --dtype
wrong_usage "value of a letter missing" "cachex: get: -o needs a value: FILE" cachex get m k -o
wrong_usage "no choice" "cachex: get: --format: 'png' is not one of auto|npy|raw|json|npz|set" \
	cachex get m k --format png
wrong_usage "no number" "cachex: import: -j: 'two' is not a number" cachex import m . -j two
wrong_usage "negative number" "cachex: import: --threads: '-1' is not a number" \
	cachex import m . --threads=-1
wrong_usage "huge number" "cachex: import: -j: '99999999999999999999' is not a number" \
	cachex import m . -j 99999999999999999999
wrong_usage "no size" "cachex: export: --shard-size: '12Q' is not a size, such as 192M" \
	cachex export m d --shard-size 12Q
wrong_usage "size too small" "cachex: export: --shard-size: '4095' is below 4K" \
	cachex export m d --shard-size 4095
wrong_usage "size above the largest" "cachex: export: --shard-size: '1.1T' is above 1T" \
	cachex export m d --shard-size 1.1T
wrong_usage "size too large" "cachex: export: --shard-size: '99999999E' is not a size, such as 192M" \
	cachex export m d --shard-size 99999999E
wrong_usage "size zero" "cachex: export: --shard-size: '0' is below 4K" \
	cachex export m d --shard-size 0
wrong_usage "value for a negated switch" "cachex: ls: --no-json takes no value" cachex ls --no-json=1
wrong_usage "no name" "cachex: ls: --root: an empty name" cachex ls --root ''
wrong_usage "no switch" "cachex: ls: --json: 'maybe' is not a switch; use 1 or 0" cachex ls --json=maybe
wrong_usage "option of another subcommand" "cachex: shard: unknown option --output" \
	cachex shard verify --output x
wrong_usage "option of a subcommand before it" "cachex: shard: unknown option --ids" \
	cachex shard --ids 3 inspect x
wrong_usage "word missing" \
	"cachex: shard: an operand is missing: cachex shard inspect|verify|extract|union FILE..." cachex shard
wrong_usage "operand of a word missing" \
	"cachex: shard: an operand is missing: cachex shard verify FILE..." cachex shard verify
wrong_usage "help of an unknown subcommand" "cachex: help: unknown subcommand verfy; did you mean verify?" \
	cachex help shard verfy
wrong_usage "help of a word that cannot be" "cachex: help: too many operands: x" cachex help get x
wrong_usage "operand missing" "cachex: get: an operand is missing: cachex get MODULE CACHE_ID" \
	cachex get m
wrong_usage "operand too many" "cachex: get: too many operands: x" cachex get m k x

# The command's variables are read for it, and its errors name them.
wrong_usage "bad variable" "cachex: ls: CACHEX_JSON: 'perhaps' is not a switch; use 1 or 0" \
	env CACHEX_JSON=perhaps "$CACHEX" ls
wrong_usage "bad variable of a command" \
	"cachex: export: CACHEX_EXPORT_SHARD_SIZE: 'big' is not a size, such as 192M" \
	env CACHEX_EXPORT_SHARD_SIZE=big "$CACHEX" export m d
wrong_usage "bad variable seen by config" \
	"cachex: config: CACHEX_EXPORT_SHARD_SIZE: 'big' is not a size, such as 192M" \
	env CACHEX_EXPORT_SHARD_SIZE=big "$CACHEX" config
check "another command's variable does not matter" 0 \
	env CACHEX_EXPORT_SHARD_SIZE=big "$CACHEX" ls
check "an empty variable is none" 0 env CACHEX_JSON= "$CACHEX" ls
wrong_usage "no place for the root" "cachex: ls: neither --root nor HOME is set" \
	env -u HOME -u XDG_CACHE_HOME "$CACHEX" ls

# Help needs no configuration and no module.
for command in put get has rm ls stat verify import export shard dump load read plan follow \
	buckets config help; do
	check "$command --help" 0 cachex "$command" --help
	also "$command --help begins with its usage" grep -q "^usage: cachex $command" "$out"
	cp "$out" long
	check "help $command" 0 cachex help "$command"
	also "help $command says the same" cmp -s "$out" long
	check "$command -h" 0 cachex "$command" -h
	also "$command -h is shorter" test "$(wc -l <"$out")" -lt "$(wc -l <long)"
	also "$command: no line is longer than 79 columns" \
		awk 'length > 79 && !/^  [cC]/ { exit 1 }' long
done
for word in inspect verify extract; do
	check "shard $word --help" 0 cachex shard "$word" --help
	also "shard $word --help begins with its usage" grep -q "^usage: cachex shard $word" "$out"
	also "shard $word --help names its page" grep -q "^See also cachex-shard(1)" "$out"
	cp "$out" long
	check "help shard $word" 0 cachex help shard "$word"
	also "help shard $word says the same" cmp -s "$out" long
	check "shard $word -h" 0 cachex shard "$word" -h
	also "shard $word -h is shorter" test "$(wc -l <"$out")" -lt "$(wc -l <long)"
	check "shard -h" 0 cachex shard -h
	also "shard -h lists $word" grep -q "^  $word " "$out"
done
check "only its own options" 0 cachex shard inspect --help
also "none of extract" sh -c '! grep -q -e --output "$1"' sh "$out"
check "help" 0 cachex help
cp "$out" overview
for flag in -h --help; do
	check "$flag" 0 cachex "$flag"
	also "$flag is help" cmp -s "$out" overview
done
check "version" 0 cachex --version
also "version has three numbers" grep -Eqx 'cachex [0-9]+\.[0-9]+\.[0-9]+' "$out"
also "and the images that are read" grep -Eqx 'images: JPEG PNG( WebP)?( TIFF)?' "$out"
check "version as JSON" 0 cachex --version --json
also "version as JSON names the output's version" \
	grep -Eqx '\{"version":"[0-9.]+","json":1,"images":\["JPEG","PNG"(,"WebP")?(,"TIFF")?\]\}' "$out"

wrong_usage "a date that is none" \
	"cachex: ls: SOURCE_DATE_EPOCH: 'today' is not a number of seconds" \
	env SOURCE_DATE_EPOCH=today "$CACHEX" ls

# Where values come from; the nearer source wins.
setting() { cachex "$@" | sed -n "s/^$key *= //p" | tr -s ' '; }
key=root
is "root by default" "$(setting config)" "$scratch/xdg-cache/cachex # default"
is "root without XDG_CACHE_HOME" "$(unset XDG_CACHE_HOME; setting config)" \
	"$scratch/.cache/cachex # default"
is "a relative XDG_CACHE_HOME does not count" "$(XDG_CACHE_HOME=x setting config)" \
	"$scratch/.cache/cachex # default"
mkdir -p xdg-config/cachex
cat >xdg-config/cachex/config <<'END'
# where things are
root = /from/config

export.shard-size=1.5M
  put.dtype =  f16  
END
is "root from the file" "$(setting config)" \
	"/from/config # config $scratch/xdg-config/cachex/config"
is "root from the environment" "$(CACHEX_ROOT=/from/env setting config)" \
	"/from/env # environment CACHEX_ROOT"
is "root from an option" "$(CACHEX_ROOT=/from/env setting config --root /from/option)" \
	"/from/option # option"
is "the option may stand before the command" "$(setting --root=/before config)" \
	"/before # option"
key=export.shard-size
is "a size from the file" "$(setting config)" \
	"1536K # config $scratch/xdg-config/cachex/config"
is "a size from the environment" "$(CACHEX_EXPORT_SHARD_SIZE=64KiB setting config)" \
	"64K # environment CACHEX_EXPORT_SHARD_SIZE"
key=put.dtype
is "blanks around a value are cut" "$(setting config)" \
	"f16 # config $scratch/xdg-config/cachex/config"
key=shard.inspect.ids
echo 'shard.inspect.ids = 3' >>xdg-config/cachex/config
is "an option of a subcommand from the file" "$(setting config)" \
	"3 # config $scratch/xdg-config/cachex/config"
is "and from the environment" "$(CACHEX_SHARD_INSPECT_IDS=4 setting config)" \
	"4 # environment CACHEX_SHARD_INSPECT_IDS"
key=json
is "an option takes a variable back" "$(CACHEX_JSON=1 setting config --no-json)" "0 # option"
is "config as JSON" "$(cachex config --json | grep '"root"')" \
	'{"name":"root","value":"/from/config","source":"config","from":"'"$scratch"'/xdg-config/cachex/config"}'
also "every setting has a line" test "$(cachex config | wc -l)" -ge 45

file=$scratch/xdg-config/cachex/config
echo 'colour = never' >"$file"
wrong_usage "unknown key" "cachex: ls: $file:1: unknown key colour; did you mean color?" cachex ls
printf '# one\n\nexport.shardsize = 1M\n' >"$file"
wrong_usage "unknown key of a command" \
	"cachex: ls: $file:3: unknown key export.shardsize; did you mean export.shard-size?" \
	cachex ls
echo 'help = 1' >"$file"
wrong_usage "help is no setting" "cachex: ls: $file:1: unknown key help" cachex ls
echo 'root' >"$file"
wrong_usage "no value" "cachex: ls: $file:1: the line has no '='" cachex ls
echo 'import.threads = many' >"$file"
wrong_usage "bad value" "cachex: ls: $file:1: import.threads: 'many' is not a number" cachex ls
if [ "$(id -u)" = 0 ]; then skip "a home of another user" "root"; else
	chmod 0 xdg-config
	check "a home of another user" 0 cachex ls
	chmod 755 xdg-config
fi
check "help works all the same" 0 cachex ls --help
check "version works all the same" 0 cachex --version
rm "$file"
mkdir "$file"
wrong_usage "a directory as file" "cachex: ls: $file: Is a directory" cachex ls
rmdir "$file"

# Colour
check "colour when asked for" 2 cachex --color=always ls --frobnicate
is "coloured error" "$(cat "$err")" "$(printf '\033[1;31mcachex:\033[0m ls: unknown option --frobnicate')"
check "no colour by default" 2 cachex ls --frobnicate
is "plain error" "$(cat "$err")" "cachex: ls: unknown option --frobnicate"
check "control characters do not reach the terminal" 2 cachex "$(printf 'a\033[31mb\nc')"
is "they are replaced" "$(cat "$err")" \
	"cachex: unknown command a?[31mb?c; cachex help lists them"
if [ -w /dev/full ]; then
	check "a full standard output" 4 sh -c '"$1" help >/dev/full' sh "$CACHEX"
	is "is named" "$(cat "$err")" "cachex: help: standard output: No space left on device"
else
	skip "a full standard output" "no /dev/full"
fi
finish
