package schema

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// documentURI names a schema that does not name itself. It is never fetched,
// but relative references need something to be relative to.
const documentURI = "https://junction.invalid/schema"

var errElsewhere = errors.New("junction never fetches schemas: copy it into $defs")

// location is a schema within the schema.
type location struct {
	text []byte
	base string // of the schema around it; its own $id is relative to that
	path []step
}

// index notes the names of all schemas within raw. named tells that raw maps
// names to schemas, and is no schema itself.
func (c *compiler) index(raw []byte, base string, path []step, named bool) error {
	if texts, ok := elements(raw); ok {
		for i, text := range texts {
			if err := c.index(text, base, append(path[:len(path):len(path)], step{index: i}), false); err != nil {
				return err
			}
		}
		return nil
	}
	list, ok := members(raw)
	if !ok {
		return nil
	}
	if !named {
		at := location{raw, base, path}
		var err error
		if base, err = c.baseOf(list, base); err != nil {
			return err
		}
		if base != at.base {
			c.documents[base] = at
		}
		if err := c.indexAnchors(list, base, at); err != nil {
			return err
		}
	}
	for _, m := range list {
		name := string(m.name)
		if !named && (name == "enum" || name == "const" || name == "default" || name == "examples") {
			continue // data, whatever it looks like
		}
		holds := !named && (name == "properties" || name == "patternProperties" || name == "$defs" ||
			name == "definitions" || name == "dependentSchemas" || name == "dependencies")
		if err := c.index(m.value, base, append(path[:len(path):len(path)], step{name: name, index: -1}), holds); err != nil {
			return err
		}
	}
	return nil
}

func (c *compiler) indexAnchors(list []member, base string, at location) error {
	for _, m := range list {
		name, isText := string(m.name), kindAt(m.value, 0) == kindString
		anchor := string(unquote(m.value, true))
		switch {
		case !isText:
			continue
		case c.draft <= draft7 && name == c.draft.id() && strings.HasPrefix(anchor, "#"):
			anchor = anchor[1:]
		case c.draft >= draft2019 && name == "$anchor":
		case c.draft >= draft2020 && name == "$dynamicAnchor":
			c.dynamic[anchor] = append(c.dynamic[anchor], base+"#"+anchor)
		default:
			continue
		}
		if other, twice := c.anchors[base+"#"+anchor]; twice && &other.text[0] != &at.text[0] {
			return fmt.Errorf("schema has two anchors %q: rename one", clip(anchor))
		}
		c.anchors[base+"#"+anchor] = at
	}
	return nil
}

// baseOf is what references within a schema are relative to.
func (c *compiler) baseOf(list []member, base string) (string, error) {
	var id []byte
	for _, m := range list {
		switch {
		case string(m.name) == "$ref" && c.draft <= draft7:
			return base, nil
		case string(m.name) == c.draft.id() && kindAt(m.value, 0) == kindString:
			id = unquote(m.value, true)
		}
	}
	if len(id) == 0 || id[0] == '#' {
		return base, nil
	}
	uri, _, err := absolute(base, string(id))
	return uri, err
}

// absolute resolves a reference, and splits its fragment off.
func absolute(base, ref string) (uri, fragment string, err error) {
	b, err := url.Parse(base)
	if err != nil {
		return "", "", fmt.Errorf("schema has an $id that is no URI: %q", clip(base))
	}
	r, err := url.Parse(ref)
	if err != nil {
		return "", "", fmt.Errorf("schema has a reference that is no URI: %q", clip(ref))
	}
	u := b.ResolveReference(r)
	fragment = u.Fragment
	u.Fragment, u.RawFragment = "", ""
	return u.String(), fragment, nil
}

