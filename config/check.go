package config

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

// isInvisible reports whether r is a control or formatting character. In a name it could make two
// different names look the same.
func isInvisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
}

// program returns the path of a command. A command with a path separator is relative to folder. If
// command is a whole command line, the error explains how to split it. The error quotes written,
// the command as the file has it, because command may contain values of variables.
func program(command, written, folder string, args int) (string, error) {
	if strings.TrimSpace(command) == "" {
		return "", errors.New("is empty")
	}
	if strings.ContainsRune(command, 0) {
		return "", errors.New("holds a zero byte")
	}
	path := command
	if strings.ContainsAny(command, separators()) {
		path = absolute(command, folder)
	}
	if args > 0 || len(strings.Fields(command)) < 2 {
		return path, nil
	}
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	words := strings.Fields(hideDefaults(written))
	if len(words) < 2 {
		return "", errors.New(`is a whole command line in a variable, and no shell splits it; write a program in "command", and the other words in "args"`)
	}
	// The error omits all words after the first, because they may be secrets.
	return "", fmt.Errorf(`is a whole command line, and no shell splits it; write "command": %s, and the other words in "args"`, quote(words[0]))
}

func separators() string {
	if filepath.Separator == '/' {
		return "/"
	}
	return `/\`
}

func checkEnvName(name string) error {
	if name == "" || strings.ContainsAny(name, "=\x00") {
		return errors.New("is not a name that an environment variable can have")
	}
	return nil
}

func checkHeaderName(name string) error {
	invalid := func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	}
	if name == "" || strings.ContainsFunc(name, invalid) {
		return errors.New("is not a name that a header can have")
	}
	return nil
}

func checkHeaderValue(value string) error {
	control := func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
	if strings.ContainsFunc(value, control) {
		return errors.New("holds a line break or another control character, which a header cannot carry")
	}
	return nil
}

// checkURL returns an error if k does not allow the scheme of address, or if address has no host.
// Its errors never contain the address, which may have secrets.
func checkURL(k Kind, address string) error {
	parsed, err := url.Parse(address)
	if err != nil || !slices.Contains(kinds[k].schemes, parsed.Scheme) || parsed.Host == "" {
		return fmt.Errorf("expected an address that begins with %s:// and names a host", strings.Join(kinds[k].schemes, ":// or "))
	}
	return nil
}
