package schema

// object compiles the keywords about members.
func (c *compiler) object(t *check, name string, raw []byte) (err error) {
	switch name {
	case "additionalProperties":
		if string(raw) == "false" {
			t.closed = true
			return nil
		}
		t.additional, err = c.schema(raw)
	case "propertyNames":
		t.names, err = c.schema(raw)
	case "required":
		t.required, err = c.nameSet(t, raw)
	case "properties":
		err = c.each(raw, func(name string, text []byte) error {
			sub, err := c.schema(text)
			at := t.place(name)
			t.members[at].check, t.members[at].declared = sub, true
			return err
		})
	case "patternProperties":
		err = c.each(raw, func(name string, text []byte) error {
			sub, err := c.schema(text)
			p, patternErr := compilePattern(name)
			if patternErr != nil {
				p, sub = nil, nil // not checked, so any name may be one of these
			}
			t.patterns = append(t.patterns, patternMember{p, sub})
			return err
		})
	default:
		err = c.each(raw, func(name string, text []byte) error { return c.dependent(t, name, text) })
	}
	return err
}

// dependent compiles what the presence of one member asks for.
func (c *compiler) dependent(t *check, name string, raw []byte) (err error) {
	d := dependent{at: t.place(name)}
	if kindAt(raw, 0) == kindArray {
		d.required, err = c.nameSet(t, raw)
	} else {
		d.check, err = c.schema(raw)
	}
	t.dependents = append(t.dependents, d)
	return err
}

// nameSet reads a list of names of members.
func (c *compiler) nameSet(t *check, raw []byte) (set memberSet, err error) {
	list, ok := elements(raw)
	if !ok {
		return set, c.wrong("array", raw)
	}
	for _, text := range list {
		if kindAt(text, 0) != kindString {
			return set, c.wrong("array of strings", raw)
		}
		at := t.place(string(unquote(text, true)))
		if set.has(at) {
			return set, c.wrong("each name once", raw)
		}
		set.add(at)
	}
	return set, nil
}

// place finds or makes the property of this name.
func (c *check) place(name string) int {
	if i := c.member([]byte(name), 0); i >= 0 {
		return i
	}
	c.members = append(c.members, property{name: name})
	switch n := len(c.members); {
	case n == fewMembers+1:
		c.index = make(map[string]int, 2*n)
		for i, p := range c.members {
			c.index[p.name] = i
		}
	case n > fewMembers:
		c.index[name] = n - 1
	}
	return len(c.members) - 1
}

// array compiles the keywords about elements.
func (c *compiler) array(t *check, name string, raw []byte) (err error) {
	switch name {
	case "items":
		if c.draft < draft2020 && kindAt(raw, 0) == kindArray {
			t.prefix, err = c.schemas(raw)
			t.tuple = true
			return err
		}
		t.items, err = c.schema(raw)
	case "prefixItems":
		if t.prefix, err = c.schemas(raw); err == nil && len(t.prefix) == 0 {
			err = c.wrong("array of at least 1 item", raw)
		}
	case "additionalItems":
		t.rest, err = c.schema(raw)
	case "contains":
		if t.contains, err = c.schema(raw); t.contains == nil {
			t.contains = newCheck()
		}
	case "uniqueItems":
		if kindAt(raw, 0) != kindBoolean {
			return c.wrong("boolean", raw)
		}
		t.unique = string(raw) == "true"
	}
	return err
}
