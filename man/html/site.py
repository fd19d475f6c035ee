#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The manual pages as one site of static files.

    site.py VERSION OUT PAGE...

mandoc renders each page. This script adds navigation, links to pages and to functions,
and the index that search.js reads. Nothing in the site comes from elsewhere, and it works
from file://.
"""
import html
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SECTIONS = {"7": "Guides", "1": "Commands", "3": "Library", "5": "Formats"}
GUIDES = ["lmdbcache", "lmdbcache_tutorial", "lmdbcache_cookbook", "lmdbcache_migrating",
          "lmdbcache_machines"]
KEPT = {"CSV", "LMDB", "NFS", "NUMA", "R*", "S3", "TWH1"}  # abbreviations in headings
JOBS = "WHICH_COMMAND_OR_FUNCTION"  # the section of lmdbcache(7) that the front page shows
FIRST = "Shell:_a_first_record"  # of lmdbcache_tutorial(7); its first example too
TRACKS = [
    ("In the shell", FIRST, "Put a tensor, list it, get it back, read shuffled batches."),
    ("In C", "C:_a_first_record", "Open, put, flush, get in place; a stream with a token."),
    ("In Python", "Python:_a_first_record", "A module is a mapping; batches are arrays."),
]


def heading_of(title):
    """EXIT STATUS is Exit status; abbreviations stay as they are."""
    if not title.isupper():
        return title
    words = [word if word in KEPT else word.lower() for word in title.split()]
    return words[0][0].upper() + " ".join(words)[1:]


def text_of(markup):
    return " ".join(html.unescape(re.sub("<[^>]*>", "", markup)).split())


class Page:
    def __init__(self, path):
        self.name, self.section = path.name.rsplit(".", 1)
        self.file = path.name + ".html"
        self.title = f"{self.name}({self.section})"
        self.short = re.sub("^(cachex-|lmdbcache_)", "", self.name)
        if self.section == "7":
            self.short = "Overview" if self.name == "lmdbcache" else self.short.capitalize()
        body = subprocess.run(
            ["mandoc", "-T", "html", "-O", "fragment,man=%N.%S.html", path],
            check=True, stdout=subprocess.PIPE, encoding="utf-8").stdout
        body = re.sub(r'<table class="(head|foot)">.*?</table>', "", body, flags=re.S)
        body = re.sub(r' style="[^"]*"', "", body)
        body = re.sub(r'<a class="In">(.*?)</a>', r"\1", body)
        # mandoc gives the anchor of a function to one of the places that name it. Here it
        # is where the function is described.
        body = re.sub(r'<a class="permalink" href="#lc_[^"]*">(.*?)</a>', r"\1", body,
                      flags=re.S)
        body = re.sub(r' id="lc_[^"]*"', "", body)
        self.functions = []
        if self.section == "3":
            before, name, after = body.partition('id="DESCRIPTION"')
            described, end, rest = after.partition('<section class="Sh">')
            described = re.sub(r'<dt( id="[^"]*")?><code class="Fn">(lc_\w+)</code>\(\)</dt>',
                               self.describe, described)
            body = before + name + described + end + rest
        self.body = body
        self.about = text_of(re.search(r'<span class="Nd">(.*?)</span>', body, re.S).group(1))

    def describe(self, match):
        other, name = match[1], match[2]  # the anchor of a word in the description, too
        self.functions.append(name)
        return (f'<dt id="{name}"><a class="permalink" href="#{name}">{name}</a>()'
                + (f"<span{other}></span>" if other else "") + "</dt>")

    def finish(self, files, homes):
        """Headings, links, tables and transcripts; self.contents and self.parts."""
        ids = set(re.findall(r' id="([^"]*)"', self.body))
        self.contents = []  # level, anchor, title

        def heading(match):
            level, anchor, title = int(match[1]) + 1, match[2], heading_of(text_of(match[3]))
            if anchor is None:  # mandoc names a heading once
                anchor = base = re.sub(r"\W+", "_", title)
                while anchor in ids:
                    anchor += "~"
                ids.add(anchor)
            self.contents.append((level, anchor, title))
            return f'<h{level} id="{anchor}"><a href="#{anchor}">{html.escape(title)}</a></h{level}>'

        def page_link(match):
            return match[0] if match[1] in files else f'<span class="Xr">{match[2]}</span>'

        def function_link(match):
            name = match[1]
            home = homes.get(name)
            if home is None:
                return match[0]
            place = "" if home == self.file else home
            return f'<a class="Fn" href="{place}#{name}"><code class="Fn">{name}</code></a>'

        def transcript(match):
            lines = match[1].split("\n")
            if any(line.startswith("$ ") for line in lines):
                lines = [re.sub(r"^(\$|&gt;) (.*)", r'<span class="ps">\1 </span><b>\2</b>', line)
                         for line in lines]
            return "<pre>" + "\n".join(lines) + "</pre>"

        body = re.sub(r'<h([12]) class="S[hs]"(?: id="([^"]*)")?>(.*?)</h\1>', heading,
                      self.body, flags=re.S)
        body = re.sub(r'<a class="Xr" href="([^"]*)">(.*?)</a>', page_link, body, flags=re.S)
        body = re.sub(r'<code class="Fn">(lc_\w+)</code>', function_link, body)
        body = re.sub(r"<pre>(.*?)</pre>", transcript, body, flags=re.S)
        body = re.sub(r'(<table class="Bl-column.*?</table>)', self.table, body, flags=re.S)
        body = re.sub(r'<dl class="(Bl-tag[^"]*)">((?:(?!<dl).)*?)</dl>', self.terms, body,
                      flags=re.S)
        self.body = body
        self.parts = self.cut(body)

    @staticmethod
    def terms(match):
        """A list of short terms is laid out like a table."""
        short = all(len(text_of(term)) <= 22 for term in
                    re.findall(r"<dt[^>]*>(.*?)</dt>", match[2], re.S))
        return f'<dl class="{match[1]}{" short" if short else ""}">{match[2]}</dl>'

    @staticmethod
    def table(match):
        rows = re.sub(r'<tr id="[^"]*">', "<tr>", match[1])
        rows = re.sub(r'<a class="permalink"[^>]*>(.*?)</a>', r"\1", rows, flags=re.S)
        first = rows.partition("</tr>")[0]
        if first.count("<td") == first.count('<i class="Em"'):
            rows = rows.replace(first, first.replace("<td", "<th").replace("</td", "</th"), 1)
        return f'<div class="scroll">{rows}</div>'

    def cut(self, body):
        """[anchor, heading, text] of each section, for the index."""
        parts = [["", "", self.about]]
        pieces = re.split(r'<h[23] id="([^"]*)">(.*?)</h[23]>', body)
        for anchor, title, markup in zip(pieces[1::3], pieces[2::3], pieces[3::3]):
            parts.append([anchor, text_of(title), text_of(markup)])
        return parts

    def section_named(self, anchor):
        """The markup from a heading to the next one."""
        after = self.body.partition(f'<h3 id="{anchor}">')[2].partition("</h3>")[2]
        return re.split("<h[23] ", after)[0]


def order(page):
    guide = GUIDES.index(page.name) if page.name in GUIDES else len(GUIDES)
    return list(SECTIONS).index(page.section), guide, page.name


def navigation(pages, here):
    groups = []
    for section, title in SECTIONS.items():
        items = "".join(
            f'<li><a href="{page.file}"{" aria-current=page" if page is here else ""}>'
            f"{page.short}</a></li>" for page in pages if page.section == section)
        groups.append(f'<h2>{title}</h2><ul class="s{section}">{items}</ul>')
    return "".join(groups)


def contents(page):
    items = "".join(f'<li class="l{level}"><a href="#{anchor}">{html.escape(title)}</a></li>'
                    for level, anchor, title in page.contents if title != "Name")
    return f'<aside class="toc"><h2>On this page</h2><ul>{items}</ul></aside>'


def frame(version, pages, here, title, main, aside=""):
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{html.escape(title)}</title>
<link rel="stylesheet" href="style.css">
<script src="search.js" defer></script>
</head>
<body>
<a class="jump" href="#site-main">Skip to the text</a>
<header>
<a class="name" href="index.html">lmdbcache</a>
<div class="find"><input id="site-search" type="search" placeholder="Search: lc_put, NFS …"
aria-label="Search all pages" autocomplete="off" spellcheck="false"><kbd>/</kbd>
<ol id="site-hits" hidden></ol></div>
<span class="version">{html.escape(version)}</span>
</header>
<div class="columns">
<details class="nav"><summary>All pages</summary><nav aria-label="Pages">{navigation(pages, here)}</nav></details>
<main id="site-main"{"" if here else " class=front"}>
{main}
<footer>lmdbcache {html.escape(version)}, under the BSD-2-Clause licence. These are the manual
pages: <code>man {here.name if here else "lmdbcache"}</code> shows {"this" if here else "the first"} one in a terminal.</footer>
</main>
{aside}
</div>
</body>
</html>
"""


