package host

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/junction-mcp/junction/mcp"
)

// Restart ends the connection to a server and connects again, without waiting. Until its
// lists were read again the model has none of its tools. The error says that there is no
// such server, or that it cannot be restarted.
func (h *Host) Restart(server string) error {
	s, found := h.serverNamed(server)
	switch {
	case !found:
		return noServer(server)
	case s.Handler != nil:
		return fmt.Errorf("server %q cannot be restarted: it is part of the program", server)
	}
	s.mu.Lock()
	s.listed, s.err = false, nil
	s.mu.Unlock()
	s.hold(offer{}, nil)
	return h.gateway.Restart(server)
}

func noServer(name string) error { return fmt.Errorf("there is no server %q", name) }

// Stderr returns the last lines that a server's program wrote to its standard error, as far
// as they are kept.
func (h *Host) Stderr(server string) []string {
	if s, found := h.serverNamed(server); found && s.Stderr != nil {
		return s.Stderr()
	}
	return nil
}

// SetOff switches a server off in this conversation and its children, or on again: the model
// has none of its tools, resources and instructions, and what it defines is not reviewed. It
// is part of the record. The error says that there is no such server, or what the record says.
func (c *Conversation) SetOff(server string, off bool) error {
	if _, found := c.host.serverNamed(server); !found {
		return noServer(server)
	}
	if c.isOff(server) == off {
		return nil
	}
	err := c.add(Entry{Switched: &Switched{Server: server, Off: off}})
	c.host.changes.Add(1)
	if !off {
		c.takeIn() // what came of its tasks meanwhile
	}
	return err
}

func (c *Conversation) isOff(server string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.off[server]
}

// catalogue is what the model can be given in this conversation.
func (c *Conversation) catalogue() *catalogue {
	c.mu.Lock()
	off := c.off
	c.mu.Unlock()
	return c.host.catalogue().without(off)
}

// without is the catalogue without what some servers offer.
func (c *catalogue) without(off map[string]bool) *catalogue {
	if len(off) == 0 {
		return c
	}
	some := c.only(func(t *tool) bool { return !off[t.server.Name] })
	some.of, some.off = nil, off
	return some
}

// Servers is [Host.Servers] as this conversation has them.
func (c *Conversation) Servers() []ServerTools { return c.host.standings(c.catalogue()) }

// Tools is [Host.Tools] as this conversation has them.
func (c *Conversation) Tools() []ToolInfo { return c.host.toolsOf(c.catalogue()) }

// described finds where a server says how to sign in to it.
var described = regexp.MustCompile(`resource_metadata="(https?://[^"\s]+)"`)

// remedy says what to do about an error that is a refused authorization; empty for others.
func remedy(err error) string {
	var status *mcp.StatusError
	if !errors.As(err, &status) {
		return ""
	}
	text := "it does not know you: get a token for it"
	switch status.Status {
	case http.StatusUnauthorized:
	case http.StatusForbidden:
		text = "your token does not allow it: get another one"
	default:
		return ""
	}
	text += ` and put it into "headers" of the server's entry in its configuration ("Authorization": "Bearer …"), or give it with --header, and start again`
	if m := described.FindStringSubmatch(strings.Join(status.Header.Values("Www-Authenticate"), ", ")); m != nil {
		text += ". How to sign in is described at " + clipped(readable(m[1]), maxErrorText)
	}
	return text
}
