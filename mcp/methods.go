package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/revision"
)

// askMethods lists the methods of the requests that a server may send to its client.
var askMethods = []string{methodElicit, methodSample, methodRootsList}

// HandleMethod registers f for requests with a method that the protocol does not define, such as
// "com.example/reindex", in every revision. The method should begin with a domain of the program's
// author. Declare an extension in [ServerOptions.Capabilities], so that clients can find the
// method. The params of the request are in [Request.Params]. The context works with [Progress],
// [Log] and [Elicit]. Errors and panics are handled like errors and panics of tools. HandleMethod
// panics if f is nil, if the protocol defines the method, or if the method is already registered.
func (s *Server) HandleMethod(method string, f HandlerFunc) {
	must(s.registerMethod(method, f))
}

func (s *Server) registerMethod(method string, f HandlerFunc) error {
	err := checkName(method)
	switch {
	case err != nil:
	case f == nil:
		err = errors.New("the function is nil")
	case revision.MethodNamed(method).Core, slices.Contains(askMethods, method), strings.HasPrefix(method, "notifications/"):
		err = errors.New("the protocol defines it: wrap the server in a Middleware to change its response")
	}
	if err != nil {
		return fmt.Errorf("method %q: %w", method, err)
	}
	if !s.methods.put(&entry{name: method, feature: f}, adding) {
		return fmt.Errorf("method %q is registered already", method)
	}
	return nil
}