def page_main(page):
    return (f'<p class="kind">{SECTIONS[page.section]}</p>\n<h1>{page.title}</h1>\n'
            f'<p class="about">{html.escape(page.about)}</p>\n<article>{page.body}</article>')


def front(pages):
    by_name = {page.title: page for page in pages}
    overview, tutorial = by_name["lmdbcache(7)"], by_name["lmdbcache_tutorial(7)"]
    cards = "".join(
        f'<li><a href="{tutorial.file}#{anchor}"><b>{title}</b><span>{about}</span></a></li>'
        for title, anchor, about in TRACKS)
    example = re.search("<pre>.*?</pre>", tutorial.section_named(FIRST), re.S)[0]
    lists = []
    for section, title in SECTIONS.items():
        items = "".join(
            f'<li><a href="{page.file}">{page.title}</a> <span>{html.escape(page.about)}</span></li>'
            for page in pages if page.section == section)
        lists.append(f'<h3>{title}</h3><ul class="list">{items}</ul>')
    jobs = re.search(rf'<h2 id="{JOBS}">.*?</h2>(.*?)(?=<section class="Sh">)',
                     overview.body, re.S)[1]
    jobs = re.sub(r'<h3 id="([^"]*)"><a [^>]*>(.*?)</a>', r'<h3 id="\1">\2', jobs)
    jobs = jobs[:jobs.rindex("</section>")]
    return f"""<div class="hero">
<h1>Keep tensors on disk.<br>Compute them once.</h1>
<p>lmdbcache stores embeddings, images and activations in files under names that you choose,
and returns them bit for bit at the speed of the memory map. Many processes read and write at
once, every commit survives a crash, every read is checked, and a training job reads batches
in an order that it can resume from 96 bytes.</p>
{example}
<h2 id="begin">Begin: fifteen minutes</h2>
<ul class="cards">{cards}</ul>
</div>
<h2 id="jobs">What do you want to do?</h2>
<div class="jobs">{jobs}</div>
<h2 id="pages">All pages</h2>
{"".join(lists)}"""


def main():
    version, out = sys.argv[1], Path(sys.argv[2])
    if shutil.which("mandoc") is None:
        sys.exit("make html: mandoc is not installed; it is in the package mandoc")
    pages = sorted((Page(Path(name)) for name in sys.argv[3:]), key=order)
    files = {page.file for page in pages}
    homes = {name: page.file for page in pages for name in page.functions}
    out.mkdir(parents=True, exist_ok=True)
    for page in pages:
        page.finish(files, homes)
    for page in pages:
        (out / page.file).write_text(frame(
            version, pages, page, f"{page.title}: {page.about}", page_main(page),
            contents(page)), encoding="utf-8")
    (out / "index.html").write_text(
        frame(version, pages, None, "lmdbcache: keep tensors on disk", front(pages)),
        encoding="utf-8")
    index = {"pages": [[page.file, page.title, page.parts] for page in pages],
             "names": [[name, f"{homes[name]}#{name}"] for name in sorted(homes)]}
    (out / "index.js").write_text(
        "window.SITE_INDEX = " + json.dumps(index, ensure_ascii=False, separators=(",", ":")) +
        ";\n", encoding="utf-8")
    for name in ("style.css", "search.js"):
        shutil.copyfile(HERE / name, out / name)


main()
