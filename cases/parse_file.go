package cases

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/junction-mcp/junction/internal/revision"
	"go.yaml.in/yaml/v3"
)

// The kinds of transports.
const (
	Stdio = "stdio"
	HTTP  = "http" // Streamable HTTP
	SSE   = "sse"  // HTTP+SSE
)

// All stands for all revisions, or all transports, of a server.
const All = "all"

// CheckRevisions returns an error unless each word is a revision or All.
func CheckRevisions(words []string) error {
	return oneOf("revision", words, append(revision.Modern(), revision.Legacy()...))
}

// CheckTransports returns an error unless each word is a transport or All.
func CheckTransports(words []string) error {
	return oneOf("transport", words, []string{Stdio, HTTP, SSE})
}

func oneOf(what string, words, known []string) error {
	for _, word := range words {
		if word != All && !slices.Contains(known, word) {
			return fmt.Errorf("there is no %s %q; expected all, or of %q", what, word, known)
		}
	}
	return nil
}

// file reads a whole file.
func (p *parser) file(f *File, n *yaml.Node) error {
	p.startCase()
	each, cases := "", (*yaml.Node)(nil)
	err := p.mapping(n, "the file", members{
		"server":     func(n *yaml.Node) error { return p.server(&f.Server, n) },
		"timeout":    p.duration(&f.timeout),
		"each":       p.string(&each),
		"revisions":  p.words(&f.revisions, CheckRevisions),
		"transports": p.words(&f.transports, CheckTransports),
		"mask":       p.masks(&f.mask),
		"answers":    p.answers(&f.answers),
		"capabilities": p.words(&f.declared, func(words []string) error {
			for _, word := range words {
				if !slices.Contains(declarable(), word) {
					return fmt.Errorf("capabilities: there is no %q; expected some of %q", word, declarable())
				}
			}
			return nil
		}),
		"cases": func(n *yaml.Node) error { cases = n; return nil },
	})
	if err != nil {
		return err
	}
	switch {
	case each != "" && each != "case" && each != "file":
		return fmt.Errorf("each: expected case, for a server of each case, or file, got %q", each)
	case cases == nil || cases.Kind != yaml.SequenceNode || len(cases.Content) == 0:
		return errors.New("cases: expected a list")
	case len(cases.Content) > maxCases:
		return fmt.Errorf("there are more than %d cases", maxCases)
	}
	f.perCase = each == "case"
	taken := map[string]int{}
	for _, entry := range cases.Content {
		c := &testCase{line: p.line(entry), answers: f.answers}
		if err := p.testCase(c, entry); err != nil {
			return err
		}
		if before := taken[slug(c.name)]; before > 0 {
			return p.errorf(entry, "case %q: the case on line %d has the same name, or a name that gives the same file name", c.name, before)
		}
		taken[slug(c.name)] = c.line
		f.cases = append(f.cases, c)
		f.listensFor(c)
	}
	return nil
}

// listensFor records the subscriptions that a case needs.
func (f *File) listensFor(c *testCase) {
	for _, s := range c.steps {
		for _, e := range s.expect.notifications {
			switch e.kind {
			case kindLog:
				f.wantsLog = true
			case kindChanged:
				f.wantsListen = true
			case kindUpdated:
				f.wantsListen = true
				if !slices.Contains(f.watched, e.subject) {
					f.watched = append(f.watched, e.subject)
				}
			}
		}
	}
}

// startCase removes the placeholders that the previous case defined.
func (p *parser) startCase() { p.known = map[string]bool{placeDir: true, placeHere: true} }

// words returns a function that reads a list of words, or a single word, and checks them.
func (p *parser) words(into *[]string, check func([]string) error) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := p.strings(into)(n); err != nil {
			return err
		}
		if err := check(*into); err != nil {
			return p.errorf(n, "%w", err)
		}
		return nil
	}
}

// server reads the server of a file.
func (p *parser) server(s *Server, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return p.string(&s.Name)(n)
	}
	err := p.mapping(n, "server", members{
		"command": func(n *yaml.Node) error {
			if n.Kind != yaml.SequenceNode {
				return p.errorf(n, "command: expected a list of the program and its arguments, such as [node, build/index.js]")
			}
			return p.strings(&s.Command)(n)
		},
		"env": func(n *yaml.Node) error {
			s.Env = map[string]string{}
			return p.each(n, "env", func(key, value *yaml.Node) error {
				if value.Kind != yaml.ScalarNode || key.Value == "" {
					return p.errorf(value, "env: expected NAME: VALUE")
				}
				s.Env[key.Value] = value.Value
				return p.placeholders(value)
			})
		},
		"recording": p.string(&s.Recording),
		"recorded":  p.string(&s.Recorded),
	})
	switch {
	case err != nil:
		return err
	case (len(s.Command) == 0) == (s.Recording == ""):
		return p.errorf(n, "server: expected a name or URL, or one of command and recording")
	case len(s.Command) == 0 && s.Env != nil || s.Recording == "" && s.Recorded != "":
		return p.errorf(n, "server: env goes with command, recorded with recording")
	}
	for _, word := range s.Command {
		if err := p.placeholders(&yaml.Node{Line: n.Line, Value: word}); err != nil {
			return err
		}
	}
	return nil
}

// testCase reads a case: its steps, or the single step in the case itself.
func (p *parser) testCase(c *testCase, n *yaml.Node) error {
	p.startCase()
	var steps *yaml.Node
	single := &step{line: p.line(n)}
	read := stepReader{parser: p, step: single}
	m := members{
		"case":       p.string(&c.name),
		"revisions":  p.words(&c.revisions, CheckRevisions),
		"transports": p.words(&c.transports, CheckTransports),
		"answers": func(n *yaml.Node) error {
			own := answers{}
			err := p.answers(&own)(n)
			c.answers = c.answers.with(own)
			return err
		},
		"steps": func(n *yaml.Node) error { steps = n; return nil },
	}
	maps.Copy(m, read.members())
	if err := p.mapping(n, "the case", m); err != nil {
		return err
	}
	if c.name == "" {
		return p.errorf(n, "the case has no name (case: …)")
	}
	if steps == nil {
		c.steps = []*step{single}
		return read.finish(n)
	}
	switch {
	case read.used:
		return p.errorf(n, "the case %q has steps, and is a step itself: put all into steps", c.name)
	case steps.Kind != yaml.SequenceNode || len(steps.Content) == 0:
		return p.errorf(steps, "steps: expected a list")
	case len(steps.Content) > maxSteps:
		return p.errorf(steps, "there are more than %d steps", maxSteps)
	}
	for _, entry := range steps.Content {
		s := &step{line: p.line(entry)}
		read := stepReader{parser: p, step: s}
		if err := p.mapping(entry, "the step", read.members()); err != nil {
			return err
		}
		if err := read.finish(entry); err != nil {
			return err
		}
		c.steps = append(c.steps, s)
	}
	return nil
}
