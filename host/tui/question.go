package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/host"
	"github.com/junction-mcp/junction/host/tui/internal/ink"
	"github.com/junction-mcp/junction/mcp"
)

// question is what was typed, with the resources that it names as @SERVER:URI, the files
// that it names as @PATH, and the pictures that were pasted.
func (s *screen) question(text string) (host.Question, error) {
	q := host.Question{Text: text}
	s.absent = nil
	rest, err := s.attachPictures(&q, s.folded(text))
	if err != nil {
		return q, err
	}
	for _, word := range mentions(rest) {
		server, uri, found := strings.Cut(word, ":")
		if !found || uri == "" || !slices.ContainsFunc(s.servers, func(t host.ServerTools) bool { return t.Server == server }) {
			if err := s.attachFile(&q, word); err != nil {
				return q, err
			}
			continue
		}
		if strings.Contains(uri, "{") {
			return q, fmt.Errorf("@%s: fill in the part in braces", word)
		}
		a := host.Attachment{Server: server, URI: s.knownURI(server, uri)}
		if !slices.ContainsFunc(q.Attach, func(other host.Attachment) bool { return other.Server == server && other.URI == a.URI }) {
			q.Attach = append(q.Attach, a)
		}
	}
	return q, nil
}

// knownURI takes punctuation off the end of a URI, unless there is a resource of
// exactly this name.
func (s *screen) knownURI(server, uri string) string {
	known := func(uri string) bool {
		return slices.ContainsFunc(s.menu.resources, func(r resource) bool { return r.server == server && r.uri == uri })
	}
	if short := strings.TrimRight(uri, ".,;:!?)"); !known(uri) && short != "" {
		return short
	}
	return uri
}

// promptCall is /SERVER:PROMPT with its arguments: NAME=VALUE, or values in the
// order of the prompt's arguments.
func promptCall(p *host.PromptRef, rest string) (*host.PromptCall, error) {
	call := &host.PromptCall{Server: p.Server, Name: p.Prompt.Name, Arguments: map[string]string{}}
	words, err := splitWords(rest)
	if err != nil {
		return nil, err
	}
	for _, word := range words {
		name, value, named := strings.Cut(word, "=")
		if named && hasArgument(p.Prompt, name) {
			call.Arguments[name] = value
			continue
		}
		if name = missing(p.Prompt, call.Arguments, false); name == "" {
			return nil, fmt.Errorf("prompt %s has no place for %q", p.Prompt.Name, oneLine(word, 40))
		}
		call.Arguments[name] = word
	}
	if name := missing(p.Prompt, call.Arguments, true); name != "" {
		return nil, fmt.Errorf("prompt %s needs %s=…", p.Prompt.Name, name)
	}
	return call, nil
}

func hasArgument(p *mcp.Prompt, name string) bool {
	return slices.ContainsFunc(p.Arguments, func(a mcp.PromptArgument) bool { return a.Name == name })
}

// missing is the first argument that has no value, of the required ones or of all.
func missing(p *mcp.Prompt, given map[string]string, required bool) string {
	for _, a := range p.Arguments {
		if _, ok := given[a.Name]; !ok && (a.Required || !required) {
			return a.Name
		}
	}
	return ""
}

var (
	quotedWord  = regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^ \n\t'"])+`)
	quotedPiece = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
)

// splitWords splits at spaces, but not in quotes.
func splitWords(text string) ([]string, error) {
	if open := strings.Trim(quotedWord.ReplaceAllString(text, ""), " \n\t"); open != "" {
		return nil, fmt.Errorf("a quote %c is open", open[0])
	}
	words := quotedWord.FindAllString(text, -1)
	for i, word := range words {
		words[i] = quotedPiece.ReplaceAllString(word, "$1$2")
	}
	return words, nil
}

// typed prints what the person said.
func (s *screen) typed(text string) { s.print(s.saidLines(text)...) }

func (s *screen) saidLines(text string) []ink.Line {
	mark := ink.Line{ink.T(ink.Accent, "❯ ", ink.Bold)}
	return ink.Indent(ink.Lines(ink.Plain, text, s.width-2, ink.Bold), mark, ink.Of("  "))
}
