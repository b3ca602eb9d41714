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

// underOn reports whether a path of an operating system is root or is in it. It returns an error if
// that is uncertain, so that such a path can deceive neither an allow nor a deny.
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
		return false, fmt.Errorf("under: one of %s and %s is relative, and the other is not", quote(path), quote(root))
	}
	if p.volume != r.volume || len(p.names) < len(r.names) {
		return false, nil
	}
	apple := system == "darwin" || system == "ios"
	same := func(a, b string) bool { return a == b }
	if apple || p.windows {
		same = strings.EqualFold
	}
	written := "" // name in the folder that the path has in another form of Unicode
	for i, name := range r.names {
		if !same(norm.NFC.String(p.names[i]), norm.NFC.String(name)) {
			return false, nil
		}
		if !same(p.names[i], name) {
			written = name
		}
	}
	if written != "" && (!apple || p.windows) { // two folders in most file systems, but one in others
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

// shortName matches names that Windows makes for longer ones.
var shortName = regexp.MustCompile(`~[0-9]`)

// parsePath parses a path of an operating system. A path with a drive is a Windows path on every
// system, because the server may run elsewhere.
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
			name = strings.TrimRight(name, ". ") // Windows ignores the removed characters
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

// hostOf returns the host of a URL by the rules of the URL standard, without the port. The host is
// in lower case, and an address is in its usual form. hostOf returns an error if programs disagree
// about the host.
func hostOf(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || strings.ContainsAny(text, "\\ ") {
		return "", fmt.Errorf("host: %s is not a URL with a host", quote(text))
	}
	name := u.Hostname()
	if ip, err := netip.ParseAddr(name); err == nil {
		return ip.Unmap().WithZone("").String(), nil
	}
	name = strings.TrimSuffix(strings.ToLower(norm.NFKC.String(name)), ".") // full-width letters become ordinary letters
	if strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII }) {
		return "", fmt.Errorf("host: the name in %s has letters beyond ASCII; write its xn-- form", quote(text))
	}
	parts := strings.Split(name, ".")
	if last := parts[len(parts)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		if name, err = addressOf(parts); err != nil {
			return "", fmt.Errorf("host: of %s: %w", quote(text), err)
		}
	}
	if name == "" {
		return "", fmt.Errorf("host: %s is not a URL with a host", quote(text))
	}
	return name, nil
}

// addressOf returns the address that one to four numbers denote. The last number fills all
// remaining bytes. A number with the prefix 0x is hexadecimal, and one with the prefix 0 is octal.
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
