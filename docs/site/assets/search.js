"use strict";
// The search of the site. The index is a script with all sections of a language, loaded when the
// field gets the focus. Each search reads all of it, which takes about a millisecond.

// ranked returns at most 30 sections that contain all words of the query, best first: words in the
// heading or the name of the page count more than words in the text.
function ranked(sections, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found = [];
  for (const section of sections) {
    const heading = section.h.toLowerCase(), page = section.p.toLowerCase(), text = section.t.toLowerCase();
    let points = 0;
    for (const word of words) {
      let here = 0;
      if (heading === word) here += 20;
      if (heading.includes(word)) here += 10;
      if (page.includes(word)) here += 4;
      if (text.includes(word)) here += 1 + Math.min(4, text.split(word).length - 2);
      points = here && points >= 0 ? points + here : -1;
    }
    if (text.includes(query.toLowerCase().trim())) points += points > 0 ? 3 : 0;
    if (points > 0) found.push({ section, points });
  }
  found.sort((a, b) => b.points - a.points);
  return found.slice(0, 30).map((f) => f.section);
}

// excerpt returns the part of a text around the first of the words, as pieces [text, is a word].
function excerpt(text, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean), lower = text.toLowerCase();
  const places = words.map((w) => lower.indexOf(w)).filter((i) => i >= 0);
  const from = Math.max(0, Math.min(...(places.length ? places : [0])) - 60), to = Math.min(text.length, from + 180);
  const pieces = [[from > 0 ? "…" : "", false]];
  let at = from;
  while (at < to) {
    let next = to, end = to;
    for (const word of words) {
      const i = lower.indexOf(word, at);
      if (i >= 0 && i < next) [next, end] = [i, i + word.length];
    }
    pieces.push([text.slice(at, next), false]);
    if (next < to) pieces.push([text.slice(next, end), true]);
    at = end;
  }
  pieces.push([to < text.length ? "…" : "", false]);
  return pieces.filter(([piece]) => piece);
}

function start() {
  const box = document.querySelector("search"), field = box.querySelector("input"), list = document.getElementById("found");
  const status = list.querySelector("p"), results = list.querySelector("ol");
  const load = () => {
    if (document.getElementById("index")) return;
    const script = document.createElement("script");
    script.id = "index";
    script.src = box.dataset.index;
    script.onload = show;
    script.onerror = () => script.remove(); // the next focus tries again
    document.head.append(script);
  };
  const show = () => {
    const query = field.value.trim();
    list.hidden = query === "" || !window.junctionSections;
    if (list.hidden) return;
    const found = ranked(window.junctionSections, query);
    status.textContent = found.length ? `${found.length} ${box.dataset.found}` : box.dataset.nothing;
    results.replaceChildren(...found.map((section) => {
      const item = document.createElement("li"), link = document.createElement("a");
      const title = document.createElement("b"), text = document.createElement("small");
      link.href = box.dataset.root + section.a;
      title.textContent = section.h && section.h !== section.p ? `${section.p} › ${section.h}` : section.p;
      for (const [piece, isWord] of excerpt(section.t, query)) {
        const part = document.createElement(isWord ? "mark" : "span");
        part.textContent = piece;
        text.append(part);
      }
      link.append(title, text);
      item.append(link);
      return item;
    }));
  };
  const close = () => { list.hidden = true; };
  field.addEventListener("focus", () => { load(); show(); });
  field.addEventListener("input", () => { load(); show(); });
  results.addEventListener("click", close); // the page may be this one
  document.addEventListener("click", (e) => { if (!box.contains(e.target)) close(); });
  document.addEventListener("keydown", (e) => {
    const typing = /^(input|textarea)$/i.test(e.target.tagName);
    if (e.key === "/" && !typing && !e.ctrlKey && !e.metaKey && !e.altKey) {
      e.preventDefault();
      field.focus();
    }
    if (list.hidden) return;
    const links = [field, ...results.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (e.key === "Escape") {
      field.focus();
      close(); // the focus opened it
    } else if (at >= 0 && (e.key === "ArrowDown" || e.key === "ArrowUp")) {
      e.preventDefault();
      links[Math.max(0, Math.min(links.length - 1, at + (e.key === "ArrowDown" ? 1 : -1)))].focus();
    } else if (at === 0 && e.key === "Enter" && links.length > 1) {
      links[1].click();
    }
  });
  if (matchMedia("(max-width: 48rem)").matches) document.querySelector("details.menu").open = false;
}

if (typeof document !== "undefined") start();
else module.exports = { ranked, excerpt };
