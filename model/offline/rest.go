package offline

import (
	"slices"
	"strings"
)

var (
	// leading are words before what is asked for, and no part of it.
	leading = []string{
		"a", "an", "and", "are", "can", "could", "do", "does", "for", "get", "give", "i", "in", "is", "it", "me", "my", "need", "now", "of", "on", "please", "show", "tell",
		"that", "the", "this", "to", "want", "what", "what's", "whats", "which", "with", "would", "you", "your",
	}
	// between are words that join what is asked for to the tool's name or to a
	// value: search *for* cats, write hello *to* notes.txt.
	between  = []string{"about", "as", "at", "by", "for", "from", "in", "into", "of", "on", "onto", "that", "to", "with"}
	articles = []string{"a", "an", "the", "this", "my"}
	// looking are the verbs of tools that only look, which a question can leave out:
	// what is *the weather* in Oslo.
	looking = []string{"describe", "fetch", "find", "get", "list", "look", "lookup", "query", "read", "search", "show"}
)

// sure is how surely a tool is named at least that is taken although the search
// finds the match weak.
const sure = 0.9

// head finds the words of the step that name the tool, and how surely they do.
func (f *filling) head() {
	names := toolWords(f.plan.tool.Name)
	if len(names) == 0 {
		return
	}
	matched := make(map[string]bool, len(names))
	best := 0
	for i := range f.pieces {
		if f.pieces[i].kind != word && f.pieces[i].kind != path {
			continue
		}
		if n := f.runAt(i, names); n > f.to-f.from {
			f.from, f.to = i, i+n
			best = f.wordsAt(i, n, names)
		}
		for _, w := range split(f.pieces[i].text) {
			if j := slices.IndexFunc(names, func(name string) bool { return same(name, w) }); j >= 0 {
				matched[names[j]] = true
			}
		}
	}
	f.plan.named = float64(max(best, len(matched))) / float64(len(names))
	if f.plan.named < 1 && len(matched) > 0 && !slices.ContainsFunc(names, func(name string) bool {
		return !matched[name] && !slices.Contains(looking, name)
	}) {
		f.plan.named = sure
	}
	if best == len(names) && f.onlyLeading(f.from) {
		f.plan.named = 1.5 // the step begins with the tool's whole name
	}
}

// runAt is how many pieces from i on say words of the tool's name.
func (f *filling) runAt(i int, names []string) int {
	n := 0
	for i+n < len(f.pieces) && f.pieces[i+n].kind == word && (f.isOf(names, f.pieces[i+n].text) || n > 0 && f.joins(names, i+n)) {
		n++
	}
	if n == 0 && strings.EqualFold(f.pieces[i].text, f.plan.tool.Name) {
		return 1
	}
	return n
}

// joins reports whether the piece is an article between two words of the name:
// read the file.
func (f *filling) joins(names []string, i int) bool {
	return slices.Contains(articles, strings.ToLower(f.pieces[i].text)) && i+1 < len(f.pieces) &&
		f.pieces[i+1].kind == word && f.isOf(names, f.pieces[i+1].text)
}

// wordsAt counts the different words of the name in n pieces from i on.
func (f *filling) wordsAt(i, n int, names []string) int {
	if n == 1 && strings.EqualFold(f.pieces[i].text, f.plan.tool.Name) {
		return len(names)
	}
	seen := map[string]bool{}
	for _, p := range f.pieces[i : i+n] {
		for _, w := range split(p.text) {
			for _, name := range names {
				if same(name, w) {
					seen[name] = true
				}
			}
		}
	}
	return len(seen)
}

// isOf reports whether all words of a text are words of the name.
func (f *filling) isOf(names []string, s string) bool {
	words := split(s)
	for _, w := range words {
		if !slices.ContainsFunc(names, func(name string) bool { return same(name, w) }) {
			return false
		}
	}
	return len(words) > 0
}

func (f *filling) onlyLeading(end int) bool {
	for _, p := range f.pieces[:end] {
		if p.kind != word || !slices.Contains(leading, strings.ToLower(p.text)) {
			return false
		}
	}
	return true
}

