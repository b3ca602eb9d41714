package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// underOn reports whether a path of a system is a folder or in it. A path whose place is not
// certain is an error, so that it can deceive neither an allow nor a deny.
func underOn(system, path, root string) (bool, error) {
	p, err := parsePath(system, path)
	if err != nil {
		return false, fmt.Errorf("under: the path %s %w", quote(path), err)
	}
	r, err := parsePath(system, root)
	if err != nil {
		return false, fmt.Errorf("under: the folder %s %w", quote(root), err)
	}
	if p.absolute != r.absolute {
		return false, fmt.Errorf("under: of %s and %s one is relative and one is not", quote(path), quote(root))
	}
	if p.volume != r.volume || len(p.names) < len(r.names) {
		return false, nil
	}
	apple := system == "darwin" || system == "ios"
	same := func(a, b string) bool { return a == b }
	if apple || p.windows {
		same = strings.EqualFold
	}
	written := "" // a name of the folder that the path has in another form
	for i, name := range r.names {
		if !same(norm.NFC.String(p.names[i]), norm.NFC.String(name)) {
			return false, nil
		}
		if !same(p.names[i], name) {
			written = name
		}
	}
	if written != "" && (!apple || p.windows) { // two folders to most file systems, and one to some
		return false, fmt.Errorf("under: %s has the letters of %s in another form of Unicode; only the server can know whether that is the same folder", quote(path), quote(written))
	}
	return true, nil
}

// path is a parsed path without redundant parts.
type path struct {
	volume   string // such as c:
	windows  bool
	absolute bool
	names    []string
}

// shortName matches a name that Windows makes for a longer one.
var shortName = regexp.MustCompile(`~[0-9]`)

// parsePath parses a path like its system. A path with a drive is one of Windows on every system,
// since the server need not run here.
func parsePath(system, text string) (path, error) {
	p := path{windows: system == "windows"}
	if len(text) >= 2 && text[1] == ':' && 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z' {
		p.windows, p.volume, text = true, strings.ToLower(text[:2]), text[2:]
		if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, `\`) {
			return p, errors.New("depends on the current folder of a drive")
		}
	}
	switch slashes := strings.ReplaceAll(text, `\`, "/"); {
	case text == "":
		return p, errors.New("is empty")
	case strings.ContainsRune(text, 0):
		return p, errors.New("has a zero byte in it")
	case strings.HasPrefix(slashes, "//"):
		return p, errors.New("is on a network or a device")
	case p.windows:
		text = slashes
	case slashes != text:
		return p, errors.New("has a backslash in it, which is part of a name here and ends one on Windows")
	}
	p.absolute = strings.HasPrefix(text, "/")
	for name := range strings.SplitSeq(text, "/") {
		if p.windows && name != "." && name != ".." {
			if strings.Contains(name, ":") || shortName.MatchString(name) {
				return p, errors.New("has a short name or a stream in it, which only the server can resolve")
			}
			if strings.Trim(name, ". ") == "" && name != "" {
				return p, errors.New("has a name of dots and spaces in it")
			}
			name = strings.TrimRight(name, ". ") // Windows ignores them
		}
		switch name {
		case "", ".":
		case "..":
			return p, errors.New(`has ".." in it; only the server can know where that leads`)
		default:
			p.names = append(p.names, name)
		}
	}
	return p, nil
}

// hostOf returns the host of a URL, by the rules of the URL standard: in small letters, an address
// in its usual form, without the port. A host that programs read differently is an error.
func hostOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || strings.ContainsAny(text, "\\ ") {
		return "", fmt.Errorf("host: %s is no URL with a host", quote(text))
	}
	name := u.Hostname()
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().WithZone("").String(), nil
	}
	name = strings.TrimSuffix(strings.ToLower(norm.NFKC.String(name)), ".") // letters of full width become the usual ones
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", fmt.Errorf("host: of %s: the name has letters beyond ASCII; write its xn-- form", quote(text))
	}
	parts := strings.Split(name, ".")
	if last := parts[len(parts)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		if name, err = addressOf(parts); err != nil {
			return "", fmt.Errorf("host: of %s: %w", quote(text), err)
		}
	}
	if name == "" {
		return "", fmt.Errorf("host: %s is no URL with a host", quote(text))
	}
	return name, nil
}

// addressOf returns an address whose parts are numbers: one to four, of which the last one fills
// the rest. The prefix 0x marks a hexadecimal number and 0 an octal one.
func addressOf(parts []string) (string, error) {
	if len(parts) > 4 {
		return "", errors.New("the address has more than four parts")
	}
	var address uint64
	for i, part := range parts {
		base := 10
		if hex, found := strings.CutPrefix(part, "0x"); found {
			base, part = 16, "0"+hex
		} else if len(part) > 1 && part[0] == '0' {
			base = 8
		}
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		n, err := strconv.ParseUint(part, base, bits)
		if err != nil {
			return "", fmt.Errorf("the address: %w", err)
		}
		address = address<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(address >> 24), byte(address >> 16), byte(address >> 8), byte(address)}).String(), nil
}
