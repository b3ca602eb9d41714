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

	// MetaReserved is the prefix of all these members.
	MetaReserved = "io.modelcontextprotocol/"
)

// A Revision describes one published version of the specification. A Revision never changes.
type Revision struct {
	// Name is the date that identifies the revision in messages.
	Name string
	// Modern is set if the revision has neither a handshake nor a session; every request then
	// contains metadata.
	Modern bool
	// Batches is set if a JSON array may contain several messages.
	Batches bool
	// Polling is set if a server may end a stream before the response, after an event that has only
	// an id.
	Polling bool
	// VersionHeader is set if clients send the name of the revision in a header after the
	// handshake.
	VersionHeader bool
	// ElicitationModes is set if elicitations have a mode and URL elicitations have an id.
	ElicitationModes bool
	// Tasks is set if clients request a task together with a call.
	Tasks bool

	// lowerings remove the features that the revision added. They convert messages for earlier
	// revisions.
	lowerings []lowering
}

// table lists the revisions, beginning with the oldest.
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
		// No handshake and no session; the server's requests are part of results and answered in a
		// new round of the same request.
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

// IsLegacy reports whether name is the name of a revision with a handshake.
func IsLegacy(name string) bool {
	r := Lookup(name)
	return r != nil && !r.Modern
}

// Latest returns the newest modern revision.
func Latest() *Revision { return &table[len(table)-1] }

// Oldest returns the oldest revision. Every legacy server accepts its forms.
func Oldest() *Revision { return &table[0] }

// LatestLegacy returns the newest revision with a handshake.
func LatestLegacy() *Revision {
	for i := len(table) - 1; ; i-- {
		if !table[i].Modern {
			return &table[i]
		}
	}
}

// Unnamed returns the revision of an HTTP request without the version header (2025-06-18
// basic/transports, protocol version header).
func Unnamed() *Revision { return Lookup("2025-03-26") }

// Modern returns the names of the modern revisions, beginning with the newest.
func Modern() []string { return names(true) }

// Legacy returns the names of the revisions with a handshake, beginning with the newest.
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

// Negotiate returns the revision of a session with a client that requested a revision. If this is a
// legacy revision, Negotiate returns it, and otherwise the newest legacy revision. A handshake
// never leads to the modern era (basic/lifecycle, basic/versioning).
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