// toolWords are the words of a tool's own name, without the server's.
func toolWords(name string) []string {
	if _, own, found := strings.Cut(name, "__"); found {
		name = own
	}
	words := split(name)
	slices.Sort(words)
	return slices.Compact(words)
}

// same compares words without their endings: add, adds, adding.
func same(a, b string) bool {
	return a == b || stem(a) == stem(b)
}

func stem(w string) string {
	for _, ending := range []string{"ing", "ed", "es", "s", "e"} {
		if short, found := strings.CutSuffix(w, ending); found && len(short) >= 3 {
			return short
		}
	}
	return w
}

// rest gives what is left to the text that is required, or, where none is, to
// the only text there is. "a, b and c" is a list.
func (f *filling) rest() {
	takers := f.open(func(p *param) bool { return p.required && (p.textual() || p.list()) })
	if len(takers) == 0 {
		takers = f.open(func(p *param) bool { return p.textual() })
		if len(takers) != 1 || len(f.plan.params) != 1 || f.plan.named < 1 {
			return
		}
	}
	p := takers[0]
	if len(takers) > 1 {
		free := slices.IndexFunc(takers, (*param).free)
		if free < 0 {
			return // whose it is cannot be known
		}
		p = takers[free]
	}
	left := f.left(p)
	text := f.spoken(left)
	if !p.free() {
		text = strings.TrimRight(text, "?!., ")
	}
	if text != "" {
		f.set(p, text, left...)
	}
}

// left are the pieces that may be a parameter's text: behind the tool's name, or
// before it if nothing is behind.
func (f *filling) left(p *param) []*piece {
	behind := f.pieces[f.to:]
	if f.to == f.from {
		return f.trimmed(skip(behind, leading), p)
	}
	if left := f.trimmed(behind, p); len(left) > 0 {
		return left
	}
	return f.trimmed(skip(f.pieces[:f.from], leading), p)
}

// trimmed leaves out what other parameters have, and the words that join the
// text to what is around it.
func (f *filling) trimmed(run []*piece, p *param) []*piece {
	for len(run) > 0 && run[0].kind == word && !run[0].used {
		w := strings.ToLower(run[0].text)
		isName := slices.ContainsFunc(p.words, func(name string) bool { return same(name, w) })
		article := slices.Contains(articles, w) && len(run) > 1 && slices.Contains(p.words, strings.ToLower(run[1].text))
		if !article && !slices.Contains(between, w) && (!isName || len(run) == 1) {
			break
		}
		run = run[1:]
	}
	var left []*piece
	for _, piece := range run {
		if !piece.used {
			left = append(left, piece)
			continue
		}
		for len(left) > 0 && joining(left[len(left)-1]) {
			left = left[:len(left)-1]
		}
	}
	return left
}

func joining(p *piece) bool {
	w := strings.ToLower(p.text)
	return p.kind == word && (slices.Contains(between, w) || slices.Contains(articles, w) || slices.Contains([]string{"and", "file", "folder"}, w))
}

func skip(run []*piece, words []string) []*piece {
	for len(run) > 0 && run[0].kind == word && slices.Contains(words, strings.ToLower(run[0].text)) {
		run = run[1:]
	}
	return run
}

// spoken is the text of the pieces as it stands in the step. A single quoted
// text stands without its quotes.
func (f *filling) spoken(left []*piece) string {
	if len(left) == 1 && left[0].kind == quoted {
		return left[0].text
	}
	var b strings.Builder
	for i, p := range left {
		switch {
		case i > 0 && p.start == left[i-1].start:
			continue // another number of the same word
		case i > 0 && strings.TrimSpace(f.step[left[i-1].end:p.start]) == "":
			b.WriteString(f.step[left[i-1].end:p.start])
		case i > 0:
			b.WriteByte(' ')
		}
		b.WriteString(f.step[p.start:p.end])
	}
	return strings.TrimRight(b.String(), ",; ")
}
