package redact

import "strings"

// Arguments returns a copy of a program's arguments for display. Each element of the result stands
// for one argument. It hides
//
//   - the argument after -H or after a flag with a sensitive name, unless the flag takes the name of
//     a variable, such as --token-env;
//   - the value of NAME=value if the name is sensitive or the value looks like a secret, and the
//     value after -e or --env for any name;
//   - the value of "Name: value" in the same cases;
//   - words that look like secrets;
//   - in URLs, also within longer texts and assignments, the parts that [URL] hides.
func Arguments(args []string) []string {
	shown := make([]string, len(args))
	before := ""
	for i, arg := range args {
		shown[i] = argument(before, arg)
		before = arg
	}
	return shown
}

// argument hides the secrets in an argument. before is the argument before it.
func argument(before, arg string) string {
	if takesSecret(before) && !namesVariable(before, arg) || Looks(arg) {
		return Hidden
	}
	// The header is checked first: a "=" in it may be the base64 padding of a credential.
	header, content, isHeader := strings.Cut(arg, ":")
	isHeader = isHeader && !(isURL(arg) && strings.HasPrefix(content, "//"))
	name, value, assigned := strings.Cut(arg, "=")
	switch {
	case isURL(arg) && URL(arg) == Hidden:
		return Hidden
	case isHeader && len(header) < len(name) && (Named(header) || Looks(strings.TrimSpace(content))):
		return header + ": " + Hidden
	case asks(name):
		return within(arg)
	case assigned && (Named(name) && !namesVariable(name, value) || Looks(value) || setsVariable(name) || setsVariable(before)):
		return withoutValue(name)
	case isHeader && !isURL(value) && Named(header):
		return header + ": " + Hidden
	}
	return within(arg)
}

// withoutValue returns the name of a hidden value, with a placeholder for the value.
func withoutValue(name string) string {
	const mark = "://"
	if i := strings.LastIndex(name, mark) + len(mark); i >= len(mark) && !strings.Contains(name[i:], "/") {
		return within(name[:i]) + Hidden // the value may continue user information that begins in the name
	}
	if name = within(name); name == Hidden {
		return name
	}
	return name + "=" + Hidden
}

// takesSecret reports whether arg is a flag whose value, the next argument, is a secret.
func takesSecret(arg string) bool {
	return strings.HasPrefix(arg, "-") && !strings.Contains(arg, "=") && (Named(arg) || arg == "-H")
}

// namesVariable reports whether a flag takes the name of the variable that contains the secret, and
// value is such a name.
func namesVariable(flag, value string) bool {
	if !strings.HasPrefix(flag, "-") || !strings.HasSuffix(strings.ToLower(flag), "-env") || value == "" {
		return false
	}
	for i, r := range value {
		if r != '_' && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return true
}

// setsVariable reports whether a flag sets an environment variable.
func setsVariable(flag string) bool { return flag == "-e" || flag == "--env" }

// asks reports whether a URL in a text has a query or a fragment.
func asks(text string) bool {
	_, rest, _ := strings.Cut(text, "://")
	return strings.ContainsAny(rest, "?#")
}

// within hides the secrets in the URLs of a text.
func within(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	if name, value, _ := strings.Cut(text, "="); !isURL(text) && isURL(value) && URL(value) == Hidden {
		return within(name) + "=" + Hidden
	}
	return URL(text)
}
