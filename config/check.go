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

// isInvisible finds what could make a name look like another: control and formatting characters.
func isInvisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' || r == unicode.ReplacementChar
}

// program completes a command: with a path separator in it, it is relative to folder.
// A command line where a program belongs is an error that says how to part it, in
// terms of what the file writes: the command may hold what a variable holds.
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
		return "", errors.New(`is a whole command line in a variable, but no shell reads it; write a program in "command", and the other words in "args"`)
	}
	// The other words are not repeated: one of them may be a secret.
	return "", fmt.Errorf(`is a whole command line, but no shell reads it; write "command": %s, and the other words in "args"`, quote(words[0]))
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

// checkURL reports why an address is not one of the kind. Its errors never repeat the address, which may hold secrets.
func checkURL(k Kind, address string) error {
	parsed, err := url.Parse(address)
	if err != nil || !slices.Contains(kinds[k].schemes, parsed.Scheme) || parsed.Host == "" {
		return fmt.Errorf("expected an address that begins with %s:// and names a host", strings.Join(kinds[k].schemes, ":// or "))
	}
	return nil
}
