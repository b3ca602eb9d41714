// Package why finds, in the error of a server that cannot be used, the words that say why.
package why

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Of returns the one line that matters of why a server cannot be used, without its name.
func Of(err error, name string) string {
	text := strings.ReplaceAll(Text(err), fmt.Sprintf("server %q: ", name), "")
	how, tail, found := strings.Cut(text, "its standard error ends with:\n")
	if !found {
		first, _, _ := strings.Cut(text, "\n")
		if _, why, found := strings.Cut(first, "expected a response to initialize: "); found {
			return why
		}
		return strings.Replace(first, "initialize: initialize: ", "initialize: ", 1) // the server says it, too
	}
	if i := strings.LastIndex(how, ": "); i >= 0 {
		how = how[i+2:]
	}
	how = strings.TrimRight(strings.TrimPrefix(how, "its output ended; "), "; ")
	line := Line(strings.Split(tail, "\n"))
	if line == "" || fromOutside.MatchString(how) {
		return how
	}
	return how + ": " + line
}

var (
	// fromOutside is how a program ends that somebody ended: its own lines do not say why.
	fromOutside = regexp.MustCompile(`^it was killed by SIG(TERM|KILL|INT|HUP|QUIT)$`)
	// prefix is what some programs put before each line.
	prefix = regexp.MustCompile(`^[|\s]*(\[\d+\]\s*)?`)
	// noise are lines that say nothing: brackets, frames of a stack, what npm has to say
	// of itself, the line of a program that failed, which Node it was, items of a list, and flags of a usage.
	noise = regexp.MustCompile(`^[^\pL\pN]*$|^--?[a-zA-Z][\w-]*([ ,=]|$)|^npm (warn|WARN|notice)\b|^at .|^File "|^node:internal|^throw |complete log of this run|^Node\.js v[\d.]+$|^'[^']*',?$`)
	// names are lines that name an error.
	names = regexp.MustCompile(`\b\w*(Error|Exception)\b|(?i)\b(error|fatal|panic)\b`)
	// codes are lines of npm that have no words.
	codes = regexp.MustCompile(`(?i)^npm (err!|error)( (code|errno|syscall|path) .*|[ \d]*)$`)
	// telling are lines that may say why without naming an error.
	telling = regexp.MustCompile(`(?i)missing|required|not found|no such|cannot|can't|denied|unable|invalid|must |please|usage:|failed`)
	warning = regexp.MustCompile(`(?i)\bwarn(ing)?\b`)
	// causing are lines that say why the error before them came about.
	causing = regexp.MustCompile(`(?i)^\[?cause\]?:|^caused by:?|getaddrinfo|\bE(CONN\w+|NOTFOUND|AI_AGAIN|TIMEDOUT|HOSTUNREACH)\b`)
	ofCause = regexp.MustCompile(`(?i)^(\[?cause\]?:|caused by:?)?\s*(error:)?\s*`)
)

// Line returns the line of a program's standard error that says why it failed:
// the last that names an error, with its cause; else the first that sounds like a
// reason, else the last. Of npm, whose last lines are advice, it is the first.
func Line(lines []string) string {
	var named, cause, hint, last string
	for _, line := range lines {
		line = strings.TrimSpace(prefix.ReplaceAllString(line, ""))
		switch {
		case noise.MatchString(line):
			continue
		case strings.HasSuffix(last, ":") && named == last: // what is wrong stands on the next line
			named += " " + line
		case named != "" && causing.MatchString(line):
			if cause == "" {
				cause = line
			}
		case codes.MatchString(line), warning.MatchString(line):
		case names.MatchString(line) && !(strings.HasPrefix(line, "npm ") && named != ""):
			named, cause = line, ""
		case hint == "" && telling.MatchString(line):
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
		return bare(named) + ": " + bare(ofCause.ReplaceAllString(cause, ""))
	}
	return bare(named)
}

// bare is a line without the brackets that open and close what stands around it.
func bare(line string) string {
	line = strings.TrimRight(line, "{[(,; ")
	if !strings.Contains(line, "}") {
		line = strings.TrimLeft(line, "{ ")
	}
	return line
}

var afterTime = regexp.MustCompile(`((?:within|for|after) \S+|in time): context deadline exceeded`)

// Text returns the text of an error without the words of Go's own library.
func Text(err error) string {
	text := afterTime.ReplaceAllString(err.Error(), "$1")
	return strings.ReplaceAll(text, "context deadline exceeded", "no response in time")
}

var ofServer = regexp.MustCompile(`^server ("(?:[^"\\]|\\.)*"): `)

// Once returns the text of an error that names its server once: one that has only a URL is called by it, and errors of HTTP name the URL.
func Once(text string) string {
	m := ofServer.FindStringSubmatch(text)
	if m == nil {
		return text
	}
	name, err := strconv.Unquote(m[1])
	if err != nil {
		return text
	}
	rest := strings.ReplaceAll(text[len(m[0]):], m[0], "")
	rest = strings.ReplaceAll(rest, " "+name+":", ":")
	return m[0] + strings.Replace(rest, "initialize: expected a response to initialize: ", "initialize: ", 1)
}

// AnswersElsewhere reports whether a program did not answer, and wrote that it serves HTTP.
func AnswersElsewhere(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ServesHTTP(err.Error())
}

// WantedVariable returns the variable of the environment that a server misses by the line that says why it failed, or by the next, which
// may say what to do; empty if they name none.
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
		if m := wantsVariable.FindStringSubmatch(text); m != nil {
			return cmp.Or(m[1], m[2])
		}
	}
	return ""
}

var (
	wantsVariable = regexp.MustCompile(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*(?i:missing|required|not set|must be set|undefined|not defined|not provided|is empty)|(?i:missing|required|set|provide|pass)\b.*?\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`)
	servesHTTP    = regexp.MustCompile(`(?i)\b(listening|running|serving|started|available)\b.*(https?://|\bport:? \d)`)
)

// ServesHTTP reports whether a line that a program writes says that it serves HTTP.
func ServesHTTP(line string) bool { return servesHTTP.MatchString(line) }
