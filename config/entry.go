package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/junction-mcp/junction/hostconfig"
	"github.com/tailscale/hujson"
)

// maxTimeout is the longest allowed timeout.
const maxTimeout = 24 * time.Hour

// An Entry holds the members of a server's entry as the file writes them, before variables are
// replaced. Its strings may contain secrets. A new member needs only a line here and its use: the
// tags, which [field] documents, define all other facts. Variables are listed and looked up in the
// order of the fields.
type Entry struct {
	Type         Kind          `json:"type,omitempty" also:"transport" doc:"one of the types above, if the other members do not show it"`
	Command      string        `json:"command,omitempty" of:"command" expand:"yes" doc:"the program to start: a path, or a name in PATH, but not a whole command line"`
	Cwd          string        `json:"cwd,omitempty" of:"command" expand:"yes" identity:"0" shown:"1" doc:"its working folder; by default the project's folder for a file of a project"`
	EnvFile      string        `json:"envFile,omitempty" of:"command" expand:"yes" identity:"0" shown:"1" doc:"a file with NAME=value lines for its environment, in the project or in your home folder"`
	URL          string        `json:"url,omitempty" of:"url" expand:"yes" doc:"the address to call, in place of a program"`
	Args         []string      `json:"args,omitempty" of:"command" expand:"yes" doc:"the arguments of the program"`
	Env          []pair        `json:"env,omitempty" of:"command" check:"env" expand:"yes" identity:"0" doc:"an object: variables added to its environment"`
	AllVariables bool          `json:"environment,omitempty" of:"command" enum:"usual,all" expected:"\"usual\", for the variables that programs need, or \"all\"" identity:"5 environment" doc:"which variables of Junction's own environment it gets if callers authenticate: usual, [those that programs need](security.md#servers-you-start), or all but Junction's own secrets, as in a container of its own"`
	Headers      []pair        `json:"headers,omitempty" of:"url" check:"header" expand:"yes" identity:"0" doc:"an object: headers of each request to the address"`
	UserHeader   string        `json:"userHeader,omitempty" of:"url" check:"header" identity:"6 userHeader" doc:"a header of each request that [names the user](#servers-that-get-the-users-name) who calls, such as X-Forwarded-User"`
	OAuth        *OAuth        `json:"oauth,omitempty" of:"url" expand:"yes" identity:"0" shown:"2" doc:"an object: [how to log in](cli.md#logins) at the address"`
	TLS          *TLS          `json:"tls,omitempty" expand:"yes" identity:"0" shown:"2" doc:"an object: [the certificates](cli.md#certificates) of the connection to it"`
	OpenAPI      string        `json:"openapi,omitempty" api:"--from" doc:"the [document of an HTTP API](#http-apis-as-tools), of which Junction makes tools"`
	GraphQL      string        `json:"graphql,omitempty" api:"--url" doc:"the address of a GraphQL API, likewise"`
	HTTP         templates     `json:"http,omitempty" api:"--tool" doc:"[single requests](#http-apis-as-tools), one object or several in an array, likewise"`
	Disabled     bool          `json:"disabled,omitempty" not:"enabled" doc:"true or false: whether it is ignored"`
	Eager        bool          `json:"start,omitempty" enum:"lazy,eager" expected:"\"lazy\", to start the server when it is first used, or \"eager\", to start it at once" doc:"[the start](#when-servers-start): lazy, at the first use, or eager, at once"`
	StartTimeout time.Duration `json:"startTimeout,omitempty" doc:"[the time to start](#when-servers-start)"`
	Timeout      time.Duration `json:"timeout,omitempty" doc:"the longest time without a response or progress: a text such as 30s, or seconds. By default the client decides; junction up has no --timeout"`
	Revision     string        `json:"revision,omitempty" check:"revision" doc:"[the only revision](bridge.md#which-revision-is-spoken) to use with it"`
}

// entryReader reads one server's entry into def. It records a fault and continues, so that the user
// sees all faults of an entry at once.
type entryReader struct {
	*fileReader
	def    *Definition
	faulty bool
}

func (e *entryReader) failed(field string, at int, err error) {
	e.faulty = true
	e.fail(e.def.Name, field, at, err)
}

// read reads the entry and reports whether its server can be used.
func (e *entryReader) read(v hujson.Value) bool {
	if v.Value.Kind() != '{' {
		e.failed("", v.StartOffset, wrongType("an object", v))
		return false
	}
	list := members(v)
	for _, all := range [][]member{list, withCommand(list)} {
		if first, second := duplicate(all); first != nil {
			e.failed(plain(first.name), second.at, caused(ErrDuplicate, "defined twice, on lines %d and %d", e.doc.line(first.at), e.doc.line(second.at)))
			return false
		}
		list = all
	}
	for _, m := range list {
		if err := e.readMember(e.def.fields(), "", m); err != nil {
			e.failed(plain(m.name), m.value.StartOffset, err)
		}
	}
	if e.faulty {
		return false
	}
	if field, err := e.chooseKind(); err != nil {
		e.failed(field, v.StartOffset, err)
		return false
	}
	if err := e.def.checkTLS(); err != nil {
		e.failed("tls", v.StartOffset, err)
		return false
	}
	e.warnNoEffect(list)
	e.def.texts(func(where, text string) { e.warnForeign(where, text, v.StartOffset) })
	return true
}

// withCommand returns an entry without a "command" that is an object. The members of the object
// replace it. Older files of Zed have such objects.
func withCommand(list []member) []member {
	i := slices.IndexFunc(list, func(m member) bool { return m.name == "command" && m.value.Value.Kind() == '{' })
	if i < 0 {
		return list
	}
	var inner []member
	for _, m := range members(list[i].value) {
		switch m.name {
		case "path":
			m.name = "command"
			fallthrough
		case "args", "env":
			inner = append(inner, m)
		}
	}
	return slices.Concat(list[:i], inner, list[i+1:])
}

