// Package why extracts the explanation from the error of a server that cannot be used.
package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/junction-mcp/junction/internal/lazy"
)

// Of returns a single line that explains why a server cannot be used. It does not contain the
// server's name.
func Of(err error, name string) string {
	text := strings.ReplaceAll(Text(err), fmt.Sprintf("server %q: ", name), "")
	how, tail, found := strings.Cut(text, "its standard error ends with:\n")
	if !found {
		first, _, _ := strings.Cut(text, "\n")
		if _, why, found := strings.Cut(first, "expected a response to initialize: "); found {
			return why
		}
		return strings.Replace(first, "initialize: initialize: ", "initialize: ", 1) // some servers repeat the method
	}
	if i := strings.LastIndex(how, ": "); i >= 0 {
		how = how[i+2:]
	}
	how = strings.TrimRight(strings.TrimPrefix(how, "its output ended; "), "; ")
	line := Line(strings.Split(tail, "\n"))
	if line == "" || fromOutside().MatchString(how) {
		return how
	}
	return how + ": " + line
}

var (
	// fromOutside matches the end of a program that was ended by a signal from outside. Its own
	// output does not explain this end.
	fromOutside = lazy.Regexp(`^it was killed by SIG(TERM|KILL|INT|HUP|QUIT)$`)
	// prefix matches prefixes that some programs write before each line.
	prefix = lazy.Regexp(`^[|\s]*(\[\d+\]\s*)?`)
	// noise matches lines without meaning: brackets, stack frames, npm's messages about itself, the
	// failing source line, the version of Node, items of a list, and flags in a usage text.
	noise = lazy.Regexp(`^[^\pL\pN]*$|^--?[a-zA-Z][\w-]*([ ,=]|$)|^npm (warn|WARN|notice)\b|^at .|^File "|^node:internal|^throw |complete log of this run|^Node\.js v[\d.]+$|^'[^']*',?$`)
	// names matches lines that contain the name of an error.
	names = lazy.Regexp(`\b\w*(Error|Exception)\b|(?i)\b(error|fatal|panic)\b`)
	// codes matches lines of npm that contain only codes.
	codes = lazy.Regexp(`(?i)^npm (err!|error)( (code|errno|syscall|path) .*|[ \d]*)$`)
	// telling matches lines that may explain a failure without the name of an error.
	telling = lazy.Regexp(`(?i)missing|required|not found|no such|cannot|can't|denied|unable|invalid|must |please|usage:|failed`)
	warning = lazy.Regexp(`(?i)\bwarn(ing)?\b`)
	// causing matches lines that contain the cause of the error in a previous line.
	causing = lazy.Regexp(`(?i)^\[?cause\]?:|^caused by:?|getaddrinfo|\bE(CONN\w+|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH)\b`)
	ofCause = lazy.Regexp(`(?i)^(\[?cause\]?:|caused by:?)?\s*(error:)?\s*`)
)

// Line returns the line of a program's standard error that explains its failure. It prefers the
// last line with the name of an error, together with its cause, then the first line that looks like
// a reason, and then the last line. For npm, whose last lines are advice, it prefers the first line
// with the name of an error.
func Line(lines []string) string {
	var named, cause, hint, last string
	for _, line := range lines {
		line = strings.TrimSpace(prefix().ReplaceAllString(line, ""))
		switch {
		case noise().MatchString(line):
			continue
		case strings.HasSuffix(last, ":") && named == last: // the next line contains the details
			named += " " + line
		case named != "" && causing().MatchString(line):
			if cause == "" {
				cause = line
			}
		case codes().MatchString(line), warning().MatchString(line):
		case names().MatchString(line) && !(strings.HasPrefix(line, "npm ") && named != ""):
			named, cause = line, ""
		case hint == "" && telling().MatchString(line):
			hint = line
		}
		last = line
	}
	switch {
	case named == "" && hint == "":
		return bare(last)
	case named == "":
		return bare(hint)
	case cause != "":
		return bare(named) + ": " + bare(ofCause().ReplaceAllString(cause, ""))
	}
	return bare(named)
}

// bare returns a line without surrounding brackets.
func bare(line string) string {
	line = strings.TrimRight(line, "{[(,; ")
	if !strings.Contains(line, "}") {
		line = strings.TrimLeft(line, "{ ")
	}
	return line
}

var afterTime = lazy.Regexp(`((?:within|for|after) \S+|in time): context deadline exceeded`)

// Text returns the text of an error, with phrases of the Go library replaced by plainer ones.
func Text(err error) string {
	text := afterTime().ReplaceAllString(err.Error(), "$1")
	return strings.ReplaceAll(text, "context deadline exceeded", "no response in time")
}

var ofServer = lazy.Regexp(`^server ("(?:[^"\\]|\\.)*"): `)

// Once returns the text of an error in which its server is mentioned only once. The name of a
// server may be its URL, which errors of HTTP requests contain too.
func Once(text string) string {
	m := ofServer().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	name, err := strconv.Unquote(m[1])
	if err != nil {
		return text
	}
	rest := strings.ReplaceAll(text[len(m[0]):], m[0], "")
	if strings.Contains(name, "://") { // any other name could also be the scheme of a URI in the text
		rest = strings.ReplaceAll(rest, " "+name+":", ":")
	}
	return m[0] + strings.Replace(rest, "initialize: expected a response to initialize: ", "initialize: ", 1)
}

// AnswersElsewhere reports whether a program did not respond in time, although it wrote that it
// serves HTTP.
func AnswersElsewhere(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ServesHTTP(err.Error())
}

// WantedVariable returns the environment variable that a server misses. It searches the line that
// explains the failure, given as said, and the line after it, which may contain a remedy. It
// returns "" if they contain no variable.
func WantedVariable(err error, said string) string {
	places := []string{said}
	_, tail, _ := strings.Cut(Text(err), "its standard error ends with:\n")
	for line := range strings.Lines(tail) {
		if len(places) == 2 {
			places = append(places, line)
			break
		}
		if line = strings.TrimSpace(line); line != "" && strings.HasSuffix(said, line) {
			places = append(places, line)
		}
	}
	for _, text := range places {
		if m := wantsVariable().FindStringSubmatch(text); m != nil {
			return cmp.Or(m[1], m[2])
		}
	}
	return ""
}

var (
	wantsVariable = lazy.Regexp(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*(?i:missing|required|not set|must be set|undefined|not defined|not provided|is empty)|(?i:missing|required|set|provide|pass)\b.*?\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`)
	servesHTTP    = lazy.Regexp(`(?i)\b(listening|running|serving|started|available)\b.*(https?://|\bport:? \d)`)
)

// ServesHTTP reports whether a line of a program's output means that the program serves HTTP.
func ServesHTTP(line string) bool { return servesHTTP().MatchString(line) }
