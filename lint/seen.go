package lint

import "encoding/json"

// Seen is all that [Look] read from one server.
type Seen struct {
	// Name is the name of the server. It is needed to find texts about other servers.
	Name string
	// Revision is the revision of the connection; empty if unknown.
	Revision string
	// Instructions are the server's instructions for models.
	Instructions string
	// Tools, Prompts, Resources and Templates are definitions as the server sent them.
	Tools, Prompts, Resources, Templates []json.RawMessage
	// Unread has an error for each list of prompts, resources or templates that could not be read.
	Unread []error
	// Calls are the calls with their results.
	Calls []Call
	// Breaches are the breaches of the specification in messages.
	Breaches []Breach
}

// A Call is a call of a tool with its result.
type Call struct {
	Tool string
	// Arguments is a JSON object; nil means no arguments.
	Arguments json.RawMessage
	// Result is the result as the server sent it; nil if there is an error.
	Result json.RawMessage
	// Err is the reason why there is no result.
	Err error
}

// A Breach is a message that the specification forbids.
type Breach struct {
	What string // action of the server
	Rule string // rule of the specification, with its section
}
