package config

import (
	"cmp"
	"context"
	"time"

	"github.com/junction-mcp/junction/internal/secret"
)

// Kind is how a server is reached.
type Kind int

const (
	// Stdio is a program that is started, and spoken to through its standard input and output.
	Stdio Kind = iota + 1
	// HTTP is an address that speaks Streamable HTTP.
	HTTP
	// SSE is an address that speaks HTTP+SSE, the transport of revision 2024-11-05.
	SSE
	// Auto is an address whose transport is to be found out: Streamable HTTP, then HTTP+SSE.
	Auto
)

// String is the kind as files write it: stdio, http, sse or auto.
func (k Kind) String() string {
	names := [...]string{"unknown", "stdio", "http", "sse", "auto"}
	if k < 0 || int(k) >= len(names) {
		return names[0]
	}
	return names[k]
}

// MarshalText is String, for JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Definition is a server as a file writes it, with variables not looked up. It is safe
// for concurrent use as long as its fields are not changed.
type Definition struct {
	Name     string        // valid: not empty, at most 128 bytes, nothing invisible in it
	Kind     Kind          // how the server is reached
	Timeout  time.Duration // for one request; 0 when the file does not say
	Disabled bool          // the person switched it off; Resolve works all the same
	Eager    bool          // "start": "eager": to be started at once, not when it is first used
	// StartTimeout is how long a start may take; 0 when the file does not say.
	StartTimeout time.Duration
	Source       string // the file, as it was given to Load or Parse
	Line         int    // where in Source the server's entry begins
	Format       Format // whose conventions Source follows
	Project      bool   // a project's file defines it: do not start it without consent

	command, cwd, envFile, url string
	urlField                   string // the member that gave url
	api, document              string // the member that names an API, and what it says
	args                       []string
	argFields                  []string // where the entry has the first ones, which are made of other members
	env, headers               []pair
	oauth                      *OAuth // as the file writes it; nil if it says nothing
	tls                        *TLS   // the same

	folder    string // what relative paths are relative to
	workspace string // the folder of the project; else empty
	file      *File
}

// pair is one member of env or headers, in file order.
type pair struct {
	name, value string
	remove      bool   // null in VS Code: the variable is taken out of the environment
	field       string // as the entry has it, where that is not env.NAME
}

// String says what would be started or called, as the file writes it, without what may be secret.
func (d Definition) String() string { return d.written().String() }

// GoString is String: %#v prints no secret either.
func (d Definition) GoString() string { return d.String() }

// Words are the program and its arguments, or the URL, as the file writes them; nil for an API, which Junction itself serves. They may hold
// secrets.
func (d *Definition) Words() []string {
	switch {
	case d.api != "":
		return nil
	case d.Kind == Stdio:
		return append([]string{d.command}, d.args...)
	}
	return []string{d.url}
}

// Folder is the folder in which the program starts, as the member cwd says; empty where nothing is said. It may hold secrets.
func (d *Definition) Folder() string { return d.cwd }

// written is the definition with secrets hidden and variables by their names.
func (d *Definition) written() Server {
	s := Server{
		Name: d.Name, Kind: d.Kind, Timeout: d.Timeout, Disabled: d.Disabled, Source: d.Source, Dir: hideDefaults(d.cwd),
		Command: hideDefaults(d.command), URL: secret.URL(hideDefaults(d.url)),
		Args: make([]string, 0, len(d.args)), Env: map[string]string{}, Headers: map[string]string{},
	}
	for _, arg := range d.args {
		s.Args = append(s.Args, hideDefaults(arg))
	}
	s.Args = secret.Arguments(s.Args)
	for _, p := range d.env {
		if p.remove {
			s.Unset = append(s.Unset, p.name)
			continue
		}
		s.Env[p.name] = secret.Hidden
	}
	for _, p := range d.headers {
		s.Headers[p.name] = secret.Hidden
	}
	return s
}

// Resolve makes the definition ready to be used: it looks up variables, asks for
// inputs, reads the environment file and completes paths. The error is a *Problem.
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

// stdio completes a program to start; where it fails, it names the field.
func (x *expansion) stdio(s *Server) (field string, err error) {
	d := x.def
	if s.Command, err = x.expand(d.command); err != nil {
		return "command", err
	}
	if d.api != "" {
		s.Command, err = d.file.options.self()
	} else {
		s.Command, err = program(s.Command, d.command, d.folder, len(d.args))
	}
	if err != nil {
		return "command", err
	}
	for i, arg := range d.args {
		value, err := x.expandLine(arg)
		if err != nil {
			return d.argField(i), err
		}
		s.Args = append(s.Args, value)
	}
	if s.Dir, err = x.directory(); err != nil {
		return "cwd", err
	}
	if s.Env, err = x.readEnvFile(); err != nil {
		return "envFile", err
	}
	s.hash = d.hash(s.Env)
	for _, p := range d.env {
		if p.remove {
			delete(s.Env, p.name)
			s.Unset = append(s.Unset, p.name)
			continue
		}
		if s.Env[p.name], err = x.expandLine(p.value); err != nil {
			return cmp.Or(p.field, "env."+plain(p.name)), err
		}
	}
	return "", nil
}

// remote completes an address to call.
func (x *expansion) remote(s *Server) (field string, err error) {
	if s.URL, err = x.expand(x.def.url); err != nil {
		return x.def.urlField, err
	}
	if err := checkURL(s.URL); err != nil {
		return x.def.urlField, err
	}
	s.Headers = make(map[string]string, len(x.def.headers))
	for _, p := range x.def.headers {
		value, err := x.expand(p.value)
		if err == nil {
			err = checkHeaderValue(value)
		}
		if err != nil {
			return "headers." + plain(p.name), err
		}
		s.Headers[p.name] = value
	}
	if s.OAuth, field, err = x.oauth(); err != nil {
		return field, err
	}
	s.TLS, field, err = x.tls()
	return field, err
}

func (x *expansion) directory() (string, error) {
	if x.def.cwd == "" {
		return x.def.workspace, nil
	}
	value, err := x.expandLine(x.def.cwd)
	if err != nil {
		return "", err
	}
	return absolute(value, x.def.folder), nil
}
