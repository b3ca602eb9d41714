package tolerance

import "slices"

// A Tolerance is a row of the table.
type Tolerance uint8

// A Row describes one tolerance. docs/specification.md shows all rows.
type Row struct {
	Name  string // one word that filters and tests use
	Comes string // the input, from a server or in a client's result
	Used  string // the interpretation of the input, and the parts that are dropped
	Rule  string // the rule of the specification, and its location
}

// The tolerances, in the order of the table. A new tolerance needs a constant here and an entry in
// rows.
const (
	// JSON text and lines.
	HalfSurrogate Tolerance = iota
	NotUTF8
	ControlCharacter
	NotANumber
	ByteOrderMark
	SeveralLines

	// Envelopes of results and errors.
	WholeNumberID
	OtherID
	VersionNumber
	NullMember
	ErrorForm

	// Lists.
	EmptyCursor
	RepeatedCursor
	CursorForm
	EndlessList
	PageFailed
	ListForm
	EntryLeftOut

	// Members and content.
	MemberForm
	LetterCase
	MemberLeftOut
	MissingMember
	Base64Form
	MediaType
	BlockForm
	BlockLeftOut
	LevelUnknown
	MessageLeftOut
	ResultType
	ProtocolVersion
	ActionWord

	// HTTP and events.
	NotAMessage
	EventName
	UnendedEvent
	JoinedEvents
	ContentType
	ContentCoding
	BehindMessage
	SessionID
	EarlyEvent
)

