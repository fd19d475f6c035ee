/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The search box. The index is a script, so that it loads from file:// too, and only when
 * the box is first used. index.html?q=WORDS searches at once.
 */
"use strict";
(function () {
	const box = document.getElementById("site-search"), list = document.getElementById("site-hits");
	const most = 20;
	let chosen = -1, loading = false;

	function load() {
		if (loading)
			return;
		loading = true;
		const script = document.createElement("script");
		script.src = "index.js";
		script.onload = search;
		document.head.appendChild(script);
	}

	/* How well a section fits, 0 if a word is nowhere in it. */
	function score(words, title, heading, text) {
		let sum = 0;
		for (const word of words) {
			let points = 0;
			if (title.split(/\W|_/).includes(word))
				points += 150;
			else if (title.includes(word))
				points += 40;
			if (heading.includes(word))
				points += 25;
			const at = text.indexOf(word);
			if (at !== -1)
				points += 5 + Math.min(5, text.split(word).length - 1);
			if (points === 0)
				return 0;
			sum += points;
		}
		return sum;
	}

	function find(words) {
		const found = [];
		for (const [name, link] of window.SITE_INDEX.names)
			if (words.length === 1 && name.includes(words[0]))
				found.push({ points: name === words[0] ? 1000 : name.startsWith(words[0]) ? 200 : 90,
				    link, title: name + "()", text: "" });
		for (const [file, title, parts] of window.SITE_INDEX.pages) {
			for (const [anchor, heading, text] of parts) {
				const points = score(words, anchor ? "" : title.toLowerCase(),
				    heading.toLowerCase(), text.toLowerCase());
				if (points > 0)
					found.push({ points, link: anchor ? file + "#" + anchor : file,
					    title: heading ? title + " › " + heading : title, text });
			}
		}
		return found.sort((a, b) => b.points - a.points).slice(0, most);
	}

	/* Text around the first word, with all words marked. */
	function excerpt(text, words) {
		const span = document.createElement("span"), low = text.toLowerCase();
		const at = Math.max(0, Math.min(...words.map((w) => low.indexOf(w)).filter((i) => i >= 0), Infinity));
		const from = at === Infinity ? 0 : Math.max(0, at - 50);
		let rest = (from > 0 ? "…" : "") + text.slice(from, from + 160) + (text.length > from + 160 ? "…" : "");
		while (rest !== "") {
			const places = words.map((w) => [rest.toLowerCase().indexOf(w), w.length])
			    .filter(([i]) => i >= 0).sort((a, b) => a[0] - b[0]);
			if (places.length === 0)
				break;
			const [start, size] = places[0], mark = document.createElement("mark");
			mark.textContent = rest.slice(start, start + size);
			span.append(rest.slice(0, start), mark);
			rest = rest.slice(start + size);
		}
		span.append(rest);
		return span;
	}

	function choose(n) {
		const items = list.querySelectorAll("li:not(.none)");
		chosen = items.length === 0 ? -1 : (n + items.length) % items.length;
		items.forEach((item, i) => item.classList.toggle("on", i === chosen));
		if (chosen >= 0)
			items[chosen].scrollIntoView({ block: "nearest" });
	}

	function search() {
		const words = box.value.toLowerCase().replace(/\(\)?/g, " ").split(/\s+/).filter(Boolean);
		list.replaceChildren();
		list.hidden = words.length === 0;
		if (!window.SITE_INDEX)
			return load();
		for (const hit of words.length === 0 ? [] : find(words)) {
			const item = document.createElement("li"), link = document.createElement("a");
			const title = document.createElement("b");
			title.textContent = hit.title;
			link.href = hit.link;
			link.append(title);
			if (hit.text !== "")
				link.append(excerpt(hit.text, words));
			item.append(link);
			list.append(item);
		}
		if (words.length > 0 && list.children.length === 0) {
			const none = document.createElement("li");
			none.className = "none";
			none.textContent = "Nothing has all of these words.";
			list.append(none);
		}
		choose(0);
	}

	box.addEventListener("focus", load);
	box.addEventListener("input", search);
	box.addEventListener("keydown", (event) => {
		if (event.key === "ArrowDown" || event.key === "ArrowUp") {
			choose(chosen + (event.key === "ArrowDown" ? 1 : -1));
			event.preventDefault();
		} else if (event.key === "Enter" && chosen >= 0) {
			list.querySelectorAll("li a")[chosen].click();
			list.hidden = true;
		} else if (event.key === "Escape") {
			list.hidden = true;
			box.blur();
		}
	});
	document.addEventListener("keydown", (event) => {
		if (event.key === "/" && !/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) {
			event.preventDefault();
			box.focus();
			box.select();
		}
	});
	document.addEventListener("click", (event) => {
		if (!event.target.closest(".find"))
			list.hidden = true;
		else if (event.target.closest("#site-hits a"))
			list.hidden = true;
	});

	/* All pages are listed beside the text where there is room for them. */
	const nav = document.querySelector(".nav"), wide = window.matchMedia("(min-width: 56.01rem)");
	const unfold = () => { nav.open = wide.matches; };
	wide.addEventListener("change", unfold);
	unfold();

	const asked = new URLSearchParams(window.location.search).get("q");
	if (asked) {
		box.value = asked;
		search();
	}
})();
