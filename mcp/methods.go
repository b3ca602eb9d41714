package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// coreMethods are those of the protocol, in any of its revisions: of a Server's
// own features, of transports, and of clients.
var coreMethods = []string{
	methodDiscover, methodListen, methodComplete,
	methodToolsList, methodToolsCall, methodPromptsList, methodPromptsGet,
	methodResourcesList, methodTemplatesList, methodResourcesRead,
	"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe",
	methodElicit, methodSample, methodRootsList,
}

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
	case slices.Contains(coreMethods, method), strings.HasPrefix(method, "notifications/"):
		err = errors.New("the protocol has it: wrap the server in a Middleware to change how it is answered")
	}
	if err != nil {
		return fmt.Errorf("method %q: %w", method, err)
	}
	if _, ok := s.methods.put(&entry[HandlerFunc]{name: method, feature: f}, adding); !ok {
		return fmt.Errorf("method %q is registered already", method)
	}
	return nil
}
