package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// maxEnvFileSize limits an environment file, in bytes.
const maxEnvFileSize = 1 << 20

// readEnvFile reads the file that envFile names. The file must be in the definition's folder.
// Otherwise a project could name any file of the user, and its program would get the keys in it.
func (x *expansion) readEnvFile() (map[string]string, error) {
	if x.def.EnvFile == "" {
		return map[string]string{}, nil
	}
	path, err := x.expand(x.def.EnvFile)
	if err != nil {
		return nil, err
	}
	folder, where := x.def.workspace, "the project's folder"
	if folder == "" {
		folder, where = x.def.file.options.HomeDir, "the home folder"
	}
	inside, err := filepath.Rel(folder, absolute(path, folder))
	if err != nil || !filepath.IsLocal(inside) {
		return nil, fmt.Errorf("is outside of %s; move the file there", where)
	}
	data, err := readInside(folder, inside, maxEnvFileSize)
	if err != nil {
		return nil, err
	}
	return parseEnv(data)
}

// parseEnv reads lines of the form NAME=value. It supports "export" before the name, # comments,
// 'text' without escapes, and "text" with \n, \r, \t, \", \\ and \$. Quoted text may span several
// lines. The last value of a name counts. Variables in values are not replaced.
func parseEnv(data []byte) (map[string]string, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("is not UTF-8; save it in that encoding")
	}
	values := map[string]string{}
	rest := strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n")
	for line := 1; rest != ""; {
		current, _, _ := strings.Cut(rest, "\n")
		trimmed := strings.TrimSpace(current)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			rest = rest[min(len(current)+1, len(rest)):]
			line++
			continue
		}
		name, _, assigned := strings.Cut(current, "=")
		if !assigned {
			return nil, fmt.Errorf("line %d: expected NAME=value", line)
		}
		value, length, err := envValue(rest[len(name)+1:])
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		key := strings.TrimSpace(name)
		if after, exported := strings.CutPrefix(key, "export "); exported {
			key = strings.TrimSpace(after)
		}
		if checkEnvName(key) != nil || strings.ContainsAny(key, " \t") || strings.ContainsRune(value, 0) {
			return nil, fmt.Errorf("line %d: expected NAME=value", line)
		}
		values[key] = value
		length += len(name) + 1
		line += strings.Count(rest[:length], "\n")
		rest = rest[length:]
	}
	return values, nil
}

// envValue parses the value at the start of s. length is the number of bytes up to the end of the
// value's last line.
func envValue(s string) (value string, length int, err error) {
	start := len(s) - len(strings.TrimLeft(s, " \t"))
	if start == len(s) || s[start] != '"' && s[start] != '\'' {
		line, _, _ := strings.Cut(s, "\n")
		length = min(len(line)+1, len(s))
		if i := strings.Index(line, " #"); i >= 0 {
			line = line[:i]
		}
		return strings.TrimSpace(line), length, nil
	}
	quote := s[start]
	var b strings.Builder
	for i := start + 1; i < len(s); i++ {
		switch {
		case s[i] == quote:
			line, _, _ := strings.Cut(s[i+1:], "\n")
			if after := strings.TrimSpace(line); after != "" && after[0] != '#' {
				return "", 0, errors.New("text after the closing quote")
			}
			return b.String(), min(i+1+len(line)+1, len(s)), nil
		case s[i] == '\\' && quote == '"' && i+1 < len(s):
			i++
			b.WriteString(unescape(s[i]))
		default:
			b.WriteByte(s[i])
		}
	}
	return "", 0, errors.New("the closing quote is missing")
}

func unescape(c byte) string {
	switch c {
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case '"', '\\', '$':
		return string(c)
	}
	return string([]byte{'\\', c})
}
