package schema

import (
	"errors"
	"fmt"
)

// chains measures how many schemas apply to one and the same value, one
// through the other; a cycle among them would never end.
type chains struct {
	length map[*check]int // 0 while under way
	depth  int
}

// measureChains looks at every schema that can be reached from root.
func measureChains(root *check) error {
	m := &chains{length: map[*check]int{}}
	seen := map[*check]bool{nil: true}
	for list := []*check{root}; len(list) > 0; {
		c := list[len(list)-1]
		list = list[:len(list)-1]
		if seen[c] {
			continue
		}
		seen[c] = true
		if err := m.measure(c); err != nil {
			return err
		}
		list = append(append(list, c.parts()...), c.sameValue()...)
	}
	return nil
}

// parts lists the schemas that apply to a part of the value c applies to.
func (c *check) parts() []*check {
	list := append([]*check{c.items, c.rest, c.contains, c.additional, c.names, c.otherItems, c.otherMembers}, c.prefix...)
	for _, p := range c.members {
		list = append(list, p.check)
	}
	for _, p := range c.patterns {
		list = append(list, p.check)
	}
	return list
}

// sameValue lists the schemas that apply to the value c applies to.
func (c *check) sameValue() []*check {
	list := append(append(append([]*check{}, c.all...), c.any...), c.one...)
	for _, d := range c.dependents {
		list = append(list, d.check)
	}
	return append(append(list, c.refuse, c.condition, c.then, c.otherwise), c.dynamic...)
}

func (m *chains) measure(c *check) error {
	if c == nil {
		return nil
	}
	n, known := m.length[c]
	switch {
	case known && n == 0:
		return errors.New("schema has a $ref that leads back to itself without consuming a value")
	case m.depth+max(n, 1) > maxSchemaDepth:
		return fmt.Errorf("schema has a chain of more than %d $ref or combinations for one value", maxSchemaDepth)
	case known:
		return nil
	}
	m.length[c] = 0
	m.depth++
	longest := 0
	for _, sub := range c.sameValue() {
		if err := m.measure(sub); err != nil {
			return err
		}
		longest = max(longest, m.length[sub])
	}
	m.depth--
	m.length[c] = longest + 1
	return nil
}
