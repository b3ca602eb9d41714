package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"time"

	"github.com/junction-mcp/junction/mcp"
	"github.com/junction-mcp/junction/mcp/command"
	"github.com/junction-mcp/junction/mcp/oauth"
)

// messageTime is how long doctor waits for the first message of a program whose standard output began with something else.
const messageTime = 10 * time.Second

// onlyMessages is what mends a program that writes something else to its standard output.
const onlyMessages = "the server must log to standard error, as its standard output is for messages of JSON-RPC only: look for an option that has it do so, or report it to whoever made it"

// errNoMessage is why a start ends of a program that writes something else than messages.
var errNoMessage = errors.New("no message came")

// dialDoctor connects as dial does. Of a program it returns the first line of its standard output that was no message,
// after which one must come soon.
func dialDoctor(ctx context.Context, t mcp.Transport, o mcp.ClientOptions) (client *mcp.Client, stray string, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var first atomic.Pointer[string]
	if c, is := t.(*command.Command); is {
		c.Skipped = func(line string) {
			if strings.TrimSpace(line) != "" && first.CompareAndSwap(nil, &line) {
				time.AfterFunc(messageTime, func() { cancel(errNoMessage) })
			}
		}
	}
	client, err = dial(ctx, t, o)
	if err != nil && context.Cause(ctx) == errNoMessage {
		err = &connectError{fmt.Errorf("%w: %w", errNoMessage, err)}
	}
	if line := first.Load(); line != nil {
		stray = *line
	}
	return client, stray, err
}

// notStarted says of a server which link broke when it was started, and what mends it.
func (p *patient) notStarted(t mcp.Transport, err error, name, stray string, limit time.Duration) bool {
	link := "start"
	switch {
	case errors.Is(err, errNoMessage):
		return p.broken(link, fmt.Sprintf("standard output has a line that is no message of JSON-RPC, and none followed within %v: %q", messageTime, stray), onlyMessages)
	case isUnauthorized(err):
		link = "authorization"
	case isWebPage(err):
		return p.broken("address", "it answers with a web page (text/html), not with messages of MCP: "+reason(err, name), "is the path right? it is often /mcp or /sse")
	}
	return p.broken(link, reason(err, name), startRemedy(t, err, name, limit))
}

// isWebPage reports whether what answered at a URL is for browsers.
func isWebPage(err error) bool {
	if e, is := errors.AsType[*mcp.StatusError](err); is && strings.HasPrefix(e.Header.Get("Content-Type"), "text/html") {
		return true
	}
	return strings.Contains(err.Error(), `found the content type "text/html`)
}

// startRemedy is what to try where a server does not start.
func startRemedy(t mcp.Transport, err error, name string, limit time.Duration) string {
	text, status := err.Error(), statusOf(err)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf(`it takes longer than %v: start it once by hand, or give its entry "startTimeout"`, limit)
	case errors.Is(err, oauth.ErrLogin):
		return text[strings.LastIndex(text, "junction login"):]
	case status == http.StatusUnauthorized:
		return "sign in: junction login " + shellWord(name) + `; or give its entry "headers", such as {"Authorization": "Bearer ${TOKEN}"}`
	case status == http.StatusForbidden:
		return "it refuses these credentials: ask for others, or for the right to use it"
	case status == http.StatusNotFound:
		return `there is nothing at this path: the address often ends with /mcp or /sse`
	}
	if noRevision.MatchString(text) {
		return "it and junction have no revision of the protocol in common: update the older of the two; where a revision was chosen, leave the choice to junction"
	}
	if _, program := t.(*command.Command); !program {
		return "is the address right? it is often one that ends with /mcp or /sse: open it with curl -i, and ask whoever runs it"
	}
	if strings.Contains(text, "working directory") {
		return `change "cwd" of the entry to a folder that exists`
	}
	said := reason(err, name)
	if m := wantsVariable.FindStringSubmatch(said); m != nil {
		variable := cmp.Or(m[1], m[2])
		return fmt.Sprintf(`it wants the variable %[1]s of the environment: give its entry "env": {"%[1]s": …}`, variable)
	}
	if noFile.MatchString(said) {
		return `a file that its "args" name is not there: write its whole path, and see whether it is written rightly`
	}
	return "start it by hand as the entry says, and read what it writes"
}

// What servers say of why they do not start.
var (
	noRevision    = regexp.MustCompile(`does not speak |speaks \[|expected one of the protocol versions`)
	wantsVariable = regexp.MustCompile(`\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b.*(?i:missing|required|not set|must be set|undefined|not defined|not provided|is empty)|(?i:missing|required|set|provide)\b.*\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b`)
	noFile        = regexp.MustCompile(`(?i)cannot find module|no such file|can't open|cannot open|does not exist`)
)
