// Package bridge is the common part of the Go bridge servers: their flags, their state and the
// texts of their results. ../../README.md describes the tools.
package bridge

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// The addresses of resources that every bridge server has.
const (
	Watched  = "test://watched"
	Static   = "test://static"
	Template = "test://item/{id}"
	Item     = "test://item/"
)

// Flags holds the flags of a bridge server.
type Flags struct {
	HTTP, SSE    string
	Era          string
	Capabilities bool
}

// ParseFlags parses os.Args. eras lists the valid values of --era; the first one is the default.
func ParseFlags(eras ...string) Flags {
	var f Flags
	flag.StringVar(&f.HTTP, "http", "", "serve Streamable HTTP at this `address`")
	flag.StringVar(&f.SSE, "sse", "", "serve HTTP+SSE at this `address`")
	flag.Bool("stdio", true, "serve stdin and stdout (default)")
	flag.StringVar(&f.Era, "era", eras[0], fmt.Sprintf("one of %v", eras))
	flag.BoolVar(&f.Capabilities, "capabilities", false, "say what this server can do, and end")
	flag.Parse()
	return f
}

// Capabilities is the output of --capabilities.
type Capabilities struct {
	Name       string            `json:"name"`
	Eras       []string          `json:"eras"`
	Transports []string          `json:"transports"`
	Cannot     map[string]string `json:"cannot"`
}

// Print writes the capabilities as one line of JSON.
func (c Capabilities) Print() error {
	return json.NewEncoder(os.Stdout).Encode(c)
}

// Serve serves the handler at the address and prints its URL.
func Serve(address, path string, handler http.Handler) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Printf("listening http://%s%s\n", listener.Addr(), path)
	return http.Serve(listener, handler)
}

// State is the state that the tools of a process share.
type State struct {
	mu        sync.Mutex
	touched   int
	extra     bool
	cancelled bool
}

// Touch changes the watched resource and returns the number of changes.
func (s *State) Touch() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.touched++
	return s.touched
}

// Touched returns the text of the watched resource.
func (s *State) Touched() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return fmt.Sprintf("touched %d", s.touched)
}

// ToggleExtra turns the extra tool on or off, and returns its new state.
func (s *State) ToggleExtra() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.extra = !s.extra
	return s.extra
}

// Slow sleeps for ms milliseconds, or until ctx ends. WasCancelled returns which of these happened.
func (s *State) Slow(ctx context.Context, ms int) string {
	early := false
	select {
	case <-time.After(time.Duration(ms) * time.Millisecond):
	case <-ctx.Done():
		early = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancelled = early
	return fmt.Sprintf("slept %d", ms)
}

// WasCancelled returns "yes" if the last Slow ended early.
func (s *State) WasCancelled() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cancelled {
		return "yes"
	}
	return "no"
}

// Form returns the schema of a form with one string.
func Form(field string) map[string]any {
	return map[string]any{
		"type":       "object",
		"properties": map[string]any{field: map[string]any{"type": "string"}},
		"required":   []string{field},
	}
}

// Reply returns the text of a tool's result for the response to a form.
func Reply(field, action string, content map[string]any) string {
	switch action {
	case "accept":
		return fmt.Sprintf("%s=%v", field, content[field])
	case "decline":
		return field + " declined"
	default:
		return field + " cancelled"
	}
}

// Names returns the completions of the prompt's argument.
func Names(prefix string) []string {
	names := []string{}
	for _, name := range []string{"alice", "albert", "bob"} {
		if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
			names = append(names, name)
		}
	}
	return names
}
