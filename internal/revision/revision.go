package revision

import "slices"

// Members of _meta that the modern revision defines (basic/index).
const (
	MetaProtocolVersion    = "io.modelcontextprotocol/protocolVersion"
	MetaClientInfo         = "io.modelcontextprotocol/clientInfo"
	MetaClientCapabilities = "io.modelcontextprotocol/clientCapabilities"
	MetaLogLevel           = "io.modelcontextprotocol/logLevel"
	MetaServerInfo         = "io.modelcontextprotocol/serverInfo"
	MetaSubscriptionID     = "io.modelcontextprotocol/subscriptionId"

	// MetaReserved begins the names of all of them.
	MetaReserved = "io.modelcontextprotocol/"
)

// A Revision is one published version of the specification, by what it can do.
// A Revision is never changed.
type Revision struct {
	// Name is the date by which it goes on the wire.
	Name string
	// Modern: no handshake and no session; metadata on every request.
	Modern bool
	// Batches: several messages may arrive in one JSON array.
	Batches bool
	// Polling: a server may end a stream before the response, after an event
	// that only carries an id.
	Polling bool
	// VersionHeader: clients name the revision in a header after the handshake.
	VersionHeader bool
	// ElicitationModes: an elicitation names its mode, and URL elicitations have an id.
	ElicitationModes bool
	// Tasks: clients say of a call that they want a task.
	Tasks bool

	// lowerings take out what came with the revision, for all before it.
	lowerings []lowering
}

// table lists the revisions, oldest first.
var table = [...]Revision{
	{
		// The first: HTTP+SSE, tools, resources, prompts, sampling, roots.
		Name: "2024-11-05",
	},
	{
		// Streamable HTTP, batches, audio, tool annotations, completions capability.
		Name:      "2025-03-26",
		Batches:   true,
		lowerings: []lowering{withoutContent("audio")},
	},
	{
		// No batches; version header, structured output, elicitation, resource links, titles.
		Name:          "2025-06-18",
		VersionHeader: true,
		lowerings:     []lowering{withoutContent("resource_link")},
	},
	{
		// URL elicitation, sampling with tools, icons, polling of streams, tasks (experimental).
		Name:             "2025-11-25",
		VersionHeader:    true,
		Polling:          true,
		ElicitationModes: true,
		Tasks:            true,
	},
	{
		// No handshake and no session; requests of the server between two rounds of a request.
		Name:             "2026-07-28",
		Modern:           true,
		VersionHeader:    true,
		ElicitationModes: true,
		lowerings:        []lowering{onlyObjects},
	},
}

// Lookup finds a revision by name; nil if there is none.
func Lookup(name string) *Revision {
	for i := len(table) - 1; i >= 0; i-- {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

// IsLegacy reports whether the name is that of a revision with a handshake.
func IsLegacy(name string) bool {
	r := Lookup(name)
	return r != nil && !r.Modern
}

// Latest is the newest modern revision.
func Latest() *Revision { return &table[len(table)-1] }

// Oldest is the first revision, whose forms every legacy server understands.
func Oldest() *Revision { return &table[0] }

// LatestLegacy is the newest revision with a handshake.
func LatestLegacy() *Revision {
	for i := len(table) - 1; ; i-- {
		if !table[i].Modern {
			return &table[i]
		}
	}
}

// Unnamed is the revision of an HTTP request that names none (2025-06-18
// basic/transports, protocol version header).
func Unnamed() *Revision { return Lookup("2025-03-26") }

// Modern returns the names of the modern revisions, newest first.
func Modern() []string { return names(true) }

// Legacy returns the names of the revisions with a handshake, newest first.
func Legacy() []string { return names(false) }

func names(modern bool) []string {
	var list []string
	for i := len(table) - 1; i >= 0; i-- {
		if table[i].Modern == modern {
			list = append(list, table[i].Name)
		}
	}
	return list
}

// Negotiate chooses the revision of a session for a client that asked for the
// given one: the same if it is a legacy revision, else the newest of them, as a
// handshake never leads to the modern era (basic/lifecycle, basic/versioning).
func Negotiate(requested string) *Revision {
	if r := Lookup(requested); r != nil && !r.Modern {
		return r
	}
	return LatestLegacy()
}

// CommonModern is the newest modern revision among the given ones; nil if there is none.
func CommonModern(offered []string) *Revision {
	for i := len(table) - 1; i >= 0; i-- {
		if !table[i].Modern {
			continue
		}
		if slices.Contains(offered, table[i].Name) {
			return &table[i]
		}
	}
	return nil
}
