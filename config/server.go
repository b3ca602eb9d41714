package config

import (
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/junction-mcp/junction/internal/redact"
)

// Server is a server whose variables are replaced. Env, Headers, Args and URL may contain secrets;
// String and Redacted hide them.
type Server struct {
	Name     string            `json:"name"`
	Kind     Kind              `json:"kind"`
	Command  string            `json:"command,omitempty"` // absolute, or a name to look up in PATH; never a command line
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`   // added to the environment
	Unset    []string          `json:"unset,omitempty"` // removed from the environment
	Dir      string            `json:"dir,omitempty"`   // absolute; empty means the caller's choice
	URL      string            `json:"url,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	OAuth    *OAuth            `json:"oauth,omitempty"`   // nil if not configured
	TLS      *TLS              `json:"tls,omitempty"`     // nil if not configured
	Timeout  time.Duration     `json:"timeout,omitempty"` // for one request; 0 means the caller's choice
	Disabled bool              `json:"disabled,omitempty"`
	Source   string            `json:"source,omitempty"` // file that defines it

	definition *Definition // nil for a Server that Resolve did not make
	hash       string
}

// Hash returns [Definition.Hash] with the environment file as Resolve read it. It returns "" for a
// Server that Resolve did not make.
func (s *Server) Hash() string { return s.hash }

// Located completes a [Problem] that has no file with the file and line of the server's entry. It
// returns every other error unchanged.
func (s *Server) Located(err error) error {
	p, is := err.(*Problem)
	if !is || p.Source != "" || s.definition == nil {
		return err
	}
	d := s.definition
	return &Problem{Source: d.Source, Server: d.Name, Field: p.Field, Line: d.Line, Err: p.Err}
}

// Redacted returns a copy that is safe to show. It hides the values of Env and Headers, and the
// parts of URL and Args that look like secrets. Command, Args and URL are as the file writes them
// if Resolve made the Server, so values of variables are never shown.
func (s Server) Redacted() Server {
	if s.definition != nil {
		written := s.definition.written()
		s.Command, s.Args, s.URL = written.Command, written.Args, written.URL
		if written.Dir != "" {
			s.Dir = written.Dir
		}
	} else {
		s.URL, s.Args = redact.URL(s.URL), redact.Arguments(s.Args)
	}
	s.Env, s.Headers = hideValues(s.Env), hideValues(s.Headers)
	return s
}

// String returns one line with the name, the kind, and the command or the URL, redacted.
func (s Server) String() string {
	s = s.Redacted()
	words := append([]string{s.Name, "(" + s.Kind.String() + "):"}, slices.DeleteFunc([]string{s.Command, s.URL}, func(w string) bool { return w == "" })...)
	for _, arg := range s.Args {
		words = append(words, showWord(arg))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		words = append(words, name+"="+s.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		words = append(words, name+": "+s.Headers[name])
	}
	return strings.Join(words, " ")
}

// GoString returns s.String(), so that %#v prints no secrets either.
func (s Server) GoString() string { return s.String() }

// LogValue returns s.String(), so that logs have no secrets either.
func (s Server) LogValue() slog.Value { return slog.StringValue(s.String()) }

// showWord quotes an argument unless it is one plain word.
func showWord(arg string) string {
	if arg == "" || strings.ContainsFunc(arg, func(r rune) bool { return r <= ' ' || r == '"' || isInvisible(r) }) {
		return strconv.Quote(arg) // in full, because users approve it and lock files contain it
	}
	return arg
}

func hideValues(values map[string]string) map[string]string {
	values = maps.Clone(values)
	for name := range values {
		values[name] = redact.Hidden
	}
	return values
}

// hideDefaults hides the defaults of variables and keeps their names.
func hideDefaults(raw string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(raw, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("${")
		body, after, closed := strings.Cut(rest, "}")
		if !closed {
			b.WriteString(rest)
			return b.String()
		}
		if name, _, defaulted := strings.Cut(body, ":-"); defaulted {
			body = name + ":-" + redact.Hidden
		}
		b.WriteString(body + "}")
		raw = after
	}
}
