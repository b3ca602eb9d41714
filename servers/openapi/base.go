package openapi

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/outside"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// baseOf returns the URL of the first server that a document, a path or an operation declares, or
// nil.
func (d *document) baseOf(from part, variables map[string]string) (*url.URL, error) {
	list := from.List("servers")
	if len(list) == 0 {
		return nil, nil
	}
	server, _ := list[0].(*tree.Object)
	text, err := fillVariables(server, variables)
	if err != nil {
		return nil, err
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("servers: %q is not a URL: set a base URL", text)
	}
	if d.from != nil {
		u = d.from.ResolveReference(u)
	}
	switch {
	case u.Host == "":
		return nil, fmt.Errorf("servers: %q is relative, and the document is a file: set a base URL", text)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("servers: %q is not an http or https URL: set a base URL", text)
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	if d.outside && !outside.Host(u.Hostname()) {
		return nil, fmt.Errorf("servers: the document of %s refers to %s, which is in a private network or not an ASCII name of the internet: if that is right, set a base URL", d.from.Host, u.Host)
	}
	return u, nil
}

// fillVariables returns the URL of a server with its variables replaced by given or default values.
func fillVariables(server *tree.Object, given map[string]string) (string, error) {
	text := server.Text("url")
	variables := server.Object("variables")
	values := map[string]string{}
	for _, name := range variables.Names() {
		v := variables.Object(name)
		value := textOf(v.Get("default"))
		if set, ok := given[name]; ok {
			value = set
		}
		if allowed := v.Texts("enum"); len(allowed) > 0 && !slices.Contains(allowed, value) {
			return "", fmt.Errorf("servers: %s is %q: expected one of %s", name, value, strings.Join(allowed, ", "))
		}
		values[name] = value
	}
	text = replaceNames(text, values)
	if strings.ContainsAny(text, "{}") {
		return "", fmt.Errorf("servers: %s has a variable without a value: set it, or a base URL", text)
	}
	return text, nil
}

// rootBase returns the base URL for the document's operations: the given one, or else the
// document's first server.
func (d *document) rootBase(root part, given string, variables map[string]string) (string, error) {
	if given != "" {
		return given, nil
	}
	u, err := d.baseOf(root, variables)
	switch {
	case err != nil:
		return "", err
	case u != nil:
		return u.String(), nil
	case d.from != nil:
		return d.from.Scheme + "://" + d.from.Host, nil // OpenAPI's default server is /
	}
	return "", errors.New("it has no servers: set a base URL")
}
