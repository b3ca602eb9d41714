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

	// MetaReserved is the prefix of all these names.
	MetaReserved = "io.modelcontextprotocol/"
)

// A Revision describes one published version of the specification. A Revision never changes.
type Revision struct {
	// Name is the date that identifies it in messages.
	Name string
	// Modern is set for revisions without a handshake and a session; every request has metadata.
	Modern bool
	// Batches is set if several messages may arrive in one JSON array.
	Batches bool
	// Polling is set if a server may end a stream before the response, after an event that only has
	// an id.
	Polling bool
	// VersionHeader is set if clients send the revision in a header after the handshake.
	VersionHeader bool
	// ElicitationModes is set if an elicitation has a mode, and URL elicitations an id.
	ElicitationModes bool
	// Tasks is set if clients request a task with a call.
	Tasks bool

	// lowerings remove the additions of the revision for all earlier ones.
	lowerings []lowering
}

// table lists the revisions, oldest first.
var table = [...]Revision{
	{
		// HTTP+SSE, tools, resources, prompts, sampling, roots.
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

// Lookup returns the revision with the name, or nil.
func Lookup(name string) *Revision {
	for i := len(table) - 1; i >= 0; i-- {
		if table[i].Name == name {
			return &table[i]
		}
	}
	return nil
}

// IsLegacy reports whether name is that of a revision with a handshake.
func IsLegacy(name string) bool {
	r := Lookup(name)
	return r != nil && !r.Modern
}

// Latest returns the newest modern revision.
func Latest() *Revision { return &table[len(table)-1] }

// Oldest returns the first revision, whose forms every legacy server accepts.
func Oldest() *Revision { return &table[0] }

// LatestLegacy returns the newest revision with a handshake.
func LatestLegacy() *Revision {
	for i := len(table) - 1; ; i-- {
		if !table[i].Modern {
			return &table[i]
		}
	}
}

// Unnamed returns the revision of an HTTP request without the header (2025-06-18 basic/transports,
// protocol version header).
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

// Negotiate returns the revision of a session for a client that requested the given one. It is the
// same if it is a legacy revision, and otherwise the newest legacy one, as a handshake never leads
// to the modern era (basic/lifecycle, basic/versioning).
func Negotiate(requested string) *Revision {
	if r := Lookup(requested); r != nil && !r.Modern {
		return r
	}
	return LatestLegacy()
}

// CommonModern returns the newest modern revision in offered, or nil.
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
