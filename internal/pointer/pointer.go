// Package pointer reads paths into JSON: JSON Pointers (RFC 6901) whose first slash may be left out.
package pointer

import (
	"fmt"
	"strings"
)

// Split returns the parts of a path, such as user and email of /user/email. One without the first slash is the name of
// a member of the whole. The error names the path.
func Split(path string) ([]string, error) {
	text := strings.TrimPrefix(path, "/")
	if text == "" {
		return nil, fmt.Errorf("%q names no place; expected a path such as /user/email or /items/*/price", path)
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		if strings.Count(part, "~") != strings.Count(part, "~0")+strings.Count(part, "~1") {
			return nil, fmt.Errorf("%q is no path: behind ~ is neither 0 nor 1", path)
		}
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
	}
	return parts, nil
}
