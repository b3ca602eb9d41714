package model

// Exchange is what went to a provider and what came back, for a trace. It holds
// no headers, so no key, and no query of the URL. Bodies are cut where they are
// too long to keep.
type Exchange struct {
	Method string
	URL    string
	// RequestBody and ResponseBody are as they were on the wire; a streamed
	// answer is the whole stream, as far as it was read.
	RequestBody, ResponseBody []byte
	// Status is the HTTP status, or 0 where no answer came.
	Status int
	// Cut is whether a body is longer than what is here.
	Cut bool
}
