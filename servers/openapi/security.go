package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/servers/httptool"
	"github.com/junction-mcp/junction/servers/internal/tree"
)

// A scheme is a security scheme of the document, as a credential without a value.
type scheme struct {
	name string
	httptool.Credential
}

// security holds the credentials of a document's operations.
type security struct {
	schemes []scheme
	secrets map[string]string // secrets by the name of the scheme; "" is the key for the scheme that an operation needs
}

// securityOf reads the schemes of a document. It returns an error if a secret names an unknown
// scheme. everywhere holds the credentials for every request: the secrets named bearer and basic,
// if the document has no scheme with that name.
func (d *document) securityOf(root part, secrets map[string]string) (s *security, everywhere []httptool.Credential, err error) {
	s = &security{secrets: secrets}
	all := root.at("components").at("securitySchemes")
	for _, name := range all.Names() {
		p, _, err := d.follow(all.at(name))
		if err != nil || p.Object == nil {
			continue
		}
		c := httptool.Credential{In: httptool.Bearer}
		switch {
		case p.Text("type") == "apiKey":
			c = httptool.Credential{In: httptool.Place(p.Text("in")), Name: p.Text("name")}
		case p.Text("type") == "http" && strings.EqualFold(p.Text("scheme"), "basic"):
			c.In = httptool.Basic
		case p.Text("type") == "http" && !strings.EqualFold(p.Text("scheme"), "bearer"):
			continue
		case p.Text("type") == "mutualTLS":
			continue
		}
		probe := c
		if probe.Value = "a:b"; probe.Check() == nil {
			s.schemes = append(s.schemes, scheme{name, c})
		}
	}
	for name, value := range secrets {
		c, known := s.credential(name)
		if place := httptool.Place(name); !known && (place == httptool.Bearer || place == httptool.Basic) {
			everywhere = append(everywhere, httptool.Credential{In: place, Value: value})
			continue
		}
		if !known {
			return nil, nil, fmt.Errorf("there is no security scheme %q that takes a secret; there are: %s", name, strings.Join(s.names(), ", "))
		}
		c.Value = value
		if err := c.Check(); err != nil {
			return nil, nil, fmt.Errorf("the secret for %q: %w", name, err)
		}
	}
	return s, everywhere, nil
}

func (s *security) names() []string {
	names := []string{}
	for _, one := range s.schemes {
		names = append(names, one.name)
	}
	return names
}

// credential returns the credential of a scheme, without a value. The name "" means a bearer token.
func (s *security) credential(name string) (httptool.Credential, bool) {
	if name == "" {
		return httptool.Credential{In: httptool.Bearer}, true
	}
	i := slices.IndexFunc(s.schemes, func(one scheme) bool { return one.name == name })
	if i < 0 {
		return httptool.Credential{}, false
	}
	return s.schemes[i].Credential, true
}

// places returns the credentials of all schemes, without values. Callers do not set them.
func (s *security) places() []httptool.Credential {
	var all []httptool.Credential
	for _, one := range s.schemes {
		all = append(all, one.Credential)
	}
	return all
}

// of returns the credentials for an operation. They are those of the first alternative whose
// secrets are all known.
func (s *security) of(root, operation part) []httptool.Credential {
	from := root
	if operation.Has("security") {
		from = operation
	}
	if !from.Has("security") {
		return s.undeclared()
	}
	for _, e := range from.List("security") {
		alternative, _ := e.(*tree.Object)
		if alternative.Len() == 0 {
			continue // an empty alternative; used only if no other is possible
		}
		var all []httptool.Credential
		for _, name := range alternative.Names() {
			value := s.secrets[name]
			if value == "" && alternative.Len() == 1 {
				value = s.secrets[""]
			}
			c, known := s.credential(name)
			if c.Value = value; known && c.Check() == nil { // the check fails if a token is given where USER:PASSWORD is needed
				all = append(all, c)
			}
		}
		if len(all) == alternative.Len() {
			return all
		}
	}
	return nil
}

// undeclared returns the credentials for a document without security requirements.
func (s *security) undeclared() []httptool.Credential {
	var all []httptool.Credential
	for _, one := range s.schemes {
		if value := s.secrets[one.name]; value != "" {
			c := one.Credential
			c.Value = value
			all = append(all, c)
		}
	}
	c := httptool.Credential{In: httptool.Bearer}
	if len(s.schemes) == 1 {
		c = s.schemes[0].Credential
	}
	if c.Value = s.secrets[""]; len(all) == 0 && c.Check() == nil {
		all = append(all, c)
	}
	return all
}
