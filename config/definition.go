package config

import (
	"cmp"
	"context"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/junction-mcp/junction/internal/redact"
)

// Kind is the kind of connection to a server.
type Kind int

const (
	// Stdio is a program that speaks the protocol on its standard input and output.
	Stdio Kind = iota + 1
	// HTTP is an address that speaks Streamable HTTP.
	HTTP
	// SSE is an address that speaks HTTP+SSE, the transport of revision 2024-11-05.
	SSE
	// Auto is an address with an unknown transport. The client tries Streamable HTTP first, then
	// HTTP+SSE.
	Auto
)

// kinds holds the names of the Kinds in files, and the schemes of their addresses.
var kinds = [...]struct {
	name    string
	schemes []string
}{
	{name: "unknown"},
	Stdio: {name: "stdio"},
	HTTP:  {"http", []string{"https", "http"}},
	SSE:   {"sse", []string{"https", "http"}},
	Auto:  {"auto", []string{"https", "http"}},
}

// String returns the name of the kind in files: stdio, http, sse or auto.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kinds) {
		k = 0
	}
	return kinds[k].name
}

// MarshalText returns k.String(), for JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Definition is a server as a file defines it, before variables are replaced. It is safe for
// concurrent use as long as its fields are not changed.
type Definition struct {
	Name    string // valid: not empty, at most 128 bytes, without invisible characters
	Kind    Kind   // kind of connection
	Source  string // file name as passed to Load or Parse
	Line    int    // first line of the entry in Source
	Format  Format // format of Source
	Project bool   // whether a project's file defines the server, which then needs consent before it starts

	// Entry holds the members of the server's entry. For an API, Command and Args start Junction as
	// the server.
	Entry

	urlField  string   // member with the URL
	api       string   // member that names an API
	argFields []string // places in the entry of the first arguments, if these come from other members

	variables hostconfig.Variables // of Format
	folder    string               // folder of relative paths
	workspace string               // folder of the project, or empty
	file      *File
}

// pair is a member of env or headers, in file order.
type pair struct {
	name, value string
	remove      bool   // null in VS Code: the variable is removed from the environment
	field       string // place in the entry, if it is not env.NAME
}

// where returns the place of the pair in its entry. name is the member that holds the pair.
func (p pair) where(name string) string { return cmp.Or(p.field, name+"."+plain(p.name)) }

// String returns the command or the URL as the file writes it, with secrets hidden.
func (d Definition) String() string { return d.written().String() }

// GoString returns d.String(), so that %#v prints no secrets either.
func (d Definition) GoString() string { return d.String() }

// MarshalText returns d.String(), so that neither JSON nor logs have secrets.
func (d Definition) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// Words returns the program and its arguments, or the URL, with the spelling of the file. It
// returns nil for an API, which Junction itself serves. The words may contain secrets.
func (d *Definition) Words() []string {
	switch {
	case d.api != "":
		return nil
	case d.Kind == Stdio:
		return append([]string{d.Command}, d.Args...)
	}
	return []string{d.URL}
}

// written returns the server as the file defines it: variables are not replaced, and secrets are
// hidden.
func (d *Definition) written() Server {
	s := Server{
		Name: d.Name, Kind: d.Kind, Timeout: d.Timeout, Disabled: d.Disabled, Source: d.Source, Dir: hideDefaults(d.Cwd),
		Command: hideDefaults(d.Command), URL: redact.URL(hideDefaults(d.URL)),
		Args: make([]string, 0, len(d.Args)), Env: map[string]string{}, Headers: map[string]string{},
	}
	for _, arg := range d.Args {
		s.Args = append(s.Args, hideDefaults(arg))
	}
	s.Args = redact.Arguments(s.Args)
	for _, p := range d.Env {
		if p.remove {
			s.Unset = append(s.Unset, p.name)
			continue
		}
		s.Env[p.name] = redact.Hidden
	}
	for _, p := range d.Headers {
		s.Headers[p.name] = redact.Hidden
	}
	return s
}

// Resolve looks up variables, asks the user for inputs, reads the environment file and completes
// paths. The error is a *Problem.
func (d *Definition) Resolve(ctx context.Context) (*Server, error) {
	s := &Server{
		Name: d.Name, Kind: d.Kind, Timeout: d.Timeout, Disabled: d.Disabled, Source: d.Source,
		definition: d, hash: d.hash(nil),
	}
	x := &expansion{ctx: ctx, def: d}
	resolve := x.remote
	if d.Kind == Stdio {
		resolve = x.stdio
	}
	if field, err := resolve(s); err != nil {
		return nil, &Problem{Source: d.Source, Server: d.Name, Field: field, Line: d.Line, Err: err}
	}
	return s, nil
}

// stdio fills in s for a server that is a program. With an error it returns the faulty member.
func (x *expansion) stdio(s *Server) (field string, err error) {
	d := x.def
	if s.Command, err = x.expand(d.Command); err != nil {
		return "command", err
	}
	if d.api != "" {
		s.Command, err = d.file.options.self()
	} else {
		s.Command, err = program(s.Command, d.Command, d.folder, len(d.Args))
	}
	if err != nil {
		return "command", err
	}
	for i, arg := range d.Args {
		value, err := x.expandLine(arg)
		if err != nil {
			return d.argField(i), err
		}
		s.Args = append(s.Args, value)
	}
	if s.Dir = d.workspace; d.Cwd != "" {
		folder, err := x.expandLine(d.Cwd)
		if err != nil {
			return "cwd", err
		}
		s.Dir = absolute(folder, d.folder)
	}
	if s.Env, err = x.readEnvFile(); err != nil {
		return "envFile", err
	}
	s.hash = d.hash(s.Env)
	for _, p := range d.Env {
		if p.remove {
			delete(s.Env, p.name)
			s.Unset = append(s.Unset, p.name)
			continue
		}
		if s.Env[p.name], err = x.expandLine(p.value); err != nil {
			return p.where("env"), err
		}
	}
	return "", nil
}

// remote fills in s for a server that has an address. With an error it returns the faulty member.
func (x *expansion) remote(s *Server) (field string, err error) {
	if s.URL, err = x.expand(x.def.URL); err != nil {
		return x.def.urlField, err
	}
	if err := checkURL(s.Kind, s.URL); err != nil {
		return x.def.urlField, err
	}
	s.Headers = make(map[string]string, len(x.def.Headers))
	for _, p := range x.def.Headers {
		value, err := x.expand(p.value)
		if err == nil {
			err = checkHeaderValue(value)
		}
		if err != nil {
			return p.where("headers"), err
		}
		s.Headers[p.name] = value
	}
	if s.OAuth, field, err = expanded(x, "oauth", x.def.OAuth); err != nil {
		return field, err
	}
	if s.TLS, field, err = expanded(x, "tls", x.def.TLS); err != nil {
		return field, err
	}
	if s.OAuth != nil {
		s.OAuth.workspace = x.def.workspace
	}
	if s.TLS != nil {
		s.TLS.workspace = x.def.workspace
	}
	return "", nil
}
