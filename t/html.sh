#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# The site that `make html` makes of the pages: every page is there, its markup nests, its
# links lead somewhere, nothing comes from elsewhere; the search finds what it should; in a
# browser no page is wider than its window, on a telephone and on a desk.
. "${srcdir:-.}/t/support/tap.sh"

if ! command -v mandoc >/dev/null; then
	skip "the site" "mandoc is not installed"
	finish
	exit
fi
site=$scratch/site
problems() { python3 "$srcdir/t/support/html_check.py" "$1" "$site"; }

holds "make html" python3 "$srcdir/man/html/site.py" 1.2.3 "$site" "$srcdir"/man/*.[1-9]
is "every page is there" \
    "$(cd "$srcdir/man" && for page in *.[1-9]; do
	[ -s "$site/$page.html" ] || echo "$page"
    done)" ""
is "elements nest, ids are unique" "$(problems markup)" ""
is "links lead somewhere, and nothing comes from elsewhere" "$(problems links)" ""
is "text can be read on its background" "$(problems contrast)" ""
is "the index leads somewhere" "$(problems index)" ""
is "the index has every function" "$(problems names)" "$(
    sed -n '/^LC_API/,/;/p; /^static inline/,/^{/p' "$srcdir/include/lmdbcache.h" |
	grep -oE '\blc_[a-z_]+\(' | tr -d '(' | LC_ALL=C sort -u)"
# shellcheck disable=SC2016 # as in the pages
is "functions of other pages are links" "$(grep -c \
    'href="lmdbcache.3.html#lc_put"><code class="Fn">lc_put' "$site/lmdbcache.7.html")" 1
holds "once more" python3 "$srcdir/man/html/site.py" 1.2.3 "$scratch/again" "$srcdir"/man/*.[1-9]
holds "gives the same bytes" diff -r "$site" "$scratch/again"

# ---- in a browser --------------------------------------------------------------

for browser in chromium chromium-browser google-chrome ''; do
	command -v "$browser" >/dev/null && break
done
# dom URL: what a page is after its scripts.
dom() {
	timeout 120 "$browser" --headless --no-sandbox --disable-gpu --no-first-run \
	    --user-data-dir="$scratch/browser" --allow-file-access-from-files \
	    --window-size=1600,1000 --virtual-time-budget=120000 --dump-dom "file://$1" 2>"$err"
}
if [ -n "$browser" ]; then
	dom "$site/index.html?q=lc_put" >found
	is "a search for lc_put finds it first" \
	    "$(grep -o '<li class="on"><a href="[^"]*"' found)" \
	    '<li class="on"><a href="lmdbcache.3.html#lc_put"'
	dom "$site/lmdbcache.7.html?q=network+file" >found
	holds "a search for two words finds a section" \
	    grep -q '<a href="lmdbcache.7.html#NETWORK_FILE_SYSTEMS"' found
	dom "$site/index.html?q=qqqq" >found
	holds "a search for what is nowhere says so" grep -q 'Nothing has all' found

	# Each page in a frame of both widths, one after another.
	{
		echo '<!DOCTYPE html><title>widths</title><body><script>'
		printf 'const pages = ['
		(cd "$site" && printf '"%s",' ./*.html)
		cat <<-'END'
		];
		const widths = [400, 1400], report = document.createElement("pre");
		document.body.append(report);
		function next(n) {
			if (n === pages.length * 2) {
				report.append("all " + n + "\n");
				return;
			}
			const frame = document.createElement("iframe");
			frame.width = widths[n % 2];
			frame.height = 800;
			frame.onload = () => {
				const root = frame.contentDocument.documentElement;
				if (root.scrollWidth > root.clientWidth)
					report.append(pages[n >> 1] + ": " + root.scrollWidth +
					    " of " + root.clientWidth + "\n");
				frame.remove();
				next(n + 1);
			};
			frame.src = pages[n >> 1];
			document.body.append(frame);
		}
		next(0);
		</script>
		END
	} >widths.html
	mv widths.html "$site"
	dom "$site/widths.html" >found
	is "no page is wider than its window, of 400 or 1,400 pixels" \
	    "$(sed -n 's/.*<pre>//; /<\/pre>/q; /^\(\.\/\|all\)/p' found)" \
	    "all $(($(find "$site" -name '*.html' ! -name widths.html | wc -l) * 2))"
else
	skip "the search" "no browser"
	skip "no page is wider than its window" "no browser"
fi
finish
