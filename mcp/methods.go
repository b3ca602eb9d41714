package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/junction-mcp/junction/internal/revision"
)

// askMethods are the protocol's methods with which servers ask their clients.
var askMethods = []string{methodElicit, methodSample, methodRootsList}

// HandleMethod registers f for the requests of a method that is not one of the
// protocol's, such as "com.example/reindex", for clients of every revision. Name
// it after a domain of yours, and declare an extension in
// [ServerOptions.Capabilities] so that clients can find out that it is there.
// The request's parameters are in [Request.Params]; the context is one for
// [Progress], [Log] and [Elicit]. The rules for errors and panics are those of a
// [Handler] and of tools. It panics if f is nil, if the method is one of the
// protocol's, and if it is registered already.
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
	if !s.methods.put(&entry[HandlerFunc]{name: method, feature: f}, adding) {
		return fmt.Errorf("method %q is registered already", method)
	}
	return nil
}
