#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The recipes of packages have the version and the dependencies of configure.ac, and the
# syntax of their systems.
. "${srcdir:-.}/t/support/tap.sh"

packaging=$srcdir/packaging
version=$(sed -n 's/^AC_INIT(\[cachex\], \[\([^]]*\)\].*/\1/p' "$srcdir/configure.ac")
also "configure.ac has a version" test -n "$version"

# says NAME FILE EXPRESSION: the version as sed finds it in a file.
says() { is "$2 has the version of configure.ac" "$(sed -n "$3" "$srcdir/$2")" "$version"; }
says "Debian" debian/changelog '1s/^cachex (\([^-]*\)-.*/\1/p'
says "Python" python/pyproject.toml 's/^version = "\(.*\)"/\1/p'
says "Nix" packaging/nix/default.nix 's/^  version = "\(.*\)";/\1/p'
says "Homebrew" packaging/homebrew/cachex.rb 's,.*/cachex-\(.*\)\.tar\.xz"$,\1,p'
says "vcpkg" packaging/vcpkg/cachex/vcpkg.json 's/^  "version": "\(.*\)",/\1/p'
says "conda" packaging/conda/meta.yaml 's/^  version: "\(.*\)"/\1/p'
is "NEWS begins with the version" "$(sed -n '1,3s/^cachex \([^ ]*\) .*/\1/p' "$srcdir/NEWS")" \
	"$version"
is "each version of lib/liblmdbcache.map is in debian/liblmdbcache0.symbols" \
	"$(sed -n 's/^ (symver)\([^ ]*\) .*/\1/p' "$srcdir/debian/liblmdbcache0.symbols")" \
	"$(sed -n 's/^\(LMDBCACHE_[0-9.]*\) {$/\1/p' "$srcdir/lib/liblmdbcache.map")"

# "module version" for each library that configure.ac asks for; what only benchmarks use is
# left out. The second name of msgpack-c comes after the first in its line.
grep -v '^dnl' "$srcdir/configure.ac" | sed -n \
	-e 's/\(PKG_CHECK_MODULES(\[[A-Z0-9]*\], \[[^]]*\]\).*/\1/' \
	-e 's/.*PKG_CHECK_MODULES(\[[A-Z0-9]*\], \[\([a-z][^]]*\)\].*/\1/p' \
	-e 's/^CACHEX_OPTIONAL(\[[^]]*\], \[[A-Z0-9]*\], \[\([a-z][^]]*\)\].*/\1/p' |
	sed 's/ >= / /' | grep -vx jansson | sort >modules
also "configure.ac asks for libraries" test "$(wc -l <modules)" -ge 10
grep -v '^#' "$packaging/dependencies" >table
is "packaging/dependencies has each library of configure.ac, and no other" \
	"$(awk '{ print $1 }' table | sort)" "$(awk '{ print $1 }' modules)"
is "and names for six systems in each line" "$(awk 'NF != 6' table)" ""

# same SYSTEM COLUMN FILE: the names in $scratch/names are those of the column.
same() {
	awk -v column="$2" '$column != "-" { print $column }' table | sort >expected
	sort names >got
	is "$3 has the dependencies of packaging/dependencies" "$(cat got)" "$(cat expected)"
}
# list FILE FROM TO EXPRESSION: what sed finds in the lines between two others.
list() { sed -n "/$2/,/$3/$4" "$srcdir/$1"; }
list debian/control '^Build-Depends:' '^$' 's/^ \([a-z][^ ,]*\).*/\1/p' |
	grep -vE '^(debhelper-compat|dh-python|mandoc|pkgconf|pybuild-.*|python3-.*)$' >names
same "Debian" 2 debian/control
list packaging/nix/default.nix '  buildInputs' '\];' 's/^    \(.*\)/\1/p' >names
same "Nix" 3 packaging/nix/default.nix
sed -n 's/^  depends_on "\([^"]*\)"$/\1/p' "$packaging/homebrew/cachex.rb" >names
same "Homebrew" 4 packaging/homebrew/cachex.rb
list packaging/vcpkg/cachex/vcpkg.json '"dependencies"' '\]' 's/^    "\(.*\)",*$/\1/p' >names
same "vcpkg" 5 packaging/vcpkg/cachex/vcpkg.json
list packaging/conda/meta.yaml '^  host:' '^$' 's/^    - \(.*\)/\1/p' >names
same "conda" 6 packaging/conda/meta.yaml

is "debian/control asks for the versions of configure.ac" "$(awk 'NF == 2' modules |
	while read -r module least; do
		package=$(awk -v module="$module" '$1 == module { print $2 }' table)
		grep -qxF " $package (>= $least)," "$srcdir/debian/control" ||
			echo "$package (>= $least)"
	done)" ""
