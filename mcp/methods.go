package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/revision"
)

// askMethods lists the protocol's methods of requests from a server to its client.
var askMethods = []string{methodElicit, methodSample, methodRootsList}

// HandleMethod registers f for requests of a method that the protocol does not define, such as
// "com.example/reindex", for clients of every revision. Begin the method with a domain of yours,
// and declare an extension in [ServerOptions.Capabilities] so that clients can find it. The
// request's parameters are in [Request.Params]; the context works with [Progress], [Log] and
// [Elicit]. The rules for errors and panics are those of a [Handler] and of tools. HandleMethod
// panics if f is nil, if the protocol defines the method, or if it is already registered.
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
		err = errors.New("the protocol has it: wrap the server in a Middleware to change how it is answered")
	}
	if err != nil {
		return fmt.Errorf("method %q: %w", method, err)
	}
	if !s.methods.put(&entry{name: method, feature: f}, adding) {
		return fmt.Errorf("method %q is registered already", method)
	}
	return nil
}