var rows = [...]Row{
	HalfSurrogate:    {"half-surrogate", "half of a surrogate pair in a string", "U+FFFD in its place", "strings are Unicode text: a surrogate escape is one of a pair (RFC 8259)"},
	NotUTF8:          {"not-utf8", "bytes in a string that are not UTF-8", "U+FFFD in place of each byte; the message is refused if a backslash before a quote could be part of a character in another encoding", "messages are UTF-8 (basic)"},
	ControlCharacter: {"control-character", "a control character in a string, such as a tab", "the character", "control characters in strings are escaped (RFC 8259)"},
	NotANumber:       {"not-a-number", "NaN or Infinity as a value", "null in its place", "numbers of JSON are finite (RFC 8259)"},
	ByteOrderMark:    {"byte-order-mark", "a message that begins with a byte order mark", "the message after it", "JSON text begins without a byte order mark (RFC 8259)"},
	SeveralLines:     {"several-lines", "one message on several lines of standard output", "the joined lines, when they are one message", "messages are delimited by newlines and must not contain any (basic/transports)"},
	WholeNumberID:    {"whole-number-id", "an integer as id or code with a fraction or an exponent, such as 3.0", "the integer", "ids and codes are integers (basic)"},
	OtherID:          {"other-id", "a response whose id is a string if the request's is a number, or the reverse", "a response to this request, because no other has the id in either form", "a response must have the same id as its request (basic)"},
	VersionNumber:    {"version-number", `2.0 in place of "2.0" as the version of JSON-RPC`, "the version", `"jsonrpc" is the string "2.0" (basic)`},
	NullMember:       {"null-member", "null for a member that should be absent", "the rest, as if it were absent", "members that are optional are absent, and a message has a result or an error (schema.ts)"},
	ErrorForm:        {"error-form", "an error without code or message, or with other types", "its message; -32603 if the code is not an integer", "an error has an integer as code and a string as message (basic)"},
	EmptyCursor:      {"empty-cursor", "an empty nextCursor in a legacy revision", "the end of the list", "a missing nextCursor ends a list (server/utilities/pagination)"},
	RepeatedCursor:   {"repeated-cursor", "a cursor that occurred before in the same list", "the pages up to it", "a cursor is the position after its page (server/utilities/pagination)"},
	CursorForm:       {"cursor-form", "a cursor that is not a string", "the text of a number; anything else is the end of the list", "a cursor is a string (server/utilities/pagination)"},
	EndlessList:      {"endless-list", "a list whose pages do not end", "its first 1,000 pages", "a missing nextCursor ends a list (server/utilities/pagination)"},
	PageFailed:       {"page-failed", "a failed page after other pages of its list", "the pages before it", "each cursor that a server returns has a page (server/utilities/pagination)"},
	ListForm:         {"list-form", "a list that is missing, null, or one entry in place of an array", "no entries, or the one", "the list is an array (schema.ts)"},
	EntryLeftOut:     {"entry-left-out", "an entry of a list without a name, or without another member that it needs", "the other entries", "definitions have the types of schema.ts"},
	MemberForm:       {"member-form", "a value of another type that can be converted to the right one, such as \"true\"", "the converted value", "members have the types of schema.ts"},
	LetterCase:       {"letter-case", "a word of the protocol in upper or mixed case, such as INFO", "the word", "the words of schema.ts are case-sensitive"},
	MemberLeftOut:    {"member-left-out", "an optional member with a value that cannot be read", "the rest of the object", "members have the types of schema.ts"},
	MissingMember:    {"missing-member", "a missing member that can have only one value", "that value: no text, the URI as the name of a resource, the URI that was read, an empty version or model, the role assistant", "members have the types of schema.ts"},
	Base64Form:       {"base64-form", "bytes as a data URL, in base64 of another alphabet, in lines or without padding, or as an array", "its bytes", "data and blob are base64 of RFC 4648, section 4 (schema.ts)"},
	MediaType:        {"media-type", "bytes without a mimeType", "the type of the data URL, else the type that the first bytes show, else application/octet-stream", "image and audio content has a mimeType (schema.ts)"},
	BlockForm:        {"block-form", "a text or number as content, a block without a type, or several blocks in one message", "the only possible block; of several blocks a message each", "content has the types of schema.ts"},
	LevelUnknown:     {"level-unknown", "a log message of an unknown level", "the message, as info", "levels are those of RFC 5424 (server/utilities/logging)"},
	MessageLeftOut:   {"message-left-out", "a notification that cannot be read", "the other messages", "notifications have the types of schema.ts"},
	BlockLeftOut:     {"block-left-out", "a block of content that cannot be read", "the other blocks, and a text block in its place that reports this", "content has the types of schema.ts"},
	ResultType:       {"result-type", "a resultType in upper or mixed case, or null", "the type it names; complete for null", "resultType is complete, input_required or task (basic)"},
	ProtocolVersion:  {"protocol-version", "a protocolVersion with spaces around it, or none", "the revision it names; the oldest for none", "the response to initialize has the protocolVersion of the session (basic/lifecycle)"},
	ActionWord:       {"action-word", "accepted, declined, reject, rejected, cancelled or canceled as the action of an elicitation", "accept, decline or cancel", "the action is accept, decline or cancel (client/elicitation)"},
	NotAMessage:      {"not-a-message", "an event or an entry of a batch that is not a message", "the others; it is left out, and is never used as the response", "the data of an event is one message of JSON-RPC (basic/transports)"},
	EventName:        {"event-name", "a response in an event with a name of its own", "the response, because it has the id of the request", "messages come in events without a name or with the name message (basic/transports)"},
	UnendedEvent:     {"unended-event", "an event without the blank line after it", "its data, if that is a whole message", "a blank line ends an event (server-sent events)"},
	JoinedEvents:     {"joined-events", "several messages in one event, each on a line of its own", "each of them", "the data of an event is one message of JSON-RPC (basic/transports)"},
	ContentType:      {"content-type", "a body that does not match its Content-Type, or has none", "JSON or events, according to the beginning of the body", "a response to a request is application/json or text/event-stream (basic/transports)"},
	ContentCoding:    {"content-coding", "a body in a content coding that the request did not accept", "gzip and deflate; an error names any other", "a server sends only codings in Accept-Encoding (RFC 9110)"},
	BehindMessage:    {"behind-message", "more data after the message in a JSON body", "the message, and further messages after it; the rest is left out", "the body is one message of JSON-RPC (basic/transports)"},
	SessionID:        {"session-id", "a session id that is too long or not visible ASCII, two different ids, or another id in a later response", "none if it cannot be sent; the first of two; the one in the response to initialize", "a server assigns one session id of visible ASCII characters in the response to initialize (basic/transports)"},
	EarlyEvent:       {"early-event", "an event before the event endpoint", "the URL of the event endpoint; the other event is left out", "the first event is the event endpoint (basic/transports)"},
}

func (t Tolerance) row() *Row { return &rows[t] }

func (t Tolerance) Name() string { return t.row().Name }

// Table returns all rows in order.
func Table() []Row { return slices.Clone(rows[:]) }
