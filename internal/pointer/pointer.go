// Package pointer parses JSON Pointers (RFC 6901) that have at least one part.
package pointer

import (
	"fmt"
	"strings"
)

// Split returns the unescaped parts of a path, such as user and email for /user/email. The error
// contains the path.
func Split(path string) ([]string, error) {
	text, found := strings.CutPrefix(path, "/")
	switch {
	case path == "" || path == "/":
		return nil, fmt.Errorf("%q names no place; expected a path such as /user/email or /items/*/price", path)
	case !found:
		return nil, fmt.Errorf(`%q is not a path: one begins with "/", such as /user/email or /items/*/price`, path)
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		if strings.Count(part, "~") != strings.Count(part, "~0")+strings.Count(part, "~1") {
			return nil, fmt.Errorf("%q is not a path: ~ must be followed by 0 or 1", path)
		}
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
	}
	return parts, nil
}
