package gateway

import (
	"errors"
	"fmt"
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
