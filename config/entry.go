package config

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/tailscale/hujson"
)

// maxTimeout is the longest timeout a file can ask for.
const maxTimeout = 24 * time.Hour

// entryReader reads one server's entry into def. A fault is recorded, and reading goes
// on, so that a person sees all faults of an entry at once.
type entryReader struct {
	*fileReader
	def    *Definition
	kind   Kind // what "type" says; 0 without it
	faulty bool
}

func (e *entryReader) failed(field string, at int, err error) {
	e.faulty = true
	e.fail(e.def.Name, field, at, err)
}

// read says whether the entry can be used.
func (e *entryReader) read(v hujson.Value) bool {
	if v.Value.Kind() != '{' {
		e.failed("", v.StartOffset, wrongType("an object", v))
		return false
	}
	list := members(v)
	if first, second := duplicate(list); first != nil {
		e.failed(plain(first.name), second.at, caused(ErrDuplicate, "defined twice, on lines %d and %d", e.doc.line(first.at), e.doc.line(second.at)))
		return false
	}
	for _, m := range list {
		if err := e.readMember(m); err != nil {
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
	e.warnForeignVariables(v.StartOffset)
	return true
}

func (e *entryReader) readMember(m member) (err error) {
	d := e.def
	switch m.name {
	case "type", "transport":
		return e.readType(m.value)
	case "command":
		return e.readCommand(m.value)
	case "args":
		d.args, err = e.strings(m.name, m.value)
	case "env":
		d.env, err = e.pairs(m.name, m.value, checkEnvName)
	case "headers":
		d.headers, err = e.pairs(m.name, m.value, checkHeaderName)
	case "cwd":
		d.cwd, err = nonEmpty(m.value)
	case "envFile":
		d.envFile, err = nonEmpty(m.value)
	case "url", "serverUrl", "httpUrl":
		return e.readURL(m)
	case "openapi", "graphql", "http":
		return e.readAPI(m)
	case "disabled", "enabled":
		var on bool
		on, err = boolean(m.value)
		d.Disabled = d.Disabled || err == nil && on == (m.name == "disabled")
	case "timeout":
		d.Timeout, err = readTimeout(m.value, d.Format)
	case "startTimeout":
		d.StartTimeout, err = readTimeout(m.value, d.Format)
	case "oauth":
		return e.readOAuth(m.value)
	case "tls":
		return e.readTLS(m.value)
	case "start":
		d.Eager, err = readStart(m.value)
	default:
		e.warnUnknown(m)
	}
	return err
}

func (e *entryReader) readType(v hujson.Value) error {
	name, ok := text(v)
	if !ok {
		return wrongType("a string", v)
	}
	switch strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(name)) {
	case "stdio", "local":
		e.kind = Stdio
	case "http":
		e.kind = HTTP
		if e.def.Format == VSCode {
			e.kind = Auto // VS Code falls back to HTTP+SSE by itself
		}
	case "streamablehttp":
		e.kind = HTTP
	case "sse":
		e.kind = SSE
	case "remote":
		e.kind = Auto
	default:
		return fmt.Errorf("expected stdio, http or sse (also local, remote or streamable-http), got %s", quote(name))
	}
	return nil
}

// readCommand accepts a string, or the object that older Zed files write.
func (e *entryReader) readCommand(v hujson.Value) (err error) {
	if v.Value.Kind() != '{' {
		e.def.command, err = nonEmpty(v)
		return err
	}
	for _, m := range members(v) {
		switch m.name {
		case "path":
			e.def.command, err = nonEmpty(m.value)
		case "args":
			e.def.args, err = e.strings("command.args", m.value)
		case "env":
			e.def.env, err = e.pairs("command.env", m.value, checkEnvName)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

func (e *entryReader) readURL(m member) (err error) {
	if e.def.urlField != "" {
		return fmt.Errorf("%s already gives the address; remove one", e.def.urlField)
	}
	e.def.urlField = m.name
	e.def.url, err = nonEmpty(m.value)
	if m.name == "httpUrl" && e.kind == 0 {
		e.kind = HTTP
	}
	return err
}

// chooseKind decides between program and address, and checks what can be checked before variables are known.
func (e *entryReader) chooseKind() (field string, err error) {
	d := e.def
	switch {
	case d.api != "":
		return e.chooseAPI()
	case d.command == "" && d.url == "":
		return "", errors.New(`expected "command", a program to start, or "url", an address to call`)
	case e.kind == 0 && d.command != "" && d.url != "":
		return "", errors.New(`has both "command" and "url"; remove one, or say which with "type"`)
	case e.kind == Stdio && d.command == "":
		return "type", errors.New(`stdio needs "command", a program to start`)
	case e.kind > Stdio && d.url == "":
		return "type", fmt.Errorf(`%s needs "url", an address to call`, e.kind)
	case e.kind != 0:
		d.Kind = e.kind
	case d.command != "":
		d.Kind = Stdio
	default:
		d.Kind = Auto
	}
	if d.Kind == Stdio && !strings.Contains(d.command, "${") {
		_, err = program(d.command, d.command, d.folder, len(d.args))
		return "command", err
	}
	if d.Kind != Stdio && !strings.Contains(d.url, "${") {
		return d.urlField, checkURL(d.url)
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

// pairs reads names and strings. Numbers are taken as they are written, as VS Code does.
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
		case kind == 'n' && e.def.Format == VSCode && field == "env":
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

func readTimeout(v hujson.Value, format Format) (time.Duration, error) {
	var timeout time.Duration
	switch v.Value.Kind() {
	case '0':
		unit := time.Second
		if format == ClaudeCode {
			unit = time.Millisecond
		}
		// The comparison comes before the conversion, which is undefined for what does not fit.
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

// readStart reads when a server is started: "eager" or "lazy".
func readStart(v hujson.Value) (eager bool, err error) {
	when, ok := text(v)
	switch {
	case !ok:
		return false, wrongType("a string", v)
	case when != "eager" && when != "lazy":
		return false, fmt.Errorf(`expected "lazy", to start the server when it is first used, or "eager", to start it at once, got %s`, quote(when))
	}
	return when == "eager", nil
}

// EntryMembers are the members that an entry of a server can have, by the names that Junction's own files give them.
func EntryMembers() []string {
	return []string{"type", "command", "args", "env", "cwd", "envFile", "url", "headers", "oauth", "tls", "openapi", "graphql", "http", "disabled", "enabled", "timeout", "startTimeout", "start"}
}

// warnUnknown names what is ignored, and what was meant where only the case is wrong.
func (e *entryReader) warnUnknown(m member) {
	for _, known := range EntryMembers() {
		if strings.EqualFold(known, m.name) {
			e.warn(e.def.Name, plain(m.name), m.at, fmt.Errorf("is ignored; did you mean %q?", known))
			return
		}
	}
	e.warn(e.def.Name, plain(m.name), m.at, errors.New("is ignored: Junction has no such member"))
}
