package config

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/tailscale/hujson"
)

// An entry may name an HTTP API in place of a server. Its "openapi" or "graphql" member is the
// API's document or address; its "http" member holds single requests. This program then serves the
// API itself and converts it to tools. "url" is the base URL of the API's requests, "headers" go
// with each request, and "args" holds further arguments such as --tag and --exclude.

// maxTemplates is the largest size of "http" in bytes. The text becomes one argument of a program,
// and operating systems limit its length.
const maxTemplates = 64 << 10

// templates holds one or more requests of an "http" member as a JSON text. The program that
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

// chooseAPI sets the command line that serves the entry's API. With an error it returns the faulty
// member.
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
	for i, h := range d.Headers { // not as arguments, because all users of the machine can read these
		variable := fmt.Sprintf("JUNCTION_HEADER_%d", i+1)
		args = append(args, "--auth-env", "header:"+h.name+"="+variable)
		d.Env = append(d.Env, pair{name: variable, value: h.value, field: "headers." + plain(h.name)})
		d.argFields = append(d.argFields, api, api)
	}
	d.Kind, d.Command, d.URL, d.Headers, d.Args = Stdio, "junction", "", nil, append(args, d.Args...)
	return "", nil
}

// argField returns the place in the entry of argument i. The first arguments of an API come from
// members other than args.
func (d *Definition) argField(i int) string {
	if i < len(d.argFields) {
		return d.argFields[i]
	}
	return fmt.Sprintf("args[%d]", i-len(d.argFields))
}

// self returns the path of the program that serves APIs: by default, this program.
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