// readType parses the kind of connection from h's name for it.
func readType(v hujson.Value, h hostconfig.Host) (Kind, error) {
	name, ok := text(v)
	if !ok {
		return 0, wrongType("a string", v)
	}
	kind, _ := h.Transport(name)
	for k := Stdio; int(k) < len(kinds); k++ {
		if kinds[k].name == kind {
			return k, nil
		}
	}
	return 0, fmt.Errorf("expected stdio, http or sse (also local, remote or streamable-http), got %s", quote(name))
}

// choose records which member holds the address or the API. A second such member is an error.
func (e *entryReader) choose(f field, path, name string) error {
	d := e.def
	switch {
	case path == "" && f.name == "url":
		if d.urlField != "" {
			return fmt.Errorf("%s already gives the address; remove one", d.urlField)
		}
		d.urlField = name
	case f.Tag.Get("api") != "":
		if d.api != "" {
			return fmt.Errorf("%s already names an API; remove one", d.api)
		}
		d.api = f.name
	}
	return nil
}

// chooseKind decides whether the server is a program or an address, and checks everything that does
// not depend on variables. With an error it returns the faulty member.
func (e *entryReader) chooseKind() (field string, err error) {
	d := e.def
	if d.api != "" {
		return e.chooseAPI()
	}
	if d.Type == 0 && d.urlField == "httpUrl" {
		d.Type = HTTP
	}
	switch {
	case d.Command == "" && d.URL == "":
		return "", errors.New(`expected "command", a program to start, or "url", an address to call`)
	case d.Type == 0 && d.Command != "" && d.URL != "":
		return "", errors.New(`has both "command" and "url"; remove one, or choose one with "type"`)
	case d.Type == Stdio && d.Command == "":
		return "type", errors.New(`stdio needs "command", a program to start`)
	case d.Type > Stdio && d.URL == "":
		return "type", fmt.Errorf(`%s needs "url", an address to call`, d.Type)
	case d.Type != 0:
		d.Kind = d.Type
	case d.Command != "":
		d.Kind = Stdio
	default:
		d.Kind = Auto
	}
	if d.Kind == Stdio && !strings.Contains(d.Command, "${") {
		_, err = program(d.Command, d.Command, d.folder, len(d.Args))
		return "command", err
	}
	if d.Kind != Stdio && !strings.Contains(d.URL, "${") {
		return d.urlField, checkURL(d.Kind, d.URL)
	}
	return "", nil
}

func (e *entryReader) strings(field string, v hujson.Value) ([]string, error) {
	array, ok := v.Value.(*hujson.Array)
	if !ok {
		return nil, wrongType("an array of strings", v)
	}
	list := make([]string, 0, len(array.Elements))
	for i, element := range array.Elements {
		s, ok := text(element)
		if !ok {
			e.failed(fmt.Sprintf("%s[%d]", field, i), element.StartOffset, wrongType("a string", element))
			continue
		}
		list = append(list, s)
	}
	return list, nil
}

// pairs reads an object of strings. A number keeps its spelling, which is also what VS Code does.
func (e *entryReader) pairs(field string, v hujson.Value, check func(string) error) ([]pair, error) {
	if v.Value.Kind() != '{' {
		return nil, wrongType("an object of strings", v)
	}
	list := members(v)
	if first, second := duplicate(list); first != nil {
		return nil, caused(ErrDuplicate, "%s is defined twice, on lines %d and %d", plain(first.name), e.doc.line(first.at), e.doc.line(second.at))
	}
	pairs := make([]pair, 0, len(list))
	for _, m := range list {
		p := pair{name: m.name}
		err := check(m.name)
		switch kind := m.value.Value.Kind(); {
		case err != nil:
		case kind == '"':
			p.value, _ = text(m.value)
		case kind == '0':
			p.value = string(m.value.Value.(hujson.Literal))
		case kind == 'n' && e.host.Unsets() && field == "env":
			p.remove = true
		default:
			err = wrongType("a string", m.value)
		}
		if err != nil {
			e.failed(field+"."+plain(m.name), m.at, err)
			continue
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

func nonEmpty(v hujson.Value) (string, error) {
	s, ok := text(v)
	switch {
	case !ok:
		return "", wrongType("a string", v)
	case strings.TrimSpace(s) == "":
		return "", errors.New("is empty")
	}
	return s, nil
}

func boolean(v hujson.Value) (bool, error) {
	switch v.Value.Kind() {
	case 't':
		return true, nil
	case 'f':
		return false, nil
	}
	return false, wrongType("true or false", v)
}

func readTimeout(v hujson.Value, unit time.Duration) (time.Duration, error) {
	var timeout time.Duration
	switch v.Value.Kind() {
	case '0':
		// The limit comes before the conversion, because the conversion of a value out of range is
		// undefined.
		wanted := v.Value.(hujson.Literal).Float() * float64(unit)
		timeout = time.Duration(math.Min(wanted, float64(maxTimeout+1)))
	case '"':
		s, _ := text(v)
		var err error
		if timeout, err = time.ParseDuration(s); err != nil {
			return 0, fmt.Errorf(`expected a duration such as "30s", got %s`, quote(s))
		}
	default:
		return 0, wrongType(`a number or a duration such as "30s"`, v)
	}
	if timeout <= 0 || timeout > maxTimeout {
		return 0, fmt.Errorf("expected more than 0 and at most %v", maxTimeout)
	}
	return timeout, nil
}
