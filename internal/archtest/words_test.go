package archtest

import (
	"fmt"
	"go/parser"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A retiredWord was replaced by a word of the specification, of Go, or of plain English.
type retiredWord struct {
	pattern *regexp.Regexp // matches whole words in lower case; a name is split into its words
	instead string
	in      []string // folders; none for all
	kinds   string   // of pieces: any of i(dentifier), c(omment), s(tring), p(age)
}

func retire(words, instead, kinds string, in ...string) retiredWord {
	return retiredWord{regexp.MustCompile(`\b(?:` + words + `)\b`), instead, in, kinds}
}

var retiredWords = []retiredWord{
	retire(`news`, "notification, change", "csp"),
	retire(`news`, "notification, change", "i", "cmd", "config", "conformance", "definitions", "docs", "gateway", "guard", "host", "integration", "internal", "mcp", "model", "policy", "toolsearch"), // except fields of forms in servers
	retire(`upcalls?|couriers?`, "call", "icsp"),
	retire(`patience`, "idle timeout, time", "icsp"),
	retire(`dead`, "done", "i"),
	retire(`dead`, "done", "cs", "mcp", "internal", "gateway", "config", "definitions"),
	retire(`lastwords|wokemodern|giveback|letgo|setaside|nothingmirrored`, "what it does", "csp", "mcp", "internal", "gateway", "config", "definitions", "docs"), // names in prose
	retire(`last words|woke modern|give back|let go|nothing mirrored|swayed?|stuck|shelf|seat(?:ed)?`, "what it does", "i"),
	retire(`honou?r(?:s|ed|ing)?`, "obey", "icsp"),
	retire(`mirror(?:s|ed|ing)?`, "repeat in a header; header validation", "icsp", "mcp", "internal", "gateway", "conformance", "bench", "servers"),
	retire(`told`, "reported, notified, learned", "icsp"),
	retire(`hang(?:s|ing)?|hang(?:s|ing)? ?up|hung`, "wait for ever, disconnect", "icsp"),
	retire(`stuck|swayed`, "what happened", "cp"),
	retire(`besides?`, "next to, in addition to", "icsp"),
	retire(`left away|leav(?:es?|ing) away`, "omitted, omits", "csp"),
	retire(`which is the most|is the most`, "at most N", "csp"),
	retire(`what is none`, "what is not valid", "csp"),
	retire(`see(?:s|n)? to it that|sees to it`, "ensures that", "csp"),
	retire(`stands \S+ times`, "occurs N times", "csp"),
	retire(`or never was`, "or never existed", "csp"),
	retire(`(?:made|begun) anew`, "again", "csp"),

	// Where messages of the protocol are meant. Elsewhere a person asks a model
	// questions, and answers those of a program.
	retire(`questions?|questioned`, "request from the server, server request", "ic", "mcp", "gateway", "definitions", "conformance", "bench/server"),
	retire(`question`, "server request", "i", "internal/jsonrpc", "internal/revision", "internal/changes"),
	retire(`(?:an|the|its|no|late) answers?`, "response, result", "c", "mcp", "gateway", "definitions", "internal/jsonrpc", "internal/revision", "internal/changes"),
	retire(`set aside|together`, "omit; parallel", "i", "mcp", "internal", "gateway", "config", "definitions"),
}

// quotes lists the folders and files whose strings quote text of others.
var quotes = []string{
	"internal/archtest", "guard", "toolsearch", "model/offline", // patterns and lexicons
	"config/format_test.go", "integration/clients_test.go", "servers/everything", // names and texts of servers
}

// A piece is a part of a file with words: an identifier, a comment, a string or a line of a page.
type piece struct {
	line int
	kind byte
	text string
}

func TestWordsAreThoseOfTheSpecificationAndOfGo(t *testing.T) {
	walk(t, func(p string, text []byte) {
		for _, piece := range pieces(p, text) {
			if piece.kind == 's' && slices.ContainsFunc(quotes, func(q string) bool { return below(p, q) }) {
				continue
			}
			for _, word := range retiredWords {
				if found := word.find(p, piece); found != "" {
					t.Errorf("%s:%d: %q is retired; write %s", p, piece.line, found, word.instead)
				}
			}
		}
	})
}

// find returns the word in a piece of the file, or "".
func (w *retiredWord) find(p string, piece piece) string {
	if !strings.ContainsRune(w.kinds, rune(piece.kind)) {
		return ""
	}
	if len(w.in) > 0 && !slices.ContainsFunc(w.in, func(folder string) bool { return below(p, folder) }) {
		return ""
	}
	return w.pattern.FindString(piece.text)
}

// pieces splits a file into pieces, with words in lower case.
func pieces(p string, text []byte) []piece {
	switch {
	case below(p, "internal/archtest") && strings.HasPrefix(path.Base(p), "words"):
		return nil // contains the words
	case strings.Contains("/"+p, "/testdata/") || strings.Contains(p, "/node_modules/"):
		return nil
	case path.Ext(p) == ".go":
		return piecesOfGo(text)
	case slices.Contains([]string{".md", ".html", ".conf"}, path.Ext(p)):
		return piecesOfText(text, 'p')
	case slices.Contains([]string{".mjs", ".js", ".ts", ".py", ".sh"}, path.Ext(p)):
		return piecesOfText([]byte(split(string(text))), 'i')
	}
	return nil
}

func piecesOfText(text []byte, kind byte) []piece {
	var all []piece
	for line := range strings.Lines(strings.ToLower(string(text))) {
		all = append(all, piece{len(all) + 1, kind, line})
	}
	return all
}

func piecesOfGo(text []byte) []piece {
	var all []piece
	set := token.NewFileSet()
	file := set.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, scanner.ScanComments)
	ended := 0 // last line of the previous comment
	for {
		pos, tok, literal := s.Scan()
		line := file.Line(pos)
		switch tok {
		case token.EOF:
			return all
		case token.IDENT:
			all = append(all, piece{line, 'i', split(literal)})
		case token.STRING:
			all = append(all, piece{line, 's', strings.ToLower(literal)})
		case token.COMMENT:
			words := strings.ToLower(strings.Join(strings.Fields(strings.ReplaceAll(literal, "//", " ")), " "))
			if last := len(all) - 1; last >= 0 && all[last].kind == 'c' && line == ended+1 {
				all[last].text += " " + words // a phrase may continue in the next line
			} else {
				all = append(all, piece{line, 'c', words})
			}
			ended = line + strings.Count(literal, "\n")
		}
	}
}

var humps = regexp.MustCompile(`([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])|_`)

// split splits a name into its words: lastWords, LastWords and last_words become "last words".
func split(name string) string {
	return strings.ToLower(humps.ReplaceAllString(name, "$1$3 $2$4"))
}

func TestRetiredWordsAreFound(t *testing.T) {
	const sample = `package p
var isTold, newServer, deadline, newsTime, HTTPNews, tellHim = 1, 2, 3, 4, 5, 6
// It is left
// away. The honoured guest.
var s = "it hangs"
`
	if _, err := parser.ParseFile(token.NewFileSet(), "", sample, 0); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, piece := range piecesOfGo([]byte(sample)) {
		for _, word := range retiredWords {
			if text := word.find("host/x.go", piece); text != "" {
				found = append(found, fmt.Sprint(piece.line, " ", text))
			}
		}
	}
	if want := []string{"2 told", "2 news", "2 news", "3 honoured", "3 left away", "5 hangs"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
}
