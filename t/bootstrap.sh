#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# ./bootstrap build and its prefix, with a configure and a make that note how they are run;
# ./bootstrap python with such an interpreter.
. "${srcdir:-.}/t/support/tap.sh"

usage=$(cat <<'END'
usage: ./bootstrap build [--prefix DIR]
                                 build the library and cachex in this directory, so
                                 that `make install` installs them under DIR, by
                                 default /usr/local; build itself installs nothing
END
)

mkdir -p tree/build-aux bin
cp "$srcdir/bootstrap" tree
touch tree/Makefile.in tree/build-aux/tap-driver.sh
cat >tree/configure <<'END'
#!/bin/sh
echo "configure $*" >>told
prefix=/usr/local
for option; do case $option in --prefix=*) prefix=${option#*=} ;; esac; done
printf 'prefix = %s\n' "$prefix" >Makefile
touch liblmdbcache.la
printf '#!/bin/sh\necho "'"'CC=a compiler' '--prefix=$prefix'"'"\n' >config.status
chmod +x config.status
END
cat >bin/make <<'END'
#!/bin/sh
echo make $(ls liblmdbcache.la 2>/dev/null) >>told
touch liblmdbcache.la
END
# What else build asks for is there.
for program in autoreconf automake libtoolize pkg-config cc; do
	printf '#!/bin/sh\n' >"bin/$program"
done
chmod +x tree/configure bin/*
PATH=$scratch/bin:$PATH

# build NAME WHAT-IS-RUN PREFIX OPTION...
build() {
	name=$1 want=$2 prefix=$3; shift 3
	rm -f tree/told
	holds "$name" tree/bootstrap build "$@"
	is "$name: what is run" "$(cat tree/told)" "$want"
	is "$name: and told" "$(tail -n 1 "$out")" \
	    "bootstrap: built; 'make install' installs under $prefix"
}

build "build" "configure 
make liblmdbcache.la" /usr/local
build "build again" "make liblmdbcache.la" /usr/local
build "another prefix keeps the other options and links the library anew" \
    "configure CC=a compiler --prefix=/usr/local --prefix=/opt/a b
make" "/opt/a b" --prefix "/opt/a b"
build "the same prefix" "make liblmdbcache.la" "/opt/a b" "--prefix=/opt/a b/"
build "no prefix: the one that was chosen" "make liblmdbcache.la" "/opt/a b"
build "a prefix from here" "configure CC=a compiler --prefix=/opt/a b --prefix=$scratch/inst
make" "$scratch/inst" --prefix inst
rm tree/Makefile
build "a prefix at once, from the home" "configure --prefix=$HOME/.local
make liblmdbcache.la" "$HOME/.local" '--prefix=~/.local'

# python, with an interpreter that does what it is told.
cat >bin/python3 <<'END'
#!/bin/sh
case $* in
"-m venv "*) mkdir -p python/venv/bin && cp "$0" python/venv/bin/python ;;
"-m pip "*) ;;
*/first.py) echo hello; exit ;;
*) exit ;;
esac
echo "python ${LMDBCACHE_STATIC:-} $*" >>told
END
chmod +x bin/python3
mkdir -p tree/python/examples
echo hello >tree/python/examples/first.out
rm -f tree/told
export PYTHON="$scratch/bin/python3"
install="python 1 -m pip --disable-pip-version-check install --no-index --no-deps \
--no-build-isolation --force-reinstall ./python"
check "python" 0 tree/bootstrap python
is "python: what is run" "$(cat tree/told)" "python  -m venv --system-site-packages python/venv
$install"
is "python: the example" "$(sed -n '/first.py/{n;p;}' "$out")" "hello"
rm -f tree/told
check "python again" 0 tree/bootstrap python
is "python again: what is run" "$(cat tree/told)" "$install"
echo goodbye >tree/python/examples/first.out
check "python with another output" 2 tree/bootstrap python

for words in "build --prefix" "build --prefix=" "build prefix" "check --prefix /opt"; do
	# shellcheck disable=SC2086 # words
	check "$words" 2 tree/bootstrap $words
	is "$words: usage" "$(sed 4q "$err")" "$usage"
done
check "an empty prefix" 2 tree/bootstrap build --prefix ''
is "the help" "$(tree/bootstrap --help | sed 4q)" "$usage"
finish
