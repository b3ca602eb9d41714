package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tailscale/hujson"
)

// An entry may name an HTTP API in place of a server: its document or address, under "openapi" or
// "graphql", or single requests, under "http". The server is then this program itself, which
// converts the API to tools. "url" is the base URL of the API's requests, "headers" are sent with
// them, and "args" are further arguments, such as --tag and --exclude.

// maxTemplates limits the bytes of "http": an argument of a program cannot be much longer.
const maxTemplates = 64 << 10

// templates holds the requests of a file, one or several, as standard JSON. The program that
// converts them to tools checks them.
type templates string

func readTemplates(v hujson.Value) (templates, error) {
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
	return templates(standard), nil
}

// chooseAPI builds the command line of the server for an API.
func (e *entryReader) chooseAPI() (field string, err error) {
	d, api := e.def, e.def.api
	switch {
	case d.Command != "":
		return "command", fmt.Errorf("has both %q and %q; remove one", api, "command")
	case d.Type != 0:
		return "type", fmt.Errorf("goes with %q and %q, and not with %q", "command", "url", api)
	case api == "graphql" && d.URL != "":
		return d.urlField, errors.New(`"graphql" is the address already; remove one`)
	case d.URL != "" && !strings.Contains(d.URL, "${"):
		if err := checkURL(HTTP, d.URL); err != nil {
			return d.urlField, err
		}
	}
	named, _ := fieldOf(d.fields(), api)
	document := d.fields().FieldByIndex(named.Index).String()
	if api == "openapi" && !strings.Contains(document, "://") && !strings.HasPrefix(document, "${") {
		document = absolute(document, d.folder)
	}
	args := []string{"serve", api, named.Tag.Get("api"), document}
	d.argFields = []string{api, api, api, api}
	if d.URL != "" {
		args = append(args, "--base", d.URL)
		d.argFields = append(d.argFields, d.urlField, d.urlField)
	}
	for i, h := range d.Headers { // not as arguments, which all users of the machine can read
		variable := fmt.Sprintf("JUNCTION_HEADER_%d", i+1)
		args = append(args, "--auth-env", "header:"+h.name+"="+variable)
		d.Env = append(d.Env, pair{name: variable, value: h.value, field: "headers." + plain(h.name)})
		d.argFields = append(d.argFields, api, api)
	}
	d.Kind, d.Command, d.URL, d.Headers, d.Args = Stdio, "junction", "", nil, append(args, d.Args...)
	return "", nil
}

// argField returns the member of an argument. The first arguments may come from other members than
// args.
func (d *Definition) argField(i int) string {
	if i < len(d.argFields) {
		return d.argFields[i]
	}
	return fmt.Sprintf("args[%d]", i-len(d.argFields))
}

// self returns the path of the program that serves APIs.
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
