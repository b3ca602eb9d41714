package gateway

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Separator stands between a server's name and the name of its tool or prompt.
const Separator = "__"

// maxNameLength is the longest name of a member: names of tools that hosts
// accept are short, and this is the beginning of all of its.
const maxNameLength = 64

// checkName says what is wrong with the name of a member. The name begins the
// names of its tools, which may hold letters, digits, "_", "-" and "."
// (server/tools, tool names).
func checkName(name string) error {
	if name == "" {
		return errors.New("the name of a server must not be empty")
	}
	if len(name) > maxNameLength {
		return fmt.Errorf("server %.40q…: a name of at most %d characters is needed, got %d", name, maxNameLength, len(name))
	}
	return nil
}

// prefix is what the names of a member's tools begin with: its name, with
// everything that names may not hold replaced.
func prefix(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '-'
	}, name) + Separator
}

// collision says which name the member shares with another that is connected, or
// was added before, where the names have no prefix to tell them apart.
func (g *Gateway) collision(m *member) error {
	if !g.options.NoPrefix {
		return nil
	}
	g.mu.RLock()
	defer g.mu.RUnlock()
	for _, k := range []kind{toolKind, promptKind} {
		own := map[string]bool{}
		for _, e := range m.listing(k).entries {
			own[e.exposed] = true
		}
		for i, other := range g.members {
			if other == m || i > slices.Index(g.members, m) && !other.connected() {
				continue
			}
			for _, e := range other.listing(k).entries {
				if own[e.exposed] {
					return fmt.Errorf("server %q: server %q has a %s %q already, and without a prefix names must differ", m.name, other.name, k.noun, e.exposed)
				}
			}
		}
	}
	return nil
}