is "bootstrap installs Debian's packages" "$(while read -r module package rest; do
		sed -n '/^needs_build=/,/^$/p' "$srcdir/bootstrap" |
			grep -E "\|module $module( [^|]*)?\|" | grep -qw -e "$package" ||
			echo "$module|$package"
	done <table)" ""

# Each option that a recipe gives to configure is one of configure's.
for file in debian/rules packaging/nix/default.nix packaging/homebrew/cachex.rb \
	packaging/vcpkg/cachex/portfile.cmake packaging/conda/build.sh; do
	is "the options in $file are those of configure.ac" \
		"$(grep -v '^ *#' "$srcdir/$file" |
			grep -oE -e '--(disable|enable|with|without)-[a-z-]*' | sort -u |
			while read -r option; do
				name=$(echo "$option" | sed -E 's/^--(disable|enable|with|without)-//')
				grep -qE "AC_ARG_(WITH|ENABLE)\(\[$name\]|CACHEX_OPTIONAL\(\[$name\]" \
					"$srcdir/configure.ac" || echo "$option"
			done)" ""
done

# ---- syntax, where the tools are

if command -v nix-instantiate >/dev/null; then
	export NIX_STATE_DIR="$scratch/nix" NIX_STORE_DIR="$scratch/nix/store" \
		NIX_LOG_DIR="$scratch/nix/log" NIX_CONF_DIR="$scratch/nix"
	# With a collection of packages that has the names of the table and nothing else.
	{
		echo "let file = import $packaging/nix/default.nix; in (file { pkgs = {"
		awk '$3 != "-" { print $3 " = \"" $3 "\";" }' table
		cat <<-'END'
		autoreconfHook = "autoreconfHook"; pkg-config = "pkg-config";
		lib = { cleanSource = path: path; licenses.bsd2 = "bsd2"; platforms.linux = [ ]; };
		stdenv.mkDerivation = set: "${set.pname}-${set.version}:" +
			builtins.concatStringsSep " " (set.buildInputs ++ set.nativeBuildInputs ++
			set.configureFlags ++ [ set.installCheckPhase set.meta.description ]);
		}; })
		END
	} >recipe.nix
	holds "Nix evaluates its recipe" nix-instantiate --eval --strict recipe.nix
	is "to cachex of this version" "$(sed 's/^"\([^:]*\):.*/\1/; q' "$out")" "cachex-$version"
else
	skip "Nix" "no nix-instantiate"
fi

if command -v ruby >/dev/null; then
	# With the words of a formula that the recipe uses.
	cat >formula.rb <<-'END'
	class Formula
	  def self.desc(text) = nil
	  def self.url(text) = puts(text)
	  def self.license(text) = puts(text)
	  def self.depends_on(what) = nil
	  def self.test = nil
	end
	END
	holds "Ruby loads the formula" ruby -w -r ./formula.rb "$packaging/homebrew/cachex.rb"
	is "with its tarball and licence" "$(sed 's,.*/,,' "$out")" "cachex-$version.tar.xz
BSD-2-Clause"
else
	skip "Homebrew" "no ruby"
fi

if command -v jq >/dev/null; then
	holds "vcpkg.json is JSON" jq -e '.name == "cachex" and .supports == "linux"' \
		"$packaging/vcpkg/cachex/vcpkg.json"
else
	skip "vcpkg.json" "no jq"
fi
if command -v cmake >/dev/null; then
	for function in configure_make install_make fixup_pkgconfig cmake_config_fixup \
		copy_tool_dependencies install_copyright; do
		printf 'function(vcpkg_%s)\nmessage("%s ${ARGN}")\nendfunction()\n' \
			$function $function
	done >port.cmake
	echo "include($packaging/vcpkg/cachex/portfile.cmake)" >>port.cmake
	holds "CMake runs the port" cmake -D CURRENT_PACKAGES_DIR="$scratch/none" \
		-D PORT=cachex -P port.cmake
	is "with these sources" "$(sed -n 's/^configure_make SOURCE_PATH;\([^;]*\);.*/\1/p' "$err")" \
		"$srcdir"
else
	skip "the port for vcpkg" "no cmake"
fi

python=${PYTHON:-python3}
if "$python" -c 'import yaml' 2>/dev/null; then
	holds "conda's recipe is YAML" "$python" -c 'import sys, yaml
recipe = yaml.safe_load(open(sys.argv[1]))
print(recipe["package"]["name"], recipe["package"]["version"], recipe["source"]["path"])' \
		"$packaging/conda/meta.yaml"
	is "of these sources" "$(cat "$out")" "cachex $version ../.."
else
	skip "conda's recipe" "no yaml for Python"
fi
for script in debian/tests/readme packaging/apt_sources packaging/check-deb \
	packaging/conda/build.sh packaging/container/build \
	packaging/release packaging/spdx; do
	holds "$script is a script for sh" sh -n "$srcdir/$script"
done
finish
