package lint

import "encoding/json"

// Seen is what was seen of one server. [Look] fills it in.
type Seen struct {
	// Name is that of the server, for finding texts in which it writes about others.
	Name string
	// Revision is the protocol revision spoken; empty if it is not known.
	Revision string
	// Instructions are what the server wants a model to know.
	Instructions string
	// Tools, Prompts, Resources and Templates are definitions as they were on the wire.
	Tools, Prompts, Resources, Templates []json.RawMessage
	// Unread says why a list of prompts, resources or templates is not here.
	Unread []error
	// Calls are the calls that were made.
	Calls []Call
	// Breaches are breaches of the specification that were seen on the wire.
	Breaches []Breach
}

// A Call is a call of a tool, and what came back.
type Call struct {
	Tool string
	// Arguments are one JSON object; nil is none.
	Arguments json.RawMessage
	// Result is the result as it was on the wire; nil where there was an error.
	Result json.RawMessage
	// Err is why there is no result.
	Err error
}

// A Breach is something on the wire that the specification forbids.
type Breach struct {
	What string // what the server did
	Rule string // what the specification says, and where
}
