package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tailscale/hujson"
)

// An entry may name an HTTP API in place of a server: the document or address of it, under "openapi" or
// "graphql", or single requests, under "http". The server is then this program itself, which makes tools of the API;
// "url" is the base of the API's requests, "headers" go with them, and "args" are further arguments, such as --tag
// and --exclude.

// maxTemplates bounds what "http" holds, in bytes: an argument of a program cannot be much longer.
const maxTemplates = 64 << 10

// apiMembers are the members that name an API, with the argument that the program takes it in.
func apiMembers() map[string]string {
	return map[string]string{"openapi": "--from", "graphql": "--url", "http": "--tool"}
}

// readAPI notes that the entry is for an API.
func (e *entryReader) readAPI(m member) (err error) {
	if e.def.api != "" {
		return fmt.Errorf("%s already names an API; remove one", e.def.api)
	}
	e.def.api = m.name
	if m.name == "http" {
		e.def.document, err = templates(m.value)
		return err
	}
	e.def.document, err = nonEmpty(m.value)
	return err
}

// templates are requests as a file writes them, one or several, as standard JSON. The program that makes tools of them
// says what is wrong with them.
func templates(v hujson.Value) (string, error) {
	list := []hujson.Value{v}
	if array, is := v.Value.(*hujson.Array); is {
		list = array.Elements
	}
	if len(list) == 0 {
		return "", errors.New("is empty; expected an object with name and url, or several")
	}
	for _, one := range list {
		var named bool
		for _, m := range members(one) {
			if _, is := text(m.value); m.name == "url" && is {
				named = true
			}
		}
		if !named {
			return "", fmt.Errorf("expected an object with name and url, or several, got %s", kindName(one))
		}
	}
	v = v.Clone()
	v.Minimize()
	standard := string(v.Pack())
	if len(standard) > maxTemplates {
		return "", caused(ErrLimit, "has more than %d KiB; write it to a file, for the command junction serve http --tool FILE", maxTemplates>>10)
	}
	return standard, nil
}

// chooseAPI makes the command line of the server that makes tools of an API.
func (e *entryReader) chooseAPI() (field string, err error) {
	d := e.def
	switch {
	case d.command != "":
		return "command", fmt.Errorf("has both %q and %q; remove one", d.api, "command")
	case e.kind != 0:
		return "type", fmt.Errorf("goes with %q and %q, and not with %q", "command", "url", d.api)
	case d.api == "graphql" && d.url != "":
		return d.urlField, errors.New(`"graphql" is the address already; remove one`)
	case d.url != "" && !strings.Contains(d.url, "${"):
		if err := checkURL(d.url); err != nil {
			return d.urlField, err
		}
	}
	document := d.document
	if d.api == "openapi" && !strings.Contains(document, "://") && !strings.HasPrefix(document, "${") {
		document = absolute(document, d.folder)
	}
	args := []string{"serve", d.api, apiMembers()[d.api], document}
	d.argFields = []string{d.api, d.api, d.api, d.api}
	if d.url != "" {
		args = append(args, "--base", d.url)
		d.argFields = append(d.argFields, d.urlField, d.urlField)
	}
	for i, h := range d.headers { // not as arguments, which everybody on the machine can read
		variable := fmt.Sprintf("JUNCTION_HEADER_%d", i+1)
		args = append(args, "--auth-env", "header:"+h.name+"="+variable)
		d.env = append(d.env, pair{name: variable, value: h.value, field: "headers." + plain(h.name)})
		d.argFields = append(d.argFields, d.api, d.api)
	}
	d.Kind, d.command, d.url, d.headers, d.args = Stdio, "junction", "", nil, append(args, d.args...)
	return "", nil
}

// argField is where the entry has an argument, of which the first may be made of other members.
func (d *Definition) argField(i int) string {
	if i < len(d.argFields) {
		return d.argFields[i]
	}
	return fmt.Sprintf("args[%d]", i-len(d.argFields))
}

// self is the program that serves APIs.
func (o *Options) self() (string, error) {
	if o.Program != "" {
		return o.Program, nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("the path of this program is not known: %w", err)
	}
	return path, nil
}
