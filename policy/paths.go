package policy

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// under reports whether a path is a folder or in it. A path whose place is not
// certain is an error, so that neither an allow nor a deny is fooled by it.
func under(path, root string) (bool, error) {
	p, err := parsePath(path)
	if err != nil {
		return false, fmt.Errorf("under: the path %s %w", quote(path), err)
	}
	r, err := parsePath(root)
	if err != nil {
		return false, fmt.Errorf("under: the folder %s %w", quote(root), err)
	}
	if p.absolute != r.absolute {
		return false, fmt.Errorf("under: of %s and %s one is relative and one is not", quote(path), quote(root))
	}
	if p.volume != r.volume || len(p.names) < len(r.names) {
		return false, nil
	}
	for i, name := range r.names {
		if p.names[i] != name {
			return false, nil
		}
	}
	return true, nil
}

// path is a path without what makes no difference.
type path struct {
	volume   string // such as c:
	absolute bool
	names    []string
}

// parsePath reads a path of any system, since the server need not run on this one: a
// backslash separates like a slash.
func parsePath(text string) (path, error) {
	var p path
	switch {
	case text == "":
		return p, errors.New("is empty")
	case strings.ContainsRune(text, 0):
		return p, errors.New("has a zero byte in it")
	case strings.HasPrefix(text, `\\`):
		return p, errors.New("is of a network or a device")
	}
	text = strings.ReplaceAll(text, `\`, "/")
	if len(text) >= 2 && text[1] == ':' && isLetter(text[0]) {
		p.volume, text = strings.ToLower(text[:2]), text[2:]
		if !strings.HasPrefix(text, "/") {
			return p, errors.New("depends on the current folder of a drive")
		}
	}
	p.absolute = strings.HasPrefix(text, "/")
	for name := range strings.SplitSeq(text, "/") {
		switch name {
		case "", ".":
		case "..":
			return p, errors.New(`has ".." in it; where that leads only the server can know`)
		default:
			p.names = append(p.names, name)
		}
	}
	return p, nil
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// hostOf is the host that a URL leads to, in small letters and without the port.
func hostOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" {
		return "", fmt.Errorf("host: %s is no URL with a host", quote(text))
	}
	return strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), nil
}