// resolve compiles the schema that a reference names.
func (c *compiler) resolve(ref string) (*check, error) {
	uri, fragment, err := absolute(c.base, ref)
	if err != nil {
		return nil, err
	}
	key := uri + "#" + fragment
	if done, ok := c.refs[key]; ok {
		return done, nil
	}
	at, ok := c.documents[uri]
	if !ok {
		return nil, fmt.Errorf("schema has a $ref to %q: %w", clip(ref), errElsewhere)
	}
	switch {
	case strings.HasPrefix(fragment, "/"):
		at, ok, err = c.follow(at, fragment)
	case fragment != "":
		at, ok = c.anchors[key]
	}
	if err != nil {
		return nil, err
	}
	if !ok {
		return nil, fmt.Errorf("schema has a $ref to %q, which it does not define: add it, under $defs for instance", clip(ref))
	}
	return c.compileAt(key, at)
}

func (c *compiler) compileAt(key string, at location) (*check, error) {
	if done, ok := c.refs[key]; ok {
		return done, nil
	}
	target := newCheck()
	c.refs[key] = target
	base, path := c.base, c.path
	c.base, c.path = at.base, at.path[:len(at.path):len(at.path)]
	err := c.fill(target, at.text)
	c.base, c.path = base, path
	return target, err
}

// follow finds what a JSON Pointer names.
func (c *compiler) follow(at location, pointer string) (location, bool, error) {
	unescape := strings.NewReplacer("~1", "/", "~0", "~")
	for _, token := range strings.Split(pointer[1:], "/") {
		token = unescape.Replace(token)
		if list := c.elementsOf(at.text); list != nil {
			n, ok := plainInt([]byte(token))
			if !ok || n < 0 || int(n) >= len(list) {
				return at, false, nil
			}
			at.text = list[n]
			at.path = append(at.path[:len(at.path):len(at.path)], step{index: int(n)})
			continue
		}
		base, err := c.baseWithin(at)
		if err != nil {
			return at, false, err
		}
		text := c.membersOf(at.text)[token]
		if text == nil {
			return at, false, nil
		}
		at = location{text, base, append(at.path[:len(at.path):len(at.path)], step{name: token, index: -1})}
	}
	return at, true, nil
}

// membersOf is the object as a map, kept because references often lead there.
func (c *compiler) membersOf(raw []byte) map[string][]byte {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	if known, ok := c.objects[&raw[0]]; ok {
		return known
	}
	list, _ := members(raw)
	object := make(map[string][]byte, len(list))
	for _, m := range list {
		object[string(m.name)] = m.value
	}
	c.objects[&raw[0]] = object
	return object
}

// elementsOf is membersOf for arrays.
func (c *compiler) elementsOf(raw []byte) [][]byte {
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	list, known := c.arrays[&raw[0]]
	if !known {
		list, _ = elements(raw)
		c.arrays[&raw[0]] = list
	}
	return list
}

func (c *compiler) baseWithin(at location) (string, error) {
	object := c.membersOf(at.text)
	var list []member
	for _, name := range []string{"$ref", c.draft.id()} {
		if value, ok := object[name]; ok {
			list = append(list, member{[]byte(name), value})
		}
	}
	return c.baseOf(list, at.base)
}

func (c *compiler) reference(t *check, raw []byte) error {
	if kindAt(raw, 0) != kindString {
		return c.wrong("string", raw)
	}
	target, err := c.resolve(string(unquote(raw, true)))
	if err != nil {
		return err
	}
	t.all = append(t.all, target)
	t.guided = true
	return nil
}

// dynamicReference notes every schema a $dynamicRef may turn out to name.
func (c *compiler) dynamicReference(t *check, raw []byte) error {
	if kindAt(raw, 0) != kindString {
		return c.wrong("string", raw)
	}
	ref := string(unquote(raw, true))
	target, err := c.resolve(ref)
	if err != nil {
		return err
	}
	_, name, _ := strings.Cut(ref, "#")
	if shared, ok := c.targets[name]; ok {
		t.dynamic = []*check{target, shared}
		return nil
	}
	shared := newCheck()
	c.targets[name] = shared
	t.dynamic = []*check{target, shared}
	for _, key := range c.dynamic[name] {
		target, err := c.compileAt(key, c.anchors[key])
		if err != nil {
			return err
		}
		shared.dynamic = append(shared.dynamic, target)
	}
	return nil
}
