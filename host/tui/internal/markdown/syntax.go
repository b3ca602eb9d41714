package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/junction-mcp/junction/host/tui/internal/ink"
)

// A language describes the comments, texts and keywords of a programming language. This suffices
// for highlighting, without a parser.
type language struct {
	names    string
	comments []string // beginnings of a comment up to the end of the line
	block    [2]string
	quotes   string   // quotes of texts on one line; a \ escapes them
	long     []string // quotes of texts on several lines
	keywords string
	anyCase  bool // the case of keywords does not matter
}

var languages = []language{
	{names: "go golang", comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`, long: []string{"`"},
		keywords: "break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var true false nil iota"},
	{names: "js javascript jsx ts typescript tsx mjs", comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`, long: []string{"`"},
		keywords: "abstract any as async await boolean break case catch class const continue default delete do else enum export extends false finally for from function get if implements import in instanceof interface let new null number of private protected public readonly return set static string super switch this throw true try type typeof undefined var void while yield"},
	{names: "py python python3", comments: []string{"#"}, quotes: `"'`, long: []string{`"""`, "'''"},
		keywords: "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield"},
	{names: "sh bash shell zsh console", comments: []string{"#"}, quotes: `"'`,
		keywords: "case do done elif else esac export fi for function if in local return set then until while"},
	{names: "rs rust", comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"`,
		keywords: "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"},
	{names: "c h cpp c++ cc hpp java kotlin kt cs csharp swift dart scala php", comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"'`,
		keywords: "abstract auto bool boolean break case catch char class const continue default delete do double else enum extends extern false final finally float for foreach fun func function guard if implements import include int interface internal let long namespace new nil null nullptr object override package private protected public return short signed sizeof static string struct super switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile when while"},
	{names: "rb ruby", comments: []string{"#"}, quotes: `"'`,
		keywords: "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true undef unless until when while yield"},
	{names: "lua", comments: []string{"--"}, quotes: `"'`, keywords: "and break do else elseif end false for function if in local nil not or repeat return then true until while"},
	{names: "sql sqlite postgresql mysql", comments: []string{"--"}, block: [2]string{"/*", "*/"}, quotes: `'"`, anyCase: true,
		keywords: "all alter and as asc begin between by case commit create cross default delete desc distinct drop else end exists foreign from full group having if in index inner insert into is join key left like limit not null offset on or order outer primary references returning right rollback select set table then union unique update using values view when where with"},
	{names: "json jsonc json5", comments: []string{"//"}, block: [2]string{"/*", "*/"}, quotes: `"`, keywords: "true false null"},
	{names: "yaml yml", comments: []string{"#"}, quotes: `"'`, keywords: "true false null yes no"},
	{names: "toml ini", comments: []string{"#", ";"}, quotes: `"'`, long: []string{`"""`, "'''"}, keywords: "true false"},
	{names: "dockerfile docker make makefile", comments: []string{"#"}, quotes: `"'`, keywords: "ADD ARG AS CMD COPY ENTRYPOINT ENV EXPOSE FROM HEALTHCHECK LABEL RUN SHELL USER VOLUME WORKDIR"},
	{names: "css scss", block: [2]string{"/*", "*/"}, quotes: `"'`},
}

func languageNamed(name string) *language {
	name, _, _ = strings.Cut(strings.ToLower(name), " ")
	for i := range languages {
		if holdsWord(languages[i].names, name) {
			return &languages[i]
		}
	}
	return nil
}

func holdsWord(list, word string) bool {
	return word != "" && strings.Contains(" "+list+" ", " "+word+" ")
}

// Highlighted returns the lines of a block of code, in colours if the language is known.
func Highlighted(name, code string) []ink.Line {
	if name = strings.ToLower(name); name == "diff" || name == "patch" {
		return changed(code)
	}
	w := &codeLines{lines: []ink.Line{nil}}
	if l := languageNamed(name); l != nil {
		l.highlight(code, w)
	} else {
		w.add(ink.Code, code)
	}
	return w.lines
}

// changed returns the lines of a diff, in colours.
func changed(code string) []ink.Line {
	var lines []ink.Line
	for line := range strings.SplitSeq(code, "\n") {
		role := ink.Plain
		switch {
		case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "@@"):
			role = ink.Accent
		case strings.HasPrefix(line, "+"):
			role = ink.Added
		case strings.HasPrefix(line, "-"):
			role = ink.Removed
		}
		lines = append(lines, ink.Line{ink.T(role, line)})
	}
	return lines
}

// codeLines builds lines from pieces.
type codeLines struct{ lines []ink.Line }

func (w *codeLines) add(role ink.Role, text string) {
	for i, part := range strings.Split(text, "\n") {
		if i > 0 {
			w.lines = append(w.lines, nil)
		}
		if part != "" {
			last := &w.lines[len(w.lines)-1]
			*last = append(*last, ink.T(role, part))
		}
	}
}

// highlight splits code into tokens and adds them to w.
func (l *language) highlight(code string, w *codeLines) {
	plain := 0 // beginning of the text without colour
	for at := 0; at < len(code); {
		role, n := l.token(code, at)
		if role != ink.Plain {
			w.add(ink.Plain, code[plain:at])
			w.add(role, code[at:at+n])
			plain = at + n
		}
		at += n
	}
	w.add(ink.Plain, code[plain:])
}

// token returns the role and the length in bytes of the token at a position. The length is never 0.
func (l *language) token(code string, at int) (ink.Role, int) {
	rest := code[at:]
	for _, mark := range l.comments {
		if strings.HasPrefix(rest, mark) && (mark != "#" || at == 0 || strings.IndexByte(" \t\n;(", code[at-1]) >= 0) {
			return ink.Comment, until(rest, "\n", 0)
		}
	}
	if l.block[0] != "" && strings.HasPrefix(rest, l.block[0]) {
		return ink.Comment, indexAfter(rest, l.block[1], len(l.block[0]))
	}
	for _, quote := range l.long {
		if strings.HasPrefix(rest, quote) {
			return ink.String, indexAfter(rest, quote, len(quote))
		}
	}
	if strings.IndexByte(l.quotes, rest[0]) >= 0 {
		if n := quotedLength(rest); n > 1 {
			return ink.String, n
		}
		return ink.Plain, 1
	}
	r, size := utf8.DecodeRuneInString(rest)
	if !isWord(r) {
		return ink.Plain, size
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return !isWord(r) })
	if end < 0 {
		end = len(rest)
	}
	word := rest[:end]
	if l.anyCase {
		word = strings.ToLower(word)
	}
	switch {
	case unicode.IsDigit(r):
		return ink.Number, end
	case holdsWord(l.keywords, word):
		return ink.Keyword, end
	}
	return ink.Plain, end
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// until returns the position of end in text, or the length of text.
func until(text, end string, from int) int {
	if n := strings.Index(text[from:], end); n >= 0 {
		return from + n
	}
	return len(text)
}

func indexAfter(text, end string, from int) int {
	return min(until(text, end, from)+len(end), len(text))
}

// quotedLength returns the length of a quoted text. A quote that is not closed counts as an
// apostrophe, of length 1.
func quotedLength(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		case '\n':
			return 1
		}
	}
	return 1
}
